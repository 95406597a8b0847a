"""Runs the command as the tests do: from the repository root, without a terminal, at a given width."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("ULLAGE", ROOT / "build" / "ullage")).resolve()
EXAMPLES = ROOT / "examples"


def run(*arguments, width=100, cwd=ROOT):
    environment = {**os.environ, "COLUMNS": str(width), "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    command = [str(BINARY), *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", timeout=120)
