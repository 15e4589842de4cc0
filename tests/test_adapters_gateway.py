"""The LiteLLM guardrail: what a language model reads is masked, its answers are unmasked, whole or in pieces.

Without LiteLLM, a stand-in replaces its base class; the hooks are called as its manual describes.
"""

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from phistack import litellm_guardrail
from phistack.features import errors
from phistack.features.errors import PhistackError
from tests import batch_engines as engines

REQUEST = {
    "model": "any",
    "messages": [
        {"role": "system", "content": "Write letters."},
        {"role": "user", "content": [{"type": "text", "text": "Letter for Patient Ann Hill, seen by Dr. Ames."}]},
        {"role": "user", "content": "Copy to Dr. Birch and Dr. Ames."},
    ],
}


@pytest.fixture
def guardrail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    if find_spec("litellm") is None:
        double: Any = ModuleType("litellm.integrations.custom_guardrail")
        double.CustomGuardrail = type("CustomGuardrail", (), {"__init__": lambda self, **more: None})
        for name in ("litellm", "litellm.integrations", double.__name__):
            monkeypatch.setitem(sys.modules, name, double)
        monkeypatch.setattr(errors, "find_spec", lambda name: True)
    made = litellm_guardrail(model=engines.bundle(tmp_path / "bundle"), load=engines.faulty)
    # As LiteLLM calls it.
    return made(guardrail_name="phistack", event_hook=["pre_call", "post_call"], default_on=True)


def sent(guardrail: Any, **request: Any) -> Any:
    return asyncio.run(guardrail.async_pre_call_hook(None, None, {"litellm_call_id": "1", **request}, "completion"))


def test_requests_go_out_masked_with_one_number_a_name(guardrail: Any) -> None:
    before = json.dumps(REQUEST)
    out = sent(guardrail, **REQUEST)
    assert [message["role"] for message in out["messages"]] == ["system", "user", "user"]
    assert out["messages"][1]["content"] == [
        {"type": "text", "text": "Letter for Patient [PATIENT-1], seen by Dr. [DOCTOR-1]."}
    ]
    assert out["messages"][2]["content"] == "Copy to Dr. [DOCTOR-2] and Dr. [DOCTOR-1]."
    assert out["model"] == "any" and json.dumps(REQUEST) == before


def test_an_answer_comes_back_unmasked_and_only_once(guardrail: Any) -> None:
    sent(guardrail, **REQUEST)
    call = SimpleNamespace(function=SimpleNamespace(arguments='{"to": "[DOCTOR-2]"}'))
    message = SimpleNamespace(content="Dear [DOCTOR-1], [PATIENT-1] and [PATIENT-2]", tool_calls=[call])
    answer = SimpleNamespace(choices=[SimpleNamespace(message=message)])
    asyncio.run(guardrail.async_post_call_success_hook({"litellm_call_id": "1"}, None, answer))
    assert message.content == "Dear Ames, Ann Hill and [PATIENT-2]"
    assert call.function.arguments == '{"to": "Birch"}'
    message.content = "[DOCTOR-1]"
    asyncio.run(guardrail.async_post_call_success_hook({"litellm_call_id": "1"}, None, answer))
    assert message.content == "[DOCTOR-1]", "what the numbers are is forgotten with the answer"


@pytest.mark.parametrize("size", [1, 2, 5, 11, 100])
def test_a_stream_is_unmasked_however_it_is_cut(guardrail: Any, size: int) -> None:
    sent(guardrail, **REQUEST)
    written = "[x] Dear [DOCTOR-1], [PATIENT-1][DOCTOR-2] [DOC"
    cuts = [written[at : at + size] for at in range(0, len(written), size)]

    async def pieces() -> AsyncIterator[Any]:
        for text in [*cuts, None]:
            delta = SimpleNamespace(content=text, tool_calls=None)
            reason = None if text is not None else "stop"
            yield SimpleNamespace(choices=[SimpleNamespace(index=0, delta=delta, finish_reason=reason)])

    async def received() -> list[str]:
        hook = guardrail.async_post_call_streaming_iterator_hook(None, pieces(), {"litellm_call_id": "1"})
        return [piece.choices[0].delta.content or "" async for piece in hook]

    found = asyncio.run(received())
    assert "".join(found) == "[x] Dear Ames, Ann HillBirch [DOC" and len(found) == len(cuts) + 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("FAIL for Zebulon", r"text 1 is held back \(failed: ValueError in"),
        ([{"type": "image_url", "image_url": {"url": "Zebulon"}}], "a picture, sound or file"),
        ([{"output": {"url": "data:image/png;base64,Zebulon"}}], "a picture, sound or file"),
        ([[1123, 40]], "it has tokens, which cannot be masked"),
    ],
)
def test_what_cannot_be_masked_is_not_sent_and_not_quoted(
    guardrail: Any, content: Any, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(PhistackError, match=message) as raised:
        sent(guardrail, messages=[{"role": "user", "content": content}])
    assert "Zebulon" not in str(raised.value) + caplog.text


def test_a_name_comes_back_as_it_is_read_and_without_escapes(guardrail: Any) -> None:
    sent(guardrail, messages=[{"role": "tool", "content": "Seen by Dr. \uff2du\u00f1oz"}])
    call = SimpleNamespace(function=SimpleNamespace(arguments='{"to": "[DOCTOR-1]"}'))
    message = SimpleNamespace(content="[DOCTOR-1]", tool_calls=[call])
    answer = SimpleNamespace(choices=[SimpleNamespace(message=message)])
    asyncio.run(guardrail.async_post_call_success_hook({"litellm_call_id": "1"}, None, answer))
    assert (message.content, call.function.arguments) == ("Muñoz", '{"to": "Muñoz"}')


def test_a_second_request_of_the_same_id_waits_until_the_first_is_answered_or_failed(guardrail: Any) -> None:
    sent(guardrail, **REQUEST)
    with pytest.raises(PhistackError, match="another with its litellm_call_id is not answered yet"):
        sent(guardrail, messages=[{"role": "user", "content": "Dr. Carter"}])
    asyncio.run(guardrail.async_post_call_failure_hook({"litellm_call_id": "1"}, ValueError(), None))
    with pytest.raises(PhistackError, match="text 1 is held back"):
        sent(guardrail, prediction={"type": "content", "content": "FAIL"})
    assert sent(guardrail, prediction={"content": "Dr. Carter"})["prediction"] == {"content": "Dr. [DOCTOR-1]"}


def test_what_is_no_conversation_is_not_sent(guardrail: Any) -> None:
    with pytest.raises(PhistackError, match="calls of the type rerank cannot be masked"):
        asyncio.run(guardrail.async_pre_call_hook(None, None, {"query": "Ann Hill"}, "rerank"))
