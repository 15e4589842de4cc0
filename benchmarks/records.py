"""Notes inside FHIR resources, HL7 messages and C-CDA documents: records per second, and patients' names that are left.

    python -m benchmarks.records --documents 100 --model english           a minute

The same invented notes go through `deidentify` as each format; in the row *FHIR, no Patient* no resource names the
patient. *left* counts the patients' names in the notes that are still in the notes of the output.
"""

from __future__ import annotations

import argparse
import base64
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.running import run_main
from phistack.ensemble.batch import RunSettings, deidentify
from phistack.ensemble.bundles.shipped import bundle_path
from phistack.ensemble.deidentification import Policy
from phistack.ensemble.synthesis import synthesize
from phistack.features.documents import Document
from phistack.features.formats.recognise import recognise

_CDA = (
    '<ClinicalDocument xmlns="urn:hl7-org:v3"><id extension="{id}"/><recordTarget><patientRole>'
    '<id extension="{patient}"/><patient><name><given>{first}</given><family>{last}</family></name></patient>'
    "</patientRole></recordTarget><component><structuredBody><component><section><text>{text}</text></section></component></structuredBody></component>"
    "</ClinicalDocument>"
)


def named(notes: list[Document]) -> Iterator[tuple[Document, str, str]]:
    """Each note with its patient's first and last name, from the longest mention."""
    mentions: dict[str, str] = {}
    for note in notes:
        for span in note.spans:
            mention = note.text[span.start : span.end]
            if span.label == "PATIENT" and len(mention) > len(mentions.get(note.group, "")):
                mentions[note.group] = mention
    for note in notes:
        before, comma, behind = mentions.get(note.group, "").partition(",")
        first, _, last = (behind + " " + before if comma else before).strip().rpartition(" ")
        yield note, first, last


def written(notes: list[Document], form: str, path: Path, *, is_named: bool) -> None:
    """Write the notes to a file or folder of a format."""
    lines = []
    for note, first, last in named(notes):
        if form == "fhir":
            data = {"contentType": "text/plain", "data": base64.b64encode(note.text.encode()).decode()}
            patient = {
                "resourceType": "Patient",
                "id": note.group,
                "name": [{"family": last or "x", "given": [first or "x"]}],
            }
            subject = {"subject": {"reference": f"Patient/{note.group}"}, "content": [{"attachment": data}]}
            document = {"resourceType": "DocumentReference", "id": note.id, "status": "current", **subject}
            lines += [json.dumps(of) + "\n" for of in (patient, document)[not is_named :]]
        elif form == "hl7":
            named_by = f"MSH|^~\\&|A|B|||2021||ORU^R01|{note.id}|P|2.5\rPID|1||{note.group}||{last}^{first}\r"
            signs = {"\\": "\\E\\", "|": "\\F\\", "^": "\\S\\", "&": "\\T\\", "~": "\\R\\"}
            text = "".join(signs.get(character, character) for character in note.text).splitlines()
            lines.append(named_by + "".join(f"OBX|{n}|TX|1^Note||{line}\r" for n, line in enumerate(text, 1)))
        else:
            path.mkdir(exist_ok=True)
            values = {"id": note.id, "patient": note.group, "first": first, "last": last, "text": note.text}
            document_text = _CDA.format(**{name: escape(value) for name, value in values.items()})
            (path / f"{note.id}.xml").write_text(document_text, encoding="utf-8")
    if lines:
        path.write_text("".join(lines), encoding="utf-8")


def main() -> None:
    """Print a line for each format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--model", default="english")
    options = parser.parse_args()
    notes = sorted(synthesize(options.documents, seed=11).documents, key=lambda note: note.id)
    names = {note.id: [note.text[s.start : s.end] for s in note.spans if s.label == "PATIENT"] for note in notes}
    print(f"{len(notes)} notes with {sum(map(len, names.values()))} names of patients")
    cases = (("fhir", True), ("fhir", False), ("hl7", True), ("ccda", True))
    for form, is_named in cases:
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "in", Path(folder) / "out"
            written(notes, form, source, is_named=is_named)
            settings = RunSettings(
                source, target, bundle_path(options.model), Policy.named("tag"), bytes(32), form=form, second_pass=False
            )
            begin = time.process_time()
            summary = deidentify(settings)
            seconds = time.process_time() - begin
            texts = [document.text for document in recognise(target, form)]
            if len(texts) != len(notes):
                raise SystemExit(f"{len(texts)} notes came out of {len(notes)}")
            left = sum(name in text for of, text in zip(names.values(), texts, strict=True) for name in of)
        shown = form.upper() + ("" if is_named else ", no Patient")
        print(f"{shown}: {summary.notes / seconds:.1f} records a second, {summary.quarantined} held back, {left} left")


if __name__ == "__main__":
    run_main(main)
