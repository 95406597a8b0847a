// Indexing by tensors (Embedding.cu, EmbeddingBackwardKernel.cu, IndexingUtils, TensorAdvancedIndexing.cpp).
#include "ullage/eager/rules.h"

namespace ullage::eager {
namespace {

// Embedding.cu: at most this many indices are added by one kernel without sorting them first.
constexpr int64_t kUnsorted = 3072;
// EmbeddingBackwardKernel.cu: NROWS_PER_THREAD.
constexpr int64_t kRowsPerThread = 10;
// cub's radix sort of n pairs of int64 keeps an alternate copy of both and its histograms; trace 2.15 on sm80, 4096
// indices: 72191 B.
constexpr int64_t kSortHistograms = 6655;
// cub's unique and scan of 4096 int64: trace 2.15 on sm80.
constexpr int64_t kScanMemory = 1279;

Tensor int64s(Machine& m, int64_t n) { return m.empty({n}, DType::i64, Category::workspace); }

// embedding_backward_cuda_kernel, in its order of allocation.
Tensor sorted_embedding_gradient(Machine& m, int64_t indices, const Shape& table, DType dtype) {
  const Tensor sorted = int64s(m, indices);
  const Tensor original = int64s(m, indices);
  {
    const Tensor range = int64s(m, indices);
    const Tensor sort = m.workspace(Bytes(16 * indices + kSortHistograms));
  }
  Tensor grad = m.empty(table, dtype);
  const int64_t segments = std::min(indices, table[0]);
  const int64_t partial = indices / kRowsPerThread + segments;
  const Tensor offsets = int64s(m, segments);
  const Tensor count = int64s(m, 1);
  {
    const Tensor dummy = int64s(m, indices);
    const Tensor unique = m.workspace(Bytes(kScanMemory));
  }
  const Tensor per_segment = int64s(m, segments);
  const Tensor per_segment_offset = int64s(m, segments);
  {
    const Tensor scan = m.workspace(Bytes(kScanMemory));
  }
  const Tensor partial_count = int64s(m, 1);
  const Tensor partial_offset = int64s(m, partial);
  const Tensor sums = m.empty({partial, table[1]}, DType::f32, Category::workspace);
  return grad;
}

void embedding(Call& c) {
  const Tensor& weight = c.in[0];
  const Tensor& indices = c.in[1];
  Tensor y = c.m.empty(c.shape(), weight.dtype());
  c.m.record("EmbeddingBackward0", {weight}, {y}, {indices}, [count = indices.numel()](Backward& b) {
    const GradMeta& table = b.input(0);
    b.set(0, count <= kUnsorted ? b.m.empty(table.sizes, table.dtype)
                                : sorted_embedding_gradient(b.m, count, table.sizes, table.dtype));
  });
  c.out[0] = std::move(y);
}

// Zeros like the source, into which the gradient is added or copied; `keeps_source` where derivatives.yaml names it.
void read_by_index(Call& c, std::string_view name, bool keeps_source) {
  const Tensor& x = c.in[0];
  const Tensor& index = c.in[1];
  Tensor y = c.m.empty(c.shape(), x.dtype());
  c.m.record(name, {x}, {y}, {index, keeps_source ? x : Tensor()},
             [](Backward& b) { b.set(0, b.m.empty(b.input(0).sizes, b.grad().dtype())); });
  c.out[0] = std::move(y);
}

void gather(Call& c) { read_by_index(c, "GatherBackward0", true); }
void index_select(Call& c) { read_by_index(c, "IndexSelectBackward0", false); }

// index_put_with_sort: indices are made linear, sorted, and the values added in order.
void sort_indices(Machine& m, int64_t count) {
  const Tensor wrapped = int64s(m, count);
  Tensor linear = int64s(m, count);
  linear = int64s(m, count);
  const Tensor sorted = int64s(m, count);
  const Tensor original = int64s(m, count);
  const Tensor range = int64s(m, count);
  const Tensor sort = m.workspace(Bytes(count <= kUnsorted ? 1 : 16 * count + kSortHistograms));
}

void index(Call& c) {
  const Tensor& x = c.in[0];
  Tensor y = c.m.empty(c.shape(), x.dtype());
  std::vector<Tensor> indices(c.in.begin() + 1, c.in.end());
  int64_t count = 0;
  for (const Tensor& t : indices) {
    if (t.defined()) count = std::max(count, t.numel());
  }
  const Tensor inputs[] = {x};
  const Tensor outputs[] = {y};
  c.m.record("IndexBackward0", inputs, outputs, std::move(indices), [count](Backward& b) {
    Tensor grad = b.m.empty(b.input(0).sizes, b.grad().dtype());
    sort_indices(b.m, count);
    b.set(0, std::move(grad));
  });
  c.out[0] = std::move(y);
}

// self with some of its elements replaced: out of place that is a copy of self. The written values' gradient is read
// back by index.
void write_by_index(Call& c, std::string_view name, size_t value_at, size_t index_at) {
  const Tensor& x = c.in[0];
  const Tensor values = c.in.size() > value_at ? c.in[value_at] : Tensor();
  const Tensor index = c.in.size() > index_at ? c.in[index_at] : Tensor();
  Tensor y = c.in_place ? c.m.view_of(x, x.sizes(), x.strides()) : c.m.empty_like(x);
  c.m.record(name, {x, values}, {y}, {index}, [](Backward& b) {
    if (b.needs(1)) b.set(1, b.m.empty(b.input(1).sizes, b.grad().dtype()));
    if (b.needs(0)) b.set(0, b.m.empty_like(b.grad()));
  });
  c.out[0] = std::move(y);
}

void scatter(Call& c) { write_by_index(c, "ScatterBackward0", 2, 1); }
void index_put(Call& c) { write_by_index(c, "IndexPutBackward0", 1, 2); }

// Adds into self, whose gradient passes through untouched.
void scatter_add(Call& c) {
  const Tensor& x = c.in[0];
  const Tensor& source = c.in[2];
  Tensor y = c.in_place ? c.m.view_of(x, x.sizes(), x.strides()) : c.m.empty_like(x);
  c.m.record("ScatterAddBackward0", {x, source}, {y}, {source.requires_grad() ? c.in[1] : Tensor()}, [](Backward& b) {
    if (b.needs(1)) b.set(1, b.m.empty(b.input(1).sizes, b.grad().dtype()));
    if (b.needs(0)) b.set(0, b.grad());
  });
  c.out[0] = std::move(y);
}

void without_gradient(Call& c) { c.out[0] = c.m.empty(c.shape(), DType::i64); }

constexpr RuleRow kRules[] = {
    {"embedding", embedding, Autocast::none,
     "derivatives.yaml: embedding keeps indices; EmbeddingBackwardKernel.cu; trace 2.15"},
    {"gather", gather, Autocast::none, "derivatives.yaml: gather keeps self and index; zeros like self in backward"},
    {"index", index, Autocast::none,
     "derivatives.yaml: index keeps indices; backward sorts them (index_put_with_sort); trace 2.15"},
    {"index_add", scatter_add, Autocast::none, "derivatives.yaml: index_add"},
    {"index_put", index_put, Autocast::promote, "derivatives.yaml: index_put keeps indices"},
    {"index_select", index_select, Autocast::none, "derivatives.yaml: index_select keeps index; trace 2.15"},
    {"nonzero", without_gradient, Autocast::none, "Nonzero.cu: no gradient; its size is the importer's assumption"},
    {"one_hot", without_gradient, Autocast::none, "Onehot.cpp: int64 result, no gradient"},
    {"scatter", scatter, Autocast::none, "derivatives.yaml: scatter keeps index"},
    {"scatter_add", scatter_add, Autocast::promote, "derivatives.yaml: scatter_add keeps index when src trains"},
};

}  // namespace

std::span<const RuleRow> index_rules() { return kRules; }

}  // namespace ullage::eager
