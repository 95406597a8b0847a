// LSTM, GRU and RNN: one aten::_cudnn_rnn for all layers and directions, and its backward (cudnn/RNN.cpp).
//
// Weights are views of one flat buffer, as nn.LSTM.flatten_parameters leaves them, so a call copies none; autocast does
// copy them all into a new float16 one (autocast's _cudnn_rnn_cast_reflatten). In backward their gradients are views of
// one flat buffer.
//
// Nothing here has been compared with PyTorch: the order of allocations, what autocast casts to and the sizes of
// reserve and workspace (cudnnGetRNNTempSpaceSizes knows them) are assumptions. Not modelled: the dropout state, cuDNN
// switched off, weights that are not flat.
#include "ullage/eager/aten.h"
#include "ullage/eager/rules.h"

namespace ullage::eager {
namespace {

enum class Cell : uint8_t { rnn, gru, lstm };

// Elements that the reserve keeps per step, sample, layer, direction and hidden unit, in halves. Guesses: the middle of
// 6..8 for LSTM, 5..7 for GRU and 1..2 for RNN, ranges that nobody has verified.
constexpr int64_t reserve_halves(Cell cell) {
  switch (cell) {
    case Cell::lstm:
      return 14;
    case Cell::gru:
      return 12;
    case Cell::rnn:
      return 3;
  }
  return 0;
}

constexpr int64_t gates_of(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }

struct Recurrent {
  Bytes reserve;
  Bytes workspace;
  int64_t weights = 0;  // elements of the flat buffer
  int64_t flops = 0;
  bool batch_first = false;
  size_t states = 1;  // hx, and cx of an LSTM
};

// A weight as nn.LSTM has it, [gates·H, I], or as ONNX packs it, [D, gates·H, I]; biases have one dim less.
bool is_matrix(const Tensor& t, int64_t directions) {
  return t.rank() == 3 || (t.rank() == 2 && t.size(0) != directions);
}

Tensor steps_first(Machine& m, const Tensor& t, bool batch_first) { return batch_first ? transpose(m, t, 0, 1) : t; }

// Differentiable inputs: x, the states, the weights. Saved: x, output, reserve, hx, cx, flat weights, weights.
void backward(Backward& b, const Recurrent& r) {
  Machine& m = b.m;
  const Tensor& x = b.saved(0);
  const Tensor& output = b.saved(1);
  const Tensor grad_output = b.grad(0).defined() ? b.grad(0) : m.empty_like(output);
  std::vector<Tensor> grad_states;  // zeros for those that nobody used
  for (size_t i = 0; i < r.states; ++i) {
    grad_states.push_back(b.grad(1 + i).defined() ? b.grad(1 + i) : m.empty_like(b.saved(3 + i)));
  }
  // cuDNN always makes the gradients of x and of the states.
  {
    const Tensor input = contiguous(m, steps_first(m, x, r.batch_first));
    const Tensor dy = contiguous(m, steps_first(m, grad_output, r.batch_first));
    const Tensor dx = m.empty(input.sizes(), x.dtype());
    std::vector<Tensor> dh;
    for (size_t i = 0; i < r.states; ++i) dh.push_back(m.empty(b.saved(3 + i).sizes(), x.dtype()));
    const Tensor memory = m.workspace(r.workspace);
    m.count_flops(r.flops);
    if (b.needs(0)) b.set(0, steps_first(m, dx, r.batch_first));
    for (size_t i = 0; i < r.states; ++i) {
      if (b.needs(1 + i)) b.set(1 + i, dh[i]);
    }
  }
  const size_t first = 1 + r.states;
  bool trains = false;
  for (size_t i = first; i < b.results().size(); ++i) trains |= b.needs(i);
  if (!trains) return;
  const Tensor input = contiguous(m, steps_first(m, x, r.batch_first));
  const Tensor dw = m.empty({r.weights}, x.dtype());
  const Tensor memory = m.workspace(r.workspace);
  m.count_flops(r.flops);
  for (size_t i = first; i < b.results().size(); ++i) {
    const Shape& sizes = b.input(i).sizes;
    if (b.needs(i)) b.set(i, m.view_of(dw, sizes, contiguous_strides(sizes)));
  }
}

void run(Call& c, Cell cell, std::string_view name) {
  Machine& m = c.m;
  Recurrent r;
  r.states = cell == Cell::lstm ? 2 : 1;
  r.batch_first = c.node.attr_int("batch_first", 0) != 0;
  const int64_t layers = c.node.attr_int("num_layers", 1);
  const int64_t directions = c.node.attr_int("bidirectional", 0) != 0 ? 2 : 1;
  const int64_t hidden = c.node.attr_int("hidden_size", 1);
  const int64_t batch = c.in[0].size(r.batch_first ? 0 : 1);
  const int64_t steps = c.in[0].size(r.batch_first ? 1 : 0);
  const Shape state{layers * directions, batch, hidden};

  std::vector<Tensor> inputs{c.in[0]};
  for (size_t i = 1; i <= r.states; ++i) {  // nn.LSTM makes the zeros when it is given no state
    const bool given = i < c.in.size() && c.in[i].defined();
    inputs.push_back(given ? c.in[i] : m.empty(state, c.in[0].dtype()));
  }
  int64_t matrices = 0;
  std::vector<Tensor> weights;
  for (size_t i = 1 + r.states; i < c.in.size(); ++i) {
    if (!c.in[i].defined()) continue;
    weights.push_back(c.in[i]);
    r.weights = saturating_add(r.weights, c.in[i].numel());
    matrices = saturating_add(matrices, is_matrix(c.in[i], directions) ? c.in[i].numel() : 0);
  }

  // Assumed: autocast casts to float16 here, whatever its dtype.
  Tensor flat;
  if (m.autocast()) {
    flat = m.empty({r.weights}, DType::f16);
    for (Tensor& t : inputs) t = to_dtype(m, t, DType::f16);
  }
  inputs.insert(inputs.end(), weights.begin(), weights.end());

  const DType dtype = inputs[0].dtype();
  const int64_t positions = saturating_mul(steps, batch);
  const int64_t units = saturating_mul(positions, saturating_mul(directions, hidden));
  r.flops = saturating_mul(saturating_mul(2, matrices), positions);
  r.reserve = bytes_of(dtype, saturating_mul(saturating_mul(units, layers), reserve_halves(cell)) / 2);
  r.workspace = bytes_of(dtype, saturating_mul(units, gates_of(cell)));  // the gates of one layer
  m.count_flops(r.flops);

  Tensor output;
  Tensor reserve;
  std::vector<Tensor> results;
  {
    const NoGrad off(m);
    const Tensor x = contiguous(m, steps_first(m, inputs[0], r.batch_first));
    output = m.empty({steps, batch, directions * hidden}, dtype);
    for (size_t i = 0; i < r.states; ++i) results.push_back(m.empty(state, dtype));
    const Tensor memory = m.workspace(r.workspace);
    if (c.node.attr_int("train", 1) != 0) reserve = m.workspace(r.reserve);
    output = steps_first(m, output, r.batch_first);
  }
  results.insert(results.begin(), output);
  std::vector<Tensor> saved{inputs[0], output, reserve};
  for (size_t i = 1; i <= r.states; ++i) saved.push_back(inputs[i]);
  saved.push_back(flat);
  saved.insert(saved.end(), weights.begin(), weights.end());
  m.record(name, inputs, results, std::move(saved), [r](Backward& b) { backward(b, r); });
  for (size_t i = 0; i < c.out.size() && i < results.size(); ++i) c.out[i] = results[i];
}

void lstm(Call& c) { run(c, Cell::lstm, "CudnnRnnBackward0"); }
void gru(Call& c) { run(c, Cell::gru, "CudnnRnnBackward0"); }
void rnn(Call& c) { run(c, Cell::rnn, "CudnnRnnBackward0"); }

constexpr std::string_view kSource = "assumed: order, reserve and workspace of cuDNN's RNN are not measured";

constexpr RuleRow kRules[] = {
    {"gru", gru, Autocast::none, kSource},
    {"lstm", lstm, Autocast::none, kSource},
    {"rnn", rnn, Autocast::none, kSource},
};

}  // namespace

std::span<const RuleRow> recurrent_rules() { return kRules; }

}  // namespace ullage::eager
