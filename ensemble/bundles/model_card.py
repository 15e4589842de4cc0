"""A trained engine described for people: what it is, how good, on what, and where not to trust it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from phistack.ensemble.bundles.reliability import reliability_of

CALIBRATION_PICTURE = "calibration.svg"
"""The file with the reliability diagrams, beside the card."""

_CARD = """# Model card

A phistack engine that finds protected health information (PHI) in clinical notes.

| | |
|---|---|
{facts}

## Trained on

| | |
|---|---|
{trained_on}

## Figures

{reliability}

{figures}
{seeds}{budget}{elsewhere}{contradictions}{choosers}{calibration}{cascade}{choices}
## Use

For finding PHI in notes of the same language and kind as those it was trained on. Every engine misses some PHI: check a
sample of your own notes with `phistack evaluate` before you rely on it, and have people review what is released. Its
vocabularies hold words of the training notes, so treat this bundle as you treat the notes themselves.
{settings}"""

_ELSEWHERE = """
## Measured on other notes

Notes that the engine was not trained on.

| corpus | figure | value |
|---|---|---|
{rows}
"""

_CHOOSERS = """
## Choosers

The stack beside other ways to choose from the same candidates, out of fold; which member and which mean is best was
seen on these notes, and the perfect chooser knows what is right. *Less stack* is F1 less that of the stack; p is of
paired approximate randomisation by {unit}, {shuffles} shuffles, after Holm's correction over all choosers and all
members. {sentence}

| chooser | precision | recall | F1 | less stack | p |
|---|---|---|---|---|---|
{rows}
"""

_CONTRADICTIONS = """
## Labels

How often the training notes contradict themselves. {sentences}
"""

_CALIBRATION = """
## Calibration

How far what submodels and stack say of a candidate is from how often it is right, out of fold: on average, and in the
range of 50 candidates or more where it is furthest off. The stack was calibrated on these notes. Reliability diagrams:
[{picture}]({picture}).

| says | candidates | expected error | furthest: said | is right | of candidates |
|---|---|---|---|---|---|
{rows}
"""

_CASCADE = """
## Cascade

The costly submodels ({waiting}) read only lines in which the others leave doubt: where the probability of a candidate
lies between {doubt:g} and 1 - {doubt:g}, or where a token that nobody proposed is PHI with a probability of {chance:g}
or more. On the training notes, out of fold and before repeats are searched for:

| | every line is read | lines in doubt are read |
|---|---|---|
| share of the tokens | 1 | {tokens in doubt:.4f} |
| recall | {recall, reading all:.4f} | {recall:.4f} |
| F1 | {F1, reading all:.4f} | {F1:.4f} |

Of {PHI:.0f} PHI, {PHI lost:.0f} are lost that are found where every line is read; {PHI lost that only they propose:.0f}
of these only the costly submodels propose. With `--no-cascade` they read every line.
"""

_SETTINGS = """
## Settings

`phistack train CORPUS --model NEW --config BUNDLE` trains with these again; they are `settings.toml` in the bundle.

```toml
{toml}```
"""

_SEEDS = """
## Seeds

Means over {n} seeds of training, out of fold, with standard deviations.

| system | precision | recall | F1 |
|---|---|---|---|
{rows}
"""

_BUDGET = """
## Speed

Trained to annotate {notes per second asked for:g} notes a second on one core. Subsets of the submodels were measured
from the best downwards until one was fast enough, on {processor}, by processor time:

| submodels | F1 | notes a second |
|---|---|---|
{rows}
"""

_CHOICES = """
## Recall or precision

`--recall` chooses the threshold above which the stack accepts a candidate. Strict figures on the training notes, out of
fold and before repeats are searched for; the thresholds were chosen on these notes.

| `--recall` | threshold | precision | recall |
|---|---|---|---|
{rows}
"""


def model_card(manifest: Mapping[str, Any], settings: str = "") -> str:
    """The card, as Markdown.

    :param manifest: of the bundle.
    :param settings: of the training, as TOML; empty where they are not known.
    """
    facts = {
        "submodels": ", ".join(manifest["kinds"].values()),
        "label set": manifest["label_set"],
        "language": manifest["language"],
        "tokeniser": manifest["tokeniser"],
        "bundle protocol": manifest["protocol"],
        **{f"{name} version": version for name, version in manifest["versions"].items()},
    }
    return _CARD.format(
        facts=_rows(facts),
        reliability=_reliability(manifest),
        trained_on=_rows(manifest["trained_on"]),
        figures=_figures(manifest["figures"]),
        seeds=_seeds(manifest["figures"]),
        budget=_budget(manifest["figures"].get("budget", {})),
        elsewhere=_elsewhere(manifest),
        contradictions=_contradictions(manifest["figures"].get("contradictions", [])),
        choosers=_choosers(manifest["figures"].get("choosers", {})),
        calibration=_calibration(manifest["figures"].get("calibration", {})),
        cascade=_cascade(manifest["figures"].get("cascade", {})),
        choices=_choices(manifest["figures"].get("recall choices", {})),
        settings=_SETTINGS.format(toml=settings) if settings else "",
    )


def _reliability(manifest: Mapping[str, Any]) -> str:
    reliability = reliability_of(manifest)
    sentences = [f"This engine was {reliability.sentence}."] if reliability.sentence.startswith("trained") else []
    return "\n\n".join([*sentences, *([f"**Warning**: {reliability.warning}."] if reliability.warning else [])])


def _rows(facts: Mapping[str, Any]) -> str:
    return "\n".join(f"| {name.replace('_', ' ')} | {value} |" for name, value in facts.items())


def _figures(figures: Mapping[str, Any]) -> str:
    lines = ["| system | precision | recall | 95 % interval | F1 | 95 % interval |", "|---|---|---|---|---|---|"]
    for name, row in figures.get("strict", {}).items():
        recall, f1 = _interval(row.get("recall_interval")), _interval(row.get("interval"))
        lines.append(f"| {name} | {row['precision']:.4f} | {row['recall']:.4f} | {recall} | {row['f1']:.4f} | {f1} |")
    return "\n".join([figures.get("protocol", ""), "", *lines])


def _seeds(figures: Mapping[str, Any]) -> str:
    """Means over seeds; nothing for an engine that was trained with one."""
    means = {
        name: [f"{found['mean']:.4f} ({found['sd']:.4f})" for found in row.values()]
        for name, row in figures.get("mean of seeds", {}).items()
    }
    rows = "\n".join(f"| {name} | {' | '.join(cells)} |" for name, cells in means.items())
    return _SEEDS.format(n=figures["seeds"], rows=rows) if rows else ""


def _budget(figures: Mapping[str, Any]) -> str:
    """What the submodels were chosen by; nothing for an engine that was trained without a budget."""
    rows = "\n".join(
        f"| {row['submodels']} | {row['f1']:.4f} | {row['notes per second']:.0f} |"
        for row in figures.get("measured", ())
    )
    return _BUDGET.format_map({**figures, **figures["machine"], "rows": rows}) if figures else ""


def measured_elsewhere(manifest: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What the builder of an engine measured on other notes: `corpus`, `figure` and `value` of each figure."""
    return list(manifest["figures"].get("measured elsewhere", ()))


def _elsewhere(manifest: Mapping[str, Any]) -> str:
    """The figures on other notes; nothing for an engine of which none are known."""
    figures = measured_elsewhere(manifest)
    rows = "\n".join(f"| {row['corpus']} | {row['figure']} | {row['value']} |" for row in figures)
    return _ELSEWHERE.format(rows=rows) if figures else ""


def _contradictions(figures: Sequence[Mapping[str, Any]]) -> str:
    """What the labels are worth; nothing for an older engine, of which that is not known."""
    sentences = " ".join(found["in short"] for found in figures)
    return _CONTRADICTIONS.format(sentences=sentences) if sentences else ""


def _choosers(figures: Mapping[str, Any]) -> str:
    """The stack beside the other choosers; nothing for an older engine, which does not have them."""
    if not figures:
        return ""
    rows = "\n".join(map(_chooser, figures["rows"]))
    unit = figures.get("unit", "document")
    return _CHOOSERS.format(unit=unit, shuffles=figures["shuffles"], sentence=figures["in short"], rows=rows)


def _chooser(row: Mapping[str, Any]) -> str:
    scores = " | ".join(f"{row[measure]['value']:.4f}" for measure in ("precision", "recall", "f1"))
    compared = row.get("less stack")
    gap, p = (f"{compared['f1']['value']:+.4f}", f"{compared['p after Holm']:.3f}") if compared else ("", "")
    why = row["chosen on these notes as"]
    return f"| {row['name']}{f' ({why})' if why else ''} | {scores} | {gap} | {p} |"


def _calibration(figures: Mapping[str, Any]) -> str:
    """How sure each is and how often right; nothing for an older engine, of which that is not known."""
    rows = "\n".join(_calibrated(name, found) for name, found in figures.items())
    return _CALIBRATION.format(picture=CALIBRATION_PICTURE, rows=rows) if figures else ""


def _calibrated(name: str, found: Mapping[str, Any]) -> str:
    furthest = max(found["bins"], key=lambda some: abs(some["right"]["value"] - some["said"]), default=None)
    where = f"{furthest['said']:.4f} | {furthest['right']['value']:.4f} | {furthest['n']}" if furthest else " | | "
    return f"| {name} | {found['candidates']} | {found['expected error']:.4f} | {where} |"


def _cascade(figures: Mapping[str, Any]) -> str:
    """What the cascade spares and costs; nothing for an engine that has none."""
    return _CASCADE.format_map(figures) if figures else ""


def _choices(choices: Mapping[str, Mapping[str, float]]) -> str:
    """What each choice of the threshold costs; nothing for an older engine, which has one."""
    rows = (
        f"| {name} | {row['threshold']:.2f} | {row['precision']:.4f} | {row['recall']:.4f} |"
        for name, row in choices.items()
    )
    return _CHOICES.format(rows="\n".join(rows)) if choices else ""


def _interval(ends: Sequence[float] | None) -> str:
    return f"{ends[0]:.4f}-{ends[1]:.4f}" if ends else ""
