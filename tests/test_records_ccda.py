"""C-CDA in batch runs: the text of sections is redacted, other values go by their rules, bad input has one outcome."""

import re
from pathlib import Path

import pytest
from lxml import etree

from phistack.ensemble.batch import Columns, RunSettings, audit_run, deidentify
from tests.batch_runs import KEY, quarantine, run_over

DOCUMENT = """<?xml version="1.0"?>
<!-- of Ann Hill -->
<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <templateId root="2.16.840.1.113883.10.20.22.1.1"/>
  <id root="2.16.840.1.113883.19.5" extension="doc-4711"/>
  <title>Summary of Patient Ann Hill</title><effectiveTime value="202103051015+0100"/>
  <recordTarget><patientRole><id root="2.16.840.1.113883.19.5" extension="M-4711"/>
    <addr use="HP"><streetAddressLine>12 Oak Street</streetAddressLine><city>Oakham</city></addr>
    <telecom value="tel:555-0123" use="HP"/>
    <patient><name><prefix>Mrs.</prefix><given>Ann</given><family>Hill</family></name>
      <birthTime value="19500403"/></patient></patientRole></recordTarget>
  <component><structuredBody><component><section><code code="8648-8" codeSystem="2.16.840.1.113883.6.1"/>
    <text><table border="1"><tr><th>Name</th><td ID="hill">Ann</td><td>Hill</td><td>alert</td></tr></table>
      <paragraph>Patient <content styleCode="Bold">Ann</content> Hill, MRN M-4711 &amp; Dr. Ames.</paragraph>{}</text>
    <entry><observation classCode="OBS" moodCode="EVN"><id root="4B1E3C2A-0000-4000-8000-00000000A4711"/>
      <text><reference value="#hill"/></text><effectiveTime><low value="20210305"/></effectiveTime>
      <value xsi:type="IVL_TS"><low value="20210305"/></value><value xsi:type="PQ" value="5.10" unit="mmol/L"/>
      <value xsi:type="ED" representation="B64">SGlsbA==</value></observation></entry>
  </section></component></structuredBody></component>
</ClinicalDocument>
"""
SECRETS = ("Hill", "hill", "Ann", "4711", "1950", "19500403", "20210305", "Oak", "555-0123", "Ames", "SGls")
NAMES = {None: "urn:hl7-org:v3"}


def run(folder: Path, policy: str = "tag", **documents: str) -> RunSettings:
    (folder / "in").mkdir()
    for name, text in documents.items():
        (folder / "in" / f"{name}.xml").write_text(text)
    return run_over(folder / "in", Columns(), policy, KEY, form="ccda", target=folder / "out")


def texts(element: etree._Element) -> list[str]:
    return [text.strip() for text in map(str, element.itertext()) if text.strip()]


def test_a_document_comes_out_with_its_values_by_their_rules(tmp_path: Path) -> None:
    done = run(tmp_path, one=DOCUMENT)
    assert deidentify(done).quarantined == 0 and not audit_run(done.target).problems
    written = (done.target / "one.xml").read_text()
    assert not [secret for secret in SECRETS if secret in written]
    root = etree.fromstring(written.encode())
    narrative = root.find(".//section/text", NAMES)
    assert narrative is not None
    cells = [texts(cell) for cell in narrative.iterfind(".//td", NAMES)]
    assert cells[-1] == ["alert"] and len(cells) == 3, "what is replaced moves no other cell"
    assert "MRN [MEDICALRECORD] & Dr. [DOCTOR]." in " ".join(texts(narrative))
    kept = {(str(etree.QName(of).localname), of.get("value")) for of in root.iter() if of.get("value")}
    assert ("value", "5.10") in kept and ("effectiveTime", "[DATE]") in kept
    assert 'code="8648-8"' in written and 'root="2.16.840.1.113883.10.20.22.1.1"' in written


@pytest.mark.parametrize("policy", ["surrogate", "remove"])
def test_every_policy_comes_through_and_ids_fit(tmp_path: Path, policy: str) -> None:
    done = run(tmp_path, policy, one=DOCUMENT, two=DOCUMENT.replace("doc-4711", "doc-4712"))
    assert deidentify(done).quarantined == 0
    one, two = (etree.parse(done.target / f"{name}.xml") for name in ("one", "two"))
    ids = [of.find("recordTarget/patientRole/id", NAMES) for of in (one, two)]
    assert ids[0] is not None and ids[1] is not None and dict(ids[0].attrib) == dict(ids[1].attrib)
    assert str(ids[0].get("root")).startswith("00000000-0000-0000-")
    if policy == "surrogate":
        birth = one.find(".//birthTime", NAMES)
        assert birth is not None and str(birth.get("value")).isdigit() and birth.get("value") != "19500403"


def test_what_a_value_holds_goes_by_its_type(tmp_path: Path) -> None:
    values = """<value xsi:type="IVL_TS"><low value="195004"/><high value="1951"/></value>
      <value xsi:type="TEL" value="5550123"/><value xsi:type="PQ" value="93" unit="a"/>
      <value xsi:type="IVL_PQ"><low value="3.5" unit="mmol/L"/></value><value xsi:type="PQ" value="61" unit="a"/>"""
    done = run(tmp_path, "safe-harbor", one=DOCUMENT.replace('<value xsi:type="ED"', f'{values}<value xsi:type="ED"'))
    assert deidentify(done).quarantined == 0
    written = (done.target / "one.xml").read_text()
    assert not re.search('"(195004|5550123|93)"', written)
    assert '<low value="3.5" unit="mmol/L"/>' in written and 'value="61" unit="a"' in written


BODY = "<component><nonXMLBody>"
BODY += '<text mediaType="application/pdf" representation="B64">SGlsbA==</text></nonXMLBody></component>'
BOMB = '<!DOCTYPE x [<!ENTITY a "Hill"><!ENTITY b "&a;&a;">]>'
BAD = {
    "bomb": (DOCUMENT.replace("<Clin", f"{BOMB}<Clin", 1), "has a document type declaration, which is refused"),
    "cut": (DOCUMENT[:900], "the document is not well-formed XML at line"),
    "other": ("<Hill/>", "does not have the root element"),
    "picture": (DOCUMENT.replace("<component><str", f"{BODY}<component><str"), "the body of the document is not text"),
}


def test_what_is_wrong_with_a_document_holds_back_that_one_alone(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        zz=DOCUMENT,
        empty=DOCUMENT.replace("<text><table", "<text/><x><table").replace("{}</text>", "</x>"),
        **{name: text for name, (text, _) in BAD.items()},
    )
    assert deidentify(done).notes == len(BAD) + 2
    for held in quarantine(done):
        assert BAD[held["id"].removesuffix(".xml")][1] in held["reason"] and "Hill" not in held["reason"]
    assert {path.name for path in done.target.iterdir()} == {"zz.xml", "empty.xml"}
