"""A guardrail of LiteLLM's proxy: requests go out masked, answers come back unmasked, streams too.

    Guardrail = litellm_guardrail(model="english")      in phi.py, beside the configuration, which names phi.Guardrail

"Letter for Ann Hill" goes out as "Letter for [PATIENT-1]", and the answer has Ann Hill again. A name has one number in
all texts of a request. What the numbers mean stays in this process, and is forgotten with the answer.
"""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Unpack

from phistack.ensemble.adapters.core import Settings, job_of, redact_texts
from phistack.ensemble.batch.workers.job import Job
from phistack.features.errors import PhistackError, need
from phistack.features.plain_view import plain_text

_FIELDS = ("messages", "prompt", "suffix", "input", "instructions", "system", "prediction", "user")
_HAS_NO_TEXT = "it has a picture, sound or file, which cannot be masked"
_KEPT = ("role", "type", "id", "tool_call_id", "call_id")
_NO_TEXT = re.compile("image|audio|video|file|document|screenshot")
_DATA = re.compile("data:[^,]{0,200};base64,")
_MASKED_CALLS = re.compile("completion|embedding|responses|anthropic_messages")
_MOST_TEXTS, _MOST_CALLS = 1000, 10_000
Names = Mapping[str, str]
"""What was written -> what it means."""


def litellm_guardrail(**settings: Unpack[Settings]) -> type[Any]:
    """A guardrail class of LiteLLM, with the policy `number`.

    A request is refused, without a word of it, if a text is held back, it has an image, sound or file, or its type is
    unknown. Definitions of tools are sent as they are. Answers have names again if they have `choices`, as those of
    completions do.

    :raises PhistackError: if LiteLLM is not installed or a value cannot work.
    """
    need("litellm", "gateway", "a guardrail of LiteLLM")
    from litellm.integrations.custom_guardrail import CustomGuardrail

    settings["policy"] = "number"
    job = job_of(**settings)

    class PhistackGuardrail(_Hooks, CustomGuardrail):  # type: ignore[misc,unused-ignore]
        """Masks what is sent to a language model, and unmasks its answers."""

        def __init__(self, **more: Any) -> None:
            super().__init__(**more)
            self._job, self._names = job, {}

    return PhistackGuardrail


class _Hooks:
    """The methods that LiteLLM calls, under its names."""

    _job: Job
    _names: dict[str, Names]

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: Any, call_type: str) -> Any:
        if not _MASKED_CALLS.search(call_type):
            raise PhistackError(f"the request is not sent: calls of the type {call_type} cannot be masked")
        parts = {field: data[field] for field in _FIELDS if field in data}
        texts: list[str] = []
        _each_text(parts, texts.append)
        # Clients may choose this id; of two requests with the same id, one would get the names of the other.
        call = data.setdefault("litellm_call_id", str(uuid.uuid4()))
        if call in self._names:
            raise PhistackError("the request is not sent: another with its litellm_call_id is not answered yet")
        self._names[call] = {}
        try:
            masked, self._names[call] = await asyncio.to_thread(_masked, texts, self._job)
        except PhistackError:
            del self._names[call]
            raise
        if len(self._names) > _MOST_CALLS:  # as of requests that were never answered
            del self._names[next(iter(self._names))]
        return data | _each_text(parts, lambda text: next(masked))

    async def async_post_call_success_hook(self, data: Any, user_api_key_dict: Any, response: Any) -> Any:
        names = self._names.pop(data.get("litellm_call_id", ""), {})
        for choice in getattr(response, "choices", ()):
            for _, holder, name in _texts_of(getattr(choice, "message", choice)):
                setattr(holder, name, _unmasked(getattr(holder, name), names, name))
        return response

    async def async_post_call_failure_hook(self, request_data: Any, *others: Any, **named: Any) -> None:
        self._names.pop(request_data.get("litellm_call_id", ""), None)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: Any
    ) -> AsyncIterator[Any]:
        names = self._names.pop(request_data.get("litellm_call_id", ""), {})
        kept: dict[Any, str] = {}
        async for piece in response:
            for choice in getattr(piece, "choices", ()):
                delta, is_last = getattr(choice, "delta", choice), bool(getattr(choice, "finish_reason", None))
                if is_last and kept.get((choice.index, "content")):
                    delta.content = delta.content or ""
                for place, holder, name in _texts_of(delta):
                    text = kept.pop((choice.index, place), "") + getattr(holder, name)
                    end = len(text) if is_last else _end(text, names)
                    setattr(holder, name, _unmasked(text[:end], names, name))
                    kept[choice.index, place] = text[end:]
            yield piece


def _masked(texts: list[str], job: Job) -> tuple[Iterator[str], Names]:
    if len(texts) > _MOST_TEXTS:
        raise PhistackError(f"the request is not sent: it has more than {_MOST_TEXTS} texts; send fewer at once")
    masked, names = [], dict[str, str]()
    found = redact_texts([(text, "request") for text in texts], job)
    for number, (old, new) in enumerate(zip(texts, found, strict=True), 1):
        if new.text is None:
            raise PhistackError(f"the request is not sent: text {number} is held back ({new.error})")
        masked.append(new.text)
        for place, _ in new.places:
            written = new.text[place.start_in_output : place.end_in_output]
            names.setdefault(written, plain_text(old[place.span.start : place.span.end]))
    return iter(masked), names


def _unmasked(text: str, names: Names, attribute: str) -> str:
    """A text with names in place of numbers; the arguments of a tool are JSON."""
    meant = {
        new: json.dumps(old, ensure_ascii=False)[1:-1] if attribute == "arguments" else old
        for new, old in names.items()
    }
    return re.sub("|".join(map(re.escape, names)), lambda found: meant[found[0]], text) if names else text


def _end(text: str, names: Names) -> int:
    """Where a text ends, without the beginning of a number that may go on."""
    start = max(text.rfind("["), 0)
    rest = text[start:]
    return start if any(name != rest and name.startswith(rest) for name in names) else len(text)


def _each_text(value: Any, change: Callable[[str], Any]) -> Any:
    """The same with each text changed; :raises PhistackError: for what is not text, such as a picture."""
    if isinstance(value, str):
        if _DATA.match(value):
            raise PhistackError(f"the request is not sent: {_HAS_NO_TEXT}")
        return change(value)
    if isinstance(value, list):
        if any(isinstance(one, int) for one in value):
            raise PhistackError("the request is not sent: it has tokens, which cannot be masked; send their text")
        return [_each_text(one, change) for one in value]
    if isinstance(value, dict):
        if _NO_TEXT.search(str(value.get("type"))):
            raise PhistackError(f"the request is not sent: {_HAS_NO_TEXT}")
        return {key: one if key in _KEPT else _each_text(one, change) for key, one in value.items()}
    return value


def _texts_of(message: Any) -> Iterator[tuple[Any, Any, str]]:
    """Where a message, or a piece of one, has text: which, the object, its attribute."""
    for name in ("content", "reasoning_content", "text"):
        if isinstance(getattr(message, name, None), str):
            yield name, message, name
    for number, call in enumerate(getattr(message, "tool_calls", None) or ()):
        if isinstance(call.function.arguments, str):
            yield getattr(call, "index", number), call.function, "arguments"
