"""Attacks on the door of the studio, over real sockets: refused in words, and nothing is left behind."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from bochner.studio import limits
from tests.studio.serving import Studio, studio_in, survey

GIGABYTE = 1024**3


def raw(studio: Studio, request: bytes, more: bytes = b"") -> bytes:
    """What the server answers to bytes on a socket."""
    host, _, port = studio.host.partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as door:
        door.sendall(request)
        try:
            for start in range(0, len(more), 1 << 20):
                door.sendall(more[start : start + (1 << 20)])
        except OSError:
            pass  # the server has answered and closed its end
        parts = []
        try:
            while part := door.recv(65536):
                parts.append(part)
        except OSError:
            pass
    return b"".join(parts)


def head_of(studio: Studio, path: str) -> str:
    """Beginning of a request to change something."""
    lines = (f"POST {path} HTTP/1.1", f"Host: {studio.host}", f"X-Bochner-Token: {studio.token}", "Connection: close")
    return "".join(f"{line}\r\n" for line in lines)


@pytest.mark.parametrize("path", ["/", "/assets/page.css", "/api/projects"])
@pytest.mark.parametrize("token", [None, "", "wrong", "é"])
def test_nothing_is_answered_without_the_token(studio: Studio, path: str, token: str | None) -> None:
    headers = {} if token is None else {"X-Bochner-Token": token.encode()}
    answer = studio.http.build_request("GET", path, headers=headers)
    if token is None:
        del answer.headers["X-Bochner-Token"]
    found = studio.http.send(answer)
    assert found.status_code == 403 and "token" in found.json()["error"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80", ""])
def test_another_host_is_refused(studio: Studio, host: str) -> None:
    """A name of somebody else's that was made to point here (DNS rebinding) is not answered, token or not."""
    found = studio.http.get("/api/projects", headers={"Host": host})
    assert found.status_code in (400, 421)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"])
def test_another_origin_is_refused(studio: Studio, origin: str) -> None:
    status, sentence = studio.refusal("GET", "/api/projects", headers={"Origin": origin})
    assert status == 403 and "page" in sentence
    assert "access-control-allow-origin" not in studio.http.options("/api/projects").headers


def test_a_change_needs_more_than_the_cookie(studio: Studio) -> None:
    """The cookie alone, which a browser sends by itself, changes nothing without the Origin of the page."""
    page = studio.http.get("/", headers={"X-Bochner-Token": ""}, params={"token": studio.token})
    cookie = page.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    headers = {"X-Bochner-Token": "", "Cookie": cookie.partition(";")[0]}
    assert studio.http.get("/api/projects", headers=headers).status_code == 200
    refused = studio.http.post("/api/projects", headers=headers, json={"name": "forged"})
    assert refused.status_code == 403
    taken = studio.http.post("/api/projects", headers={**headers, "Origin": studio.base}, json={"name": "own"})
    assert taken.status_code == 200


def test_answers_say_how_they_may_be_used(studio: Studio) -> None:
    headers = studio.http.get("/api/projects").headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"


def test_a_large_upload_is_refused_at_once(studio: Studio) -> None:
    """Five gigabytes are refused by their announcement, before a byte of them is read."""
    p = studio.ask("POST", "/api/projects", json={"name": "large"})["project"]["id"]
    head = head_of(studio, f"/api/projects/{p}/files?name=a.csv")
    answer = raw(studio, f"{head}Content-Length: {5 * GIGABYTE}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 413") and b"smaller file" in answer
    assert not studio.ask("GET", f"/api/projects/{p}")["project"]["files"]


def test_a_json_body_without_an_end_is_cut_off(studio: Studio) -> None:
    """A stream that never said how long it is ends at the bound, and leaves nothing."""
    head = head_of(studio, "/api/projects")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    answer = raw(studio, f"{head}Transfer-Encoding: chunked\r\n\r\n".encode(), chunk * 20)
    assert answer.startswith(b"HTTP/1.1 413") and b"beyond" in answer


@pytest.mark.parametrize("name", ["../out.csv", "..%2fout.csv", "..\\out.csv", "/etc/out.csv", "a/../../out.csv"])
def test_names_of_files_lead_nowhere_else(studio: Studio, name: str) -> None:
    p = studio.ask("POST", "/api/projects", json={"name": "names"})["project"]["id"]
    found = studio.ask("POST", f"/api/projects/{p}/files?name={name}", content=b"x,y,z\n1,2,3\n")["name"]
    assert "/" not in found and "\\" not in found and (studio.folder / p / "data" / found).is_file()
    assert not list(studio.folder.rglob("../out.csv")) and not (studio.folder.parent / "out.csv").exists()


@pytest.mark.parametrize(
    "path",
    [
        "/api/projects/..%2f..%2fetc",
        "/api/projects/%2e%2e",
        "/api/projects/%00",
        "/api/projects/unknown",
        "/api/projects/unknown/fits/1",
        "/api/projects/unknown/fits/..%2f1/files/model.bochner",
        "/assets/..%2fserver.py",
        "/assets/..%2f..%2fcli%2f__init__.py",
        "/nowhere",
    ],
)
def test_unknown_names_are_told_as_such(studio: Studio, path: str) -> None:
    status, sentence = studio.refusal("GET", path)
    assert status == 404 and sentence


@pytest.mark.parametrize("name", ["../../evil", "a\0b", "<b>&", "  ", "con", ".hidden", "ß ü 日本", "a/b\\c"])
def test_any_name_of_a_project_becomes_one_folder(studio: Studio, name: str) -> None:
    answer = studio.http.post("/api/projects", json={"name": name})
    if answer.status_code == 200:
        folder = studio.folder / answer.json()["project"]["id"]
        assert folder.is_dir() and folder.resolve().parent == studio.folder.resolve()
        assert studio.ask("GET", f"/api/projects/{folder.name}")["project"]["id"] == folder.name
    else:
        assert answer.status_code == 400 and answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "JSON"),
        (b"[1]", "object"),
        (b"[" * 100_000, "JSON"),
        (b'{"name": NaN}', "JSON"),
        (b'{"name": "\\ud800"}', "JSON"),
        (b"\xff\xfe", "JSON"),
        (b'{"name": "' + b"a" * 300 + b'"}', "shorter"),
        (b'{"example": "none such"}', "example"),
    ],
)
def test_bodies_that_are_none_are_told_as_such(studio: Studio, body: bytes, words: str) -> None:
    before = len(studio.ask("GET", "/api/projects")["projects"])
    status, sentence = studio.refusal("POST", "/api/projects", content=body)
    assert status == 400 and words in sentence
    assert len(studio.ask("GET", "/api/projects")["projects"]) == before


def test_huge_json_is_refused(studio: Studio) -> None:
    status, _ = studio.refusal("POST", "/api/projects", content=b" " * (limits.MAX_BODY_BYTES + 1))
    assert status == 413


def test_files_that_cannot_be_read_are_refused(studio: Studio) -> None:
    p = studio.ask("POST", "/api/projects", json={"name": "odd"})["project"]["id"]
    for name, words in (
        ("run.exe", "cannot be read"),
        ("n" * 300 + ".csv", "shorter"),
        ("", "no letter"),
        ("a.csv", "empty"),
    ):
        status, sentence = studio.refusal("POST", f"/api/projects/{p}/files", params={"name": name}, content=b"")
        assert status == 400 and words in sentence
    assert not list((studio.folder / p / "data").iterdir())


@pytest.mark.parametrize(
    "spec",
    [
        {"target": 1},
        {"unheard": "x"},
        {"measures": "love"},
        {"coords": "lon"},
        {"covariate": {"a": "../../etc/passwd"}},
        {"target": "a\u0000b"},
        {"noise_variance": 10**400},
        {"target": "x" * 10_000},
    ],
)
def test_specs_that_are_none_are_told_as_such(studio: Studio, spec: dict[str, object]) -> None:
    p = studio.ask("GET", "/api/projects")["projects"][0]["id"]
    status, sentence = studio.refusal("PUT", f"/api/projects/{p}/spec", json=spec)
    assert status == 400 and sentence


@pytest.mark.slow
def test_nothing_is_written_into_the_home_of_the_user(tmp_path: Path) -> None:
    """Not by the server, and not by the libraries that its workers load."""
    (home := tmp_path / "home").mkdir()
    with studio_in(tmp_path / "projects", before=("env", f"HOME={home}")) as studio:
        p = studio.project_with("quiet", survey(), target="temp", measures="number", kernel="matern32", tune="none")
        fit = studio.ask("POST", f"/api/projects/{p}/fits", json={})["id"]
        assert studio.ended(f"/api/projects/{p}/fits/{fit}")["status"] == "done"
    assert not list(home.rglob("*")) and (tmp_path / "projects" / p).is_dir()
