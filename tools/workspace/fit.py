#!/usr/bin/env python3
"""Turns recorded convolution workspaces into the rows of ullage/eager/workspace_table.cpp.

    records/a100_tf32.jsonl       (one JSON object per asked problem and card)
    fit.py records/*.jsonl --write ../../ullage/eager/workspace_table.cpp

Every leaf of a small decision tree names which operands the chosen plan copies (x, y, w; channels padded or not) and how many
partial results it keeps. The tree minimises |predicted - recorded| bytes, each record divided by the root of its operands' bytes so
that large batches do not drown the rest. Without --write it fits on half of the shapes and reports the errors on the other half.
"""
import argparse
import json
import math
import os
import sys
import zlib

import numpy as np

CARDS = {  # name in the file: compute capability, SMs
    "t4": (75, 40), "a100": (80, 108), "3090": (86, 82), "3060": (86, 28), "4090": (89, 128), "h100": (90, 132),
    "b200": (100, 148), "5090": (120, 170),
}
# Same order and meaning as `features` in workspace.cpp.
FEATURES = ["capability", "sms", "batch", "in_per_group", "out_per_group", "groups", "kernel_area", "stride", "in_extent", "out_area",
            "out_positions", "in_mod8", "out_mod8", "out_area_mod8", "x_kib", "y_kib", "w_kib", "spatial_dims", "transposed",
            "bf16", "gemm_k", "pad"]
MASKS = ["", "w", "x", "y", "xy", "xw", "yw", "xyw"]
# Formulas a leaf may choose: (operands, padded, partial results, of an fp32 copy of what is written).
PARTIALS = {"wgrad": [0, 1, 2, 3, 4, 5, 8, 12, 16, 24, 36, 52, 70, 100, 140, 200, 400, 800],
            "fwd": [0, 1, 2, 3, 4, 6, 8, 12, 16, 24], "dgrad": [0, 1, 2, 3, 4, 6, 8, 12, 16, 24]}


def formulas(direction):
    out = [(m, True, 0) for m in MASKS] + [("xyw", False, 0), ("xy", False, 0)]
    for p in PARTIALS[direction][1:]:
        bases = ("xy", "yw", "xw", "") if direction == "wgrad" else ("xyw", "xw" if direction == "fwd" else "yw", "")
        out += [(m, True, p) for m in bases]
    return out


def operand_bytes(r):
    batch, inp, out_c, kernel, stride, pad, dil, groups, transposed, _, outp = r["p"]
    size = r["size"]
    vec = 16 // size
    up = lambda n: -(-n // vec) * vec
    c, k = inp[0], out_c
    px, py, ka = math.prod(inp[1:]), math.prod(outp), math.prod(kernel)
    wc, wk = (k, c) if transposed else (c, k)  # weight is [wk, wc/groups, …]
    padded = (batch * up(c) * px * size, batch * up(k) * py * size, wk * up(wc // groups) * ka * size)
    plain = (batch * c * px * size, batch * k * py * size, wk * (wc // groups) * ka * size)
    acc = (batch * c * px * 4, batch * k * py * 4, wk * (wc // groups) * ka * 4)
    return padded, plain, acc


def features(r):
    batch, inp, out_c, kernel, stride, pad, dil, groups, transposed, _, outp = r["p"]
    padded, plain, acc = operand_bytes(r)
    ka, oa = math.prod(kernel), math.prod(outp)
    return [r["cc"], r["sms"], batch, inp[0] // groups, out_c // groups, groups, ka, max(stride), inp[-1], oa, batch * oa,
            (inp[0] // groups) % 8, (out_c // groups) % 8, oa % 8, plain[0] // 1024, plain[1] // 1024, plain[2] // 1024, len(kernel),
            transposed, r["bf16"], inp[0] // groups * ka, max(pad)]


def load(paths):
    rows = {}
    for path in paths:
        card, precision, *rest = os.path.basename(path).removesuffix(".jsonl").split("_")
        if card not in CARDS:
            continue
        cc, sms = CARDS[card]
        kind = {"tf32": "tf32" if cc >= 80 else "full", "fp32": "full"}.get(precision, "half")
        mode = kind + ("_nhwc" if "cl" in rest else "")
        for line in open(path):
            try:
                v = json.loads(line)
            except json.JSONDecodeError:
                continue
            r = {"p": v[:11], "ws": v[11:14], "cc": cc, "sms": sms, "bf16": int(precision == "bf16"), "size": 2 if kind == "half" else 4,
                 "half": zlib.crc32(json.dumps(v[1:4] + [v[7]]).encode()) & 1}
            c, g = v[1][0], v[7]
            if g == c and g > 1 and mode in ("tf32", "full"):
                continue  # PyTorch's own depthwise kernels, no workspace (workspace.cpp knows)
            rows.setdefault(mode, []).append(r)
    return rows


class Tree:
    def __init__(self, feats, cost, direction, max_leaves, min_rows, min_gain):
        self.direction = direction
        order = [self._leaf(feats, cost, np.arange(len(feats)), min_rows)]
        self.nodes = order
        leaves = 1
        while leaves < max_leaves:
            best = max((n for n in self.nodes if n["split"] is not None and not n["done"]), key=lambda n: n["gain"], default=None)
            if best is None or best["gain"] < min_gain:
                break
            f, t = best["split"]
            idx = best["idx"]
            low = idx[feats[idx, f] <= t]
            high = idx[feats[idx, f] > t]
            best["done"] = True
            best["children"] = (self._leaf(feats, cost, low, min_rows), self._leaf(feats, cost, high, min_rows))
            self.nodes += best["children"]
            leaves += 1

    def _leaf(self, feats, cost, idx, min_rows):
        c = cost[idx]
        total = c.sum(0)
        node = {"idx": idx, "formula": int(total.argmin()), "cost": float(total.min()), "split": None, "gain": 0.0, "done": False}
        n = len(idx)
        if n < 2 * min_rows or node["cost"] <= 0:
            return node
        for f in range(feats.shape[1]):
            v = feats[idx, f]
            order = np.argsort(v, kind="stable")
            sv = v[order]
            cuts = np.nonzero(sv[1:] != sv[:-1])[0]
            cuts = cuts[(cuts >= min_rows - 1) & (cuts < n - min_rows)]
            if len(cuts) == 0:
                continue
            if len(cuts) > 48:
                cuts = cuts[np.linspace(0, len(cuts) - 1, 48).astype(int)]
            cum = np.add.reduceat(c[order], np.concatenate([[0], cuts + 1]), axis=0).cumsum(0)[:-1]
            split = cum.min(1) + (total - cum).min(1)
            at = int(split.argmin())
            gain = node["cost"] - float(split[at])
            if gain > node["gain"]:
                a, b = int(sv[cuts[at]]), int(sv[cuts[at] + 1])
                node["gain"], node["split"] = gain, (f, (a + b) // 2)
        return node

    def predict(self, feats):
        out = np.empty(len(feats), int)
        for i, row in enumerate(feats):
            n = self.nodes[0]
            while "children" in n:
                f, t = n["split"]
                n = n["children"][int(row[f] > t)]
            out[i] = n["formula"]
        return out


def tables(rows, direction):
    form = formulas(direction)
    written = {"fwd": 1, "dgrad": 0, "wgrad": 2}[direction]
    pred = np.zeros((len(rows), len(form)))
    ws = np.array([r["ws"][("fwd", "dgrad", "wgrad").index(direction)] for r in rows], float)
    scale = np.zeros(len(rows))
    for i, r in enumerate(rows):
        padded, plain, acc = operand_bytes(r)
        scale[i] = sum(plain)
        for j, (mask, pad, parts) in enumerate(form):
            src = padded if pad else plain
            pred[i, j] = sum(src["xyw".index(m)] for m in mask) + parts * acc[written]
    return np.array([features(r) for r in rows], dtype=np.int64), pred, ws, scale, form


def report(mode, direction, pred, ws, scale, where):
    err = np.abs(pred - ws)
    rel = err / np.maximum(scale, 1)
    print(f"{mode:10} {direction:6} n={len(ws):6} recorded/operands={ws.sum()/scale.sum():.3f} bytes error={err.sum()/max(ws.sum(),1):.3f} "
          f"error/operands: mean {rel.mean():.3f} p90 {np.quantile(rel, .9):.3f} exact(<1%) {np.mean(rel < .01):.2f} {where}", flush=True)


def write(path, trees):
    """Trees as arrays: a node is a question with two children; a child below 0 is leaf -1 - child."""
    nodes, leaves, roots = [], [], []
    for mode, direction, tree, feats, pred, ws, scale, form in trees:
        def add(n):
            if "children" not in n:
                idx, (mask, padded, parts) = n["idx"], form[n["formula"]]
                off = (ws[idx] - pred[idx, n["formula"]]) / np.maximum(scale[idx], 1) * 1000
                low, high = (int(math.floor(np.quantile(off, .025))), int(math.ceil(np.quantile(off, .975)))) if len(idx) else (0, 1000)
                leaves.append((sum(1 << "xyw".index(m) for m in mask), padded, parts, min(low, 0), max(high, 0), len(idx)))
                return -len(leaves)
            at = len(nodes)
            nodes.append(None)
            low, high = add(n["children"][0]), add(n["children"][1])
            nodes[at] = (FEATURES[n["split"][0]], n["split"][1], low, high)
            return at
        roots.append((mode, direction, add(tree.nodes[0])))
    out = ["// Generated by tools/workspace/fit.py from recorded workspaces (PyTorch 2.15, cuDNN 9.26); not to be edited by hand. How, from",
           "// what, and how good: docs/workspace.md.", "// clang-format off", "#include \"ullage/eager/workspace_table.h\"", "",
           "namespace ullage::eager {", "namespace {", "", "using enum Feature;", "",
           "constexpr PlanQuestion kQuestions[] = {"]
    out += [f"    {{{f}, {t}, {a}, {b}}}," for f, t, a, b in nodes]
    out += ["};", "", "// operands, padded, partial results, low and high in thousandths of the operands' bytes, records behind it",
            "constexpr PlanLeaf kLeaves[] = {"]
    out += [f"    {{{m}, {str(bool(p)).lower()}, {c}, {lo}, {hi}, {n}}}," for m, p, c, lo, hi, n in leaves]
    out += ["};", "", "}  // namespace", "", "PlanTable plan_table() {", "  return {kQuestions, kLeaves, {{"]
    per_mode = {}
    for mode, direction, root in roots:
        per_mode.setdefault(mode, []).append(str(root))
    out += [f"      {{{{{', '.join(r)}}}}},  // {mode}" for mode, r in per_mode.items()]
    out += ["  }}};", "}", "", "}  // namespace ullage::eager", ""]
    with open(path, "w") as f:
        f.write("\n".join(out))
    print(f"{len(nodes)} questions, {len(leaves)} leaves")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("files", nargs="+")
    ap.add_argument("--write")
    ap.add_argument("--leaves", type=int, default=240)
    ap.add_argument("--min-rows", type=int, default=6, help="records in a leaf")
    ap.add_argument("--min-gain", type=float, default=0.00005, help="of the cost of the best single formula")
    args = ap.parse_args()
    all_rows = load(args.files)
    out = []
    for mode in ("tf32", "half", "full", "tf32_nhwc", "half_nhwc"):
        rows = all_rows.get(mode, [])
        for direction in ("fwd", "dgrad", "wgrad"):
            feats, pred, ws, scale, form = tables(rows, direction)
            cost = np.abs(pred - ws[:, None]) / np.sqrt(scale)[:, None]
            half = np.array([r["half"] for r in rows])
            leaves = args.leaves if "nhwc" not in mode and mode != "full" else args.leaves // 2
            gain = float(cost.sum(0).min()) * args.min_gain
            if not args.write:
                fit, test = np.nonzero(half == 0)[0], np.nonzero(half == 1)[0]
                tree = Tree(feats[fit], cost[fit], direction, leaves, args.min_rows, gain)
                p = pred[test, tree.predict(feats[test])]
                report(mode, direction, p, ws[test], scale[test], "held out")
                for card in ("a100",):
                    cc = CARDS[card][0]
                    m = feats[test, 0] == cc
                    if m.any() and mode in ("tf32", "half"):
                        report(mode, direction, p[m], ws[test][m], scale[test][m], card)
            else:
                tree = Tree(feats, cost, direction, leaves, args.min_rows, gain)
                p = pred[np.arange(len(rows)), tree.predict(feats)]
                report(mode, direction, p, ws, scale, "fitted")
                out.append((mode, direction, tree, feats, pred, ws, scale, form))
    if args.write:
        write(args.write, out)


if __name__ == "__main__":
    main()
