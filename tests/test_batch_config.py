"""The options of `deidentify` from a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phistack.ensemble.batch.reports.summary import Summary
from phistack.ensemble.command_line import batch
from tests.fixture_types import Phistack


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, phistack: Phistack) -> Callable[..., Any]:
    """Run the command with a file of options; returns what the run would be asked to do, or what is reported."""
    runs = []

    def keep(settings: Any) -> Any:
        runs.append(settings)
        return Summary(
            notes=0, quarantined=0, with_phi=0, by_label={}, by_strategy={}, unresolved=0, by_reason={},
            second_pass={}, still_there={}, input=None, words_to_review=0, settings={"columns": {}, "form": "csv"},
        )  # fmt: skip

    monkeypatch.setattr("phistack.ensemble.batch.deidentify", keep)
    monkeypatch.setattr(batch, "tell_reliability", lambda model: None)
    monkeypatch.setattr("phistack.ensemble.bundles.certificate.certificate_for", lambda *given: None)

    def run(config: Any, *arguments: Any) -> Any:
        (tmp_path / "config.toml").write_text(config)
        runs.clear()
        reported = phistack("deidentify", "in.csv", "out.csv", "--config", tmp_path / "config.toml", *arguments)
        return (runs[0] if runs else None), reported

    return run


FILE = """
model = "engine"
policy = "mask"
text-column = ["history", "plan"]
id-column = "note"
second-pass = false
timeout = 5
jobs = 3

[columns]
name = "PATIENT"
ward = "keep"

[strategies]
DATE = "keep"
AGE = "tag"
"""


def test_options_have_the_same_names_in_a_file(asked: Callable[..., Any]) -> None:
    settings, reported = asked(FILE)
    assert reported[0] == 0, reported
    assert (settings.model, settings.policy.name, settings.second_pass) == (Path("engine"), "mask", False)
    assert (settings.timeout, settings.jobs) == (5.0, 3)
    columns = settings.form_settings.columns
    assert (columns.id, columns.texts, columns.patient) == ("note", ("history", "plan"), "group")
    assert columns.others == {"name": "PATIENT", "ward": "keep"}
    assert settings.policy.overrides == {"DATE": "keep", "AGE": "tag"}


def test_a_number_is_as_if_it_had_been_typed(asked: Callable[..., Any]) -> None:
    settings, reported = asked('model = "engine"\nid-column = 5\ntimeout = 7')
    assert reported[0] == 0, reported
    assert (settings.form_settings.columns.id, settings.timeout) == ("5", 7.0)


def test_the_command_line_counts_over_the_file_entry_by_entry(asked: Callable[..., Any]) -> None:
    more = (
        "--column",
        "ward=remove",
        "--column",
        "dob=DATE",
        "--strategy",
        "DATE=remove",
        "--jobs",
        "1",
        "--second-pass",
    )
    settings, _ = asked(FILE, *more, "--text-column", "body", "--model", "other")
    columns = settings.form_settings.columns
    assert columns.others == {"name": "PATIENT", "ward": "remove", "dob": "DATE"} and columns.texts == ("body",)
    assert settings.policy.overrides == {"AGE": "tag", "DATE": "remove"}
    assert (settings.jobs, settings.second_pass, settings.model) == (1, True, Path("other"))


def test_one_column_of_text_needs_no_list(asked: Callable[..., Any]) -> None:
    assert asked('model = "engine"\ntext-column = "body"\n')[0].form_settings.columns.texts == ("body",)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("polcy = 'mask'", "there is no option named polcy (did you mean policy?); there are model, policy,"),
        ("column = ['a=keep']", "there is no option named column (did you mean columns?)"),
        ("config = 'x'", "there is no option named config"),
        ("in = 'x'", "there is no option named in"),
        ("columns = 'a=keep'", "[columns] must be a table"),
        ("[columns]\na = 1", "[columns] must be a table"),
        ("= x", "cannot be used: "),
        ("model = 'x'\ntimeout = 'long'", "--timeout"),
    ],
)
def test_what_is_wrong_in_a_file_is_reported(asked: Any, config: Any, message: Any) -> None:
    settings, (status, _, error) = asked(config)
    assert settings is None and status in (1, 2) and message in error and "Traceback" not in error
    assert "config.toml" in error or message.startswith("--")


def test_a_file_that_is_not_there_is_reported(phistack: Phistack, tmp_path: Path) -> None:
    status, _, error = phistack("deidentify", "in.csv", "out.csv", "--config", tmp_path / "none.toml")
    assert status == 1 and "none.toml cannot be used: No such file" in error
