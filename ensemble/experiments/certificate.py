"""How much an engine and a policy leave in notes like these, at most: bounds by patient, from annotated notes.

    patients = summed(Leaks(gold, engine, policy).of(engine))   [PatientLeaks(left=(0.0, 0.4), notes=(True,)), ...]
    bounds_of(patients)                                          Bounds(patients=250, share=(0.002, 0.004), ...)
    certify(gold, bundle, policy, max_leak=0.01)                 the certificate, with the recall that keeps it
    Wish(gold, policy, 0.01).share_of_thresholds(engine)         0.4: with thresholds so much lower it keeps it

An identifier is a span of the gold notes that the policy changes, or whose label the engine does not have. What is left
of it is the share of its letters and digits that can still be read; an identifier that no submodel proposed is left
whole. The units are patients, as notes of one patient are not independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from scipy.stats import binom

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.certificate import Bounds, Certificate
from phistack.ensemble.bundles.files import engine_digest, read_manifest
from phistack.ensemble.deidentification import Deidentifier, Policy
from phistack.ensemble.deidentification.kinds import kind_of
from phistack.ensemble.engine import Engine
from phistack.ensemble.engine.options import RECALLS
from phistack.ensemble.evaluation.bounds import (
    CONFIDENCE,
    betting_upper,
    binomial_upper,
    certified,
    units_for_mean,
)
from phistack.ensemble.evaluation.drift import Summaries
from phistack.ensemble.evaluation.tables import Table, TableRow, percent
from phistack.ensemble.stacking.thresholds import BALANCED, CHOICES
from phistack.ensemble.tools.progress import progress, stage
from phistack.ensemble.training.fit_tasks import corpus_digest, fingerprints
from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import EvaluationError

DIRECT = ("PERSON", "INITIALS", "USERNAME", "RELATIVE", "PHONE", "EMAIL", "URL", "ID")
"""The kinds of identifiers that point at a person by themselves: names, numbers, contacts."""

_FEWEST = 20
"""Patients: with fewer, no bound below 14 % is possible."""
_NO_SECRET = b"no surrogate made with this is ever written"
_COLUMNS = ("recall", "share left", "any left", "one left whole", "notes")
_NOTE = (
    "In percent, at most so much with {confidence} confidence, for notes drawn as these were; in brackets what was "
    "found. Share left: the mean share of a patient's identifiers that stays readable. Any left: patients with a "
    "letter or digit of one left. One left whole: patients with all of one left. Notes: the mean share of a patient's "
    "notes with any left. Each figure holds by itself; to choose a row, use --max-leak."
)


_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Factors of an engine's thresholds: the operating points of `Wish`, from the safest on."""

_BY_CHANCE = 1e-6
"""Notes count as training notes if it is less likely than this that their fingerprints match by chance."""


class Left(NamedTuple):
    """What is left of an identifier.

    :ivar note: the number of its note.
    :ivar share: of its letters and digits, in [0, 1].
    """

    note: int
    is_direct: bool
    share: float


@dataclass(frozen=True, slots=True)
class PatientLeaks:
    """What is left of a patient's identifiers.

    :param left: of each identifier, the share of its letters and digits that is readable, in [0, 1].
    :param notes: whether anything is left in each note that has an identifier.
    """

    left: tuple[float, ...]
    notes: tuple[bool, ...]

    @property
    def share(self) -> float:
        """The mean share left of an identifier."""
        return sum(self.left) / len(self.left)

    @property
    def of_notes(self) -> float:
        """The share of the notes with anything left."""
        return sum(self.notes) / len(self.notes)

    @property
    def has_whole(self) -> bool:
        """Whether all of an identifier is left."""
        return 1.0 in self.left


class Leaks:
    """What an engine leaves of the identifiers of some notes under a policy.

    :param gold: notes with all identifiers marked, in any label set.
    :param by: the engine, or the notes as it annotates them: it says which labels there are.
    """

    def __init__(self, gold: Corpus, by: Engine | Corpus, policy: Policy) -> None:
        self._gold = gold
        language = by.language if isinstance(by, Engine) else by.label_set.language
        self._deidentifier = Deidentifier(policy, by.label_set, language, _NO_SECRET)
        self._wanted = [_identifiers(document, self._deidentifier) for document in gold.documents]

    def of(self, engine: Engine, summaries: Summaries | None = None) -> list[list[Left]]:
        """What it leaves of the identifiers of each patient who has any.

        :param summaries: collects the facts of the notes.
        """

        def annotated() -> Iterator[Document]:
            for reading in engine.read(self._gold.documents):
                note = reading.document
                if summaries is not None and not reading.objection:
                    summaries.add(note.group, engine.facts_of([note.text], reading.decisions))
                yield reading.annotated

        return self.in_notes(annotated())

    def in_notes(self, annotated: Iterable[Document]) -> list[list[Left]]:
        """The same for annotated notes, in the order of the gold notes."""
        by_patient: dict[str, list[Left]] = {}
        for number, (note, spans, found) in enumerate(zip(self._gold.documents, self._wanted, annotated, strict=True)):
            changed = {at for start, end in self._deidentifier.changed(found) for at in range(start, end)}
            for span in spans:
                is_direct = kind_of(span.label, self._gold.label_set.name) in DIRECT
                left = Left(number, is_direct, _share_left(note.text, span, changed))
                by_patient.setdefault(note.group, []).append(left)
        return [*by_patient.values()]


def summed(patients: Iterable[Sequence[Left]], *, direct: bool = False) -> list[PatientLeaks]:
    """The leaks of each patient who has identifiers, or direct ones."""
    found = []
    for patient in patients:
        left = [one for one in patient if one.is_direct or not direct]
        notes = {one.note: False for one in left} | {one.note: True for one in left if one.share}
        if left:
            found.append(PatientLeaks(tuple(one.share for one in left), tuple(notes.values())))
    return found


def bounds_of(leaks: Sequence[PatientLeaks], confidence: float = CONFIDENCE) -> Bounds:
    """The bounds; :raises EvaluationError: if there are too few patients."""
    n = len(leaks)
    if n < _FEWEST:
        raise EvaluationError(
            f"{n} patients have identifiers, and a bound needs {_FEWEST} or more; annotate notes of more patients"
        )
    shares, of_notes = [one.share for one in leaks], [one.of_notes for one in leaks]
    anything, whole = sum(any(one.left) for one in leaks), sum(one.has_whole for one in leaks)
    return Bounds(
        identifiers=sum(len(one.left) for one in leaks),
        patients=n,
        share=(sum(shares) / n, betting_upper(shares, confidence)),
        anything=(anything / n, binomial_upper(anything, n, confidence)),
        whole=(whole / n, binomial_upper(whole, n, confidence)),
        notes=(sum(of_notes) / n, betting_upper(of_notes, confidence)),
    )


def _identifiers(document: Document, deidentifier: Deidentifier) -> list[Span]:
    """The gold spans that must go and have letters or digits."""
    return [s for s in deidentifier.must_go(document) if any(map(str.isalnum, document.text[s.start : s.end]))]


def _share_left(text: str, span: Span, changed: set[int]) -> float:
    read = [at for at in range(span.start, span.end) if text[at].isalnum()]
    return sum(at not in changed for at in read) / len(read)


def certify(
    gold: Corpus,
    bundle: Path,
    policy: Policy,
    *,
    max_leak: float | None = None,
    confidence: float = CONFIDENCE,
    recalls: Sequence[str] = (),
) -> Certificate:
    """Measure an engine at each choice of recall on notes that it never saw.

    :param recalls: from the safest to the least safe; all that the engine has if none is named.
    :raises EvaluationError: if the engine learned from these notes, if they have too few patients, or too few to show
        `max_leak`, however little is left.
    """
    digest = corpus_digest(gold.documents)
    _refuse_learned(gold, read_manifest(bundle)["trained_on"])
    if max_leak is not None:
        _refuse_impossible(gold, max_leak, confidence)
    engine = load_bundle(bundle)
    recalls = recalls or _recalls_of(engine)
    leaks, left = Leaks(gold, engine, policy), {}
    summaries = {recall: Summaries() for recall in recalls}
    with progress("reading the notes", total=len(recalls)) as advance:
        for recall in recalls:
            left[recall] = leaks.of(engine.with_options(recall=recall), summaries[recall])
            advance(recall)
    bounds = {
        recall: {
            name: bounds_of(found, confidence)
            for name, found in (("all", summed(patients)), ("direct", summed(patients, direct=True)))
            if name == "all" or len(found) >= _FEWEST
        }
        for recall, patients in left.items()
    }
    shares = [[one.share for one in summed(patients)] for patients in left.values()]
    n_allowed = certified(shares, max_leak, confidence) if max_leak is not None else 0
    date = datetime.now(UTC).date().isoformat()
    return Certificate(
        bundle=engine_digest(bundle),
        policy=policy.digest,
        policy_name=policy.name,
        corpus=digest,
        notes=len(gold.documents),
        date=date,
        confidence=confidence,
        bounds=bounds,
        max_leak=max_leak,
        allowed=tuple(recalls[:n_allowed]),
        profiles={recall: of_notes.profile for recall, of_notes in summaries.items()},
    )


def _recalls_of(engine: Engine) -> Sequence[str]:
    """The choices of recall that an engine has, from the safest on."""
    if not engine.stacker.choices_:
        return (BALANCED,)
    return RECALLS if engine.language in engine.safe_text.languages else CHOICES


def _refuse_learned(gold: Corpus, trained_on: Mapping[str, Any]) -> None:
    """:raises EvaluationError: if an engine learned from these notes, or from many of them."""
    joined = str(trained_on.get("fingerprints", ""))
    known = {joined[at : at + 4] for at in range(0, len(joined), 4)}
    n_known = sum(fingerprints([document]) in known for document in gold.documents)
    by_chance = float(binom.sf(n_known - 1, len(gold.documents), len(known) / 16**4))
    if by_chance < _BY_CHANCE or corpus_digest(gold.documents) in map(str, trained_on.values()):
        raise EvaluationError(
            "the engine learned from these notes, or many of them; certify it on notes of other patients"
        )


def _refuse_impossible(gold: Corpus, max_leak: float, confidence: float) -> None:
    """:raises EvaluationError: if there are too few patients to show the bound, however little is left."""
    n = len({document.group for document in gold.documents if document.spans})
    if (needed := units_for_mean(max_leak, confidence)) > n:
        raise EvaluationError(
            f"{n} patients cannot show that at most {percent(max_leak)} % is left, even if nothing is; that takes "
            f"{needed:,} patients or more"
        )


@dataclass(frozen=True)
class Wish:
    """A limit for an engine to meet: its thresholds are lowered until calibration notes show that it does.

    :param notes: annotated notes of patients that the engine does not learn from.
    :param max_leak: the mean share of a patient's identifiers that may be left, in [0, 1].
    """

    notes: Corpus = field(repr=False)
    policy: Policy
    max_leak: float
    confidence: float = CONFIDENCE

    def check(self, training: Iterable[Document]) -> None:
        """Before a training; :raises EvaluationError: if the notes are too few, or among those to train on."""
        _refuse_impossible(self.notes, self.max_leak, self.confidence)
        texts = {document.text for document in training}
        if n_known := sum(document.text in texts for document in self.notes.documents):
            raise EvaluationError(
                f"{n_known} of the {len(self.notes)} calibration notes are among those to train on; calibrate on notes "
                "of other patients"
            )

    def share_of_thresholds(self, engine: Engine) -> float:
        """The factor by which an engine's thresholds must be lowered, by learn then test; 1 if they may stay.

        :raises EvaluationError: if no factor keeps the bound.
        """
        leaks = Leaks(self.notes, engine, self.policy)
        points = ([one.share for one in summed(leaks.of(engine.lowered(share)))] for share in _SHARES)
        with stage("choosing the threshold"):
            n_allowed = certified(points, self.max_leak, self.confidence)
        if not n_allowed:
            raise EvaluationError(
                f"the calibration notes do not show that at most {percent(self.max_leak)} % is left, even with the "
                f"thresholds at {_SHARES[0]:g} of what they were, so nothing was written; allow more with --max-leak, "
                "or annotate more notes to train and to calibrate on"
            )
        return _SHARES[n_allowed - 1]

    def certificate(self, bundle: Path) -> Certificate:
        """The certificate of an engine with these thresholds."""
        found = certify(self.notes, bundle, self.policy, confidence=self.confidence)
        return msgspec.structs.replace(found, max_leak=self.max_leak, allowed=(BALANCED,))


def tables_of(certificate: Certificate) -> list[Table]:
    """A table of all identifiers, and one of direct ones if enough patients have some."""
    tables = []
    for which, title in (("all", "All identifiers"), ("direct", "Names, numbers and contacts")):
        found = {recall: of[which] for recall, of in certificate.bounds.items() if which in of}
        if found:
            n = next(iter(found.values()))
            title = f"{title}: {n.identifiers:,} of {n.patients:,} patients"
            tables.append(Table(_COLUMNS, [[_row(*one) for one in found.items()]], title))
    note = _NOTE.format(confidence=f"{certificate.confidence:.0%}")
    return [*tables[:-1], replace(tables[-1], note=note)]


def sentences_of(certificate: Certificate) -> list[str]:
    """What the number of patients allows, and the choice of recall."""
    n = next(iter(certificate.bounds.values()))["all"].patients
    best = percent(binomial_upper(0, n, certificate.confidence))
    said = [f"{n:,} patients certify no share of patients below {best} %, even if nothing is left"]
    if certificate.max_leak is not None:
        wish = f"at most {percent(certificate.max_leak)} % of a patient's identifiers left, on average"
        said.append(
            f"{wish}: holds with --recall {certificate.allowed[-1]}"
            if certificate.allowed
            else f"{wish}: no choice of recall keeps it"
        )
    return said


def _row(recall: str, bounds: Bounds) -> TableRow:
    risks = (bounds.share, bounds.anything, bounds.whole, bounds.notes)
    return [recall, *(f"{percent(bound)} ({percent(found)})" for found, bound in risks)]
