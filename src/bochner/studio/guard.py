"""Guard: who may talk to the server, and how much at once.

A page of another site can make a browser send requests to 127.0.0.1, and a name of its own can be made to point there.
So the address has a token, and Host and Origin are looked at before anything else.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from bochner.studio import limits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "bochner_studio"  # and the port: browsers keep one set of cookies for all ports of a machine
HEADER = "x-bochner-token"
READS = {"GET", "HEAD"}
SAFE_HEADERS = {
    "content-security-policy": "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class TooLarge(Exception):
    """A body that goes on beyond its bound."""


@dataclass(frozen=True)
class Guard:
    """The door of the server: an ASGI application around another.

    Attributes
    ----------
    inner : application
    port : int
    token : str
    """

    inner: Application
    port: int
    token: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.inner(scope, receive, send)
        if scope["type"] != "http":
            return None
        headers = _headers(scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _drained(receive, headers.get("content-length", "0"))
            return await _refuse(send, *refusal)
        more = self._welcome() if scope["path"] == "/" else []
        return await self.inner(scope, _bounded(receive, bound_of(scope)), _safe(send, more))

    def _welcome(self) -> list[tuple[bytes, bytes]]:
        """Header that gives the token to the browser, where no script can read it."""
        return [(b"set-cookie", f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/".encode())]

    @property
    def hosts(self) -> tuple[str, ...]:
        """What `Host` may say."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    @property
    def cookie(self) -> str:
        """Name of the cookie that holds the token."""
        return f"{COOKIE}_{self.port}"

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Status and sentence for a request that is not let in."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self.hosts:
            return 421, f"The request names the host {host[:80]!r}; this server is {self.hosts[0]} and nothing else."
        if origin is not None and origin != f"http://{host}":
            return 403, f"The request comes from a page of {origin[:80]!r}; only the studio's own page is answered."
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "The request comes from a page of another site; only the studio's own page is answered."
        if not self._knows_token(scope, headers):
            return 403, "The token is missing or wrong; open the address that `bochner studio` printed."
        if scope["method"] not in READS and origin is None and not self._is_token(headers.get(HEADER, "")):
            return 403, "A change needs the Origin of the studio's page, or the token in the header X-Bochner-Token."
        size = headers.get("content-length", "0")
        bound = bound_of(scope)
        if not size.isdecimal() or int(size) > bound:
            return 413, f"The request has {size[:20]} bytes; at most {bound:,} are taken: give a smaller file."
        return None

    def _knows_token(self, scope: Scope, headers: dict[str, str]) -> bool:
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        return any(
            map(self._is_token, (headers.get(HEADER, ""), _cookie(headers, self.cookie), query.get("token", [""])[0]))
        )

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode("utf-8", "replace"), self.token.encode())


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(32)


def bound_of(scope: Scope) -> int:
    """Bytes that the body of a request may have."""
    upload = scope["method"] == "POST" and scope["path"].endswith("/files")
    return limits.MAX_UPLOAD_BYTES if upload else limits.MAX_BODY_BYTES


def _headers(scope: Scope) -> dict[str, str]:
    """Headers by their names; of one that is given twice, nothing that could be right is left."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _cookie(headers: dict[str, str], name: str) -> str:
    try:
        jar = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return ""
    return jar[name].value if name in jar else ""


async def _drained(receive: Receive, size: str) -> None:
    """Read what is left of a short body: one who is still sending when the door closes never hears why."""
    if not size.isdecimal() or int(size) > limits.DRAINED_BYTES:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(limits.DRAIN_SECONDS):
            message = await receive()
            while message["type"] == "http.request" and message.get("more_body"):
                message = await receive()


def _bounded(receive: Receive, bound: int) -> Receive:
    """A body that is cut off where it goes beyond its bound, whatever its length was said to be."""
    seen = 0

    async def received() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > bound:
            raise TooLarge(f"The body goes on beyond {bound:,} bytes, which is the most that is taken.")
        return message

    return received


def _safe(send: Send, welcome: Sequence[tuple[bytes, bytes]] = ()) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", [])}
            more = [(k.encode(), v.encode()) for k, v in SAFE_HEADERS.items() if k.encode() not in own]
            message["headers"] = [*message.get("headers", []), *more, *welcome]
        await send(message)

    return sent


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    kinds = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    safe = _safe(send)
    await safe({"type": "http.response.start", "status": status, "headers": [*kinds, (b"connection", b"close")]})
    await safe({"type": "http.response.body", "body": body})
