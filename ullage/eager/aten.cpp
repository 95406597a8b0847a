#include "ullage/eager/aten.h"

#include <algorithm>
#include <array>
#include <bitset>

#include "ullage/eager/reduction_scratch.h"

namespace ullage::eager {
namespace {

int wrap(int64_t dim, int rank) { return static_cast<int>(dim < 0 ? dim + rank : dim); }

// A view and its node; backward gives the gradient the sizes of the input again.
Tensor record_view(Machine& m, std::string_view name, const Tensor& x, Tensor out, BackwardFn formula) {
  m.record(name, {x}, {out}, {}, std::move(formula));
  return out;
}

std::bitset<kMaxRank> dim_set(std::span<const int64_t> dims, int rank) {
  std::bitset<kMaxRank> set;
  for (const int64_t d : dims) set.set(static_cast<size_t>(wrap(d, rank)));
  if (dims.empty()) {
    for (int d = 0; d < rank; ++d) set.set(static_cast<size_t>(d));
  }
  return set;
}

// sum_backward: puts the summed dims back as size 1 and expands; no bytes.
Tensor expand_back(Machine& m, const Tensor& grad, const Shape& sizes, std::span<const int64_t> dims, bool keepdim) {
  if (keepdim || sizes.rank() == 0) return expand(m, grad, sizes);
  return expand(m, view(m, grad, reduced_shape(sizes, dims, true)), sizes);
}

Tensor copy_with(Machine& m, const Tensor& x, const Strides& strides) {
  Tensor out = m.empty_strided(x.sizes(), strides, x.dtype());
  m.record("CloneBackward0", {x}, {out}, {}, [](Backward& b) { b.set(0, b.grad()); });
  return out;
}

}  // namespace

Tensor clone(Machine& m, const Tensor& x) {
  Tensor out = m.empty_like(x);
  m.record("CloneBackward0", {x}, {out}, {}, [](Backward& b) { b.set(0, b.grad()); });
  return out;
}

Tensor clone_contiguous(Machine& m, const Tensor& x) { return copy_with(m, x, contiguous_strides(x.sizes())); }

Tensor contiguous(Machine& m, const Tensor& x) { return x.is_contiguous() ? x : clone_contiguous(m, x); }

Tensor contiguous(Machine& m, const Tensor& x, MemoryFormat format) {
  if (format == MemoryFormat::contiguous || (x.rank() != 4 && x.rank() != 5)) return contiguous(m, x);
  return x.is_channels_last() ? x : copy_with(m, x, channels_last_strides(x.sizes()));
}

Tensor to_dtype(Machine& m, const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (x.on_host()) return m.host_scalar(dtype);
  Tensor out = m.empty_like(x, dtype);
  if (is_differentiable(dtype)) {
    m.record("ToCopyBackward0", {x}, {out}, {},
             [from = x.dtype()](Backward& b) { b.set(0, to_dtype(b.m, b.grad(), from)); });
  }
  return out;
}

Tensor view(Machine& m, const Tensor& x, const Shape& sizes) {
  const std::optional<Strides> strides = view_strides(x.sizes(), x.strides(), sizes);
  check(strides.has_value(), "view of a tensor whose strides do not allow it");
  return record_view(m, "ViewBackward0", x, m.view_of(x, sizes, *strides),
                     [from = x.sizes()](Backward& b) { b.set(0, reshape(b.m, b.grad(), from)); });
}

Tensor reshape(Machine& m, const Tensor& x, const Shape& sizes) {
  if (view_strides(x.sizes(), x.strides(), sizes)) return view(m, x, sizes);
  const Tensor copy = clone_contiguous(m, x);
  return record_view(m, "UnsafeViewBackward0", copy, m.view_of(copy, sizes, contiguous_strides(sizes)),
                     [from = x.sizes()](Backward& b) { b.set(0, reshape(b.m, b.grad(), from)); });
}

Tensor expand(Machine& m, const Tensor& x, const Shape& sizes) {
  return record_view(m, "ExpandBackward0", x, m.view_of(x, sizes, expand_strides(x.sizes(), x.strides(), sizes)),
                     [from = x.sizes()](Backward& b) { b.set(0, sum_to_size(b.m, b.grad(), from)); });
}

Tensor transpose(Machine& m, const Tensor& x, int dim0, int dim1) {
  const int a = wrap(dim0, x.rank());
  const int b = wrap(dim1, x.rank());
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  sizes.set(a, x.size(b)), sizes.set(b, x.size(a));
  strides.set(a, x.strides()[b]), strides.set(b, x.strides()[a]);
  return record_view(m, "TransposeBackward0", x, m.view_of(x, sizes, strides),
                     [a, b](Backward& call) { call.set(0, transpose(call.m, call.grad(), a, b)); });
}

Tensor permute(Machine& m, const Tensor& x, std::span<const int64_t> dims) {
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  Shape inverse = x.sizes();
  for (int d = 0; d < x.rank(); ++d) {
    const int from = wrap(dims[static_cast<size_t>(d)], x.rank());
    sizes.set(d, x.size(from));
    strides.set(d, x.strides()[from]);
    inverse.set(from, d);
  }
  return record_view(m, "PermuteBackward0", x, m.view_of(x, sizes, strides),
                     [inverse](Backward& b) { b.set(0, permute(b.m, b.grad(), inverse.sizes())); });
}

Tensor squeeze(Machine& m, const Tensor& x, int dim) {
  const int d = x.rank() == 0 ? 0 : wrap(dim, x.rank());
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  const bool drops = x.rank() > 0 && x.size(d) == 1;
  if (drops) sizes.erase(d), strides.erase(d);
  return record_view(m, "SqueezeBackward1", x, m.view_of(x, sizes, strides),
                     [drops, d](Backward& b) { b.set(0, drops ? unsqueeze(b.m, b.grad(), d) : b.grad()); });
}

Tensor unsqueeze(Machine& m, const Tensor& x, int dim) {
  const int d = wrap(dim, x.rank() + 1);
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  strides.insert(d, d < x.rank() ? x.size(d) * x.strides()[d] : 1);
  sizes.insert(d, 1);
  return record_view(m, "UnsqueezeBackward0", x, m.view_of(x, sizes, strides),
                     [d](Backward& b) { b.set(0, squeeze(b.m, b.grad(), d)); });
}

Tensor slice(Machine& m, const Tensor& x, int dim, int64_t start, int64_t length, int64_t step) {
  (void)start;  // an offset into the storage: no bytes depend on it
  const int d = wrap(dim, x.rank());
  Shape sizes = x.sizes();
  Strides strides = x.strides();
  sizes.set(d, length);
  strides.set(d, x.strides()[d] * step);
  // slice_backward: zeros of the full size, into which the gradient is copied.
  return record_view(m, "SliceBackward0", x, m.view_of(x, sizes, strides),
                     [from = x.sizes()](Backward& b) { b.set(0, b.m.empty(from, b.grad().dtype())); });
}

Shape reduced_shape(const Shape& sizes, std::span<const int64_t> dims, bool keepdim) {
  const std::bitset<kMaxRank> set = dim_set(dims, sizes.rank());
  Shape out;
  for (int d = 0; d < sizes.rank(); ++d) {
    if (!set.test(static_cast<size_t>(d))) {
      out.push(sizes[d]);
    } else if (keepdim) {
      out.push(1);
    }
  }
  return out;
}

Tensor reduced(Machine& m, const Tensor& x, std::span<const int64_t> dims, bool keepdim, DType dtype,
               Accumulator accumulator) {
  Tensor out = m.empty(reduced_shape(x.sizes(), dims, keepdim), dtype);
  if (x.numel() == 0 || x.rank() == 0) return out;
  const ReductionScratch scratch = reduction_scratch({.sizes = x.sizes(),
                                                      .strides = x.strides(),
                                                      .reduced = dim_set(dims, x.rank()),
                                                      .accumulator_bytes = accumulator.bytes,
                                                      .values_at_once = accumulator.values_at_once},
                                                     m.options().compute_capability, m.options().sm_count);
  if (scratch.staging.value > 0) {
    const Tensor staging = m.workspace(scratch.staging);
    const Tensor semaphores = m.workspace(scratch.semaphores);
  }
  return out;
}

namespace {

// Floats narrower than float32 are summed in float32.
Accumulator sum_accumulator(DType dtype) {
  const int bits = bits_of(dtype);
  return {.bytes = is_floating(dtype) ? std::max(bits / 8, 4) : bits / 8};
}

}  // namespace

Tensor sum_dims(Machine& m, const Tensor& x, std::span<const int64_t> dims, bool keepdim) {
  const DType dtype = is_differentiable(x.dtype()) ? x.dtype() : DType::i64;
  Tensor out = reduced(m, x, dims, keepdim, dtype, sum_accumulator(dtype));
  m.record(dims.empty() ? "SumBackward0" : "SumBackward1", {x}, {out}, {},
           [from = x.sizes(), kept = Shape(dims), keepdim](Backward& b) {
             b.set(0, expand_back(b.m, b.grad(), from, kept.sizes(), keepdim));
           });
  return out;
}

Tensor mean_dims(Machine& m, const Tensor& x, std::span<const int64_t> dims, bool keepdim) {
  Tensor out = reduced(m, x, dims, keepdim, x.dtype(), sum_accumulator(x.dtype()));
  m.record(dims.empty() ? "MeanBackward0" : "MeanBackward1", {x}, {out}, {},
           [from = x.sizes(), kept = Shape(dims), keepdim](Backward& b) {
             b.set(0, div_scalar(b.m, expand_back(b.m, b.grad(), from, kept.sizes(), keepdim)));
           });
  return out;
}

Tensor sum_to_size(Machine& m, const Tensor& x, const Shape& sizes) {
  if (x.sizes() == sizes) return x;
  if (sizes.rank() == 0) return sum_dims(m, x, {}, false);
  const int leading = x.rank() - sizes.rank();
  Shape dims;
  for (int d = 0; d < x.rank(); ++d) {
    if (d < leading || (sizes[d - leading] == 1 && x.size(d) != 1)) dims.push(d);
  }
  Tensor out = dims.rank() == 0 ? x : sum_dims(m, x, dims.sizes(), true);
  return leading > 0 ? view(m, out, sizes) : out;
}

Tensor add(Machine& m, const Tensor& a, const Tensor& b) {
  Tensor out = pointwise_result(m, {&a, &b}, result_type({&a, &b}));
  m.record("AddBackward0", {a, b}, {out}, {}, [](Backward& call) {
    call.set(1, call.grad());
    call.set(0, call.grad());
  });
  return out;
}

Tensor mul(Machine& m, const Tensor& a, const Tensor& b) {
  Tensor out = pointwise_result(m, {&a, &b}, result_type({&a, &b}));
  // Each operand is kept for the other's gradient; gradients come in the order of the argument names (other, self).
  m.record("MulBackward0", {a, b}, {out}, {b.requires_grad() ? a : Tensor(), a.requires_grad() ? b : Tensor()},
           [](Backward& call) {
             for (const size_t i : {size_t{1}, size_t{0}}) {
               if (call.needs(i)) call.set(i, mul(call.m, call.grad(), call.saved(1 - i)));
             }
           });
  return out;
}

namespace {

// One operand and a number: the gradient is one more tensor.
Tensor scaled(Machine& m, std::string_view name, const Tensor& a) {
  Tensor out = pointwise_result(m, {&a}, a.dtype());
  m.record(name, {a}, {out}, {}, [name](Backward& b) { b.set(0, scaled(b.m, name, b.grad())); });
  return out;
}

}  // namespace

Tensor mul_scalar(Machine& m, const Tensor& a) { return scaled(m, "MulBackward0", a); }
Tensor div_scalar(Machine& m, const Tensor& a) { return scaled(m, "DivBackward0", a); }

Tensor pointwise_result(Machine& m, std::initializer_list<const Tensor*> operands, DType dtype) {
  Shape shape;
  bool same_shape = true;
  const Tensor* first = nullptr;
  for (const Tensor* t : operands) {
    if (!t->defined()) continue;
    if (first) {
      same_shape = same_shape && t->sizes() == shape;
      const Result<Shape> wider = broadcast(shape, t->sizes());
      check(wider.has_value(), "pointwise operands do not broadcast");
      shape = *wider;
    } else {
      shape = t->sizes();
      first = t;
    }
  }
  check(first != nullptr, "pointwise op without operands");
  const auto all = [&](auto holds) {
    return std::ranges::all_of(operands, [&](const Tensor* t) { return !t->defined() || holds(*t); });
  };
  if (same_shape) {
    if (all([](const Tensor& t) { return t.is_contiguous(); })) return m.empty(shape, dtype);
    if (all([](const Tensor& t) { return t.is_channels_last(); })) {
      return m.empty_strided(shape, channels_last_strides(shape), dtype);
    }
    if (first && first->is_non_overlapping_and_dense() &&
        all([&](const Tensor& t) { return t.strides() == first->strides(); })) {
      return m.empty_strided(shape, first->strides(), dtype);
    }
  }
  std::vector<Strides> strides;
  for (const Tensor* t : operands) {
    if (t->defined()) strides.push_back(expand_strides(t->sizes(), t->strides(), shape));
  }
  return m.empty_strided(shape, dense_strides(shape, strides), dtype);
}

Tensor pointwise_result(Machine& m, std::span<const Tensor> operands, DType dtype) {
  check(!operands.empty() && operands.size() <= 4, "pointwise op of more than four operands");
  const Tensor none;
  std::array<const Tensor*, 4> all{&none, &none, &none, &none};
  for (size_t i = 0; i < operands.size(); ++i) all[i] = &operands[i];
  return pointwise_result(m, {all[0], all[1], all[2], all[3]}, dtype);
}

DType result_type(std::initializer_list<const Tensor*> operands) {
  // Tensors with dims, then 0-d tensors, then numbers; a later rank counts only when its category is higher.
  std::array<DType, 3> ranks{DType::unknown, DType::unknown, DType::unknown};
  for (const Tensor* t : operands) {
    if (!t->defined()) continue;
    DType dtype = t->dtype();
    if (t->on_host() && is_floating(dtype)) dtype = DType::f32;  // a number has the default dtype
    DType& rank = ranks[t->on_host() ? 2 : t->rank() == 0 ? 1 : 0];
    rank = rank == DType::unknown ? dtype : promote(rank, dtype);
  }
  const auto category = [](DType d) { return is_complex(d) ? 3 : is_floating(d) ? 2 : d == DType::boolean ? 0 : 1; };
  DType out = DType::unknown;
  for (const DType rank : ranks) {
    if (rank == DType::unknown) continue;
    if (out == DType::unknown) {
      out = rank;
    } else if (category(rank) > category(out)) {
      out = promote(out, rank);
    }
  }
  return out;
}

}  // namespace ullage::eager
