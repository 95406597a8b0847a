"""Golden cases: tests/golden/*.case holds a command and what it prints at 80 and at 120 columns.

    ULLAGE_UPDATE=1 build/venv/bin/python -m pytest tests/python/test_golden.py

writes the present output into the cases (and into the opening of README.md, see test_docs.py); read the difference
before committing it.

    $ ullage list formats
    === 80
    …
    === 120
    …
"""

import os
import re
import shlex

import pytest
from command import ROOT, run

UPDATE = os.environ.get("ULLAGE_UPDATE") == "1"
CASES = sorted((ROOT / "tests" / "golden").glob("*.case"))
WIDTHS = (80, 120)


def read(case):
    """The command, and the expected output by width."""
    command, *sections = re.split(r"^=== (\d+)\n", case.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert command.startswith("$ ullage ")
    expected = {int(width): text for width, text in zip(sections[::2], sections[1::2], strict=True)}
    return command.strip().removeprefix("$ ullage "), expected


def output(command, width):
    result = run(*shlex.split(command), width=width)
    assert result.returncode in (0, 1), result.stderr
    return result.stdout


def test_every_command_has_a_case():
    assert {read(case)[0].split()[0] for case in CASES} >= {"estimate", "summary", "explain", "diff", "inspect", "list"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_output_is_as_recorded(case):
    command, expected = read(case)
    actual = {width: output(command, width) for width in WIDTHS}
    if UPDATE:
        sections = "".join(f"=== {width}\n{text}" for width, text in actual.items())
        case.write_text(f"$ ullage {command}\n{sections}", encoding="utf-8")
        return
    for width in WIDTHS:
        assert actual[width] == expected.get(width), f"{case.name} at {width} columns; ULLAGE_UPDATE=1 records it"


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_no_line_is_wider_than_asked(case, width):
    lines = output(read(case)[0], width).splitlines()
    assert len(lines) > 3
    assert [line for line in lines if len(line) > width or line != line.rstrip()] == []
