"""An attack on a run in words: `attack.tsv` and `attack.html` beside the summary of the run, and in its page.

statements(found)                          what a privacy officer needs to know, in sentences
write_attack(Path("clean"), found)         all three in clean.run; without the text of the places unless asked for
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape
from pathlib import Path
from statistics import median

from phistack.ensemble.batch.attack import Attack, LookAlike
from phistack.ensemble.batch.reports.audit import ATTACKED
from phistack.ensemble.batch.reports.summary import PAGE as SUMMARY_PAGE
from phistack.ensemble.batch.settings import run_folder
from phistack.ensemble.deidentification.dates.recovery import MOST_DAYS
from phistack.ensemble.evaluation.tables import Table, percent
from phistack.ensemble.tools.progress import many
from phistack.ensemble.tools.templates import template
from phistack.features.languages import language_name
from phistack.features.writing import new_file

LIST, PAGE = "attack.tsv", "attack.html"
_COLUMNS = ("note", "start", "end", "label", "likely", "marked by")
_ON_PAGE = 200
_LINK = f'<a href="{PAGE}">The places, the surest first</a>'


def statements(found: Attack) -> list[str]:
    """What the attack shows, the most important first."""
    marked = sum(place.is_marked for place in found.places)
    where = f"{many(marked, 'place')} that the run did not replace"
    return [
        f"The attacker's models mark {where}: read these first, as they look like the surrogates around them"
        if marked
        else "The attacker's models mark nothing that the run did not replace",
        f"They learned from the output of half the patients and searched that of the others, and vice versa: "
        f"{found.notes:,} notes of {found.patients:,} patients with {found.surrogates:,} surrogates",
        f"They mark {percent(found.marked / max(1, found.surrogates))} % of the surrogates. What they leave unmarked "
        f"an attacker would have to read: the other {found.surrogates - found.marked:,} surrogates, and among "
        f"{len(found.places) - marked:,} further places, missed identifiers that do not look like surrogates",
        *_dates(found),
        *_remarks(found),
        "An attack that finds nothing does not show that nothing is left",
    ]


def _dates(found: Attack) -> Iterator[str]:
    """What words next to shifted dates reveal about the shifts."""
    patients = found.shifts.total()
    fewer = Counter({left: count for left, count in found.shifts.items() if left < 2 * MOST_DAYS})
    if fewer:
        yield (
            f"Weekdays, holidays and seasons beside shifted dates narrow down the shift of {fewer.total():,} of "
            f"{many(patients, 'patient')} to {round(median(fewer.elements())):,} of {2 * MOST_DAYS} days or fewer in "
            f"half the cases, {min(fewer):,} in the worst: mark these words with the dates"
        )
    elif patients:
        yield f"No word beside the dates shows by how many days those of the {many(patients, 'patient')} were shifted"


def _remarks(found: Attack) -> Iterator[str]:
    if found.tags:
        yield f"The output also has {many(found.tags, 'tag')}, which hide nothing that was missed"
    for language, notes in found.passed_over.items():
        yield f"Too few to be attacked: {many(notes, 'note')} in {language_name(language)}"


def write_attack(target: Path, found: Attack, *, with_text: bool = False) -> None:
    """Write the list, the page and the items in the summary's page, over those of an earlier attack.

    :raises StorageError: if the disk refuses.
    """
    folder, more = run_folder(target), ("text",) if with_text else ()
    rows = [_row(place, with_text) for place in found.places]
    with new_file(folder / LIST, replace=True) as part:
        part.write_text("".join("\t".join(row) + "\n" for row in (_COLUMNS + more, *rows)), encoding="utf-8")
    note = f"The first {_ON_PAGE} of {len(rows):,}; the others are in {LIST}." if len(rows) > _ON_PAGE else ""
    table = Table(_COLUMNS + more, [rows[:_ON_PAGE]], "Places that were not replaced, the likeliest first", note)
    page = template("phistack.ensemble.batch.reports", "attack_template.html")
    with new_file(folder / PAGE, replace=True) as part:
        part.write_text(page.render(statements=statements(found), tables=[table]), encoding="utf-8")
    items = "".join(f"<li>{item}</li>\n" for item in (*(f"{escape(s)}." for s in statements(found)), _LINK)).encode()
    whole = ATTACKED.sub(lambda _: items, (folder / SUMMARY_PAGE).read_bytes(), count=1)
    with new_file(folder / SUMMARY_PAGE, replace=True) as part:
        part.write_bytes(whole)


def _row(place: LookAlike, with_text: bool) -> tuple[str, ...]:
    text = (" ".join(place.text.split()),) if with_text else ()
    votes = ", ".join(place.votes)
    return place.note, str(place.start), str(place.end), place.label, f"{place.likely:.2f}", votes, *text
