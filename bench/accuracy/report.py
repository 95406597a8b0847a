"""The page of the accuracy campaign: bars, one line a model, one line a run."""

import collections
import dataclasses
import statistics


@dataclasses.dataclass
class Bar:
    what: str
    wanted: str
    measured: str
    met: bool


def _quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def bars(outcomes):
    plain = [o for o in outcomes if o.plain]
    compared = [o for o in outcomes if o.compared]
    equal = sum(o.compared and not o.requested_off for o in plain)
    inside = sum(o.compared and o.allocated_worst <= 0.005 for o in plain)
    peaks = [abs(o.peak_off) for o in compared]
    median = statistics.median(peaks) if peaks else float("nan")
    ninth = _quantile(peaks, 0.9)
    count = max(1, len(plain))
    return [
        Bar("requested equal at every mark, plain runs", "80 %", f"{equal} of {len(plain)} ({equal / count:.1%})",
            equal >= 0.8 * count),
        Bar("allocated within 0.5 % at every mark, plain runs", "100 %",
            f"{inside} of {len(plain)} ({inside / count:.1%})", inside == len(plain)),
        Bar("peak.allocated off by, median of all compared", "1.5 %", f"{median:.2%}", median <= 0.015),
        Bar("peak.allocated off by, nine in ten of all compared", "4 %", f"{ninth:.2%}", ninth <= 0.04),
    ]


def bars_text(rows):
    return "\n".join(f"{'met   ' if bar.met else 'MISSED'} {bar.what}: {bar.measured} (wanted {bar.wanted})" for bar in rows)


def _reason(outcome):
    if outcome.why_not:
        return outcome.why_not
    caveats = ", ".join(outcome.row.get("caveats") or []).replace("_", " ")
    if outcome.requested_off:
        return outcome.requested_off + (f" ({caveats})" if caveats else "")
    if abs(outcome.peak_off) > 0.0005:
        return "convolution workspaces are modelled" + (f" ({caveats})" if caveats else "")
    return ""


def line(outcome):
    peak = f"{outcome.peak_off:+8.2%} {outcome.allocated_worst:8.2%}" if outcome.compared else " " * 17
    return f"{outcome.row['id']:60.60} {peak} {_reason(outcome)}"


def _by_model(outcomes):
    groups = collections.defaultdict(list)
    for outcome in outcomes:
        groups[outcome.row["model"]].append(outcome)
    yield "| model | runs | compared | requested equal | allocated within 0.5 % | median peak error | worst peak error |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for model, group in sorted(groups.items()):
        compared = [o for o in group if o.compared]
        equal = sum(not o.requested_off for o in compared)
        inside = sum(o.allocated_worst <= 0.005 for o in compared)
        errors = [abs(o.peak_off) for o in compared]
        middle, worst = (f"{statistics.median(errors):.2%}", f"{max(errors):.2%}") if errors else ("", "")
        yield f"| {model} | {len(group)} | {len(compared)} | {equal} | {inside} | {middle} | {worst} |"


def _by_row(outcomes):
    yield "| run | PyTorch peak.allocated | Ullage | difference | worst mark, allocated | first difference and reason |"
    yield "|---|---:|---:|---:|---:|---|"
    for o in outcomes:
        figures = f"{o.truth_peak:,} | {o.our_peak:,} | {o.peak_off:+.2%} | {o.allocated_worst:.2%}" if o.compared else " | | | "
        yield f"| {o.row['id']} | {figures} | {_reason(o)} |"


def page(outcomes, rows):
    out = ["# Accuracy", "",
           "Ullage against PyTorch's own counters, from ONNX files without weights. Made by `make accuracy`; the runs are in",
           "`tests/data/truth/` (PyTorch 2.15, CUDA 13, its real caching allocator on a card that only counts; three steps each).",
           "A run is *plain* when its script throws no switch beyond model, batch, optimizer and card. Bytes throughout.", "",
           "| bar | wanted | measured | |", "|---|---|---|---|"]
    out += [f"| {bar.what} | {bar.wanted} | {bar.measured} | {'met' if bar.met else 'missed'} |" for bar in rows]
    out += ["", "## By model", "", *_by_model(outcomes), "", "## Every run", "", *_by_row(outcomes), ""]
    return "\n".join(out)
