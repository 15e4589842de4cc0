"""What the commands deidentify and audit are given as words and paths: a policy, a key, a run to check.

policy_from("safe-harbor", ["DATE=keep"])
key_from(Path("key"))
audit_run(target)
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from phistack.ensemble.batch.columns import KEEP, Columns
from phistack.ensemble.batch.reports.audit import AuditReport, check_log, output_digest
from phistack.ensemble.batch.reports.report import AUDIT
from phistack.ensemble.batch.reports.summary import read_summary
from phistack.ensemble.batch.rows import NO_LIMIT, FormatSettings, open_format
from phistack.ensemble.deidentification import Policy, read_key
from phistack.ensemble.deidentification.keyed_choices import written_key
from phistack.features.errors import CorpusError, SettingsError

KEY_VARIABLE = "PHISTACK_KEY"


def policy_from(
    name: str, strategies: Sequence[str] = (), substitutes: Sequence[str] = (), present_year: int | None = None
) -> Policy:
    """A policy by name or file, with overrides such as `DATE=keep` and strings to write such as `CITY=a town`.

    :param present_year: the year to which ages count, instead of the policy's.
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


def audit_run(target: Path, *, key_file: Path | None = None) -> AuditReport:
    """Check the audit log of a finished run, and that the output is what the log says.

    :param target: the output; its log is in the folder `target.run` beside it.
    :raises CorpusError: if there is no such run, or its output cannot be opened.
    """
    folder = target.with_name(target.name + ".run")
    summary = read_summary(folder)
    if summary is None or not (folder / AUDIT).is_file():
        raise CorpusError(f"{folder} has no summary and audit log of a finished run")
    try:
        run = summary["settings"]
        settings = FormatSettings(_columns(run["columns"]), run["encoding"], NO_LIMIT)
        name = run["form"]
    except (KeyError, TypeError, ValueError, SettingsError):
        raise CorpusError(
            f"the summary in {folder} was changed after the run, so the output cannot be checked"
        ) from None
    form = open_format(target, target, settings, name)
    return check_log(folder / AUDIT, form, output_digest(target), summary, key=key_from(key_file))


def _columns(recorded: Any) -> Columns:
    """The columns of an output, from the summary of its run."""
    if isinstance(recorded, list):  # As runs wrote it that kept all columns but the text.
        id, text, patient = recorded
        return Columns(id, (text,), patient, rest=KEEP)
    return Columns.from_dict(recorded).of_output() if recorded else Columns()
