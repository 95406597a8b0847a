#include "ullage/sim/training_loop.h"

#include "ullage/eager/aten.h"
#include "ullage/sim/checkpoint.h"

namespace ullage {

using eager::Tensor;

TrainingLoop::TrainingLoop(eager::Machine& m, const Graph& graph, const Recipe& recipe)
    : m_(m), graph_(graph), recipe_(recipe), forward_(graph, checkpoint_regions(graph, recipe)) {}

void TrainingLoop::run() {
  move_model();
  m_.program().mark("after_model", 0);
  m_.set_phase(Phase::inputs, 0);
  if (trains()) {
    const bool master = recipe_.precision == Precision::bf16_master;
    optimizer_ =
        std::make_unique<Optimizer>(m_, *find_optimizer(recipe_.optimizer), recipe_.optimizer_impl, master, trainable_);
  }
  make_inputs();
  m_.program().mark("after_inputs", 0);
  for (int64_t step = 1; step <= recipe_.steps; ++step) {
    if (trains()) {
      train_step(step);
    } else {
      forward_step(step);
    }
  }
}

// module.to(device) moves parameter by parameter; each belongs to the first node that reads it.
void TrainingLoop::move_model() {
  std::vector<uint32_t> owners(graph_.values.size() + 1, 0);
  for (uint32_t n = 1; n <= graph_.nodes.size(); ++n) {
    for (const ValueId value : graph_.nodes[NodeId{n}].inputs) {
      if (value && !owners[value.index]) owners[value.index] = n;
    }
  }
  const DType dtype = parameter_dtype(recipe_.precision);
  m_.set_phase(Phase::setup, 0);
  std::vector<Tensor> by_value(graph_.values.size() + 1);
  for (ValueId id = graph_.values.first(); id.index <= graph_.values.size(); ++id.index) {
    const Value& value = graph_.values[id];
    eager::Owner owner(m_, owners[id.index]);
    const DType own = is_floating(value.dtype) && dtype != DType::f32 ? dtype : value.dtype;
    if (value.kind == ValueKind::constant) {
      forward_[id] = m_.host_scalar(value.dtype);
    } else if (value.kind == ValueKind::parameter || value.kind == ValueKind::buffer) {
      const bool parameter = value.kind == ValueKind::parameter;
      Tensor t = m_.parameter(value.shape, own, parameter);
      if (recipe_.channels_last && value.shape.rank() == 4)
        t.impl()->strides = eager::channels_last_strides(value.shape);
      if (!parameter) {
        t.impl()->is_parameter = false;
        m_.set_category(t, Category::buffers);
      }
      forward_[id] = t;
    }
  }
  for (const ValueId id : graph_.parameters) {
    if (forward_[id].requires_grad()) trainable_.push_back(forward_[id]);
  }
}

void TrainingLoop::make_inputs() {
  const DType dtype = parameter_dtype(recipe_.precision);
  for (const ValueId id : graph_.inputs) {
    const Value& value = graph_.values[id];
    const DType own = value.dtype == DType::f32 ? dtype : value.dtype;
    const bool image = recipe_.channels_last && value.shape.rank() == 4;
    forward_[id] = m_.empty_strided(
        value.shape, image ? eager::channels_last_strides(value.shape) : eager::contiguous_strides(value.shape), own,
        Category::inputs);
  }
}

void TrainingLoop::run_forward() {
  m_.enter_autocast();
  forward_.run(m_);
  m_.exit_autocast();
  std::vector<Tensor> outputs;
  for (const ValueId id : graph_.outputs) outputs.push_back(std::move(forward_[id]));
  if (trains()) {
    loss_ = std::move(outputs[0]);
    if (!recipe_.loop.keep_outputs) return;
  }
  outputs_ = std::move(outputs);  // only now does what this name held before go, with its graph
}

void TrainingLoop::forward_step(int64_t step) {
  m_.set_phase(Phase::forward, static_cast<uint16_t>(step));
  m_.set_grad_enabled(recipe_.mode == Mode::forward);
  run_forward();
  m_.program().mark("after_forward", static_cast<uint16_t>(step));
}

// GradScaler.scale: makes its two scalars at the first call; the scaled loss lives as long as the call to backward().
void TrainingLoop::backward(const Tensor& loss) {
  if (recipe_.precision != Precision::amp_fp16) return run_backward(m_, loss);
  if (scaler_.empty()) {
    scaler_ = {m_.empty({}, DType::f32, Category::optimizer), m_.empty({}, DType::i32, Category::optimizer)};
  }
  run_backward(m_, eager::mul(m_, loss, scaler_[0]));
}

void TrainingLoop::train_step(int64_t step) {
  const auto number = static_cast<uint16_t>(step);
  const Loop& loop = recipe_.loop;
  m_.set_phase(Phase::forward, number);
  if (loop.zero_grad == ZeroGrad::first) optimizer_->zero_grad(loop.set_to_none);
  for (int64_t k = 1; k <= recipe_.accumulate; ++k) {
    const bool last = k == recipe_.accumulate;
    m_.set_phase(Phase::forward, number);
    m_.set_grad_enabled(true);
    run_forward();
    if (last) m_.program().mark("after_forward", number);
    if (loop.zero_grad == ZeroGrad::after_forward && k == 1) optimizer_->zero_grad(loop.set_to_none);
    m_.set_phase(Phase::backward, number);
    // The name that held the last step's loss (`l = loss / K`) is bound anew.
    scaled_loss_ = recipe_.accumulate > 1 ? eager::div_scalar(m_, loss_) : loss_;
    backward(scaled_loss_);
    if (last) m_.program().mark("after_backward", number);
    if (!loop.keep_loss) loss_ = scaled_loss_ = {};
  }
  m_.set_phase(Phase::optimizer, number);
  m_.set_grad_enabled(false);
  {
    // GradScaler.unscale_: found_inf is held until update(), the inverse scale and its double for the call.
    std::vector<Tensor> found;
    if (!scaler_.empty()) {
      found.push_back(m_.empty({1}, DType::f32, Category::optimizer));
      const Tensor as_double = m_.empty({}, DType::f64);
      const Tensor inverse = m_.empty({}, DType::f64);
      const Tensor as_float = m_.empty({}, DType::f32);
    }
    optimizer_->step();
  }
  if (loop.zero_grad == ZeroGrad::after_step) optimizer_->zero_grad(loop.set_to_none);
  m_.program().mark("after_step", number);
}

}  // namespace ullage
