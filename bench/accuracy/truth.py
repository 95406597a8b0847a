"""Recorded runs of PyTorch, and how each is asked of `ullage estimate`: which exported file, with which flags."""

import dataclasses
import gzip
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRUTH = ROOT / "tests/data/truth/torchvision.jsonl.gz"

OPTIMIZERS = {"sgd": "sgd", "sgdm": "momentum", "adam": "adam", "adamw": "adamw", "rmsprop": "rmsprop",
              "adagrad": "adagrad", "adafactor": "adafactor"}
DEVICES = {"a100": "a100-40g", "h100": "h100-80g", "3090": "rtx3090", "4090": "rtx4090", "t4": "t4"}

# What an ONNX file or a flag cannot say, with the reason that the table gives.
NOT_ASKED = {
    "benchmark": "cudnn.benchmark times plans; on a pretend GPU all times are equal",
    "clip": "clip_grad_norm_ has no flag yet",
}


@dataclasses.dataclass(frozen=True)
class Export:
    """A file to export: everything that changes the graph."""

    model: str
    shape: tuple
    mode: str
    inplace: bool
    kwargs: str

    @property
    def file(self):
        parts = [self.model, "x".join(map(str, self.shape)), self.mode]
        parts += [] if self.inplace else ["noinplace"]
        parts += [] if self.kwargs == "{}" else ["kw"]
        return "_".join(parts) + ".onnx"


def load(path=TRUTH):
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def refusal(row):
    """Why a row is not asked, or None."""
    if row.get("task") == "det":
        return "detection models choose boxes by value"
    return next((why for key, why in NOT_ASKED.items() if row.get(key)), None)


def export_of(row):
    mode = "train" if row.get("mode", "train") == "train" else "eval"
    return Export(row["model"], tuple(row["shape"]), mode, row.get("inplace") is not False,
                  json.dumps(row.get("kw") or {}, sort_keys=True))


def precision_of(row):
    if row.get("amp"):
        return "amp-" + row["amp"]
    if row.get("pdtype", "fp32") != "fp32":
        return row["pdtype"]
    return {None: "fp32", True: "tf32", False: "fp32-strict"}[row.get("tf32")]


def flags_of(row):
    mode = {"train": "train", "eval": "forward"}.get(row.get("mode", "train"), "infer")
    accumulate = row.get("accum", 1)
    flags = {"mode": mode, "batch": row["batch"] // accumulate, "precision": precision_of(row),
             "device": DEVICES[row["gpu"]], "steps": 3}
    if mode == "train":
        flags["optimizer"] = OPTIMIZERS[row.get("opt", "sgd")]
        flags["accumulate"] = accumulate
    if row.get("fused"):
        flags["optimizer-impl"] = "fused"
    elif "foreach" in row:
        flags["optimizer-impl"] = "foreach" if row["foreach"] else "forloop"
    if row.get("channels_last"):
        flags["memory-format"] = "channels_last"
    if row.get("cudnn") is False:
        flags["cudnn"] = "off"
    if row.get("alloc_conf"):
        flags["alloc-conf"] = row["alloc_conf"]
    if row.get("ckpt_segments"):
        flags["checkpoint"] = f"segments={row['ckpt_segments']}"
    loop = []
    if row.get("set_to_none") is False:
        loop.append("set-to-none=no")
    if row.get("out_kept"):
        loop.append("keep=outputs")
    if row.get("del_loss"):
        loop.append("keep=none")
    if loop:
        flags["loop"] = ",".join(loop)
    return flags


# Configuration keys that say nothing about the step itself.
NEUTRAL = {"id", "model", "shape", "batch", "opt", "gpu", "params_numel", "marks", "task", "classes", "mode", "caveats"}


def is_plain(row):
    """An ordinary training run: no switch is thrown that a plain script does not throw."""
    return row.get("mode", "train") == "train" and set(row) <= NEUTRAL and row.get("task") != "det"


def marks_of(row):
    """Marks by the names of our timeline: (name, step) -> figures.

    The recorded script makes its int64 targets in every mode. A forward pass without a loss has none, so they are taken
    off: their bytes from requested, the allocator's multiple of 512 from allocated.
    """
    targets = 0 if row.get("mode", "train") == "train" else 8 * row["batch"]
    rounded = -(-targets // 512) * 512
    out = {}
    for name, figures in row["marks"].items():
        if targets and name != "after_model":
            requested, allocated, requested_peak, allocated_peak, *reserved = figures
            figures = [requested - targets, allocated - rounded, requested_peak - targets, allocated_peak - rounded, *reserved]
        if name in ("after_model", "after_data"):
            out[("after_inputs" if name == "after_data" else name, 0)] = figures
        else:
            step, phase = name[1:].split("_")
            out[("after_" + phase, int(step))] = figures
    return out
