"""Exporting PyTorch models to ONNX files without weights; see tools/export_onnx.py."""
