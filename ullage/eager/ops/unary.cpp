#include "ullage/eager/ops/unary.h"

namespace ullage::eager {
namespace {

Tensor kept_by(Machine& m, Keeps keeps, bool in_place, const Tensor& x) {
  if (keeps != Keeps::input || !m.records({&x})) return {};
  if (!in_place) return x;
  NoGrad off(m);
  return clone(m, x);  // the input is about to be overwritten
}

}  // namespace

Tensor unary(Machine& m, const Unary& row, const Tensor& x, DType dtype, bool in_place) {
  const Keeps keeps = in_place && row.result_in_place ? Keeps::result : row.keeps;
  Tensor kept = kept_by(m, keeps, in_place, x);
  Tensor y = in_place ? same_storage(m, x) : pointwise_result(m, {&x}, dtype);
  if (keeps == Keeps::result) kept = y;
  m.record(row.node, {x}, {y}, {kept}, [count = row.temporaries](Backward& b) {
    const Tensor& like = b.saved(0).defined() ? b.saved(0) : b.grad();
    std::vector<Tensor> temporaries;
    for (int i = 0; i < count; ++i) temporaries.push_back(pointwise_result(b.m, {&like}, like.dtype()));
    b.set(0, pointwise_result(b.m, {&b.grad(), &like}, b.grad().dtype()));
    while (!temporaries.empty()) temporaries.pop_back();
  });
  return y;
}

}  // namespace ullage::eager
