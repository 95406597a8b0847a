#include "ullage/sim/optimizer.h"

#include <algorithm>
#include <array>

#include "ullage/eager/aten.h"

namespace ullage {
namespace {

using eager::Tensor;

// Scripts: torch/optim/*.py of 2.15, `_single_tensor_*` and `_multi_tensor_*`, default hyper-parameters (no L2 weight
// decay, maximize off); measured sizes in autograd.md section 10.
constexpr OptimizerRow kRows[] = {
    {"adadelta", 2, StateBirth::first_step, StateShape::like_parameter, 0, "+s +d", "+a s=a +b d=b", true, false,
     "adadelta.py: std and deltas"},
    {"adafactor", 0, StateBirth::first_step, StateShape::factored, 0, "+u", "+u v=u", false, false,
     "_adafactor.py: row_var and col_var; var_estimate = row_var @ col_var is gradient-sized"},
    {"adagrad", 1, StateBirth::construction, StateShape::like_parameter, 0, "+s +n", "+a s=a", true, true,
     "adagrad.py: sum is made by the constructor; std and numerator"},
    {"adam", 2, StateBirth::first_step, StateShape::like_parameter, 0, "+q", "+a +b -a d=b", true, true,
     "adam.py: exp_avg_sq_sqrt; denom = (sqrt / bias).add_"},
    {"adam8bit", 2, StateBirth::first_step, StateShape::blockwise8, 0, "", "", false, false,
     "bitsandbytes blockwise optimizer: states quantised in 256-blocks above 4096 elements"},
    {"adamax", 2, StateBirth::first_step, StateShape::like_parameter, 0, "+g", "+a -a", true, false,
     "adamax.py: |grad| + eps"},
    {"adamw", 2, StateBirth::first_step, StateShape::like_parameter, 0, "+q", "+a +b -a d=b", true, true,
     "adamw.py runs adam.py; decoupled weight decay is in place"},
    {"amsgrad", 3, StateBirth::first_step, StateShape::like_parameter, 0, "+q", "+a +b -a d=b", true, true,
     "adam.py, amsgrad=True: max_exp_avg_sq"},
    {"asgd", 1, StateBirth::first_step, StateShape::like_parameter, 3, "+i -i +i", "", true, false,
     "asgd.py: ax; step, eta and mu are device scalars"},
    {"lion", 1, StateBirth::first_step, StateShape::like_parameter, 0, "+u", "+a +b -a u=b", false, false,
     "common implementation: update = (m*b1 + g*(1-b1)).sign_()"},
    {"momentum", 1, StateBirth::first_step, StateShape::like_parameter, 0, "", "", true, true,
     "sgd.py: momentum_buffer is a clone of the first gradient"},
    {"muon", 1, StateBirth::first_step, StateShape::like_parameter, 0, "", "+u", false, false,
     "_muon.py: update like the gradient; bf16 Newton-Schulz matrices are not modelled"},
    {"nadam", 2, StateBirth::first_step, StateShape::like_parameter, 0, "+q", "+a +b -a d=b", true, false, "nadam.py"},
    {"none", 0, StateBirth::never, StateShape::like_parameter, 0, "", "", true, false, "no optimizer.step()"},
    {"radam", 2, StateBirth::first_step, StateShape::like_parameter, 0, "+q", "+a c=a +b +d +e -d +f -b -e -f", true,
     false, "radam.py: bias_corrected_exp_avg and the rectified update"},
    {"rmsprop", 1, StateBirth::first_step, StateShape::like_parameter, 0, "+q", "+a s=a", true, false,
     "rmsprop.py: avg = square_avg.sqrt()"},
    {"rprop", 2, StateBirth::first_step, StateShape::like_parameter, 0, "+s +w -w -s +g", "+s +w -w -s +g -g", true,
     false, "rprop.py: signs, then grad_signs"},
    {"sgd", 0, StateBirth::never, StateShape::like_parameter, 0, "", "", true, true, "sgd.py without momentum"},
};

static_assert(std::ranges::is_sorted(kRows, {}, &OptimizerRow::name));

}  // namespace

std::span<const OptimizerRow> optimizer_table() { return kRows; }

const OptimizerRow* find_optimizer(std::string_view name) {
  const auto row = std::ranges::lower_bound(kRows, name, {}, &OptimizerRow::name);
  return row != std::end(kRows) && row->name == name ? row : nullptr;
}

Optimizer::Optimizer(eager::Machine& m, const OptimizerRow& row, OptimizerImpl impl, bool master_weights,
                     std::vector<Tensor> parameters)
    : m_(m), row_(row), impl_(impl), master_weights_(master_weights), parameters_(std::move(parameters)) {
  if (impl_ == OptimizerImpl::automatic)
    impl_ = row.foreach_by_default ? OptimizerImpl::foreach : OptimizerImpl::forloop;
  if (impl_ == OptimizerImpl::fused && !row.has_fused) impl_ = OptimizerImpl::foreach;
  if (row_.birth == StateBirth::construction) create_states();
}

void Optimizer::zero_grad(bool set_to_none) {
  if (!set_to_none) return;  // zeroed in place
  for (const Tensor& p : parameters_) p.impl()->grad.reset();
}

DType Optimizer::state_dtype(const Tensor& p) const { return master_weights_ ? DType::f32 : p.dtype(); }

Tensor Optimizer::state(const Shape& sizes, DType dtype) { return m_.empty(sizes, dtype, Category::optimizer); }

void Optimizer::create_states() {
  created_ = true;
  for (const Tensor& p : parameters_) {
    if (!p.impl()->grad && row_.birth == StateBirth::first_step) continue;
    eager::Owner owner(m_, p.impl()->history.node ? p.impl()->history.node->owner : 0);
    if (master_weights_ && p.dtype() != DType::f32) states_.push_back(state(p.sizes(), DType::f32));
    const int scalars = row_.device_scalars + (impl_ == OptimizerImpl::fused && row_.states > 1 ? 1 : 0);
    for (int i = 0; i < scalars; ++i) states_.push_back(state({}, DType::f32));
    const DType dtype = state_dtype(p);
    if (row_.shape == StateShape::factored && p.rank() > 1) {
      Shape rows = p.sizes();
      rows.set(-1, 1);
      Shape columns = p.sizes();
      columns.set(-2, 1);
      states_.push_back(state(rows, dtype));
      states_.push_back(state(columns, dtype));
      continue;
    }
    if (row_.shape == StateShape::factored) states_.push_back(state(p.sizes(), dtype));
    constexpr int64_t kBlock = 256;
    constexpr int64_t kSmall = 4096;
    for (int i = 0; i < row_.states; ++i) {
      if (row_.shape == StateShape::blockwise8 && p.numel() >= kSmall) {
        states_.push_back(state(p.sizes(), DType::u8));
        states_.push_back(state({(p.numel() + kBlock - 1) / kBlock}, DType::f32));
      } else {
        Tensor like = m_.empty_strided(p.sizes(), p.strides(),
                                       row_.shape == StateShape::blockwise8 ? DType::f32 : dtype, Category::optimizer);
        states_.push_back(std::move(like));
      }
    }
  }
}

void Optimizer::run_temporaries(std::string_view script, std::span<const Tensor> over) {
  std::array<std::vector<Tensor>, 26> locals;
  const auto list = [&](char name) -> std::vector<Tensor>& { return locals[static_cast<size_t>(name - 'a')]; };
  const bool foreach_form = impl_ == OptimizerImpl::foreach;
  const size_t rounds = foreach_form ? 1 : over.size();
  for (size_t round = 0; round < rounds; ++round) {
    const auto targets = foreach_form ? over : over.subspan(round, 1);
    for (size_t at = 0; at < script.size(); ++at) {
      const char op = script[at];
      if (op == ' ') continue;
      const char name = script[at + 1];
      if (op == '+') {
        std::vector<Tensor> made;
        for (const Tensor& p : targets) made.push_back(m_.empty_like(p, state_dtype(p)));
        list(name) = std::move(made);
        ++at;
      } else if (op == '-') {
        list(name).clear();
        ++at;
      } else {  // "d=b"
        list(op) = std::move(list(script[at + 2]));
        list(script[at + 2]).clear();
        at += 2;
      }
    }
  }
}

void Optimizer::step() {
  if (!created_ && row_.birth == StateBirth::first_step) create_states();
  if (impl_ == OptimizerImpl::fused) return;
  std::vector<Tensor> with_grad;
  for (const Tensor& p : parameters_) {
    if (p.impl()->grad) with_grad.push_back(p);
  }
  run_temporaries(impl_ == OptimizerImpl::foreach ? row_.foreach_script : row_.forloop_script, with_grad);
}

}  // namespace ullage
