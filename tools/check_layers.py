#!/usr/bin/env python3
"""Checks that each layer includes only itself and the layers below it: check_layers.py [ROOT]."""

import pathlib
import re
import sys

# What a layer may include besides itself; `formats` brings `base`, and so on down.
BELOW = {
    "base": [],
    "formats": ["base"],
    "ir": ["formats"],
    "timeline": ["formats"],
    "eager": ["ir", "timeline"],
    "sim": ["eager"],
    "importers": ["ir"],
    "plan": ["sim", "importers"],
    "diagnose": ["sim", "importers"],
    "report": ["plan", "diagnose"],
    "cli": ["report"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"](?:ullage/)?(\w+)/')


def reachable(layer):
    found = {layer}
    for below in BELOW[layer]:
        found |= reachable(below)
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    problems, files = [], 0
    for folder in [*sorted((root / "ullage").iterdir()), root / "cli"]:
        if not folder.is_dir():
            continue
        if folder.name not in BELOW:
            problems.append(f"{folder}: this layer is not declared in tools/check_layers.py")
            continue
        allowed = reachable(folder.name)
        for file in sorted([*folder.rglob("*.h"), *folder.rglob("*.cpp")]):
            files += 1
            for number, line in enumerate(file.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if match and match[1] in BELOW and match[1] not in allowed:
                    problems.append(f"{file}:{number}: {folder.name} must not include {match[1]}")
    print("\n".join(problems) or f"{files} files keep to their layers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
