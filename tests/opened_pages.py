"""A page in the browser, and what the browser reported and requested."""

from typing import Any

from benchmarks.pages import WIDE


class OpenedPage:
    """A page at a width and in a colour scheme."""

    def __init__(self, chromium: Any, address: str, width: int = WIDE, scheme: Any = "light") -> None:
        self.page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.reported: list[str] = []
        self.requested: list[str] = []
        self.page.on("console", lambda message: self.reported.append(message.text))
        self.page.on("pageerror", lambda error: self.reported.append(str(error)))
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.goto(address)
