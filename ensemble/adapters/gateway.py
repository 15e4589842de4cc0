"""A guardrail of LiteLLM's proxy: requests go out masked, answers come back unmasked, streams too.

    Guardrail = litellm_guardrail(model="english")      in phi.py, beside the configuration, which names phi.Guardrail

"Letter for Ann Hill" goes out as "Letter for [PATIENT-1]"; what the language model writes of [PATIENT-1] comes back as
Ann Hill. All texts of a request count as one patient's, so a name has one number throughout. What each number is stays
in this process, until the answer is there. A request of which a text is held back, or with an image, sound or file, is
refused, without a word of it in the message.
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

_FIELDS = ("messages", "prompt", "input", "instructions", "system")
_KEPT = ("role", "type", "id", "tool_call_id", "call_id")
_PICTURES = ("image_url", "input_image", "image", "input_audio", "audio", "file", "input_file", "video_url", "document")
_MOST_TEXTS, _MOST_CALLS = 1000, 10_000
Names = Mapping[str, str]
"""What was written -> what it stands for."""


def litellm_guardrail(**settings: Unpack[Settings]) -> type[Any]:
    """A guardrail class of LiteLLM, with the policy `number`.

    :raises MissingResourceError: if LiteLLM is not installed.
    :raises SettingsError: if a value cannot work.
    """
    need("litellm", "gateway", "a guardrail of LiteLLM")
    from litellm.integrations.custom_guardrail import CustomGuardrail

    job = job_of(**{**settings, "policy": "number"})

    class PhistackGuardrail(_Hooks, CustomGuardrail):  # type: ignore[misc,unused-ignore]
        """Masks what is sent to a language model, and unmasks its answers."""

        def __init__(self, **more: Any) -> None:
            super().__init__(**more)
            self._job, self._names = job, {}

    return PhistackGuardrail


class _Hooks:
    """What LiteLLM calls; its handbook says when."""

    _job: Job
    _names: dict[str, Names]

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: Any, call_type: str) -> Any:
        """The request, masked; :raises PhistackError: if it cannot be."""
        parts = {field: data[field] for field in _FIELDS if field in data}
        texts: list[str] = []
        _each_text(parts, texts.append)
        masked, names = await asyncio.to_thread(self._masked, texts)
        call = data.setdefault("litellm_call_id", str(uuid.uuid4()))
        self._names[call] = names
        while len(self._names) > _MOST_CALLS:
            del self._names[next(iter(self._names))]
        return data | _each_text(parts, lambda text: next(masked))

    def _masked(self, texts: list[str]) -> tuple[Iterator[str], Names]:
        if len(texts) > _MOST_TEXTS:
            raise PhistackError(f"the request is not sent: it has more than {_MOST_TEXTS} texts; send fewer at once")
        masked, names = [], dict[str, str]()
        found = redact_texts([(text, "request") for text in texts], self._job)
        for number, (old, new) in enumerate(zip(texts, found, strict=True), 1):
            if new.text is None:
                raise PhistackError(f"the request is not sent: text {number} is held back ({new.error})")
            masked.append(new.text)
            for place, _ in new.places:
                written = new.text[place.start_in_output : place.end_in_output]
                names.setdefault(written, old[place.span.start : place.span.end])
        return iter(masked), names

    async def async_post_call_success_hook(self, data: Any, user_api_key_dict: Any, response: Any) -> Any:
        """The answer, unmasked."""
        names = self._names.pop(data.get("litellm_call_id", ""), {})
        for choice in getattr(response, "choices", ()):
            for _, holder, name, escape in _texts_of(getattr(choice, "message", choice)):
                setattr(holder, name, _Unmasking(names, escape).next(getattr(holder, name), is_last=True))
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: Any
    ) -> AsyncIterator[Any]:
        """The answer, unmasked piece by piece; a piece that may be the begin of a number waits for the rest."""
        names = self._names.pop(request_data.get("litellm_call_id", ""), {})
        waiting: dict[Any, _Unmasking] = {}
        async for piece in response:
            for choice in getattr(piece, "choices", ()):
                delta = getattr(choice, "delta", choice)
                is_last = bool(getattr(choice, "finish_reason", None))
                for place, holder, name, escape in _texts_of(delta):
                    unmasking = waiting.setdefault((choice.index, place), _Unmasking(names, escape))
                    setattr(holder, name, unmasking.next(getattr(holder, name), is_last=is_last))
                left = waiting.pop((choice.index, "content"), None) if is_last else None
                if left and left.kept:
                    delta.content = (delta.content or "") + left.kept
            yield piece

    async def async_post_call_failure_hook(self, request_data: Any, *more: Any, **named: Any) -> None:
        """Forget what the numbers of a failed request are."""
        self._names.pop(request_data.get("litellm_call_id", ""), None)


class _Unmasking:
    """Text in pieces, unmasked; `kept` is the end that may be the begin of a number."""

    def __init__(self, names: Names, escape: bool) -> None:
        self.names, self.escape, self.kept = names, escape, ""
        self._written = re.compile("|".join(map(re.escape, names)) or r"(?!)")

    def next(self, text: str, *, is_last: bool) -> str:
        text, self.kept = self.kept + text, ""
        start = text.rfind("[")
        is_open = start >= 0 and "]" not in text[start:] and any(name.startswith(text[start:]) for name in self.names)
        if is_open and not is_last:
            text, self.kept = text[:start], text[start:]
        return self._written.sub(lambda found: self._meant(found[0]), text)

    def _meant(self, written: str) -> str:
        meant = self.names[written]
        return json.dumps(meant, ensure_ascii=False)[1:-1] if self.escape else meant


def _each_text(value: Any, change: Callable[[str], Any]) -> Any:
    """The same with each text changed; :raises PhistackError: for what is no text, such as a picture."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_each_text(one, change) for one in value]
    if isinstance(value, dict):
        if value.get("type") in _PICTURES:
            raise PhistackError("the request is not sent: it has a picture, sound or file, which cannot be masked")
        return {key: one if key in _KEPT else _each_text(one, change) for key, one in value.items()}
    return value


def _texts_of(message: Any) -> Iterator[tuple[Any, Any, str, bool]]:
    """Where a message or a piece of one has text: its place, the object, the attribute, and whether it is JSON."""
    for name in ("content", "reasoning_content", "text"):
        if isinstance(getattr(message, name, None), str):
            yield name, message, name, False
    for number, call in enumerate(getattr(message, "tool_calls", None) or ()):
        if isinstance(getattr(call.function, "arguments", None), str):
            yield (getattr(call, "index", number), "arguments"), call.function, "arguments", True
