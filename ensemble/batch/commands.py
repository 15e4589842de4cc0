"""What the commands deidentify and audit do, between the command line and a run.

deidentify_files(source, target, model, policy="safe-harbor", key_file=Path("key"))
audit_run(target)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ensemble.batch.formats.columns import KEEP, Columns
from ensemble.batch.formats.recognise import open_format
from ensemble.batch.formats.rows import NO_LIMIT, FormatSettings
from ensemble.batch.reports.audit import AuditReport, check_log, output_digest
from ensemble.batch.reports.report import AUDIT, read_summary
from ensemble.batch.runner import deidentify
from ensemble.batch.settings import RunSettings, read_struck
from ensemble.deidentification import Policy, read_key
from ensemble.deidentification.keyed_choices import written_key
from features.errors import CorpusError, SettingsError

__all__ = ["KEY_VARIABLE", "audit_run", "deidentify_files", "key_from", "policy_from"]

KEY_VARIABLE = "PHISTACK_KEY"


def deidentify_files(
    source: Path,
    target: Path,
    model: Path,
    *,
    policy: str = "tag",
    strategies: Sequence[str] = (),
    key_file: Path | None = None,
    strike: Path | None = None,
    **more: Any,
) -> dict[str, Any]:
    """De-identify an input as the command line asks.

    :param policy: the name of a shipped policy, or the path of a TOML file.
    :param strategies: `LABEL=STRATEGY`, which override the policy.
    :param key_file: holds the secret; otherwise the environment variable PHISTACK_KEY, if it is set.
    :param strike: a list of words to be removed everywhere.
    :param more: further settings, as in `RunSettings`.
    :returns: the summary of the run.
    :raises PhistackError: as `deidentify` does.
    """
    return deidentify(
        RunSettings(
            source,
            target,
            model,
            policy_from(policy, strategies),
            key=key_from(key_file),
            struck=read_struck(strike) if strike is not None else frozenset(),
            **more,
        )
    )


def policy_from(name: str, strategies: Sequence[str] = ()) -> Policy:
    """A policy by name or file, with overrides such as `DATE=keep`.

    :raises SettingsError: if there is no such policy or strategy.
    """
    known = name in Policy.names() or not os.path.isfile(name)
    try:
        policy = Policy.named(name) if known else Policy.from_toml(Path(name))
    except SettingsError as error:
        raise SettingsError(f"--policy: {error}") from None
    overrides: dict[str, str] = {}
    for given in strategies:
        label, equals, strategy = given.partition("=")
        if not (label and equals and strategy):
            raise SettingsError(f"--strategy takes LABEL=STRATEGY, for example DATE=keep, not {given}")
        overrides[label.strip()] = strategy.strip()
    return policy.with_overrides(overrides) if overrides else policy


def key_from(key_file: Path | None) -> bytes | None:
    """The secret in a file, or in the environment; nothing if there is neither.

    :raises SettingsError: if the file cannot be read, or by others too, or the secret is no row of hexadecimal digits.
    """
    if key_file is not None:
        return read_key(key_file)
    given = os.environ.get(KEY_VARIABLE, "").strip()
    return written_key(given.encode("utf-8", "surrogateescape"), KEY_VARIABLE) if given else None


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


def _columns(told: Any) -> Columns:
    """The columns of an output, from the summary of its run."""
    if isinstance(told, list):  # As runs wrote it that kept all columns but the text.
        id, text, patient = told
        return Columns(id, (text,), patient, rest=KEEP)
    return Columns.from_dict(told).of_output() if told else Columns()
