"""ATen -> ONNX translations that keep what eager PyTorch does.

The stock translations of torch.onnx aim at inference: batch normalisation is forced to evaluation mode, a convolution
without bias gets a bias of zeros, attention with dropout is decomposed. An estimate of a training step needs the op
that really ran, so these replace them. Values need not be right to the last digit (the file has no weights); shapes,
dtypes, and which tensors an op reads do.
"""

from __future__ import annotations

import onnx_ir as ir
import torch
from onnxscript.onnx_opset import opset23 as op

aten = torch.ops.aten


def _ones(values, like):
    return op.ConstantOfShape(op.Shape(like, start=1, end=2), value=ir.tensor([values], dtype=like.dtype))


def _batch_norm(x, weight, bias, mean, var, momentum, eps, training):
    weight = _ones(1.0, x) if weight is None else weight
    bias = _ones(0.0, x) if bias is None else bias
    mean = _ones(0.0, x) if mean is None else mean
    var = _ones(1.0, x) if var is None else var
    if not training:
        y = op.BatchNormalization(x, weight, bias, mean, var, epsilon=eps, momentum=1.0 - momentum)
        return y, mean, var
    return op.BatchNormalization(
        x, weight, bias, mean, var, epsilon=eps, momentum=1.0 - momentum, training_mode=1
    )


def batch_norm_functional(
    input, weight=None, bias=None, running_mean=None, running_var=None, training: bool = True,
    momentum: float = 0.1, eps: float = 1e-5,
):
    y, mean, var = _batch_norm(input, weight, bias, running_mean, running_var, momentum, eps, training)
    return y, mean, var, mean, var


def batch_norm_no_training(
    input, weight=None, bias=None, running_mean=None, running_var=None, momentum: float = 0.1, eps: float = 1e-5
):
    return _batch_norm(input, weight, bias, running_mean, running_var, momentum, eps, False)


def batch_norm_no_stats(input, weight=None, bias=None, training: bool = True, momentum: float = 0.1, eps: float = 1e-5):
    return _batch_norm(input, weight, bias, None, None, momentum, eps, training)


def native_batch_norm(
    input, weight=None, bias=None, running_mean=None, running_var=None, training: bool = True,
    momentum: float = 0.1, eps: float = 1e-5,
):
    return _batch_norm(input, weight, bias, running_mean, running_var, momentum, eps, training)


def _spread(values, rank):
    values = list(values)
    return values * rank if len(values) == 1 and rank > 1 else values


def _conv(x, weight, bias, stride, padding, dilation, groups):
    rank = len(weight.shape) - 2
    inputs = [x, weight] if bias is None else [x, weight, bias]
    return op.Conv(
        *inputs,
        strides=_spread(stride, rank),
        pads=_spread(padding, rank) * 2,
        dilations=_spread(dilation, rank),
        group=groups,
    )


def convolution_nd(input, weight, bias=None, stride=(1,), padding=(0,), dilation=(1,), groups: int = 1):
    return _conv(input, weight, bias, stride, padding, dilation, groups)


def convolution(
    input, weight, bias=None, stride=(1,), padding=(0,), dilation=(1,), transposed: bool = False,
    output_padding=(0,), groups: int = 1,
):
    if not transposed:
        return _conv(input, weight, bias, stride, padding, dilation, groups)
    rank = len(weight.shape) - 2
    inputs = [input, weight] if bias is None else [input, weight, bias]
    return op.ConvTranspose(
        *inputs,
        strides=_spread(stride, rank),
        pads=_spread(padding, rank) * 2,
        dilations=_spread(dilation, rank),
        output_padding=_spread(output_padding, rank),
        group=groups,
    )


def dropout(input, p: float, train: bool):
    result, _ = op.Dropout(
        input, op.Constant(value=ir.tensor(p, dtype=ir.DataType.FLOAT)), op.Constant(value=ir.tensor(bool(train)))
    )
    return result


def attention(
    query, key, value, attn_mask=None, dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False,
):
    """scaled_dot_product_attention as one node.

    ONNX Attention has no dropout; the probability is in the metadata of the node ("ullage.dropout_p").
    """
    inputs = [query, key, value] if attn_mask is None else [query, key, value, attn_mask]
    result, _, _, _ = op.Attention(*inputs, scale=scale, is_causal=int(is_causal))
    return result


TABLE = {
    aten._native_batch_norm_legit_functional.default: batch_norm_functional,
    aten._native_batch_norm_legit_no_training.default: batch_norm_no_training,
    aten._native_batch_norm_legit.no_stats: batch_norm_no_stats,
    aten._native_batch_norm_legit.default: native_batch_norm,
    aten.native_batch_norm.default: native_batch_norm,
    aten.conv1d.default: convolution_nd,
    aten.conv2d.default: convolution_nd,
    aten.conv3d.default: convolution_nd,
    aten.convolution.default: convolution,
    aten.dropout.default: dropout,
    aten.scaled_dot_product_attention.default: attention,
}
