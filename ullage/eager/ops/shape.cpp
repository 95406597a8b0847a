#include <algorithm>
#include <string_view>

#include "ullage/eager/ops/unary.h"

namespace ullage::eager {
namespace {

int dim_of(const Call& c, std::string_view key, int64_t otherwise = 0) {
  const int64_t dim = c.node.attr_int(key, otherwise);
  return static_cast<int>(dim < 0 ? dim + c.in[0].rank() : dim);
}

bool all_channels_last(std::span<const Tensor> tensors) {
  return std::ranges::all_of(tensors, [](const Tensor& t) { return t.is_channels_last() && !t.is_contiguous(); });
}

// What cat and stack make: channels_last when every operand is.
Tensor joined_result(Machine& m, const Shape& sizes, std::span<const Tensor> parts, DType dtype) {
  return m.empty_strided(sizes, all_channels_last(parts) ? channels_last_strides(sizes) : contiguous_strides(sizes),
                         dtype);
}

DType widest(std::span<const Tensor> tensors) {
  DType dtype = tensors[0].dtype();
  for (const Tensor& t : tensors) dtype = promote(dtype, t.dtype());
  return dtype;
}

// Gradients are views of the incoming one.
void cat(Call& c) {
  const Shape& sizes = c.shape();
  int64_t dim = c.node.attr_int("dim", 0);
  if (dim < 0) dim += sizes.rank();
  std::vector<int64_t> lengths;
  for (const Tensor& t : c.in) lengths.push_back(t.rank() == sizes.rank() ? t.size(static_cast<int>(dim)) : 0);
  Tensor y = joined_result(c.m, sizes, c.in, widest(c.in));
  c.m.record("CatBackward0", c.in, std::span(&y, 1), {}, [lengths, dim](Backward& b) {
    int64_t start = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (b.needs(i)) b.set(i, slice(b.m, b.grad(), static_cast<int>(dim), start, lengths[i]));
      start += lengths[i];
    }
  });
  c.out[0] = y;
}

// One position of a dim: a view without that dim.
Tensor selected(Machine& m, const Tensor& x, int dim) {
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  sizes.erase(dim);
  strides.erase(dim);
  return m.view_of(x, sizes, strides);
}

void stack(Call& c) {
  int64_t dim = c.node.attr_int("dim", 0);
  if (dim < 0) dim += c.shape().rank();
  Tensor y = c.m.empty(c.shape(), widest(c.in));
  c.m.record("StackBackward0", c.in, std::span(&y, 1), {}, [dim](Backward& b) {
    for (size_t i = 0; i < b.results().size(); ++i) {
      if (b.needs(i)) b.set(i, selected(b.m, b.grad(), static_cast<int>(dim)));
    }
  });
  c.out[0] = y;
}

// The sizes along `dim` of the parts that split, chunk and unbind make.
std::vector<int64_t> part_lengths(const Call& c, int dim) {
  const int64_t total = c.in[0].size(dim);
  const std::span<const int64_t> given = c.node.attr_ints("split_size");
  if (given.size() > 1) return {given.begin(), given.end()};
  const int64_t chunks = std::max<int64_t>(c.node.attr_int("chunks", static_cast<int64_t>(c.out.size())), 1);
  const int64_t length = std::max<int64_t>(given.empty() ? (total + chunks - 1) / chunks : given[0], 1);
  std::vector<int64_t> lengths;
  for (int64_t start = 0; start < total; start += length) lengths.push_back(std::min(length, total - start));
  return lengths;
}

DType defined_dtype(const Backward& b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (b.grad(i).defined()) return b.grad(i).dtype();
  }
  return b.output(0).dtype;
}

// Parts are views; backward joins the gradients, with zeros for a part that got none.
void split(Call& c) {
  const Tensor& x = c.in[0];
  const int dim = dim_of(c, "dim");
  const std::vector<int64_t> lengths = part_lengths(c, dim);
  std::vector<Tensor> parts;
  for (const int64_t length : lengths) {
    Shape sizes = x.sizes();
    sizes.set(dim, length);
    parts.push_back(c.m.view_of(x, sizes, x.strides()));
  }
  c.m.record("SplitBackward0", std::span(&x, 1), parts, {}, [count = parts.size(), from = x.sizes()](Backward& b) {
    const DType dtype = defined_dtype(b, count);
    std::vector<Tensor> grads;
    for (size_t i = 0; i < count; ++i)
      grads.push_back(b.grad(i).defined() ? b.grad(i) : b.m.empty(b.output(i).sizes, dtype));
    b.set(0, joined_result(b.m, from, grads, dtype));
  });
  for (size_t i = 0; i < c.out.size() && i < parts.size(); ++i) c.out[i] = parts[i];
}

void unbind(Call& c) {
  const Tensor& x = c.in[0];
  const int dim = dim_of(c, "dim");
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < x.size(dim); ++i) parts.push_back(selected(c.m, x, dim));
  c.m.record("UnbindBackward0", std::span(&x, 1), parts, {}, [count = parts.size(), from = x.sizes()](Backward& b) {
    const DType dtype = defined_dtype(b, count);
    std::vector<Tensor> grads;  // a missing one is one expanded zero
    for (size_t i = 0; i < count; ++i) grads.push_back(b.grad(i).defined() ? b.grad(i) : b.m.empty({}, dtype));
    b.set(0, b.m.empty(from, dtype));
  });
  for (size_t i = 0; i < c.out.size() && i < parts.size(); ++i) c.out[i] = parts[i];
}

void select(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = selected(c.m, x, dim_of(c, "dim"));
  c.m.record("SelectBackward0", {x}, {y}, {},
             [from = x.sizes()](Backward& b) { b.set(0, b.m.empty(from, b.grad().dtype())); });
  c.out[0] = y;
}

// A slice of everything is the tensor itself, as Python's indexing has it.
void slice_rule(Call& c) {
  const Tensor& x = c.in[0];
  const int dim = dim_of(c, "dim");
  const int64_t step = c.node.attr_int("step", 1);
  c.out[0] = x.sizes() == c.shape() && step == 1 ? x : slice(c.m, x, dim, 0, c.shape()[dim], step);
}

void expand_rule(Call& c) { c.out[0] = expand(c.m, c.in[0], c.shape()); }
void reshape_rule(Call& c) { c.out[0] = reshape(c.m, c.in[0], c.shape()); }
void flatten(Call& c) { c.out[0] = c.in[0].sizes() == c.shape() ? c.in[0] : reshape(c.m, c.in[0], c.shape()); }
void permute_rule(Call& c) { c.out[0] = permute(c.m, c.in[0], c.node.attr_ints("dims")); }
void transpose_rule(Call& c) { c.out[0] = transpose(c.m, c.in[0], dim_of(c, "dim0"), dim_of(c, "dim1", 1)); }
void clone_rule(Call& c) { c.out[0] = clone(c.m, c.in[0]); }
void contiguous_rule(Call& c) { c.out[0] = contiguous(c.m, c.in[0]); }
void unsqueeze_rule(Call& c) { c.out[0] = unsqueeze(c.m, c.in[0], static_cast<int>(c.node.attr_int("dim", 0))); }
void to(Call& c) { c.out[0] = c.node.has_attr("dtype") ? to_dtype(c.m, c.in[0], c.graph_dtype()) : c.in[0]; }

void squeeze_rule(Call& c) {
  const Tensor& x = c.in[0];
  std::vector<int> dims;
  for (const int64_t d : c.node.attr_ints("dim")) dims.push_back(static_cast<int>(d < 0 ? d + x.rank() : d));
  for (int d = 0; d < x.rank() && !c.node.has_attr("dim"); ++d) dims.push_back(d);
  std::ranges::sort(dims, std::ranges::greater());
  c.out[0] = x;
  for (const int d : dims) c.out[0] = squeeze(c.m, c.out[0], d);
}

// Tensor.unfold: windows as a view; backward adds them up again, with an int64 index of the dim.
void unfold(Call& c) {
  const Tensor& x = c.in[0];
  const int dim = dim_of(c, "dimension");
  Strides strides = x.strides();
  strides.push(x.strides()[dim]);
  strides.set(dim, x.strides()[dim] * c.node.attr_int("step", 1));
  Tensor y = c.m.view_of(x, c.shape(), strides);
  c.m.record("UnfoldBackward0", {x}, {y}, {}, [from = x.sizes(), dim](Backward& b) {
    b.set(0, b.m.empty(from, b.grad().dtype()));
    const Tensor index = b.m.empty({from[dim]}, DType::i64);
  });
  c.out[0] = y;
}

// ---- one new tensor forward, one backward, nothing kept ----

using Remake = Tensor (*)(Machine&, const Tensor& from, const Shape& sizes);

Tensor remake_contiguous(Machine& m, const Tensor& from, const Shape& sizes) { return m.empty(sizes, from.dtype()); }

// Keeps channels_last.
Tensor remake_suggested(Machine& m, const Tensor& from, const Shape& sizes) {
  return joined_result(m, sizes, std::span(&from, 1), from.dtype());
}

void remade(Call& c, std::string_view name, Remake make) {
  const Tensor& x = c.in[0];
  Tensor y = make(c.m, x, c.shape());
  c.m.record(name, {x}, {y}, {}, [from = x.sizes(), make](Backward& b) { b.set(0, make(b.m, b.grad(), from)); });
  c.out[0] = y;
}

void constant_pad_nd(Call& c) { remade(c, "ConstantPadNdBackward0", remake_suggested); }
void tril(Call& c) { remade(c, "TrilBackward0", remake_contiguous); }
void triu(Call& c) { remade(c, "TriuBackward0", remake_contiguous); }
void pixel_shuffle(Call& c) { remade(c, "PixelShuffleBackward0", remake_contiguous); }
void pixel_unshuffle(Call& c) { remade(c, "PixelUnshuffleBackward0", remake_contiguous); }

// Forward copies its input for the duration of the call; the gradient sits in a storage as large as the columns.
void im2col(Call& c) {
  const Tensor& x = c.in[0];
  const Tensor copy = c.m.empty(x.sizes(), x.dtype());
  Tensor y = c.m.empty(c.shape(), x.dtype());
  c.m.record("Im2ColBackward0", {x}, {y}, {}, [from = x.sizes()](Backward& b) {
    const Tensor columns = b.m.empty(b.grad().sizes(), b.grad().dtype());
    b.set(0, b.m.view_of(columns, from, contiguous_strides(from)));
  });
  c.out[0] = y;
}
void col2im(Call& c) { remade(c, "Col2ImBackward0", remake_contiguous); }
void fft_c2c(Call& c) { remade(c, "FftC2CBackward0", remake_contiguous); }

// These keep their input although only its sizes matter.
void reflection_pad(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = remake_suggested(c.m, x, c.shape());
  c.m.record("ReflectionPadBackward0", {x}, {y}, {x},
             [](Backward& b) { b.set(0, remake_suggested(b.m, b.saved(0), b.saved(0).sizes())); });
  c.out[0] = y;
}

void flip(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = c.m.empty_like(x);
  c.m.record("FlipBackward0", {x}, {y}, {}, [](Backward& b) { b.set(0, b.m.empty_like(b.grad())); });
  c.out[0] = y;
}

// One dim after the other, each a contiguous tensor made from a contiguous one.
Tensor rolled(Machine& m, const Tensor& x, size_t dims) {
  Tensor copy = x.is_contiguous() ? Tensor() : m.empty(x.sizes(), x.dtype());
  Tensor out;
  for (size_t i = 0; i < dims; ++i) {
    out = m.empty(x.sizes(), x.dtype());
    copy = {};
  }
  return out;
}

void roll(Call& c) {
  const Tensor& x = c.in[0];
  const size_t dims = std::max<size_t>(c.node.attr_ints("dims").size(), 1);
  Tensor y = rolled(c.m, x, dims);
  c.m.record("RollBackward0", {x}, {y}, {}, [dims](Backward& b) { b.set(0, rolled(b.m, b.grad(), dims)); });
  c.out[0] = y;
}

// repeat_backward: new leading dims are summed away one by one, the others at once after a reshape that sets the copies
// apart.
Tensor unrepeated(Machine& m, Tensor grad, const Shape& sizes, const std::vector<int64_t>& repeats) {
  const size_t leading = repeats.size() - static_cast<size_t>(sizes.rank());
  const int64_t first = 0;
  for (size_t i = 0; i < leading; ++i) grad = sum_dims(m, grad, std::span(&first, 1), false);
  Shape apart;
  Shape copies;
  for (int d = 0; d < sizes.rank(); ++d) {
    const int64_t times = repeats[leading + static_cast<size_t>(d)];
    if (times != 1) {
      copies.push(apart.rank());
      apart.push(times);
    }
    apart.push(sizes[d]);
  }
  grad = reshape(m, grad, apart);
  return copies.rank() == 0 ? grad : sum_dims(m, grad, copies.sizes(), false);
}

void repeat(Call& c) {
  const Tensor& x = c.in[0];
  const std::span<const int64_t> times = c.node.attr_ints("repeats");
  Tensor y = c.m.empty(c.shape(), x.dtype());
  c.m.record("RepeatBackward0", {x}, {y}, {},
             [from = x.sizes(), repeats = std::vector<int64_t>(times.begin(), times.end())](Backward& b) {
               b.set(0, unrepeated(b.m, b.grad(), from, repeats));
             });
  c.out[0] = y;
}

// ---- Fourier transforms ----

DType complex_of(DType dtype) { return dtype == DType::f64 ? DType::c128 : DType::c64; }
DType real_of(DType dtype) { return dtype == DType::c128 ? DType::f64 : DType::f32; }

// Backward: the half spectrum padded to the whole, its transform, and the real part as a tensor of its own.
void fft_r2c(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = c.m.empty(c.shape(), complex_of(x.dtype()));
  c.m.record("FftR2CBackward0", {x}, {y}, {x}, [](Backward& b) {
    Tensor padded = b.m.empty(b.saved(0).sizes(), b.grad().dtype());
    const Tensor spectrum = b.m.empty(b.saved(0).sizes(), b.grad().dtype());
    padded = {};
    b.set(0, b.m.empty(b.saved(0).sizes(), real_of(b.grad().dtype())));
  });
  c.out[0] = y;
}

// The library overwrites its input, hence the copy.
void fft_c2r(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = c.m.empty(c.shape(), real_of(x.dtype()));
  const Tensor copy = c.m.empty(x.sizes(), x.dtype());
  c.m.record("FftC2RBackward0", {x}, {y}, {},
             [from = x.sizes()](Backward& b) { b.set(0, b.m.empty(from, complex_of(b.grad().dtype()))); });
  c.out[0] = y;
}

constexpr RuleRow kRules[] = {
    {"cat", cat, Autocast::none, "FunctionsManual.cpp: cat_tensors_backward; trace 2.15"},
    {"chunk", split, Autocast::none, "FunctionsManual.cpp: split_backward; trace 2.15"},
    {"clone", clone_rule, Autocast::none, "derivatives.yaml: clone; trace 2.15"},
    {"col2im", col2im, Autocast::none, "derivatives.yaml: col2im; trace 2.15"},
    {"constant_pad_nd", constant_pad_nd, Autocast::none, "derivatives.yaml: constant_pad_nd; trace 2.15"},
    {"contiguous", contiguous_rule, Autocast::none, "TensorProperties.cpp: contiguous; trace 2.15"},
    {"expand", expand_rule, Autocast::none, "derivatives.yaml: expand; trace 2.15"},
    {"fft_c2c", fft_c2c, Autocast::none, "derivatives.yaml: _fft_c2c; trace 2.15"},
    {"fft_c2r", fft_c2r, Autocast::none, "derivatives.yaml: _fft_c2r; trace 2.15"},
    {"fft_r2c", fft_r2c, Autocast::none, "derivatives.yaml: _fft_r2c; trace 2.15"},
    {"flatten", flatten, Autocast::none, "TensorShape.cpp: flatten; trace 2.15"},
    {"flip", flip, Autocast::none, "derivatives.yaml: flip; trace 2.15"},
    {"im2col", im2col, Autocast::none, "derivatives.yaml: im2col; trace 2.15"},
    {"permute", permute_rule, Autocast::none, "derivatives.yaml: permute; trace 2.15"},
    {"pixel_shuffle", pixel_shuffle, Autocast::none, "derivatives.yaml: pixel_shuffle; trace 2.15"},
    {"pixel_unshuffle", pixel_unshuffle, Autocast::none, "derivatives.yaml: pixel_unshuffle; trace 2.15"},
    {"reflection_pad", reflection_pad, Autocast::none, "derivatives.yaml: reflection_pad; trace 2.15"},
    {"repeat", repeat, Autocast::none, "FunctionsManual.cpp: repeat_backward; trace 2.15"},
    {"replication_pad", reflection_pad, Autocast::none, "derivatives.yaml: replication_pad; trace 2.15"},
    {"reshape", reshape_rule, Autocast::none, "TensorShape.cpp: reshape; trace 2.15"},
    {"roll", roll, Autocast::none, "TensorTransformations.cpp: roll_common; trace 2.15"},
    {"select", select, Autocast::none, "derivatives.yaml: select; trace 2.15"},
    {"slice", slice_rule, Autocast::none, "derivatives.yaml: slice; trace 2.15"},
    {"split", split, Autocast::none, "FunctionsManual.cpp: split_backward; trace 2.15"},
    {"squeeze", squeeze_rule, Autocast::none, "derivatives.yaml: squeeze; trace 2.15"},
    {"stack", stack, Autocast::none, "derivatives.yaml: stack; trace 2.15"},
    {"to", to, Autocast::none, "derivatives.yaml: _to_copy; trace 2.15"},
    {"transpose", transpose_rule, Autocast::none, "derivatives.yaml: transpose; trace 2.15"},
    {"tril", tril, Autocast::none, "derivatives.yaml: tril; trace 2.15"},
    {"triu", triu, Autocast::none, "derivatives.yaml: triu; trace 2.15"},
    {"unbind", unbind, Autocast::none, "FunctionsManual.cpp: unbind_backward; trace 2.15"},
    {"unfold", unfold, Autocast::none, "derivatives.yaml: unfold; trace 2.15"},
    {"unsqueeze", unsqueeze_rule, Autocast::none, "derivatives.yaml: unsqueeze; trace 2.15"},
    {"view", reshape_rule, Autocast::none, "derivatives.yaml: view; trace 2.15"},
};

}  // namespace

std::span<const RuleRow> shape_rules() { return kRules; }

}  // namespace ullage::eager
