"""Every command that README.md and docs/*.md show runs, and the README opens with what the command really prints.

ULLAGE_UPDATE=1 writes the present output into the README's opening.
"""

import os
import re
import shlex

import pytest
from command import ROOT, run

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Lines of the README's code blocks that this test does not run, by their beginning.
NOT_RUN = {
    "make run": "installs packages and builds",
    "make test": "runs this test",
    "build/accuracy/venv/bin/python tools/export_onnx.py": "needs PyTorch",
}


def blocks(page):
    return FENCE.findall(page.read_text(encoding="utf-8"))


def command_of(line):
    """The arguments of an `ullage` command line, or None."""
    match = re.match(r"(?:\$ )?(?:build/)?ullage (.+)", line)
    return match and shlex.split(match[1], comments=True)


def commands():
    for page in PAGES:
        for block in blocks(page):
            for line in block.splitlines():
                if arguments := command_of(line):
                    yield pytest.param(arguments, id=f"{page.name}: {' '.join(arguments)}")


@pytest.mark.parametrize("arguments", list(commands()))
def test_command_runs(arguments, tmp_path):
    for flag in ("-o", "--output", "--events"):  # what it writes goes to a folder of the test
        if flag in arguments:
            at = arguments.index(flag) + 1
            arguments = [*arguments[:at], str(tmp_path / arguments[at]), *arguments[at + 1 :]]
    result = run(*arguments)
    assert result.returncode in (0, 1), result.stderr  # 1: the answer is no
    assert len(result.stdout.splitlines()) > 3 or any(tmp_path.iterdir())


def test_readme_shows_every_command():
    shown = {param.values[0][0] for param in commands()}
    assert shown >= {"estimate", "summary", "explain", "inspect", "diff", "list"}


def test_every_line_of_the_readme_is_run_or_excused():
    lines = [line for block in blocks(ROOT / "README.md")[1:] for line in block.splitlines() if line.strip()]
    assert lines
    assert [line for line in lines if not command_of(line) and not line.startswith(tuple(NOT_RUN))] == []
    assert [start for start in NOT_RUN if not any(line.startswith(start) for line in lines)] == []


def test_readme_opens_with_the_real_output():
    page = ROOT / "README.md"
    shown = blocks(page)[0]
    first = shown.split("\n", 1)[0]
    result = run(*command_of(first), width=100)
    assert result.returncode == 0, result.stderr
    real = f"{first}\n{result.stdout}"
    if os.environ.get("ULLAGE_UPDATE") == "1":
        page.write_text(page.read_text(encoding="utf-8").replace(shown, real, 1), encoding="utf-8")
    else:
        assert shown == real


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    targets = [(page.parent / link).resolve().relative_to(ROOT).as_posix() for link in links]
    assert [target for target in targets if not (ROOT / target).exists()] == []
