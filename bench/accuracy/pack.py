#!/usr/bin/env python3
"""Condenses recorded runs of PyTorch (one JSON object a line) to what the accuracy campaign compares.

    bench/accuracy/pack.py runs.jsonl --lib torchvision -o tests/data/truth/torchvision.jsonl.gz

A line of the result: the run's configuration as recorded (model, shape, batch, opt ...) and "marks", for each mark
[requested, allocated, peak requested, peak allocated, reserved, peak reserved], peaks since the mark before, in bytes.
"""

import argparse
import gzip
import json

DROPPED = {
    "torch", "input_shape", "bytes", "marks", "peak", "peak_live_top", "counts", "retries", "ooms", "n_alloc", "wall_s",
    "host_rss_peak", "host_rss_base", "trace_events", "trace_peak", "sane_model", "model_round", "cap_total",
    "peak_live_blocks", "cudaMalloc", "trace_file", "trace_gz", "lib",
}
FIGURES = ("req", "alloc", "req_pk", "alloc_pk", "res", "res_pk")


def pack(run):
    row = {key: value for key, value in run.items() if key not in DROPPED}
    row["marks"] = {name: [mark[figure] for figure in FIGURES] for name, mark in run["marks"].items()
                    if name not in ("start", "end")}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs")
    parser.add_argument("--lib", default="torchvision")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    with open(arguments.runs) as file:
        rows = [pack(run) for run in map(json.loads, file) if run["lib"] == arguments.lib]
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    with open(arguments.output, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
        packed.write(text.encode())
    print(f"{len(rows)} runs, {len(text)} bytes before compression")


if __name__ == "__main__":
    main()
