"""Harmful bundles: each is quickly refused in one sentence, and nothing outside it is read or written.

All have new hashes (`tests.tampering`), as whoever changes a file can change its hash.
"""

import hashlib
import math
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.files import bundle_labels, manifest_digest, read_manifest
from phistack.ensemble.tasks.training import train_bundle
from phistack.ensemble.training.settings import EngineSettings
from phistack.features.columns.settings import FeatureSettings
from phistack.features.errors import BundleError
from tests.annotated import small_corpus
from tests.invented_names import FEW_NAMES as NAMES
from tests.tampering import change_json, rehash, with_array, zipped

SUBMODELS = {"regex": {}, "tbed": {"held_out": 0.0}, "crf": {"max_iterations": 10}}
SECRET = "Canary Featherstonehaugh"
SOON = 5.0
"""Seconds of work; nearly all take far less than one."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("attacks") / "engine"
    chosen = EngineSettings(folds=2, features=FeatureSettings(without=("gazetteers",))).only(tuple(SUBMODELS))
    train_bundle(small_corpus(8), path, replace(chosen, submodels=SUBMODELS))
    load_bundle(path)
    return path


@pytest.fixture
def bundle(whole: Any, tmp_path: Path) -> Any:
    """A copy of the bundle that a test may damage, beside a file that no bundle may read."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "stacker.json").write_text(SECRET, encoding="utf-8")
    return shutil.copytree(whole, tmp_path / "engine")


def refused(path: Path) -> str:
    """The sentence with which any reader refuses a bundle."""
    began = time.process_time()
    with pytest.raises(BundleError) as caught:
        load_bundle(path)
    assert time.process_time() - began < SOON
    sentence = str(caught.value)
    assert "\n" not in sentence and len(sentence) < 400
    assert not any(name in sentence for name in (*NAMES, SECRET))
    return sentence


def kinds(**changed: Any) -> Any:
    return lambda manifest: manifest.update(kinds={**manifest["kinds"], **changed})


MANIFESTS = {
    "a kind outside": kinds(**{"../../outside": "regex.v1"}),
    "an absolute kind": kinds(**{"/etc": "regex.v1"}),
    "a kind under another name": kinds(regex="crf.v1"),
    "an unknown kind": kinds(evil="evil.v1"),
    "a kind that is a list": kinds(regex=["regex.v1"]),
    "a kind that is a number": kinds(regex=1),
    "no kinds": lambda m: m.update(kinds={}),
    "kinds as a list": lambda m: m.update(kinds=["regex"]),
    "no files": lambda m: m.pop("files"),
    "files as a list": lambda m: m.update(files=list(m["files"])),
    "a hash that is null": lambda m: m["files"].update({"MODEL_CARD.md": None}),
    "a file outside": lambda m: m["files"].update({"../outside/stacker.json": "0" * 64}),
    "figures as a list": lambda m: m.update(figures=[]),
    "a protocol as text": lambda m: m.update(protocol="1"),
    "a protocol of true": lambda m: m.update(protocol=True),
    "a protocol as a list": lambda m: m.update(protocol=[1]),
}


@pytest.mark.parametrize("change", MANIFESTS.values(), ids=MANIFESTS)
def test_a_manifest_that_names_what_no_bundle_has_is_refused(bundle: Any, change: Any) -> None:
    change_json(bundle / "manifest.json", change)
    refused(bundle)
    with pytest.raises(BundleError):
        load_bundle(zipped(bundle, bundle.with_suffix(".zip")))


DOCUMENTS = {
    "deep": b"[" * 100_000,
    "deep and closed": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "a long number": b"9" * 1_000_000,
    "a list": b"[]",
    "null": b"null",
    "nothing": b"",
    "no UTF-8": b'"\xff\xfe"',
    "half a surrogate": b'{"a": "\\ud800"}',
    "no number": b'{"protocol": NaN}',
}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
@pytest.mark.parametrize(
    "name", ["manifest.json", "label_set.json", "self_test.json", "features/features.json", "stacker/stacker.json",
             "submodels/crf/settings.json", "submodels/regex/settings.json", "submodels/tbed/settings.json"],
)  # fmt: skip
def test_a_document_that_is_none_is_refused(bundle: Any, name: Any, document: Any) -> None:
    (bundle / name).write_bytes(document)
    if name != "manifest.json":
        rehash(bundle)
    refused(bundle)


VALUES = [
    ("stacker/stacker.json", lambda s: s.update(threshold=1e308 * 10)),
    ("stacker/stacker.json", lambda s: s.update(threshold="0.5")),
    ("stacker/stacker.json", lambda s: s.update(curve=[1.0])),
    ("stacker/stacker.json", lambda s: s["choices"]["high"].update(threshold="0.1")),
    ("stacker/stacker.json", lambda s: s["choices"].update(high={})),
    ("stacker/stacker.json", lambda s: s["choices"]["precise"].update(threshold=7.0)),
    ("stacker/stacker.json", lambda s: s.update(sources=["regex", "crf"])),
    ("stacker/stacker.json", lambda s: s.update(sources=[["regex"], "tbed", "crf"])),
    ("stacker/stacker.json", lambda s: s.update(labels=s["labels"][1:])),
    ("stacker/stacker.json", lambda s: s["settings"].update(features="none")),
    ("stacker/stacker.json", lambda s: s["settings"].update(features=["all"])),
    ("subset_stackers/regex/stacker.json", lambda s: s.update(sources=["crf"])),
    ("stacker/repeats.json", lambda s: s.clear()),
    ("stacker/repeats.json", lambda s: s.update(evidence=[])),
    ("language_gate/language_gate.json", lambda s: s.update(languages=[])),
    ("language_gate/language_gate.json", lambda s: s.update(scripts=[1])),
    ("language_gate/language_gate.json", lambda s: s.update(distance=-1)),
    ("features/features.json", lambda s: s["settings"].update(ner="file:///etc/passwd")),
    ("features/features.json", lambda s: s["settings"].update(language="xx")),
    ("features/features.json", lambda s: s["settings"].update(tokeniser="bert")),
    ("features/features.json", lambda s: s.update(settings=3)),
    ("features/features.json", lambda s: s.update(vocabularies=None)),
    ("features/features.json", lambda s: s.update(gazetteers=3)),
    ("features/features.json", lambda s: s["gazetteers"].update(town=["madrid"])),
    ("features/features.json", lambda s: s["settings"].update(without="layout")),
    ("features/features.json", lambda s: s["vocabularies"].update(word=[1, 2])),
    ("features/features.json", lambda s: s["vocabularies"].pop("word")),
    ("features/features.json", lambda s: s["gazetteers"].update(city=["a", ""])),
    ("features/features.json", lambda s: s.update(byte_pairs=[["a", "b", "c"]])),
    ("features/features.json", lambda s: s["settings"].update(without=["words"])),
    ("submodels/crf/settings.json", lambda s: s.update(c1="0")),
    ("submodels/crf/settings.json", lambda s: s.update(evil=1)),
    ("submodels/crf/settings.json", lambda s: s.update(templates=[[["word", 10**12]]])),
    ("submodels/crf/settings.json", lambda s: s.update(templates=s["templates"][:1])),
    ("submodels/crf/settings.json", lambda s: s.update(templates=[[]])),
    ("submodels/crf/settings.json", lambda s: s.update(scheme=["BIO"])),
    ("submodels/regex/settings.json", lambda s: s["settings"].update(min_precision="x")),
    ("submodels/regex/settings.json", lambda s: s["settings"].update(min_precision=7)),
    ("submodels/regex/settings.json", lambda s: s["settings"].update(colour=1)),
    ("submodels/regex/settings.json", lambda s: s.update(settings=[])),
    ("submodels/tbed/settings.json", lambda s: s["settings"].update(within="galaxy")),
    ("submodels/tbed/settings.json", lambda s: s["settings"].update(held_out="0")),
    ("submodels/tbed/settings.json", lambda s: s["settings"].update(start="patterns")),
    ("submodels/tbed/settings.json", lambda s: s.update(tags=[1])),
    ("label_set.json", lambda s: s.update(categories=["DOCTOR"])),
    ("label_set.json", lambda s: s.update(hipaa_labels="DOCTOR")),
    ("self_test.json", lambda s: s.update(texts=[])),
    ("self_test.json", lambda s: s.update(texts=["a " * 1_000_000] * len(s["texts"]))),
    ("self_test.json", lambda s: s["answers"].pop()),
    ("self_test.json", lambda s: s["answers"][0].append([0, 1])),
    ("self_test.json", lambda s: s["answers"][0].append(["0", 1, "DATE", 1.0, True])),
]


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_a_value_of_another_type_or_out_of_its_range_is_refused(bundle: Any, number: Any) -> None:
    name, change = VALUES[number]
    change_json(bundle / name, change)
    rehash(bundle)
    refused(bundle)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("submodels/regex/patterns.toml", '[[patterns]]\nname = "a"\nregex = "x"\nlabel = "DATE"\nprecision = nan'),
        ("submodels/regex/patterns.toml", '[[patterns]]\nname = "a"\nregex = "' + "(" * 5000 + '"\nlabel = "DATE"'),
        ("submodels/regex/patterns.toml", '[[patterns]]\nname = "a"\nregex = "x{99999999999}"\nlabel = "DATE"'),
        ("submodels/regex/patterns.toml", "a = " + "[" * 100_000),
        ("submodels/regex/patterns.toml", "patterns = [{ name = 'a', regex = '(', label = 'A' }]"),
        ("submodels/regex/patterns.toml", "patterns = [{ name = 'a', regex = 'x', labels = { nut = 'A' } }]"),
        ("submodels/tbed/rules.txt", "O -> B-DOCTOR; gain " + "9" * 10_000 + ", broken 0"),
        ("submodels/tbed/rules.txt", "O -> B-DOCTOR; gain -9, broken -7"),
        ("submodels/tbed/rules.txt", 'O -> B-DOCTOR if word[99999999999] = "x"'),
        ("submodels/tbed/rules.txt", "O -> B-PLANET"),
        ("submodels/tbed/rules.txt", 'O -> B-DOCTOR if wrod[0] = "x"'),
        ("submodels/tbed/rules.txt", "\x00"),
    ],
)
def test_patterns_and_rules_that_cannot_be_are_refused(bundle: Any, name: Any, text: Any) -> None:
    (bundle / name).write_text(text, encoding="utf-8")
    rehash(bundle)
    refused(bundle)


EVIL = """
[[patterns]]
name = "evil"
regex = '{}'
label = "DATE"
"""


@pytest.mark.parametrize("home", ["regex", "tbed/regex"])
@pytest.mark.parametrize("regex", ["(a|b|ab)*c", "[ab]*" * 12 + "c"])
def test_a_pattern_that_may_never_end_fails_the_self_test(bundle: Any, home: Any, regex: Any) -> None:
    (bundle / "submodels" / home / "patterns.toml").write_text(EVIL.format(regex), encoding="utf-8")
    change_json(bundle / "self_test.json", lambda s: s.update(texts=["ab" * 300 + "!c"] * len(s["texts"])))
    rehash(bundle)
    assert "self-test: the pattern evil took too long" in refused(bundle)


@pytest.mark.parametrize("url", ["http://evil.example:9000", "https://localhost.evil.example", "http://localhost@evil"])
def test_an_engine_that_would_send_notes_to_a_strange_server_is_refused(bundle: Any, url: Any) -> None:
    path = bundle / "features" / "features.json"
    change_json(path, lambda s: (s["settings"].update(ner=url), s["vocabularies"].update(ner=[])))
    rehash(bundle)
    assert "PHISTACK_SERVERS=" in refused(bundle)


def npy(shape: str, *, descr: str = "<f8", data: bytes = b"") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


ARRAYS = {
    "a trillion numbers": ("weights", npy("(1000000, 1000000)")),
    "a trillion numbers in one row": ("mean", npy("(1000000000000,)")),
    "more axes than there are": ("mean", npy("(" + "1, " * 40 + ")")),
    "a header that is code": ("mean", npy("(__import__('os').system('true'),)")),
    "objects": ("mean", npy("(1,)", descr="|O", data=b"cos\nsystem\n(S'true'\ntR.")),
    "cut": ("mean", npy("(80,)", data=b"\0" * 8)),
    "empty": ("mean", b""),
    "no numbers": ("mean", npy("(0,)")),
    "another length": ("weights", npy("(3,)", data=bytes(24))),
    "a number for a table": ("weights", npy("()", data=struct.pack("<d", 3))),
    "another type": ("intercept", npy("(1,)", descr="<f4", data=bytes(4))),
    "not a number": ("intercept", npy("(1,)", data=struct.pack("<d", math.nan))),
    "infinite": ("intercept", npy("(1,)", data=struct.pack("<d", math.inf))),
    "so large that sums are infinite": ("intercept", npy("(1,)", data=struct.pack("<d", -1e308))),
}


@pytest.mark.parametrize(("name", "content"), ARRAYS.values(), ids=ARRAYS)
def test_arrays_that_are_not_there_are_refused(bundle: Any, name: Any, content: Any) -> None:
    with_array(bundle / "stacker" / "stacker.npz", name, content)
    rehash(bundle)
    refused(bundle)


def test_a_cut_file_of_arrays_is_refused(bundle: Any) -> None:
    path = bundle / "stacker" / "stacker.npz"
    data = path.read_bytes()
    for length in (0, 1, 30, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        rehash(bundle)
        refused(bundle)


def test_a_file_of_arrays_that_grows_beyond_measure_is_refused(bundle: Any) -> None:
    with_array(bundle / "stacker" / "stacker.npz", "support", npy("(500000, 80)", data=b"\0" * 320_000_000))
    rehash(bundle)
    assert "would fill the memory" in refused(bundle)


# Links and other things that are no files


def outside_link(bundle: Any, name: Any) -> None:
    (bundle / name).symlink_to(shutil.move(bundle / name, bundle.parent / "outside" / "linked"))


def pipe(bundle: Any) -> None:
    (bundle / "MODEL_CARD.md").unlink()
    os.mkfifo(bundle / "MODEL_CARD.md")


def device(bundle: Any) -> None:
    (bundle / "MODEL_CARD.md").unlink()
    (bundle / "MODEL_CARD.md").symlink_to("/dev/zero")


THINGS = {
    "a linked file": lambda bundle: outside_link(bundle, "stacker/stacker.json"),
    "a linked manifest": lambda bundle: outside_link(bundle, "manifest.json"),
    "a linked folder": lambda bundle: outside_link(bundle, "stacker"),
    "a pipe": pipe,
    "a link to a device": device,
    "a link to itself": lambda bundle: (bundle / "loop").symlink_to(bundle),
    "a link to nothing": lambda bundle: (bundle / "nothing").symlink_to(bundle / "none"),
}


@pytest.mark.parametrize("make", THINGS.values(), ids=THINGS)
def test_links_and_devices_in_a_bundle_are_refused_before_anything_is_read(bundle: Any, make: Any) -> None:
    rehash(bundle)
    make(bundle)
    assert "link" in refused(bundle)
    for read in (read_manifest, manifest_digest):
        with pytest.raises(BundleError):
            read(bundle)


def test_a_bundle_may_itself_be_reached_by_a_link(bundle: Any) -> None:
    (bundle.parent / "current").symlink_to(bundle)
    assert load_bundle(bundle.parent / "current").names == tuple(SUBMODELS)


def test_a_file_that_has_no_bytes_on_disk_is_not_read(bundle: Any) -> None:
    with (bundle / "MODEL_CARD.md").open("wb") as file:
        file.truncate(2**40)
    assert "far larger" in refused(bundle)


@pytest.mark.parametrize("kind", [os.mkfifo, lambda path: Path(path).symlink_to("/dev/zero")])
def test_what_is_neither_folder_nor_file_is_no_bundle(tmp_path: Path, kind: Any) -> None:
    kind(tmp_path / "engine.zip")
    assert "no bundle" in refused(tmp_path / "engine.zip")


# Zips


def bomb(path: Path, name: str, megabytes: int) -> Path:
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w", force_zip64=True) as file:
        for _ in range(megabytes):
            file.write(bytes(2**20))
    return path


def test_a_zip_that_grows_beyond_measure_is_refused_by_its_directory(
    whole: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bomb(zipped(whole, tmp_path / "engine.zip"), "stacker/more.npz", 100)
    monkeypatch.setattr(zipfile.ZipFile, "open", None)
    assert "would fill the memory" in refused(path)


@pytest.mark.parametrize("listed", [{}, {"stacker/more.npz": hashlib.sha256(bytes(10)).hexdigest()}])
def test_a_member_is_never_read_beyond_what_the_directory_says(bundle: Any, tmp_path: Path, listed: Any) -> None:
    """A file larger than the directory says; its hash is that of the stated part."""
    change_json(bundle / "manifest.json", lambda m: m["files"].update(listed))
    path = bomb(zipped(bundle, tmp_path / "engine.zip"), "stacker/more.npz", 300)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, at + 24, 10)
    path.write_bytes(data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../../b", "a\\b", "C:evil", "-rf", ".hidden", "a//b"])
def test_a_zip_with_a_file_that_would_lie_elsewhere_is_refused(whole: Any, tmp_path: Path, name: Any) -> None:
    path = zipped(whole, tmp_path / "engine.zip")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, "x")
    refused(path)


def test_a_zip_with_a_damaged_byte_is_refused(whole: Any, tmp_path: Path) -> None:
    path = zipped(whole, tmp_path / "engine.zip")
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo("features/features.json")
    data, begin = path.read_bytes(), member.header_offset + 30 + len(member.filename)
    assert member.compress_type == zipfile.ZIP_LZMA
    # The first nine bytes are a version that nothing reads and a memory size that may have other values too.
    for place in range(begin + 9, begin + member.compress_size, member.compress_size // 40):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        refused(path)


def test_a_zip_with_two_files_of_one_name_is_refused(whole: Any, tmp_path: Path) -> None:
    path = zipped(whole, tmp_path / "engine.zip")
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("label_set.json", "{}")
    assert "two files of the same name" in refused(path)


def test_a_zip_with_a_huge_directory_is_refused_before_it_is_read(whole: Any, tmp_path: Path) -> None:
    path = zipped(whole, tmp_path / "engine.zip")
    with zipfile.ZipFile(path, "a") as archive:
        for i in range(70_000):
            archive.writestr(f"file{i}", "")
    refused(path)


def test_a_zip_with_far_more_files_than_an_engine_has_is_refused_by_its_directory(bundle: Any, tmp_path: Path) -> None:
    (bundle / "more").mkdir()
    for i in range(10_000):
        (bundle / "more" / str(i)).touch()
    rehash(bundle)
    assert "far more files" in refused(bundle)
    assert "far more files" in refused(zipped(bundle, tmp_path / "engine.zip"))


@pytest.mark.parametrize("label", ["", "\x1b[2J", "A LABEL", "x" * 100])
def test_a_label_that_is_no_name_is_refused_and_never_suggested(bundle: Any, label: Any) -> None:
    change_json(bundle / "label_set.json", lambda state: state["categories"].update({label: "OTHER"}))
    rehash(bundle)
    assert "label" in refused(bundle)
    assert label not in bundle_labels(bundle) and "DOCTOR" in bundle_labels(bundle)


@pytest.mark.parametrize("categories", [[1, 2], "AB", {"DOCTOR": 1}, 7])
def test_labels_that_are_none_are_left_to_the_loading_to_tell(bundle: Any, categories: Any) -> None:
    change_json(bundle / "label_set.json", lambda state: state.update(categories=categories))
    rehash(bundle)
    assert bundle_labels(bundle) == ()
    refused(bundle)


PROGRAM = """
import sys
from pathlib import Path
import phistack.ensemble.bundles.bundle as bundle
from phistack.ensemble.bundles.self_test import check_self_test

def wait(*arguments):
    print("loaded", flush=True)
    sys.stdin.read()

bundle.check_self_test = wait
bundle.load_bundle(Path(sys.argv[1]))
"""


def test_nothing_is_left_behind_where_loading_is_killed(whole: Any, tmp_path: Path) -> None:
    path = zipped(whole, tmp_path / "engine.zip")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(temporary)}, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "loaded\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == -signal.SIGTERM
    finally:
        process.kill()
        process.communicate()
    assert list(temporary.iterdir()) == []


# Whatever else


FILES = [
    "manifest.json", "label_set.json", "self_test.json", "features/features.json", "stacker/stacker.json",
    "stacker/stacker.npz", "submodels/crf/model.crfsuite", "submodels/crf/settings.json", "submodels/tbed/rules.txt",
    "submodels/regex/patterns.toml", "submodels/regex/settings.json", "submodels/tbed/settings.json",
]  # fmt: skip
RULE = b'O -> B-DOCTOR if word[0] = "came"; gain 9, broken 0'
"""As the notes of the tests are too easy to learn one from."""


@given(st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_is_refused_or_harmless(
    whole: Any, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    bundle = shutil.copytree(whole, tmp_path_factory.mktemp("damaged") / "engine")
    name = data.draw(st.sampled_from(FILES))
    content = bytearray((bundle / name).read_bytes() or RULE)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (bundle / name).write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2]))])
    if name != "manifest.json":
        rehash(bundle)
    try:
        engine = load_bundle(bundle)
    except BundleError:
        return
    finally:
        shutil.rmtree(bundle)
    list(engine.annotate(small_corpus(8).documents))
