"""Pages as a browser gets them, read without one."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from support.service.client import ADDRESS, Client
from tacit.service.tokens import SESSION
from tacit.service.web.routing import cookie_name

VOID = {"meta", "link", "input", "br", "hr", "img"}
DRAWN = {"line", "path", "circle", "rect"}


class Whole(HTMLParser):
    """A page whose tags are closed in their order, and what could break the policy of browsers."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        self.wrong += [f"<{tag}> stays open" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        self.wrong += [f"{n} on <{tag}>" for n in names if n == "style" or n.startswith("on")]
        if tag == "script" and not (names.get("src") or "").startswith("/static/"):
            self.wrong.append("a script of elsewhere")
        if tag == "style":
            self.wrong.append("a style within the page")
        self.links += [v for n, v in attrs if n in ("href", "src", "action") and v]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in DRAWN:
            self.wrong.append(f"<{tag}/> is closed at once")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes something else")


class Browser:
    """Somebody who is signed in to the pages."""

    def __init__(self, client: Client, token: str | None) -> None:
        self.client = client
        self.headers = {"Accept": "text/html", "Origin": ADDRESS, "Sec-Fetch-Site": "same-origin"}
        if token is not None:
            caller = client.state.tokens.check(token)
            text, _ = client.state.tokens.narrow(caller, None, 3600, SESSION)
            secure = client.state.settings.secure
            self.headers["Cookie"] = f"{cookie_name(secure)}={text}"

    def get(self, path: str) -> Any:
        return self._whole(self.client.get(path, headers=self.headers))

    def post(self, path: str, **fields: str) -> Any:
        return self._whole(self.client.post(path, headers=self.headers, data=fields))

    @staticmethod
    def _whole(reply: Any) -> Any:
        if reply.headers.get("content-type", "").startswith("text/html") and "<style>" not in (
            reply.text
        ):
            page = Whole(reply.text)
            assert page.wrong == []
            assert all(link.startswith(("/", "#")) for link in page.links)
        return reply


def browser(client: Client, role: str | None, dataset: str = "*", **more: Any) -> Browser:
    """A browser in which somebody of a role is signed in; nobody without a role."""
    return Browser(client, None if role is None else client.token(role, dataset, **more))
