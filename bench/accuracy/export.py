#!/usr/bin/env python3
"""Exports every file that the accuracy campaign needs to build/accuracy/models, once."""

import json
import sys

from truth import ROOT, export_of, load, refusal

sys.path.insert(0, str(ROOT / "tools"))
MODELS = ROOT / "build/accuracy/models"


def main():
    import export_onnx

    wanted = sorted({export_of(row) for row in load() if not refusal(row)}, key=lambda export: export.file)
    for export in wanted:
        path = MODELS / export.file
        if path.exists():
            continue
        try:
            export_onnx.export("torchvision/" + export.model, path, mode=export.mode, shape=export.shape,
                               inplace=export.inplace, options=json.loads(export.kwargs), value_info=False)
            print("exported", export.file, flush=True)
        except Exception as error:  # the table will say that the file is missing
            print("not exported", export.file, type(error).__name__, error, flush=True)


if __name__ == "__main__":
    main()
