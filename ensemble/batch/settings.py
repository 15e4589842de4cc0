"""The settings of a run, the places of its files, and what its command is given as words and paths.

settings = RunSettings(Path("notes.jsonl"), Path("out.jsonl"), Path("engine"), policy_from("tag", ["DATE=keep"]))
settings.work        out.jsonl.partial, while the run is not finished
settings.reports     out.jsonl.run, when it is
key_from(Path("key"))
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.rows import TABLES, FormatSettings, text_digest
from phistack.ensemble.bundles.bundle import load_bundle
from phistack.ensemble.bundles.certificate import Certificate
from phistack.ensemble.deidentification import Policy, read_key
from phistack.ensemble.deidentification.keyed_choices import key_check, written_key
from phistack.ensemble.engine import Engine, EngineOptions
from phistack.ensemble.stacking.known.roster import roster_digest
from phistack.ensemble.tools.version import code_digest, installed
from phistack.features.errors import SettingsError
from phistack.features.files import read_regular
from phistack.features.letters import fold

KEY_VARIABLE = "PHISTACK_KEY"
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


@dataclass(frozen=True)
class NoteSettings:
    """The settings that decide what happens to a note, wherever notes come from.

    :param key: the secret of surrogates and seals; at least 16 bytes.
    :param by_language: ISO 639-1 code -> the bundle that reads notes in that language, instead of `model`.
    :param form_settings: how to read the input, and the treatment of its columns.
    :param struck: folded words to be removed everywhere.
    :param options: the options of the engine, without the roster.
    :param timeout: seconds for each started 100,000 characters of a note; 0 for no limit.
    :param second_pass: whether to run the engine over the output.
    :param certificate: the certificate of the run, if it has one.
    :param review_lines: whether the review list shows the line of each word.
    :param load: makes an engine from the path of a bundle.
    :raises SettingsError: if the time limit is not a number of seconds.
    """

    model: Path
    policy: Policy
    key: bytes | None = field(default=None, repr=False)
    by_language: Mapping[str, Path] = field(default_factory=dict, kw_only=True)
    form_settings: FormatSettings = field(default_factory=FormatSettings, kw_only=True)
    struck: frozenset[str] = field(default=frozenset(), repr=False, kw_only=True)
    options: EngineOptions = field(default_factory=EngineOptions, kw_only=True)
    known: Path | None = field(default=None, kw_only=True)
    timeout: float = field(default=60.0, kw_only=True)
    second_pass: bool = field(default=True, kw_only=True)
    certificate: Certificate | None = field(default=None, kw_only=True)
    review_lines: bool = field(default=False, kw_only=True)
    load: Callable[[Path], Engine] = field(default=load_bundle, kw_only=True)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.timeout) and self.timeout >= 0):
            raise SettingsError(
                f"the time limit of a note is {self.timeout:g}; give seconds with --timeout, or 0 for none"
            )


def run_folder(target: Path) -> Path:
    """The folder with audit log, summary, quarantine and review list of a finished run, beside its output."""
    return target.with_name(f"{target.name}.run")


@dataclass(frozen=True)
class RunFiles:
    """The input of a run, a file or folder, and the output of the same form, which must not exist yet."""

    source: Path
    target: Path

    @property
    def work(self) -> Path:
        """The folder of the run while it is not finished."""
        return self.target.with_name(self.target.name + ".partial")

    @property
    def reports(self) -> Path:
        """The folder of the finished run."""
        return run_folder(self.target)


@dataclass(frozen=True, kw_only=True)
class RunSettings(NoteSettings, RunFiles):
    """A run: its files, the settings for its notes, and these.

    :param form: the format of the input; empty to recognise it.
    :param unmatched_roster: whether to go on if no note has a patient of the roster.
    :param hide_ids: whether reports name notes by HMACs of their ids, which needs a key.
    :param cluster: address of a Dask scheduler; `spark`: a master of Spark, or `sc://HOST:PORT` of Spark Connect.
    :param restart: throw away what an unfinished run has done.
    :param vault: a file for the originals, encrypted.
    :param vault_key: the key that encrypts them, not the same as `key`.
    :raises SettingsError: if the time limit is not a number of seconds, ids are to be hidden without a key, input
        and output are the same or inside each other, or a vault has no key of its own or lies in the output.
    """

    form: str = ""
    unmatched_roster: bool = False
    hide_ids: bool = False
    jobs: int = 1
    cluster: str = ""
    spark: str = ""
    restart: bool = False
    vault: Path | None = None
    vault_key: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hide_ids and self.key is None:
            raise SettingsError("hiding ids needs a key; give one with --key-file")
        source, target = self.source.resolve(), self.target.resolve()
        if source == target or source in target.parents or target in source.parents:
            raise SettingsError("the output must not be the input or lie inside it; give another path")
        if (self.vault is None) != (self.vault_key is None):
            raise SettingsError("a vault needs a file and a key; give both --vault and --vault-key")
        if self.vault_key is not None and self.vault_key == self.key:
            raise SettingsError("the key of the vault is that of the surrogates; make another for --vault-key")
        places = {source, target, self.reports.resolve(), self.work.resolve()}
        if self.vault and places & {self.vault.resolve(), *self.vault.resolve().parents}:
            raise SettingsError("the vault must not lie with the notes; give --vault a file elsewhere")

    @property
    def certified(self) -> str:
        """What its certificate says of the run; empty without one."""
        return self.certificate.sentence(self.options.recall) if self.certificate else ""

    def fingerprint(self, form: str, model_digest: str) -> dict[str, Any]:
        """Everything that decides the output besides the input, JSON-ready."""
        lists = self.options.overruling.digests
        return {
            "protocol": 1,
            "phistack": installed("phistack"),
            "code": code_digest(),
            "bundle": model_digest,
            "policy": self.policy.digest,
            "strike list": text_digest("\n".join(sorted(self.struck)), self.key) if self.struck else "",
            **{name: digest and text_digest(digest, self.key) for name, digest in lists.items()},
            "roster": roster_digest(self.known, self.key) if self.known is not None else "",
            "key": key_check(self.key) if self.key is not None else "",
            "form": form,
            "columns": self.form_settings.columns.to_dict() if form in TABLES else {},
            "encoding": self.form_settings.encoding,
            "longest": self.form_settings.max_bytes,
            "compressed": self.target.suffix == ".gz",
            "second pass": self.second_pass,
            **self.options.recorded,
            "hidden ids": self.hide_ids,
            "review lines": self.review_lines,
            "certificate": self.certified,
            "vault": key_check(self.vault_key) if self.vault_key is not None else "",
        }


def read_struck(path: Path | None) -> frozenset[str]:
    """The words of a strike list, folded: the first column of a file with a word a line, such as a review list.

    :raises SettingsError: if the file cannot be read, or an entry is not one word.
    """
    if path is None:
        return frozenset()
    try:
        lines = read_regular(path).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = f": {error.strerror}" if isinstance(error, OSError) else ""
        raise SettingsError(f"the strike list {path} of --strike cannot be read as UTF-8 text{reason}") from None
    words = [line.split("\t")[0].strip() for line in lines if line.strip() and not line.startswith("#")]
    wrong = [number for number, word in enumerate(words, 1) if not _WORD.fullmatch(word)]
    if wrong:
        raise SettingsError(
            f"entry {wrong[0]} of the strike list {path} is not one word; give --strike one word a line"
        )
    return frozenset(map(fold, words))


def policy_from(
    name: str, strategies: Sequence[str] = (), substitutes: Sequence[str] = (), present_year: int | None = None
) -> Policy:
    """A policy by name or file, with overrides such as `DATE=keep` and strings to write such as `CITY=a town`.

    :param present_year: the year in which ages are counted, instead of the policy's.
    :raises SettingsError: if there is no such policy or strategy.
    """
    known = name in Policy.names() or not os.path.isfile(name)
    try:
        policy = Policy.named(name) if known else Policy.from_toml(Path(name))
    except SettingsError as error:
        raise SettingsError(f"--policy: {error}") from None
    overrides = _pairs(strategies, "--strategy takes LABEL=STRATEGY, for example DATE=keep")
    strings = _pairs(substitutes, "--substitute takes LABEL=STRING, for example CITY=TOWN")
    if present_year:
        policy = replace(policy, options=replace(policy.options, present_year=present_year))
    return policy.with_overrides(overrides).with_substitutes(strings)


def _pairs(given: Sequence[str], form: str) -> dict[str, str]:
    """The pairs `LABEL=VALUE`; :raises SettingsError: with the form, for anything else."""
    pairs: dict[str, str] = {}
    for pair in given:
        label, _, value = pair.partition("=")
        if not (label.strip() and value.strip()):
            raise SettingsError(f"{form}, not {pair}")
        pairs[label.strip()] = value.strip()
    return pairs


def key_from(key_file: Path | None) -> bytes | None:
    """The secret in a file, or in the environment; None without either.

    :raises SettingsError: if the file cannot be read, others can read it too, or the secret is not hexadecimal.
    """
    if key_file is not None:
        return read_key(key_file)
    given = os.environ.get(KEY_VARIABLE, "").strip()
    return written_key(given.encode("utf-8", "surrogateescape"), KEY_VARIABLE) if given else None


def key_or_seed(key_file: Path | None, seed: int | None) -> bytes | None:
    """The secret as `key_from` finds it, or one made of a seed, for notes that are not secret.

    :raises SettingsError: if both a key file and a seed are given, and as `key_from` does.
    """
    if seed is None:
        return key_from(key_file)
    if key_file is not None:
        raise SettingsError("give --key-file or --seed, not both: a seed that is known would undo what the key hides")
    return hashlib.sha256(b"phistack seed %d" % seed).digest()
