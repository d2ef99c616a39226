"""Nothing is sent anywhere, and nothing is left in the folder for temporary files."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.cli.conftest import survey

ALONE = """
import os, socket, sys

NETWORK = {"socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}

def refuse(event, arguments):
    if event not in NETWORK or (event in ("socket.connect", "socket.bind") and arguments[0].family == socket.AF_UNIX):
        return
    os.write(2, f"NETWORK {event} {arguments[1:]}\\n".encode())
    os._exit(77)

sys.addaudithook(refuse)
from bochner.cli import main

COMMANDS = (
    "fit data.csv --target temp --covariates height --kernel matern32 --tune none -o m.bochner",
    "predict m.bochner data.csv -o p.csv",
    "map m.bochner --resolution 0.2 --covariate height=0 -o m.tif",
    "map m.bochner --resolution 0.2 --covariate height=0 -o m.nc",
    "report m.bochner --covariate height=0 --resolution 0.2 --data data.csv -o r.html",
    "simulate m.bochner --at data.csv -o s.csv",
    "validate data.csv --target temp --kernel matern32 --tune none",
)
for command in COMMANDS:
    try:
        main(command.split())
    except SystemExit as stop:
        if stop.code:
            sys.exit(f"{command}: {stop.code}")
from pyproj import network
assert not network.is_network_enabled()
print("alone")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="pipes within a process are sockets there")
def test_commands_use_no_network_and_leave_no_temporary_files(tmp_path):
    for name in ("geopandas", "rasterio", "xarray", "h5netcdf"):
        pytest.importorskip(name)
    survey(60).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "temporary").mkdir()
    alone = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "MPLCONFIGDIR": str(tmp_path / "mpl")}
    done = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0 and done.stdout.endswith("alone\n"), done.stderr[-2000:]
    assert os.listdir(tmp_path / "temporary") == []


def test_a_network_call_would_be_noticed(tmp_path):
    """The refusal above refuses."""
    code = ALONE.split("from bochner.cli")[0] + "socket.create_connection(('127.0.0.1', 9), 1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 77 and "NETWORK socket.getaddrinfo" in done.stderr
