#include "ullage/eager/ops/deform_conv2d.h"

#include <algorithm>

#include "ullage/eager/ops/products.h"

namespace ullage::eager {
namespace {

struct Sizes {
  int64_t blocks = 1;  // the batch in equal parts
  Shape columns;       // patches of one part
  Shape part_of_output;
  int64_t macs = 0;
};

Sizes sizes_of(const Tensor& x, const Tensor& w, const Shape& out) {
  constexpr int64_t kMostAtOnce = 32;  // torchvision's kMaxParallelImgs; the largest divisor of the batch below it
  int64_t at_once = 1;
  for (int64_t n = 1; n <= std::min(kMostAtOnce, x.size(0)); ++n) {
    if (x.size(0) % n == 0) at_once = n;
  }
  Sizes s;
  s.blocks = x.size(0) / at_once;
  s.columns = {x.size(1) * w.size(2) * w.size(3), at_once, out[2] * out[3]};
  s.part_of_output = {at_once, out[1], out[2], out[3]};
  s.macs = saturating_mul(out.numel(), w.numel() / std::max<int64_t>(w.size(0), 1));
  return s;
}

void backward(Backward& b, const Sizes& s) {
  Machine& m = b.m;
  const DType dtype = b.saved(0).dtype();
  for (const size_t i : {size_t{0}, size_t{2}, size_t{3}}) b.set(i, m.empty(b.saved(i).sizes(), dtype));
  {  // input, offset and mask together
    const Tensor columns = m.empty(s.columns, dtype);
    for (int64_t i = 0; i < s.blocks; ++i) {
      const Tensor grad = m.empty(s.part_of_output, dtype);
      const Tensor memory = gemm_memory(m);
    }
    m.count_flops(2 * s.macs);
  }
  const Shape weight = b.saved(1).sizes();
  b.set(1, m.empty(weight, dtype));
  {
    const Tensor grad = m.empty(b.grad().sizes(), dtype);
    const Tensor columns = m.empty(s.columns, dtype);
    for (int64_t i = 0; i < s.blocks; ++i) {
      const Tensor product = m.empty(weight, dtype);
      gemm_memory(m) = {};
      const Tensor sum = m.empty(weight, dtype);
    }
    m.count_flops(2 * s.macs);
  }
  if (!b.saved(4).defined()) return;
  const Tensor ones = m.empty(b.saved(4).sizes(), dtype);  // ones_like(bias) * grad.sum(…)
  const Tensor sum = sum_dims(m, b.grad(), std::array<int64_t, 3>{0, 2, 3}, false);
  b.set(4, m.empty(b.saved(4).sizes(), dtype));
}

}  // namespace

void deform_conv2d(Call& c) {
  Machine& m = c.m;
  c.in.resize(5);
  const DType dtype = c.in[0].dtype();
  if (m.autocast()) {  // its autocast runs it in float32 and casts the result back
    for (size_t i = c.in.size(); i-- > 0;) c.in[i] = m.autocast_fp32(c.in[i]);
  }
  const Tensor& x = c.in[0];
  const Tensor& w = c.in[1];
  // Without a mask the Python function passes zeros of [batch, 1].
  Tensor mask = c.in[3].defined() ? c.in[3] : m.empty({x.size(0), 1}, x.dtype());
  const Sizes s = sizes_of(x, w, c.shape());
  Tensor out;
  {
    const NoGrad off(m);
    const Tensor result = m.empty(c.shape(), x.dtype());
    const Tensor buffer = m.empty(c.shape(), x.dtype());
    const Tensor columns = m.empty(s.columns, x.dtype());
    for (int64_t i = 0; i < s.blocks; ++i) gemm_memory(m) = {};
    out = m.empty(c.shape(), x.dtype());  // with the bias
    m.count_flops(2 * s.macs);
  }
  m.record("DeformConv2DBackward", {x, w, c.in[2], mask, c.in[4]}, {out}, {x, w, c.in[2], mask, c.in[4]},
           [s](Backward& b) { backward(b, s); });
  mask = {};
  c.out[0] = to_dtype(m, out, dtype);
}

}  // namespace ullage::eager
