"""README.md's tables of results and docs/results.md, written from the results files: `make results`.

    python -m benchmarks.results            write both
    python -m benchmarks.results --check    only check whether they are up to date

`benchmarks.meddocan` and `benchmarks.english` write the results files. These are kept in `benchmarks/results`; with
them anyone can write the tables again without training. `benchmarks/variants.toml` lists what else was tried.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap

import msgspec

from benchmarks.markdown import replaced
from benchmarks.measuring import RESULTS, ROOT
from benchmarks.results_file import SCHEMA, AblationFile, BenchmarkResults, TriedVariant
from benchmarks.running import run_main
from phistack.ensemble.evaluation import Measure
from phistack.ensemble.evaluation.tables import Table, TableRow, percent, share

BENCHMARKS = ("meddocan", "synthetic-notes", "presidio-synth-v2")
"""The results files, in the order of their tables; the first has a table of its own in README.md."""
ABLATIONS = {
    "ablation-meddocan": "Ablation on MEDDOCAN dev",
    "ablation-presidio-synth-v2": "Ablation on presidio-synth-v2 by template, with feature groups, without the network",
}
"""The `results.json` of `phistack ablate`, under other names, and the titles of their tables."""
VARIANTS = ROOT / "benchmarks" / "variants.toml"
_LIST_IN_README, _LIST_IN_PAGE = "[list](benchmarks/variants.toml)", "[list](../benchmarks/variants.toml)"
_IN_README = "[README.md](../README.md#results) has the systems and how they were measured."
BEGIN, END = "<!-- results: written by make results -->", "<!-- /results -->"

_PAGE_HEAD = """# Results

`make results` writes this page from the files in `benchmarks/results`; do not edit it. Figures are micro-averaged, in
percent and, unless another criterion is named, strict: start, end and type must be right. Intervals are of 95 %:
bootstraps for F1, by patient since 24 November 2026 and by document before, and Wilson's for recall by type. `python -m
benchmarks.training` prints where the time of a training goes.
"""


def main() -> None:
    """Write README.md's section and docs/results.md, or check them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results files")
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if a file is not up to date")
    arguments = parser.parse_args()
    results, variants = read_results(arguments.results), read_variants(VARIANTS)
    readme, page = ROOT / "README.md", ROOT / "docs" / "results.md"
    written = {
        readme: updated(readme.read_text(encoding="utf-8"), readme_section(results, variants)),
        page: results_page(results, read_ablations(arguments.results), variants),
    }
    stale = [path for path, text in written.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if arguments.check:
        sys.exit(
            f"results: {', '.join(path.name for path in stale)} must be written anew: make results" if stale else 0
        )
    for path in stale:
        path.write_text(written[path], encoding="utf-8")
        print(f"{path.relative_to(ROOT)} is written")


def read_results(folder: Path) -> list[BenchmarkResults]:
    """The results files, in the order of `BENCHMARKS`; ends the program if one is missing or has another schema."""
    results = []
    for name in BENCHMARKS:
        path = folder / f"{name}.json"
        if not path.exists():
            sys.exit(f"results: there is no {path}; `make meddocan` and `make english` write the results files")
        try:
            results.append(msgspec.json.decode(path.read_bytes(), type=BenchmarkResults))
        except msgspec.ValidationError:
            sys.exit(f"results: {path} is not of the schema {SCHEMA}; measure again")
    return results


def read_ablations(folder: Path) -> dict[str, AblationFile]:
    """What `phistack ablate` measured, by the title of its table; ends the program if a file is missing."""
    found = {}
    for name, title in ABLATIONS.items():
        path = folder / f"{name}.json"
        if not path.exists():
            sys.exit(f"results: there is no {path}; copy the results.json that `phistack ablate` writes there")
        found[title] = msgspec.json.decode(path.read_bytes(), type=AblationFile)
    return found


def read_variants(path: Path) -> list[TriedVariant]:
    """What was tried, in the order of the file."""
    return msgspec.toml.decode(path.read_bytes(), type=dict[str, list[TriedVariant]])["variant"]


def updated(readme: str, section: str) -> str:
    """The README with a new section between its markers; ends the program if it lacks them."""
    return replaced(readme, BEGIN, END, section, where="results: README.md")


def readme_section(results: Sequence[BenchmarkResults], variants: Sequence[TriedVariant]) -> str:
    """A table of the first corpus, how it was measured, and one table of all others."""
    first, *others = results
    lines = [*_systems(first), "", _prose(_measured(first, variants, _LIST_IN_README), _speed(first)), ""]
    lines += _overview(others)
    return "\n".join([*lines, ""])


def results_page(
    results: Sequence[BenchmarkResults], ablations: Mapping[str, AblationFile], variants: Sequence[TriedVariant]
) -> str:
    """docs/results.md: for each corpus the systems (of the first README.md has them) and types of PHI; ablations."""
    lines = [_PAGE_HEAD]
    for result in results:
        measured = [_prose(_measured(result, variants, _LIST_IN_PAGE), _speed(result)), "", *_systems(result)]
        lines += [f"## {result.title}", "", *([_IN_README] if result is results[0] else measured), ""]
        lines += ["### The stack by type of PHI", "", *_types(result), ""]
    for title, ablation in ablations.items():
        lines += [f"## {title}", "", _ablated(ablation), "", *_ablation(ablation), ""]
    return "\n".join(lines)


def _systems(result: BenchmarkResults) -> list[str]:
    """A row for each system: precision, recall, F1 with its interval, and F1 by the further criteria."""
    criteria = [name.removeprefix("meddocan ") for name in next(iter(result.systems.values())).by_criterion]
    rows: list[TableRow] = [
        (
            name,
            percent(row.precision),
            percent(row.recall),
            share(Measure(row.f1, *row.interval)),
            *map(percent, row.by_criterion.values()),
        )
        for name, row in result.systems.items()
    ]
    return Table((result.title, "precision", "recall", "F1 (95 % interval)", *criteria), [rows]).markdown()


def _overview(results: Sequence[BenchmarkResults]) -> list[str]:
    """A row for each corpus: strict F1 of each system."""
    systems = list(dict.fromkeys(name for result in results for name in result.systems))
    rows = [
        (
            result.title,
            *(percent(result.systems[name].f1) if name in result.systems else "" for name in systems),
            "-".join(map(percent, result.systems["stack"].interval)),
        )
        for result in results
    ]
    return Table(("strict F1", *systems, "95 % interval of the stack"), [rows]).markdown()


def _types(result: BenchmarkResults) -> list[str]:
    """A row for each type of PHI, the most frequent first."""
    rows = [
        (
            name,
            str(row.gold),
            percent(row.precision),
            share(Measure(row.recall, *row.recall_interval)) if row.gold else "",
            percent(row.f1),
        )
        for name, row in sorted(result.types.items(), key=lambda item: (-item[1].gold, item[0]))
    ]
    return Table(("type", "in gold", "precision", "recall (95 % interval)", "F1"), [rows]).markdown()


def _ablated(ablation: AblationFile) -> str:
    """When, how and with how many comparisons an ablation was measured."""
    return _prose(
        f"Measured {ablation.date} with the settings {ablation.digest}. {ablation.protocol}",
        f"p is of a paired approximate randomisation by {ablation.unit} with {ablation.shuffles} shuffles, after",
        f"Holm's correction over the {len(ablation.rows) - 1} differences to the stack.",
    )


def _ablation(ablation: AblationFile) -> list[str]:
    """A row for each system: precision, recall, F1 with its interval, the difference from the stack, and its p."""
    rows = [
        (
            row.name,
            percent(row.precision.value),
            percent(row.recall.value),
            share(Measure(row.f1.value, row.f1.low, row.f1.high)),
            f"{100 * row.difference.f1.value:+.2f}" if row.difference else "",
            f"{row.difference.p_holm:.4f}" if row.difference else "",
        )
        for row in ablation.rows
    ]
    return Table(("system", "precision", "recall", "F1 (95 % interval)", "difference", "p"), [rows]).markdown()


def _measured(result: BenchmarkResults, variants: Sequence[TriedVariant], list_of_them: str) -> str:
    """When, with which settings, how and after how many variants, in sentences."""
    tried = sum(variant.count for variant in variants if variant.corpus == result.benchmark)
    chosen = f"Variants tried: {tried}; the {list_of_them} says on which notes each was judged."
    return (
        f"measured {result.date} with the settings {result.digest}. {result.protocol} "
        f"{chosen if tried else 'No variant was tried on this corpus.'}"
    )


def _speed(result: BenchmarkResults) -> str:
    documents, training = result.documents, result.training
    return (
        f"Training on {documents.training} documents took {training.wall / 60:.1f} minutes in "
        f"{training.processes} processes, `annotate` on the {documents.unseen} others "
        f"{result.annotate_seconds:.0f} s with load."
    )


def _prose(*sentences: str) -> str:
    """Sentences as a paragraph in lines of the usual length, beginning with a capital."""
    text = " ".join(sentences)
    return "\n".join(wrap(text[:1].upper() + text[1:], 120, break_long_words=False, break_on_hyphens=False))


if __name__ == "__main__":
    run_main(main)
