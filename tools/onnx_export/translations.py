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
        # Statistics nobody reads; the exporter gives every result a name of its own, so they must not be values that have one.
        return y, op.Identity(mean), op.Identity(var)
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


def _shape_tensor(size):
    """One int64 tensor of a list of ints and symbolic ints; a lone symbolic dim becomes -1, which any batch fits."""
    fixed = [isinstance(d, int) for d in size]
    if fixed.count(False) <= 1 and all(d >= 0 for d in size if isinstance(d, int)) and 0 not in size:
        return op.Constant(value=ir.tensor([d if isinstance(d, int) else -1 for d in size], dtype=ir.DataType.INT64))
    if all(fixed):
        return op.Constant(value=ir.tensor(list(size), dtype=ir.DataType.INT64))
    one = op.Constant(value=ir.tensor([1], dtype=ir.DataType.INT64))
    return op.Concat(*[
        op.Constant(value=ir.tensor([d], dtype=ir.DataType.INT64)) if isinstance(d, int) else op.Reshape(d, one)
        for d in size
    ], axis=0)


def view(self, size):
    return op.Reshape(self, _shape_tensor(size), allowzero=0)


def select(self, dim: int, index: int):
    return op.Gather(self, op.Constant(value=ir.tensor(index, dtype=ir.DataType.INT64)), axis=dim)


def slice_tensor(self, dim: int = 0, start=None, end=None, step: int = 1):
    def one(value, otherwise):
        if value is None:
            value = otherwise
        if isinstance(value, int):
            return op.Constant(value=ir.tensor([value], dtype=ir.DataType.INT64))
        return op.Reshape(value, op.Constant(value=ir.tensor([1], dtype=ir.DataType.INT64)))
    return op.Slice(self, one(start, 0), one(end, 2**63 - 1), one(dim, 0), one(step, 1))


def split_with_sizes(self, split_sizes, dim: int = 0):
    """One Split; pipeline.tidy removes num_outputs again, which only tells the builder how many outputs to make."""
    if len(split_sizes) == 1:
        return [op.Identity(self)]
    sizes = op.Constant(value=ir.tensor(list(split_sizes), dtype=ir.DataType.INT64))
    return op.Split(self, sizes, axis=dim, num_outputs=len(split_sizes))


def split(self, split_size: int, dim: int = 0):
    size = self.shape[dim]
    whole, rest = divmod(size, split_size)
    return split_with_sizes(self, [split_size] * whole + ([rest] if rest else []), dim)


def unbind(self, dim: int = 0):
    return [select(self, dim, i) for i in range(self.shape[dim])]


def _adaptive_average(x, output_size, rank):
    """Global, or windows that tile the input; else a Resize, which has the right shape ("ullage.aten" tells the op)."""
    output_size = list(output_size)
    inputs = list(x.shape)[-rank:]
    if all(o == 1 for o in output_size):
        return op.GlobalAveragePool(x)
    if all(isinstance(i, int) and i % o == 0 for i, o in zip(inputs, output_size)):
        kernel = [i // o for i, o in zip(inputs, output_size)]
        return op.AveragePool(x, kernel_shape=kernel, strides=kernel)
    sizes = op.Constant(value=ir.tensor(output_size, dtype=ir.DataType.INT64))
    return op.Resize(x, None, None, sizes, axes=list(range(2, 2 + rank)), mode="linear")


def adaptive_avg_pool1d(self, output_size):
    return _adaptive_average(self, output_size, 1)


def adaptive_avg_pool2d(self, output_size):
    return _adaptive_average(self, output_size, 2)


def adaptive_avg_pool3d(self, output_size):
    return _adaptive_average(self, output_size, 3)


def index(self, indices):
    """Advanced indexing with one index tensor is one Gather; anything else as torch.onnx has it."""
    given = [i for i, value in enumerate(indices) if value is not None]
    if len(given) == 1 and indices[given[0]].dtype != ir.DataType.BOOL:
        return op.Gather(self, indices[given[0]], axis=given[0])
    from onnxscript.function_libs.torch_lib.ops import core

    return core.aten_index(self, indices)


def bernoulli(self, p: float):
    """Random zeros and ones of the shape of self."""
    return op.Bernoulli(self)


def roll(self, shifts, dims=()):
    """Two slices and a concatenation a dimension; an unknown dimension does not matter to Slice."""
    def bound(value):
        return op.Constant(value=ir.tensor([value], dtype=ir.DataType.INT64))
    if not dims:
        return op.Identity(self)  # rolls the flattened tensor: one copy
    for shift, dim in zip(shifts, dims):
        head = op.Slice(self, bound(-shift), bound(2**63 - 1), bound(dim))
        tail = op.Slice(self, bound(0), bound(-shift), bound(dim))
        self = op.Concat(head, tail, axis=dim)
    return self


def lstm(input, hx, params, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool,
         batch_first: bool):
    """One ONNX LSTM a layer. The order of the gates inside the weights stays PyTorch's: there are no values."""
    directions = 2 if bidirectional else 1
    per_cell = 4 if has_biases else 2
    axis0 = op.Constant(value=ir.tensor([0], dtype=ir.DataType.INT64))
    x = op.Transpose(input, perm=[1, 0, 2]) if batch_first else input
    hidden, cells = [], []
    for layer in range(num_layers):
        weights, recurrences, biases = [], [], []
        for direction in range(directions):
            cell = params[(layer * directions + direction) * per_cell :][:per_cell]
            weights.append(op.Unsqueeze(cell[0], axis0))
            recurrences.append(op.Unsqueeze(cell[1], axis0))
            if has_biases:
                biases.append(op.Unsqueeze(op.Concat(cell[2], cell[3], axis=0), axis0))
        def joined(parts):
            return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)
        def state(tensor):
            if num_layers == 1:
                return tensor
            start, end = layer * directions, (layer + 1) * directions
            return slice_tensor(tensor, 0, start, end)
        y, h, c = op.LSTM(
            x, joined(weights), joined(recurrences), joined(biases) if has_biases else None, None,
            state(hx[0]), state(hx[1]), hidden_size=cell[1].shape[1],
            direction="bidirectional" if bidirectional else "forward",
        )
        y = op.Transpose(y, perm=[0, 2, 1, 3])  # time, directions, batch, hidden -> time, batch, directions, hidden
        x = op.Reshape(y, op.Constant(value=ir.tensor([0, 0, -1], dtype=ir.DataType.INT64)))
        if dropout and train and layer + 1 < num_layers:
            x, _ = op.Dropout(x, op.Constant(value=ir.tensor(dropout, dtype=ir.DataType.FLOAT)),
                              op.Constant(value=ir.tensor(True)))
        hidden.append(h)
        cells.append(c)
    out = op.Transpose(x, perm=[1, 0, 2]) if batch_first else x
    if num_layers == 1:
        return out, hidden[0], cells[0]
    return out, op.Concat(*hidden, axis=0), op.Concat(*cells, axis=0)


TABLE = {
    aten.view.default: view,
    aten._unsafe_view.default: view,
    aten.reshape.default: view,
    aten.select.int: select,
    aten.slice.Tensor: slice_tensor,
    aten.roll.default: roll,
    aten.split.Tensor: split,
    aten.split_with_sizes.default: split_with_sizes,
    aten.unbind.int: unbind,
    aten.adaptive_avg_pool1d.default: adaptive_avg_pool1d,
    aten.adaptive_avg_pool2d.default: adaptive_avg_pool2d,
    aten._adaptive_avg_pool2d.default: adaptive_avg_pool2d,
    aten.adaptive_avg_pool3d.default: adaptive_avg_pool3d,
    aten._adaptive_avg_pool3d.default: adaptive_avg_pool3d,
    aten.index.Tensor: index,
    aten.bernoulli.p: bernoulli,
    aten.lstm.input: lstm,
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
