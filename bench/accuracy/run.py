#!/usr/bin/env python3
"""Compares `ullage estimate` with PyTorch's own counters over all recorded runs and writes docs/accuracy.md.

    bench/accuracy/run.py [--only SUBSTRING] [--rows] [-o FILE]

Needs build/ullage and the files of export.py. Exit status 1 when a bar is missed.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import report
from export import MODELS
from truth import ROOT, export_of, flags_of, is_plain, load, marks_of, refusal

ULLAGE = pathlib.Path(os.environ.get("ULLAGE", ROOT / "build/ullage"))


@dataclasses.dataclass
class Outcome:
    row: dict
    plain: bool
    why_not: str = ""          # not asked, not exported, or refused by ullage
    requested_off: str = ""    # first mark where `requested` differs, and by how much; empty when equal at all
    allocated_worst: float = 0.0   # of the marks, as a share of the truth
    peak_off: float = 0.0      # of peak.allocated, signed, as a share of the truth
    truth_peak: int = 0
    our_peak: int = 0

    @property
    def compared(self):
        return not self.why_not


def command_of(row):
    flags = [part for key, value in flags_of(row).items() for part in (f"--{key}", str(value))]
    return [str(ULLAGE), "estimate", str(MODELS / export_of(row).file), *flags, "--only-peak", "--json"]


def compare(row, answer):
    outcome = Outcome(row, is_plain(row))
    ours = {(mark["name"], mark["step"]): mark for mark in answer["marks"]}
    truth = marks_of(row)
    for key, (requested, allocated, *_) in truth.items():
        mark = ours.get(key)
        if mark is None:
            outcome.why_not = f"no mark {key[0]} of step {key[1]}"
            return outcome
        if mark["requested"] != requested and not outcome.requested_off:
            step = f" {key[1]}" if key[1] else ""
            outcome.requested_off = f"{key[0]}{step} {mark['requested'] - requested:+,} B"
        if allocated:
            outcome.allocated_worst = max(outcome.allocated_worst, abs(mark["allocated"] - allocated) / allocated)
    outcome.truth_peak = max(figures[3] for figures in truth.values())
    outcome.our_peak = max(ours[key]["allocated_peak"] for key in truth)
    outcome.peak_off = outcome.our_peak / outcome.truth_peak - 1
    return outcome


def ask(row):
    skipped = Outcome(row, is_plain(row))
    skipped.why_not = refusal(row) or ""
    if not skipped.why_not and not (MODELS / export_of(row).file).exists():
        skipped.why_not = "not exported"
    if skipped.why_not:
        return skipped
    done = subprocess.run(command_of(row), capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        skipped.why_not = done.stderr.strip().splitlines()[0] if done.stderr.strip() else f"exit {done.returncode}"
        return skipped
    return compare(row, json.loads(done.stdout))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="rows whose id contains this")
    parser.add_argument("--rows", action="store_true", help="print every row that differs")
    parser.add_argument("-o", "--output", help="write the page here")
    arguments = parser.parse_args()
    rows = [row for row in load() if arguments.only in row["id"]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(ask, rows))
    if arguments.rows:
        for outcome in outcomes:
            print(report.line(outcome))
    bars = report.bars(outcomes)
    print(report.bars_text(bars))
    if arguments.output:
        pathlib.Path(arguments.output).write_text(report.page(outcomes, bars))
    return 0 if all(bar.met for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
