// einsum: every operand gets the dims of all labels (output labels first), then pairs are contracted from left to right
// by one bmm each (ATen Linear.cpp: einsum and sumproduct_pair).
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "ullage/eager/aten.h"
#include "ullage/eager/ops/products.h"

namespace ullage::eager {
namespace {

using Dims = std::vector<int64_t>;

struct Equation {
  std::vector<std::string> operands;  // labels; an ellipsis is written out as digits
  std::string labels;                 // in the order of the dims: output first, then those to be summed
  int outputs = 0;                    // how many of them the result has
};

// "..." of an operand of this rank, as digits; the last dims that it stands for are shared by all.
std::string spelled(std::string_view labels, int rank) {
  std::string out;
  const size_t dots = labels.find("...");
  for (size_t i = 0; i < labels.size(); ++i) {
    if (i == dots) {
      const int hidden = rank - static_cast<int>(labels.size()) + 3;
      for (int d = hidden; d > 0; --d) out += static_cast<char>('0' + d);
      i += 2;
    } else {
      out += labels[i];
    }
  }
  return out;
}

Equation parse(std::string_view text, std::span<const Tensor> operands) {
  std::string equation;
  std::ranges::copy_if(text, std::back_inserter(equation), [](char c) { return c != ' '; });
  const size_t arrow = equation.find("->");
  std::string_view rest = std::string_view(equation).substr(0, arrow);
  Equation parsed;
  size_t widest = 0;
  for (const Tensor& t : operands) {
    const size_t comma = rest.find(',');
    parsed.operands.push_back(spelled(rest.substr(0, comma), t.rank()));
    widest = std::max(
        widest, static_cast<size_t>(std::ranges::count_if(parsed.operands.back(), [](char c) { return c < 'A'; })));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  std::string all;
  for (const std::string& labels : parsed.operands) all += labels;
  if (arrow != std::string::npos) {
    const std::string_view out = std::string_view(equation).substr(arrow + 2);
    const bool dots = out.find("...") != std::string_view::npos;
    parsed.labels = spelled(out, static_cast<int>(out.size() + (dots ? widest : 3)) - 3);
  } else {  // numpy's implicit form: the ellipsis, then labels that occur once, in alphabetical order
    for (size_t d = widest; d > 0; --d) parsed.labels += static_cast<char>('0' + d);
    std::string sorted = all;
    std::ranges::sort(sorted);
    for (const char c : sorted) {
      if (c >= 'A' && std::ranges::count(all, c) == 1) parsed.labels += c;
    }
  }
  parsed.outputs = static_cast<int>(parsed.labels.size());
  std::ranges::sort(all);
  for (const char c : all) {
    if (parsed.labels.find(c) == std::string::npos) parsed.labels += c;
  }
  return parsed;
}

// The operand with one dim for every label, in their order; size 1 where it has none.
Tensor aligned(Machine& m, Tensor t, const std::string& labels, const std::string& all) {
  Dims order;
  int next = t.rank();
  for (const char label : all) {
    const size_t at = labels.find(label);
    if (at != std::string::npos) {
      order.push_back(static_cast<int64_t>(at));
    } else {
      t = unsqueeze(m, t, -1);
      order.push_back(next++);
    }
  }
  return permute(m, t, order);
}

int64_t product(const Tensor& t, const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n = saturating_mul(n, t.size(static_cast<int>(d)));
  return n;
}

Dims concatenated(std::initializer_list<const Dims*> parts) {
  Dims out;
  for (const Dims* part : parts) out.insert(out.end(), part->begin(), part->end());
  return out;
}

// sumproduct_pair(left, right, summed, keepdim=true)
Tensor contract(Machine& m, Tensor left, Tensor right, const Dims& summed) {
  if (summed.empty()) return mul(m, left, right);
  Dims both, only_left, only_right;  // output dims by who has them
  for (int d = 0; d < left.rank(); ++d) {
    const bool in_left = left.size(d) != 1;
    const bool in_right = right.size(d) != 1;
    const std::array<int64_t, 1> dim{d};
    if (std::ranges::find(summed, d) != summed.end()) {
      if (in_left && !in_right) left = sum_dims(m, left, dim, true);
      if (in_right && !in_left) right = sum_dims(m, right, dim, true);
    } else if (in_left && in_right) {
      both.push_back(d);
    } else if (in_left) {
      only_left.push_back(d);
    } else {
      only_right.push_back(d);
    }
  }
  // Swapped operands give the memory order of the result directly.
  if (!only_left.empty() && !only_right.empty() && only_right.back() < only_left.front()) {
    std::swap(left, right);
    std::swap(only_left, only_right);
  }
  const int64_t batch = product(left, both);
  const int64_t rows = product(left, only_left);
  const int64_t columns = product(right, only_right);
  const int64_t inner = product(left, summed);
  Shape out_sizes;
  for (const int64_t d : both) out_sizes.push(left.size(static_cast<int>(d)));
  for (const int64_t d : only_left) out_sizes.push(left.size(static_cast<int>(d)));
  for (size_t i = 0; i < summed.size(); ++i) out_sizes.push(1);
  for (const int64_t d : only_right) out_sizes.push(right.size(static_cast<int>(d)));
  const Dims out_order = concatenated({&both, &only_left, &summed, &only_right});
  Dims back(out_order.size());
  for (size_t i = 0; i < out_order.size(); ++i) back[static_cast<size_t>(out_order[i])] = static_cast<int64_t>(i);
  left = permute(m, left, out_order);
  left = reshape(m, left, {batch, rows, inner});
  right = permute(m, right, concatenated({&both, &summed, &only_right, &only_left}));
  right = reshape(m, right, {batch, inner, columns});
  return permute(m, view(m, bmm(m, left, right), out_sizes), back);
}

}  // namespace

Tensor einsum(Machine& m, std::string_view equation, std::span<const Tensor> operands) {
  const Equation parsed = parse(equation, operands);
  const int labels = static_cast<int>(parsed.labels.size());
  std::vector<Tensor> todo;
  Dims uses(static_cast<size_t>(labels), 0);
  for (size_t i = 0; i < operands.size(); ++i) {
    todo.push_back(aligned(m, operands[i], parsed.operands[i], parsed.labels));
    for (int d = 0; d < labels; ++d) uses[static_cast<size_t>(d)] += todo.back().size(d) != 1;
  }
  while (todo.size() > 1) {
    Tensor a = std::move(todo[0]);
    Tensor b = std::move(todo[1]);
    todo.erase(todo.begin(), todo.begin() + 2);
    Dims summed, summed_a, summed_b;
    for (int d = parsed.outputs; d < labels; ++d) {
      int64_t& left = uses[static_cast<size_t>(d)];
      if (a.size(d) != 1 && b.size(d) != 1) {
        if (--left == 1) summed.push_back(d), left = 0;
      } else if (left == 1 && a.size(d) != 1) {
        summed_a.push_back(d), left = 0;
      } else if (left == 1 && b.size(d) != 1) {
        summed_b.push_back(d), left = 0;
      }
    }
    if (!summed_a.empty()) a = sum_dims(m, a, summed_a, true);
    if (!summed_b.empty()) b = sum_dims(m, b, summed_b, true);
    todo.insert(todo.begin(), contract(m, std::move(a), std::move(b), summed));
  }
  if (parsed.outputs == labels) return todo[0];
  if (operands.size() > 1) {
    return view(m, todo[0], Shape(todo[0].sizes().sizes().first(static_cast<size_t>(parsed.outputs))));
  }
  Dims summed;
  for (int d = parsed.outputs; d < labels; ++d) summed.push_back(d);
  return sum_dims(m, todo[0], summed, false);
}

}  // namespace ullage::eager
