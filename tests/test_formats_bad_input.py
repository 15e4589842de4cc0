"""Damaged and hostile files: one clear sentence each, never a line of the note."""

import json
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phistack.features.documents import Corpus, Document, Span
from phistack.features.errors import CorpusError, LabelError, PhistackError
from phistack.features.formats import FORMATS, read_corpus, write_corpus
from phistack.features.labels import LabelSet
from tests.test_formats_tools import BAD as OF_TOOLS
from tests.test_formats_tools import SECRET, written

TEXT = f"{SECRET} {SECRET}\r\nseen by Dr. {SECRET} on 7 May ]]> & \U0001f600 {SECRET}"
LABELS = LabelSet.named("i2b2-2014")
SPANS = (Span(0, 8, "PATIENT"), Span(31, 39, "DOCTOR"), Span(43, 48, "DATE"))


def xml(body: str, *, prolog: str = "", root: str = "deIdi2b2") -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>{prolog}<{root}>{body}</{root}>'


def i2b2(tag: str) -> str:
    return xml(f"<TEXT><![CDATA[Dr. {SECRET}]]></TEXT><TAGS>{tag}</TAGS>")


def jsonl(**changes: object) -> str:
    return json.dumps({"id": "1", "text": SECRET, "spans": [], **changes})


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>'
EXTERNAL = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
OUTSIDE_DTD = '<!DOCTYPE deIdi2b2 SYSTEM "http://localhost:1/x.dtd">'
SPAN = {"start": 0, "end": 4, "label": "DATE"}
# File name, content, and what the message must say.
BAD = [
    ("a.xml", f"<deIdi2b2><TEXT>{SECRET}", "a.xml is not well-formed XML at line 1"),
    ("a.xml", f"<deIdi2b2><TEXT>{SECRET}</{SECRET}></deIdi2b2>", "not well-formed"),
    ("a.xml", "", "not well-formed"),
    ("a.xml", xml(f"<TEXT>{SECRET}\x0c</TEXT>"), "not well-formed"),
    ("a.xml", xml("<TEXT>&c;</TEXT>", prolog=LAUGHS), "document type declaration, which is refused"),
    ("a.xml", xml("<TEXT>&a;</TEXT>", prolog=EXTERNAL), "document type declaration, which is refused"),
    ("a.xml", xml("<TEXT>x</TEXT>", prolog=OUTSIDE_DTD), "document type declaration, which is refused"),
    ("a.xml", xml("<TEXT>&a;</TEXT>", prolog="<!-- <x> -->" + EXTERNAL), "document type declaration, which is refused"),
    ("a.xml", xml(f"<TEXT>{SECRET}</TEXT>", root="other"), "does not have the root element deIdi2b2"),
    ("a.xml", xml("<TAGS/>"), "must have one element TEXT"),
    ("a.xml", xml(f"<TEXT>{SECRET}<b/></TEXT>"), "must have one element TEXT"),
    ("a.xml", xml(f"<TEXT>{SECRET} é</TEXT>").replace("UTF-8", "latin-1"), "declares an encoding other than UTF-8"),
    (
        "a.xml",
        i2b2(f'<NAME start="4" end="12" text="{SECRET}"/>'),
        "the span 4-12 has a label that is not a valid name",
    ),
    ("a.xml", i2b2(f'<NAME start="x" end="12" text="{SECRET}" TYPE="DOCTOR"/>'), "line 1: an offset is missing or"),
    ("a.xml", i2b2('<NAME end="12" TYPE="DOCTOR"/>'), "an offset is missing or is not a whole number"),
    (
        "a.xml",
        i2b2(f'<NAME start="4" end="13" text="{SECRET}" TYPE="DOCTOR"/>'),
        "4-13 ends beyond the text, which has 12",
    ),
    ("a.xml", i2b2('<NAME start="4" end="4" text="" TYPE="DOCTOR"/>'), "4-4 is empty or reversed"),
    ("a.xml", i2b2('<NAME start="3" end="9" text="Zxqvna" TYPE="DOCTOR"/>'), "document a: the span 3-9 does not cover"),
    ("a.xml", i2b2('<NAME start="4" end="9" text=" " TYPE="DOCTOR"/>'), "document a: the span 4-9 does not cover"),
    ("a.ann", f"T1\tDOCTOR 0 8\t{SECRET}\n", "a.txt cannot be read"),
    ("a.jsonl", f'{{"id": "1", "text": "{SECRET}', "a.jsonl, line 1: not valid JSON"),
    ("a.jsonl", jsonl() + "\n\n[" + "[" * 100_000, "line 3: not a JSON object"),
    ("a.jsonl", f'["{SECRET}"]', "line 1: not a JSON object"),
    (
        "a.jsonl",
        json.dumps({"id": 1, "txt": SECRET}),
        "line 1 has no column text (did you mean txt?); it has id, txt: ",
    ),
    (
        "a.jsonl",
        json.dumps({SECRET: 1, f"{SECRET} was seen by Dr. {SECRET}": 2}),
        "it has 2 that do not look like names",
    ),
    ("a.jsonl", jsonl(text=7), "text is missing or is not a string"),
    ("a.jsonl", jsonl(id=None), "id is missing or no id, which is one line of 1 to 200 characters"),
    ("a.jsonl", jsonl(id=True), "id is missing or no id, which is one line of 1 to 200 characters"),
    ("a.jsonl", jsonl(id=f"{SECRET}\n{SECRET}"), "id is missing or no id"),
    ("a.jsonl", jsonl(group=[SECRET]), "group is neither a string nor a whole number"),
    ("a.jsonl", jsonl(spans=7), "spans must be a list of objects"),
    ("a.jsonl", jsonl(spans=[[0, 4, "DATE"]]), "spans must be a list of objects"),
    ("a.jsonl", jsonl(spans=[{**SPAN, "end": 4.0}]), "must be whole numbers"),
    ("a.jsonl", jsonl(spans=[{**SPAN, "start": False}]), "must be whole numbers"),
    ("a.jsonl", jsonl(spans=[{**SPAN, "end": 99}]), "document 1: the span 0-99 ends beyond the text, which has 8"),
    ("a.jsonl", jsonl(spans=[{**SPAN, "start": -1}]), "the span -1-4 is empty or reversed"),
    ("a.jsonl", jsonl(spans=[{**SPAN, "label": ""}]), "a label that is not a valid name"),
    ("a.jsonl", jsonl() + "\n" + jsonl(), "1 document ids occur more than once, the first is 1"),
    ("a.jsonl", "\n \n", "holds no notes; give a corpus"),
    ("a.conll", f"{SECRET}\n", "a.conll, line 1, is not a word with its BIO tag"),
    ("a.conll", f"{SECRET} {SECRET}\n", "line 1, is not a word with its BIO tag"),
    ("a.conll", "\tO\n", "line 1, is not a word with its BIO tag"),
    ("a.conll", "", "holds no notes; give a corpus"),
    ("a.conll", f'-DOCSTART-\n# text = "{SECRET}" "\n', "line 2: the value of the comment is not a JSON string"),
    (
        "a.conll",
        f'-DOCSTART-\n# text = "{SECRET}"\n\n{SECRET} O\n',
        "line 4: a note with `# text` has word, start, end",
    ),
    ("a.conll", f'-DOCSTART-\n# text = "{SECRET}"\n\n{SECRET}\t1\t8\tO\n', "the word is not what the text has at 1-8"),
    ("a.csv", "", "a.csv has no column id; it has no header line with the names of columns: name"),
    ("a.csv", f"{SECRET},Dr. {SECRET} saw {SECRET} {SECRET}\n", "it has 2 that do not look like names: name"),
    ("a.csv", f"110-01,{SECRET}\n", "it has 2 that do not look like names: name"),
    ("a.csv", f"id,txt\n1,{SECRET}\n", "has no column text (did you mean txt?); it has id, txt: name"),
    ("a.csv", f"id,text,text\n1,{SECRET},x\n", "has the column text more than once"),
    ("a.csv", f"id,text\n1,{SECRET},{SECRET}\n", "a.csv, line 2: the record has 3 fields and the header 2"),
    ("a.csv", f'id,text\n1,"a\nb"\n2,"{SECRET}', "a.csv, line 4: a quote is misplaced or never closed"),
    ("a.csv", f'id,text\n1,"{SECRET}"{SECRET}\n', "a.csv, line 2: a quote is misplaced"),
    ("a.csv", f"id,text\n,{SECRET}\n", "line 2: id is missing or no id, which is one line"),
    ("a.csv", f"id,text,spans\n1,x,{SECRET}\n", "line 2: spans is not a JSON list"),
    ("a.csv", f"id,text,spans\n1,x,{'[' * 100_000}\n", "line 2: spans is not a JSON list"),
    ("a.csv", "id,text,spans\n1,x,7\n", "line 2: spans must be a list of objects"),
    ("a.csv", "id,text\n1,x\n1,x\n", "1 document ids occur more than once, the first is 1"),
    ("a.csv", "id,text\n", "holds no notes; give a corpus"),
    ("a.csv.gz", SECRET, "a.csv.gz is not a gzip file"),
    ("a.parquet", f"PAR1{SECRET}PAR1", "a.parquet is not a Parquet file, or is damaged"),
    ("a.abc", SECRET, "a.abc is not in a known format; name its format with --from: i2b2"),
    ("a.odt", "PK", "a.odt is a word processor's document; save it as .docx or plain text (.txt)"),
]


@pytest.mark.parametrize(("name", "content", "message"), [*BAD, *OF_TOOLS])
def test_one_clear_sentence_without_the_text(name: str, content: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError) as caught:
        read_corpus(written(tmp_path / name, content))
    assert message in str(caught.value)
    assert SECRET not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["a.txt", "a.xml", "a.jsonl", "a.conll", "a.csv"])
def test_another_encoding_is_named_with_its_byte(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes("Señora".encode("latin-1"))
    with pytest.raises(
        CorpusError, match=rf"(?i){name}(, line 1:)?( is)? not utf-8 at byte 2[\w ]*; convert it to UTF-8"
    ):
        read_corpus(tmp_path / name)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("T1\tDATE 0\tDr", "an offset is missing"),
        ("T1\tDATE\tDr", "a span is"),
        ("T1 DATE 0 2 Dr", "a span is"),
        ("T1\tDATE 0 99\tDr", "ends beyond the text"),
        ("T1\tDATE 0 2\tXx", "0-2 does not cover"),
        ("x SECRET", "line 1, is not brat"),
    ],
)
def test_bad_brat_lines(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Dr. Ames")
    (tmp_path / "a.ann").write_text(line.replace("SECRET", SECRET))
    with pytest.raises(CorpusError, match=message) as caught:
        read_corpus(tmp_path)
    assert SECRET not in str(caught.value)


def test_a_few_unknown_labels_beside_a_known_set_are_an_error_unless_accepted(tmp_path: Path) -> None:
    known = "".join(f'<DATE start="{i}" end="{i + 1}" text="{"Dr. "[i]}" TYPE="DATE"/>' for i in range(2))
    doctor = f'<NAME start="4" end="12" text="{SECRET}" TYPE="DOCTOR"/>'
    (tmp_path / "a.xml").write_text(i2b2(known + doctor + doctor.replace("DOCTOR", "NURSE")))
    message = "1 of 3 labels are not in the label set i2b2-2014, the first is NURSE, seen 1 .* --accept-unknown-labels"
    with pytest.raises(LabelError, match=message):
        read_corpus(tmp_path)
    labels = read_corpus(tmp_path, accept_unknown_labels=True).label_set
    assert (labels.name, labels.category("NURSE"), labels.category("DOCTOR")) == ("i2b2-2014", "NAME", "NAME")


def test_places_that_hold_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"there is no file or folder .*nowhere"):
        read_corpus(tmp_path / "nowhere")
    with pytest.raises(CorpusError, match="holds no notes of a known format"):
        read_corpus(tmp_path)
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(CorpusError, match="holds no notes of the format i2b2"):
        read_corpus(tmp_path, format="i2b2")
    with pytest.raises(CorpusError, match="there is no format named odt"):
        read_corpus(tmp_path, format="odt")


WRITTEN = Corpus((Document("900-01", TEXT, SPANS, "900"), Document("900-02", TEXT, (), "900")), LABELS)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each format with the files that the fuzz test damages."""
    root = tmp_path_factory.mktemp("originals")
    for format in FORMATS:
        corpus = WRITTEN
        if format == "text":
            corpus = Corpus(tuple(d.with_spans(()) for d in WRITTEN.documents), LABELS)
        if format == "meddocan":
            corpus = Corpus(
                tuple(d.with_spans([Span(0, 8, "FECHAS")]) for d in WRITTEN.documents), LabelSet.named(format)
            )
        name = f"notes{FORMATS[format].suffixes[0]}" if FORMATS[format].single_file else ""
        write_corpus(corpus, root / format / name, format=format)
    return root


def damaged(data: bytes, source: random.Random) -> bytes:
    """The bytes with one to four places changed, dropped, doubled or cut off."""
    for _ in range(source.randint(1, 4)):
        i = source.randrange(len(data) + 1)
        j = min(len(data), i + source.choice([1, 1, 2, 8, 40]))
        new = source.choice(
            [b"", b"\n", b"\t", b"<", b"&", b'"', b"]]>", b"9", b"\xff", b"\x00", b"\xef\xbb\xbf", data[i:j] * 2]
        )
        data = data[:i] + new + data[j:] if source.random() < 0.9 else data[:i]
    return data


# N-GRID shares the reader of i2b2.
@pytest.mark.parametrize("format", [f for f in FORMATS if f != "ngrid"])
@settings(max_examples=50, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_damaged_files_raise_our_errors_only_and_never_show_text(originals: Path, format: str, seed: int) -> None:
    source = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(shutil.copytree(originals / format, Path(folder) / "notes"))
        victim = source.choice(sorted(corpus.iterdir()))
        victim.write_bytes(damaged(victim.read_bytes(), source))
        try:
            read_corpus(corpus)
        except PhistackError as error:
            assert SECRET not in str(error)
