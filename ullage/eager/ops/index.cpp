// Indexing by tensors (Embedding.cu, EmbeddingBackwardKernel.cu, IndexingUtils, TensorAdvancedIndexing.cpp).
#include <bit>
#include <initializer_list>

#include "ullage/eager/rules.h"

namespace ullage::eager {
namespace {

// Embedding.cu: at most this many indices are added by one kernel without sorting them first.
constexpr int64_t kUnsorted = 3072;
// EmbeddingBackwardKernel.cu: NROWS_PER_THREAD.
constexpr int64_t kRowsPerThread = 10;

Tensor int64s(Machine& m, int64_t n) { return m.empty({n}, DType::i64, Category::workspace); }

// cub gives each of its parts whole lines of 256 B and asks for one line more, to align the first.
Bytes cub_memory(std::initializer_list<int64_t> parts) {
  int64_t total = 255;
  for (const int64_t part : parts) total += (part + 255) / 256 * 256;
  return Bytes(total);
}

// cub's radix sort of n pairs of int64 by keys below `limit`: bins of 256 digits a pass, a look-back row a block, a
// counter a pass, and, when there is more than one pass, an alternate copy of keys and values. Few pairs are sorted by
// a single block, in nothing. Traced: 1 B up to 2304 pairs; blocks of 3840 pairs on sm75 to sm89; one block for 4096
// pairs on sm90.
Bytes sort_memory(const Machine& m, int64_t n, int64_t limit) {
  constexpr int64_t kSingleBlock = 2304;
  if (n <= kSingleBlock) return Bytes(1);
  const int64_t per_block = m.options().compute_capability >= 90 ? 4608 : 3840;
  const int64_t passes = (static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(limit))) + 7) / 8;
  const int64_t blocks = (n + per_block - 1) / per_block;
  const int64_t alternate = passes > 1 ? 8 * n : 0;
  return cub_memory({2048 * passes, 1024 * blocks, alternate, alternate, 4 * passes});
}

// cub's scan of n int64: a state of 16 B for each tile and for a warp before the first. Tiles of 1408: traced up to
// 100,000.
Bytes scan_memory(int64_t n) { return cub_memory({((n + 1407) / 1408 + 32) * 16, 1}); }

// embedding_backward_cuda_kernel, in its order of allocation: sort the indices, find the runs of equal ones (segments),
// cut those into pieces, sum each piece, then add the pieces up.
Tensor sorted_embedding_gradient(Machine& m, int64_t indices, const Shape& table, DType dtype) {
  const int64_t rows = table[0];
  Tensor sorted = int64s(m, indices);
  Tensor original = int64s(m, indices);
  {
    Tensor range = int64s(m, indices);
    Tensor sort = m.workspace(sort_memory(m, indices, rows));
    sort = {}, range = {};
  }
  Tensor grad = m.empty(table, dtype);
  const int64_t segments = std::min(indices, rows);
  const int64_t pieces = indices / kRowsPerThread + segments;
  Tensor offsets = int64s(m, indices);
  Tensor count = int64s(m, 1);
  {
    Tensor dummy = int64s(m, indices);
    Tensor unique = m.workspace(scan_memory(indices));
    unique = {}, dummy = {};
  }
  Tensor pieces_of = int64s(m, segments);
  Tensor first_piece = int64s(m, segments);
  {
    const Tensor scan = m.workspace(scan_memory(segments));
  }
  Tensor piece_count = int64s(m, 1);
  Tensor piece_offset = int64s(m, pieces);
  // Few rows that are hit often (traced: at least 30 times each on average, up to 300 rows but not 600) are added
  // atomically in float32 instead of by way of a row of sums a piece.
  const bool few_rows = rows <= 512 && indices / rows >= 30;
  Tensor sums = few_rows ? int64s(m, pieces) : m.empty({pieces, table[1]}, DType::f32, Category::workspace);
  Tensor wide = few_rows && bits_of(dtype) < 32 ? m.empty(table, DType::f32, Category::workspace) : Tensor();
  wide = {}, sums = {}, piece_offset = {}, piece_count = {}, first_piece = {}, pieces_of = {}, count = {}, offsets = {};
  original = {}, sorted = {};
  return grad;
}

void embedding(Call& c) {
  const Tensor& weight = c.in[0];
  const Tensor& indices = c.in[1];
  Tensor y = c.m.empty(c.shape(), weight.dtype());
  c.m.record("EmbeddingBackward0", {weight}, {y}, {indices}, [count = indices.numel()](Backward& b) {
    const GradMeta& table = b.input(0);
    const Tensor grad = contiguous(b.m, b.grad());
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

// index_put_with_sort: each index is wrapped and made linear, the sum of them is sorted, the values are added in order.
void sort_indices(Machine& m, int64_t count, size_t tensors, int64_t limit) {
  Tensor wrapped = int64s(m, count);
  Tensor linear = int64s(m, count);
  wrapped = {};
  for (size_t i = 1; i < tensors; ++i) {
    Tensor next = int64s(m, count);
    Tensor scaled = int64s(m, count);
    next = {}, scaled = {};
  }
  Tensor sorted = int64s(m, count);
  Tensor original = int64s(m, count);
  Tensor range = int64s(m, count);
  Tensor sort = m.workspace(sort_memory(m, count, limit));
  sort = {}, range = {}, original = {}, sorted = {}, linear = {};
}

void index(Call& c) {
  const Tensor& x = c.in[0];
  std::vector<Tensor> indices;
  Shape common;
  int64_t limit = 1;  // above the largest linear index
  for (size_t i = 1; i < c.in.size(); ++i) {
    if (!c.in[i].defined()) continue;
    const Result<Shape> wider = broadcast(common, c.in[i].sizes());
    if (wider) common = *wider;
    limit = saturating_mul(limit, x.size(static_cast<int>(i) - 1));
    indices.push_back(c.in[i]);
  }
  std::vector<Tensor> copies;  // indices that had to be widened
  for (const Tensor& t : indices) {
    if (t.sizes() != common) copies.push_back(int64s(c.m, common.numel()));
  }
  Tensor y = c.m.empty(c.shape(), x.dtype());
  while (!copies.empty()) copies.pop_back();
  c.m.record("IndexBackward0", std::span(&x, 1), std::span(&y, 1), indices,
             [count = common.numel(), tensors = indices.size(), limit](Backward& b) {
               Tensor grad = b.m.empty(b.input(0).sizes, b.grad().dtype());
               sort_indices(b.m, count, tensors, limit);
               b.set(0, std::move(grad));
             });
  c.out[0] = std::move(y);
}

Tensor target(Call& c) {
  const Tensor& x = c.in[0];
  return c.in_place ? c.m.view_of(x, x.sizes(), x.strides()) : c.m.empty_like(x);
}

// Some elements of self are replaced. d(self) is the incoming gradient with those at zero, d(src) is read back.
void scatter(Call& c) {
  const Tensor& x = c.in[0];
  const Tensor source = c.in.size() > 2 ? c.in[2] : Tensor();
  Tensor y = target(c);
  c.m.record("ScatterBackward0", {x, source}, {y}, {c.in[1]}, [](Backward& b) {
    if (b.needs(0)) b.set(0, b.m.empty_like(b.grad()));
    if (b.needs(1)) b.set(1, b.m.empty(b.input(1).sizes, b.grad().dtype()));
  });
  c.out[0] = std::move(y);
}

// The same with zeros like the values to put in place of the gradient; when values are added, self's gradient passes
// through.
void index_put(Call& c) {
  const Tensor& x = c.in[0];
  const Tensor& values = c.in[1];
  const bool adds = c.node.attr_int("accumulate", 0) != 0;
  Tensor y = target(c);
  const Tensor inputs[] = {x, values};
  c.m.record("IndexPutBackward0", inputs, std::span(&y, 1), std::vector<Tensor>(c.in.begin() + 2, c.in.end()),
             [adds, zeros = values.sizes()](Backward& b) {
               if (b.needs(0) && adds) b.set(0, b.grad());
               if (b.needs(0) && !adds) {
                 const Tensor zero = b.m.empty(zeros, b.grad().dtype());
                 b.set(0, b.m.empty_like(b.grad()));
               }
               if (b.needs(1)) b.set(1, b.m.empty(b.input(1).sizes, b.grad().dtype()));
             });
  c.out[0] = std::move(y);
}

// Adds into self, whose gradient passes through untouched.
void scatter_add(Call& c) {
  const Tensor& x = c.in[0];
  const Tensor& source = c.in[2];
  Tensor y = target(c);
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
