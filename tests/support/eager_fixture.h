// EagerFixture: runs a few ops through the eager machine, forward and backward, and gives the events back as text in
// the format of the traces that PyTorch itself was recorded with, so that a test compares two lines.
//
//   EagerFixture f;
//   const Tensor x = f.leaf({4096, 1000});
//   EXPECT_EQ(f.trace([&] { return f.run("silu", {x}, {{4096, 1000}}); }),
//             "+1:16384000 | +2:16384000 | +3:16384000");     // forward | incoming gradient | backward
//
// "+n:bytes" allocates block n, numbered from the start of the trace; "-n" frees it. Results, leaves' gradients and the
// incoming gradient are held to the end, so their frees do not show. It is not a training loop: that is sim.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ullage/eager/rules.h"

namespace ullage::eager {

struct OutSpec {
  OutSpec(std::initializer_list<int64_t> sizes) : shape(sizes) {}  // NOLINT(google-explicit-constructor)
  OutSpec(Shape sizes, DType type) : shape(sizes), dtype(type) {}
  Shape shape;
  DType dtype = DType::f32;
};

class EagerFixture {
 public:
  explicit EagerFixture(MachineOptions options = {}) : m_(std::make_unique<Machine>(program_, options)) {
    if (options.autocast) m_->enter_autocast();
    m_->set_phase(Phase::forward, 1);
  }

  Machine& m() { return *m_; }
  Tensor leaf(const Shape& sizes, DType dtype = DType::f32) { return m_->parameter(sizes, dtype, true); }
  Tensor data(const Shape& sizes, DType dtype = DType::f32) { return m_->empty(sizes, dtype, Category::inputs); }

  // One graph node through run_op. `outs` are the shapes (and dtypes, where a rule asks the graph) of its outputs.
  std::vector<Tensor> run(std::string_view op, std::vector<Tensor> inputs, std::vector<OutSpec> outs,
                          std::vector<Attr> attrs = {}) {
    graphs_.push_back(std::make_unique<Graph>());
    Graph& graph = *graphs_.back();
    Node node{.op = op, .name = std::string(op), .module = {}, .inputs = {}, .outputs = {}, .attrs = std::move(attrs)};
    for (const Tensor& t : inputs) {
      if (!t.defined()) {
        node.inputs.push_back({});
        continue;
      }
      node.inputs.push_back(graph.values.push(
          {.name = {}, .dtype = t.dtype(), .kind = ValueKind::input, .shape = t.sizes(), .producer = {}}));
    }
    for (const OutSpec& out : outs) {
      node.outputs.push_back(graph.values.push(
          {.name = {}, .dtype = out.dtype, .kind = ValueKind::activation, .shape = out.shape, .producer = {}}));
    }
    const NodeId id = graph.nodes.push(std::move(node));
    return run_op(*m_, graph, id, std::move(inputs));
  }

  enum class Root { given, ones };  // backward from a gradient made before it, or from loss.backward()'s own ones

  // "forward | gradient | backward", or "forward" alone when nothing was recorded. Backward starts from the first
  // result.
  std::string trace(const std::function<std::vector<Tensor>()>& forward, Root root = Root::given) {
    names_.assign(program_.block_count() + 1, 0);
    count_ = 0;
    size_t from = program_.event_count();
    std::vector<Tensor> out = forward();
    std::string text = take(from, program_.event_count());
    if (!out[0].requires_grad()) return text;
    Tensor extra;  // the recorded traces made a gradient even when backward did not use it
    from = program_.event_count();
    if (root == Root::ones) {
      extra = m_->empty_like(out[0]);
      text += " | " + take(from, program_.event_count());
      from = program_.event_count();
    }
    m_->set_phase(Phase::backward, 1);
    run_backward(*m_, out[0]);
    m_->set_phase(Phase::forward, 1);
    size_t to = program_.event_count();
    if (root ==
        Root::given) {  // the engine's first event makes the gradient; its last one frees it, unless a leaf got it
      text += " | " + take(from, from + 1);
      const ProgramEvent made = program_.event(from++);
      const ProgramEvent last = program_.event(to - 1);
      if (last.kind == ProgramEventKind::free && last.id == made.id) --to;
    }
    return text + " | " + take(from, to);
  }

 private:
  std::string take(size_t from, size_t to) {
    std::string text;
    names_.resize(program_.block_count() + 1, 0);
    for (size_t i = from; i < to; ++i) {
      const ProgramEvent event = program_.event(i);
      if (event.kind != ProgramEventKind::alloc && event.kind != ProgramEventKind::free) continue;
      if (!text.empty()) text += ' ';
      int& name = names_[event.id];
      if (event.kind == ProgramEventKind::alloc) {
        name = ++count_;
        text += "+" + std::to_string(name) + ":" + std::to_string(program_.block(event.block()).requested.value);
      } else {
        text += "-" + (name ? std::to_string(name) : "before");
      }
    }
    return text.empty() ? "(none)" : text;
  }

  StepProgram program_;
  std::unique_ptr<Machine> m_;
  std::vector<std::unique_ptr<Graph>> graphs_;
  std::vector<int> names_;  // by block
  int count_ = 0;
};

}  // namespace ullage::eager
