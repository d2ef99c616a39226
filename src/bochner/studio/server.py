"""Server: the desk over HTTP, on 127.0.0.1 alone, for whoever has the token."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable
from importlib import resources
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from bochner.exceptions import BochnerError, InputError
from bochner.studio import limits
from bochner.studio.desk import Desk
from bochner.studio.guard import Guard, TooLarge, new_token
from bochner.studio.jobs import OPEN, Busy, watched
from bochner.studio.projects import UnknownError
from bochner.studio.uploads import receive_file

logger = logging.getLogger("bochner.studio")

ROOMS = ("studio", "report")
TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
}
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def application(desk: Desk) -> FastAPI:
    """The routes of the studio; `Guard` stands before them."""
    app = FastAPI(title="bochner studio", docs_url=None, redoc_url=None, openapi_url=None)
    _errors(app)
    _page(app)
    _projects(app, desk)
    _fits(app, desk)
    _views(app, desk)
    return app


def listening(port: int | None) -> socket.socket:
    """A socket on 127.0.0.1, at a port that was asked for or any that is free."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port or 0))
    except (OSError, OverflowError) as error:
        found.close()
        raise InputError(f"port {port} cannot be used ({error}); give another with --port, or none.") from error
    found.listen(128)
    return found


def serve(desk: Desk, port: int | None, opened: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; `opened` is called with the address when it can be visited."""
    door = listening(port)
    token = new_token()
    guard = Guard(application(desk), door.getsockname()[1], token)
    config = uvicorn.Config(guard, log_level="warning", access_log=False, server_header=False, lifespan="off")
    config.timeout_graceful_shutdown = limits.GRACE_SECONDS
    config.timeout_keep_alive = limits.KEPT_SECONDS
    # uvicorn raises the signal again when it has ended; the workers are to end before this process does, so that
    # nobody else may take this for a second one
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listener = signal.set_wakeup_fd(-1)
    desk.workers.warm()
    try:
        opened(f"http://{guard.hosts[0]}/?token={token}")
        _Server(config, desk).run(sockets=[door])
    except KeyboardInterrupt:
        pass  # the way to end it
    finally:
        desk.close()
        signal.set_wakeup_fd(listener)


class _Server(uvicorn.Server):
    """Closes the desk as soon as it is asked to, so that streams and views that somebody waits for end."""

    def __init__(self, config: uvicorn.Config, desk: Desk) -> None:
        super().__init__(config)
        self.desk = desk

    def handle_exit(self, sig: int, frame: Any) -> None:
        if not self.desk.closing:
            self.desk.closing = True
            threading.Thread(target=self.desk.close, daemon=True).start()  # a signal may not wait
        super().handle_exit(sig, frame)


def _errors(app: FastAPI) -> None:
    """Every failure is one sentence of JSON."""

    @app.exception_handler(UnknownError)
    async def unknown(_: Request, error: UnknownError) -> JSONResponse:
        return _told(404, str(error))

    @app.exception_handler(Busy)
    async def busy(_: Request, error: Busy) -> JSONResponse:
        return _told(429, str(error))

    @app.exception_handler(BochnerError)
    async def refused(_: Request, error: BochnerError) -> JSONResponse:
        return _told(400, str(error))

    @app.exception_handler(TooLarge)
    async def large(_: Request, error: TooLarge) -> JSONResponse:
        return _told(413, str(error))

    @app.exception_handler(ClientDisconnect)
    async def gone(_: Request, error: ClientDisconnect) -> JSONResponse:
        return _told(400, "The connection ended before the request did; nothing of it was kept.")

    @app.exception_handler(OSError)
    async def failed(_: Request, error: OSError) -> JSONResponse:
        if error.errno in FULL:
            return _told(507, f"The disk is full ({error.strerror}); nothing was lost: make room and try again.")
        return _told(500, f"The system refused: {error.strerror or error}.")

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        return _told(error.status_code, str(error.detail))

    @app.exception_handler(404)
    async def nowhere(request: Request, _: Exception) -> JSONResponse:
        return _told(404, f"There is nothing at {request.url.path[:80]!r}.")

    @app.exception_handler(405)
    async def no_method(request: Request, _: Exception) -> JSONResponse:
        return _told(405, f"{request.method} is not possible at {request.url.path[:80]!r}.")

    @app.exception_handler(Exception)
    async def broken(_: Request, error: Exception) -> JSONResponse:
        logger.exception("request failed", exc_info=error)
        return _told(500, f"The studio failed ({type(error).__name__}); projects and fits are as they were.")


def _page(app: FastAPI) -> None:
    @app.get("/")
    async def page() -> Response:
        body = _asset("index.html")
        if body is None:
            return _told(500, "The page of the studio is not installed.")
        return Response(body, media_type=TYPES[".html"])

    @app.get("/assets/{name}")
    async def asset(name: str) -> Response:
        body, ending = _asset(name), Path(name).suffix
        if body is None or ending not in TYPES:
            return _told(404, f"There is no part {name[:80]!r} of the page.")
        return Response(body, media_type=TYPES[ending])


def _projects(app: FastAPI, desk: Desk) -> None:
    @app.get("/api/projects")
    def projects() -> dict[str, Any]:
        return {"projects": desk.projects(), "open": desk.first}

    @app.post("/api/projects")
    async def create(request: Request) -> dict[str, Any]:
        given = await _object(request)
        return await run_in_threadpool(desk.create, given.get("name"), given.get("example"))

    @app.get("/api/projects/{p}")
    def project(p: str) -> dict[str, Any]:
        return desk.project(p)

    @app.delete("/api/projects/{p}")
    def remove(p: str) -> dict[str, Any]:
        return desk.remove(p)

    @app.post("/api/projects/{p}/files")
    async def upload(p: str, request: Request, name: str = "") -> dict[str, Any]:
        size = request.headers.get("content-length")
        length = int(size) if size is not None else None
        return await receive_file(desk.shelf.project(p), name, length, request.stream())

    @app.put("/api/projects/{p}/data")
    async def data(p: str, request: Request) -> dict[str, Any]:
        return await run_in_threadpool(desk.choose_data, p, await _object(request))

    @app.post("/api/projects/{p}/mend")
    async def mend(p: str, request: Request) -> dict[str, Any]:
        return await run_in_threadpool(desk.mend, p, await _object(request))

    @app.put("/api/projects/{p}/spec")
    async def spec(p: str, request: Request) -> dict[str, Any]:
        return await run_in_threadpool(desk.choose_spec, p, await _object(request))

    @app.get("/api/projects/{p}/estimate")
    def estimate(p: str) -> dict[str, Any]:
        return desk.estimate(p)

    @app.get("/api/projects/{p}/drawer")
    def drawer(p: str, fit: str | None = None) -> dict[str, Any]:
        return desk.drawer(p, fit)

    @app.get("/api/projects/{p}/compare")
    def compare(p: str, a: str = "", b: str = "") -> dict[str, Any]:
        return desk.fits.compare(p, a, b)


def _fits(app: FastAPI, desk: Desk) -> None:
    place = "/api/projects/{p}/fits"

    @app.post(place)
    async def start(p: str, request: Request) -> dict[str, Any]:
        return await run_in_threadpool(desk.start_fit, p, await _object(request))

    @app.get(place + "/{f}")
    def fit(p: str, f: str) -> dict[str, Any]:
        return desk.fits.state(p, f)

    @app.delete(place + "/{f}")
    def end(p: str, f: str) -> dict[str, Any]:
        return desk.fits.end(p, f)

    @app.get(place + "/{f}/events")
    async def events(p: str, f: str, request: Request) -> StreamingResponse:
        await run_in_threadpool(desk.fits.state, p, f)
        stream = _events(desk, lambda: desk.fits.state(p, f), request)
        return StreamingResponse(stream, media_type="text/event-stream")

    @app.post(place + "/{f}/jobs")
    async def start_job(p: str, f: str, request: Request) -> dict[str, Any]:
        return await run_in_threadpool(desk.fits.start_job, p, f, await _object(request))

    @app.get(place + "/{f}/jobs/{j}")
    def job(p: str, f: str, j: str) -> dict[str, Any]:
        return desk.fits.job(p, f, j)

    @app.delete(place + "/{f}/jobs/{j}")
    def end_job(p: str, f: str, j: str) -> dict[str, Any]:
        return desk.fits.end_job(p, f, j)


def _views(app: FastAPI, desk: Desk) -> None:
    place = "/api/projects/{p}/fits/{f}"

    @app.get(place + "/check")
    def check(p: str, f: str) -> dict[str, Any]:
        return desk.fits.check(p, f)

    @app.get(place + "/map")
    def map_payload(p: str, f: str) -> FileResponse:
        return FileResponse(desk.fits.map_file(p, f), media_type="application/json")

    @app.get(place + "/areas")
    def areas(p: str, f: str) -> dict[str, Any]:
        return desk.fits.areas(p, f)

    @app.get(place + "/at")
    def at(p: str, f: str, x: str = "", y: str = "") -> dict[str, Any]:
        return desk.fits.at(p, f, _number(x, "x"), _number(y, "y"))

    @app.get(place + "/files/{name}")
    def download(p: str, f: str, name: str) -> FileResponse:
        path = desk.fits.download(p, f, name)
        return FileResponse(path, media_type="application/octet-stream", filename=path.name)


async def _events(desk: Desk, read: Callable[[], dict[str, Any]], request: Request) -> AsyncIterator[str]:
    """States of a fit as they change, until it and its jobs have ended or nobody listens."""
    changed, quiet = watched(read), 0.0
    while not (desk.closing or await request.is_disconnected()):
        try:
            text = await run_in_threadpool(changed)
        except UnknownError:
            return
        if text is not None:
            quiet = 0.0
            yield f"data: {text}\n\n"
            state = json.loads(text)
            if state["status"] not in OPEN and all(job.get("status") not in OPEN for job in state["jobs"]):
                return
        elif quiet >= limits.HEARTBEAT_SECONDS:
            quiet = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(limits.POLL_SECONDS)
        quiet += limits.POLL_SECONDS


async def _object(request: Request) -> dict[str, Any]:
    """The JSON object of a request."""
    body = await request.body()
    try:
        found = json.loads(body, parse_constant=_no_number) if body else {}
        json.dumps(found, ensure_ascii=False).encode()  # half a character is none
    except (ValueError, RecursionError):
        raise InputError("the body of the request is no JSON; needed is an object such as {}.") from None
    if not isinstance(found, dict):
        raise InputError(f"the body of the request is a {type(found).__name__}; needed is a JSON object.")
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _asset(name: str) -> bytes | None:
    """A part of the page: of the studio, or of the report that it shares; None if there is none of that name."""
    for room in ROOMS:
        folder = resources.files("bochner").joinpath(room, "assets")  # the rooms themselves take seconds to import
        with contextlib.suppress(OSError):
            known = {one.name: one for one in folder.iterdir() if one.is_file()}
            if name in known:
                return known[name].read_bytes()
    return None


def _number(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value != value or abs(value) == float("inf"):
        raise InputError(f"{name} is {text[:40]!r}; needed is a number.")
    return value


def _told(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"error": sentence}, status)
