#!/usr/bin/env python3
"""Exports a model of torchvision, timm or transformers to an ONNX file without weights.

    tools/export_onnx.py resnet50 -o resnet50.onnx
    tools/export_onnx.py timm/convnextv2_tiny hf/gpt2 --out-dir build/onnx
    tools/export_onnx.py --examples            # the files of examples/

The graph is that of torch.export, translated op by op by torch.onnx (dynamo exporter, opset 23) without its optimiser,
so it stays close to what eager mode runs: batch normalisation in training mode with its statistics, Dropout nodes,
LayerNormalization, Gelu, one Attention node for scaled_dot_product_attention, no folding, no merged weights. Modules
are built as fake tensors where possible: an 8 B model needs no 32 GB.

What the file holds
  * initializers: name, dtype and dims of every parameter and buffer, in the order in which module.cuda() allocates them;
    their bytes are EXTERNAL in "weights.bin", which does not exist. Buffers that no op reads (num_batches_tracked) and
    unused parameters are there too, since they take memory. Tied weights appear once. Integer constants up to 1 KiB
    and scalars stay inside (shapes depend on them).
  * dims "batch" (and "sequence", "target") are symbolic unless --frozen-batch.
  * node metadata:
      ullage.module      dotted path of the module that ran the op, for example layer1.0.bn1
      ullage.aten        the ATen op as the program called it, before functionalisation: aten.relu_.default (in place),
                         aten.add_.Tensor, aten.flatten.using_ints against aten.view.default, aten.chunk.default ...
      ullage.node        name of that call; several ONNX nodes with one ullage.node come from one ATen call
      ullage.dropout_p   dropout inside scaled_dot_product_attention, which ONNX Attention cannot say
  * model metadata:
      ullage.model, ullage.mode (train|eval), ullage.torch (version that exported)
      ullage.parameters  names of parameters() in order (the optimizer's order), one a line
      ullage.buffers     names of buffers, one a line; ullage.frozen: parameters without requires_grad
      ullage.loss_weights  weights of the outputs' losses where training uses auxiliary outputs, for example 1,0.4
  * no stack traces, documentation strings or paths.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

EXAMPLES = {
    "resnet50": "torchvision/resnet50", "vgg16": "torchvision/vgg16", "mobilenet_v2": "torchvision/mobilenet_v2",
    "densenet121": "torchvision/densenet121", "efficientnet_b0": "torchvision/efficientnet_b0",
    "vit_b_16": "torchvision/vit_b_16", "swin_t": "torchvision/swin_t", "gpt2": "hf/gpt2", "bert-base": "hf/bert-base",
    "unet": "own/unet", "detector": "own/detector", "lstm_lm": "own/lstm_lm",
}


def export(name, path, *, mode="train", batch=None, shape=None, seq=128, inplace=True, options=None, value_info=True):
    """Writes one model; returns the ModelProto."""
    import torch

    from onnx_export import catalogue, pipeline

    built = catalogue.build(name, mode=mode, batch=batch, shape=shape, seq=seq, inplace=inplace, options=options)
    facts = {"ullage.model": built.name, "ullage.mode": mode, "ullage.torch": torch.__version__.split("+")[0]}
    if built.loss:
        facts["ullage.loss_weights"] = built.loss
    proto = pipeline.export_module(
        built.module, built.args, built.kwargs, dynamic=built.dynamic, name=built.name.split("/")[-1], facts=facts,
        value_info=value_info,
    )
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(proto.SerializeToString(deterministic=True))
    return proto


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="See the head of this file.")
    parser.add_argument("models", nargs="*", help="torchvision/NAME, timm/NAME, hf/NAME, own/NAME or a bare NAME")
    parser.add_argument("-o", "--output", help="file to write (one model)")
    parser.add_argument("--out-dir", default=".", help="folder for NAME.onnx (several models)")
    parser.add_argument("--mode", choices=("train", "eval"), default="train")
    parser.add_argument("--frozen-batch", type=int, metavar="N", help="write N instead of a symbolic batch")
    parser.add_argument("--shape", help="input of one sample, for example 3x112x112")
    parser.add_argument("--seq", type=int, default=128, help="example length of language models")
    parser.add_argument("--no-inplace", action="store_true", help="turn in-place activations off first")
    parser.add_argument("--no-value-info", action="store_true", help="leave the shapes of inner tensors out")
    parser.add_argument("--examples", action="store_true", help="write the files of examples/")
    parser.add_argument("--skip-existing", action="store_true")
    arguments = parser.parse_args()
    shape = tuple(int(d) for d in arguments.shape.split("x")) if arguments.shape else None
    jobs = [(m, pathlib.Path(arguments.out_dir) / (m.split("/")[-1] + ".onnx")) for m in arguments.models]
    if arguments.examples:
        folder = pathlib.Path(__file__).resolve().parents[1] / "examples"
        jobs += [(m, folder / (n + ".onnx")) for n, m in EXAMPLES.items()]
    if arguments.output:
        if len(jobs) != 1:
            parser.error("-o needs exactly one model")
        jobs = [(jobs[0][0], pathlib.Path(arguments.output))]
    if not jobs:
        parser.error("no model named")
    failed = 0
    for model, path in jobs:
        if arguments.skip_existing and path.exists():
            continue
        start = time.monotonic()
        try:
            proto = export(
                model, path, mode=arguments.mode, batch=arguments.frozen_batch, shape=shape, seq=arguments.seq,
                inplace=not arguments.no_inplace, value_info=not (arguments.no_value_info or arguments.examples),
            )
        except Exception as error:  # noqa: BLE001: one model that fails must not stop the others
            failed += 1
            text = str(error).strip().splitlines()
            print(f"{model}: {type(error).__name__}: {text[0][:300] if text else ''}", file=sys.stderr)
            if os.environ.get("EXPORT_TRACEBACK"):
                raise
            continue
        print(f"{path}: {len(proto.graph.node)} nodes, {path.stat().st_size} bytes, "
              f"{time.monotonic() - start:.1f} s", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
