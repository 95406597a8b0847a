// LSTM, GRU, RNN → one cuDNN-shaped op each; ONNX's [S, D, B, H] output is a view of PyTorch's [S, B, D·H].

#include <fmt/format.h>

#include "ullage/importers/onnx/lower/lowering.h"
#include "ullage/importers/onnx/lower/shape.h"

namespace ullage::onnx {
namespace {

// An initial state that is zeros made for the purpose is what nn.LSTM makes by itself when none is given.
DraftId initial_state(Call& c, size_t i, Size batch) {
  if (!c.has(i)) return {};
  const DraftValue& v = c.value(i);
  if (v.home == Home::host || v.home == Home::stored) return {};
  if (v.home == Home::made) {
    DraftId id = c.id(i);
    const auto& steps = c.lowering().draft().nodes;
    for (int hops = 0; hops < 4 && c.value(id).home == Home::made; ++hops) {
      const DraftNode& step = steps[c.value(id).producer];
      if (step.op == "full" && step.source->op == "ConstantOfShape") return {};
      if (step.inputs.size() != 1 || !step.inputs[0]) break;
      id = step.inputs[0];
    }
  }
  return v.sizes.rank() == 3 && v.sizes[1].now != batch.now && v.sizes[0].now != batch.now ? DraftId{} : c.id(i);
}

Status recurrent(Call& c, std::string_view op, int64_t gates) {
  if (!c.has(0) || !c.has(1) || !c.has(2) || c.rank(0) != 3 || c.rank(1) != 3 || c.rank(2) != 3) {
    return c.error("wants an input and weights of 3 dims");
  }
  const bool batch_first = c.attr("layout", 0) != 0;
  const Sizes x = c.sizes(0);
  const DType dtype = c.dtype(0);
  const Size steps = x[batch_first ? 1 : 0];
  const Size batch = x[batch_first ? 0 : 1];
  const int64_t directions = c.sizes(1)[0].now;
  const int64_t hidden = c.attr("hidden_size", c.sizes(2)[2].now);
  if (hidden < 1 || directions < 1 || directions > 2 || c.sizes(1)[1].now != saturating_mul(gates, hidden)) {
    return c.error(
        fmt::format("the weight's {} rows are not {} gates of hidden_size {}", c.sizes(1)[1].now, gates, hidden));
  }
  for (size_t i = 1; i <= 3; ++i) c.use(c.id(i), Use::weight);
  const Size width = Size(directions * hidden);
  const Sizes output = batch_first ? Sizes{batch, steps, width} : Sizes{steps, batch, width};
  const Sizes state{Size(directions), batch, Size(hidden)};
  std::vector<Made> made{{dtype, output}, {dtype, state}};
  std::vector<DraftId> inputs{c.id(0), initial_state(c, 5, batch)};
  if (op == "lstm") {
    made.push_back({dtype, state});
    inputs.push_back(initial_state(c, 6, batch));
  }
  inputs.push_back(c.id(1));
  inputs.push_back(c.id(2));
  if (c.has(3)) inputs.push_back(c.id(3));
  const auto y = c.steps(op, std::move(inputs), made,
                         {{"hidden_size", hidden},
                          {"num_layers", int64_t{1}},
                          {"bidirectional", int64_t{directions == 2}},
                          {"has_biases", int64_t{c.has(3)}},
                          {"batch_first", int64_t{batch_first}}});
  if (c.wants(0)) {
    Sizes wide = output;
    wide[2] = directions;
    wide.push(hidden);
    const DraftId view = c.step("view", {y[0]}, dtype, wide, {{"size", as_ints(wide)}});
    if (batch_first) {
      c.set(0, view);
    } else {
      std::swap(wide[1], wide[2]);
      c.set(0, c.step("transpose", {view}, dtype, wide, {{"dim0", int64_t{1}}, {"dim1", int64_t{2}}}));
    }
  }
  for (size_t k = 1; k < y.size(); ++k) {
    if (!c.wants(k)) continue;
    if (batch_first) {
      c.set(k, c.step("transpose", {y[k]}, dtype, Sizes{state[1], state[0], state[2]},
                      {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}}));
    } else {
      c.set(k, y[k]);
    }
  }
  return {};
}

Status lstm(Call& c) { return recurrent(c, "lstm", 4); }
Status gru(Call& c) { return recurrent(c, "gru", 3); }
Status rnn(Call& c) { return recurrent(c, "rnn", 1); }

constexpr OpRule kRules[] = {{"", "GRU", 1, gru}, {"", "LSTM", 1, lstm}, {"", "RNN", 1, rnn}};

}  // namespace

std::span<const OpRule> recurrent_rules() { return kRules; }

}  // namespace ullage::onnx
