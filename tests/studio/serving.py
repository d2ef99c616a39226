"""A studio in a process of its own, and a client that speaks to it over a real socket."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd

ENDED = ("done", "failed", "cancelled", "lost")


@dataclass(frozen=True)
class Studio:
    """A server that runs: its process, its address and where its projects are."""

    process: subprocess.Popen[str]
    base: str
    token: str
    folder: Path
    http: httpx.Client

    @property
    def host(self) -> str:
        return self.base.removeprefix("http://")

    def ask(self, method: str, path: str, **options: Any) -> Any:
        """The JSON of an answer that must be one of success."""
        answer = self.http.request(method, path, **options)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refusal(self, method: str, path: str, **options: Any) -> tuple[int, str]:
        """Status and sentence of an answer that must be a refusal, in JSON."""
        answer = self.http.request(method, path, **options)
        assert answer.status_code >= 400, answer.text
        assert answer.headers["content-type"] == "application/json"
        return answer.status_code, answer.json()["error"]

    def ended(self, path: str, seconds: float = 300) -> dict[str, Any]:
        """State of a fit or a job when it has ended."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            state = self.ask("GET", path)
            if state["status"] in ENDED:
                return dict(state)
            time.sleep(0.1)
        raise AssertionError(f"{path} did not end within {seconds} s: {state}")

    def project_with(self, name: str, table: pd.DataFrame, **spec: Any) -> str:
        """A project with a table as its data and a spec."""
        p = self.ask("POST", "/api/projects", json={"name": name})["project"]["id"]
        body = table.to_csv(index=False).encode()
        file = self.ask("POST", f"/api/projects/{p}/files", params={"name": "data.csv"}, content=body)["name"]
        view = self.ask("PUT", f"/api/projects/{p}/data", json={"file": file})
        self.ask("PUT", f"/api/projects/{p}/spec", json={**view["proposal"], **spec})
        return str(p)


@contextmanager
def studio_in(folder: Path, *arguments: str, before: Sequence[str] = ()) -> Iterator[Studio]:
    """A studio that is ended by Ctrl-C, and ends well; `before` is a program that runs it."""
    options = [*arguments, "--no-browser", "--project", str(folder)]
    command = [*before, sys.executable, "-m", "bochner", "studio", *options]
    own = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=own)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    base, _, token = address.partition("/?token=")
    assert token, process.stderr.read() if process.stderr else ""
    with httpx.Client(base_url=base, headers={"X-Bochner-Token": token}, timeout=120) as http:
        yield Studio(process, base, token, folder, http)
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=180)
    assert process.returncode in (0, -signal.SIGKILL), complaints
    assert "Traceback" not in complaints, complaints


def survey(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Villages with positives of examined around 11 E, 41 N."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"lon": rng.uniform(10, 12, n).round(5), "lat": rng.uniform(40, 42, n).round(5)})
    eta = np.sin(3 * frame.lon) + np.cos(2 * frame.lat)
    frame["examined"] = rng.integers(20, 60, n)
    frame["positive"] = rng.binomial(frame.examined, 1 / (1 + np.exp(-eta)))
    frame["temp"] = (eta + 0.1 * rng.normal(size=n)).round(4)
    return frame


def processes_of(group: int) -> list[int]:
    """Processes that are children of one, and theirs."""
    import psutil

    try:
        return [child.pid for child in psutil.Process(group).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
