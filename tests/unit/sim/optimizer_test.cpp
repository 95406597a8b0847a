// Measured temporaries and states of torch.optim: autograd.md section 10 (elements of float32, parameters of 1000, 3000
// and 2000).
#include "ullage/sim/optimizer.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace ullage {
namespace {

using eager::Machine;
using eager::Tensor;

struct StepSizes {
  int64_t states;     // elements that stay
  int64_t transient;  // highest point above parameters, gradients and states of a later step
};

StepSizes run(std::string_view name, OptimizerImpl impl) {
  StepProgram program;
  Machine m(program, {});
  std::vector<Tensor> parameters;
  for (const int64_t n : {1000, 3000, 2000}) {
    Tensor p = m.parameter({n}, DType::f32, true);
    p.impl()->grad = eager::Counted<eager::TensorImpl>(m.empty({n}, DType::f32).impl());
    parameters.push_back(std::move(p));
  }
  Optimizer optimizer(m, *find_optimizer(name), impl, false, parameters);
  optimizer.step();
  const auto live_after = [&](size_t from, size_t to, int64_t start, int64_t& peak) {
    int64_t live = start;
    for (size_t i = from; i < to; ++i) {
      const ProgramEvent event = program.event(i);
      const int64_t bytes = program.block(event.block()).requested.value;
      live += event.kind == ProgramEventKind::alloc ? bytes : -bytes;
      peak = std::max(peak, live);
    }
    return live;
  };
  int64_t peak = 0;
  const int64_t resident = live_after(0, program.event_count(), 0, peak);
  const size_t second = program.event_count();
  optimizer.step();
  peak = resident;
  live_after(second, program.event_count(), resident, peak);
  m.close();
  constexpr int64_t kModel = 2 * 6000 * 4;
  return {(resident - kModel) / 4, (peak - resident) / 4};
}

struct Row {
  std::string_view name;
  int64_t states, forloop, foreach;
};

TEST(Optimizer, StatesAndTemporariesAsMeasured) {
  constexpr int64_t kAll = 6000;
  const Row rows[] = {
      {"sgd", 0, 0, 0},
      {"momentum", kAll, 0, 0},
      {"adam", 2 * kAll, 7000, kAll},
      {"adamw", 2 * kAll, 7000, kAll},
      {"amsgrad", 3 * kAll, 7000, kAll},
      {"adagrad", kAll, 5000, 2 * kAll},
      {"rmsprop", kAll, 5000, kAll},
      {"nadam", 2 * kAll, 7000, kAll},
      {"adamax", 2 * kAll, 3000, kAll},
      {"adadelta", 2 * kAll, 8000, 2 * kAll},
      {"lion", kAll, 7000, kAll},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(run(row.name, OptimizerImpl::forloop).states, row.states) << row.name;
    EXPECT_EQ(run(row.name, OptimizerImpl::forloop).transient, row.forloop) << row.name;
    EXPECT_EQ(run(row.name, OptimizerImpl::foreach).transient, row.foreach) << row.name;
  }
}

TEST(Optimizer, FusedMakesNoTemporariesButADeviceCounterEach) {
  EXPECT_EQ(run("adam", OptimizerImpl::fused).transient, 0);
  EXPECT_EQ(run("adam", OptimizerImpl::fused).states, 2 * 6000 + 3);
}

// 8-bit states: two bytes an element and two 4-byte scales a block of 256 from 4096 elements on; below, eight bytes an
// element.
TEST(Optimizer, EightBitStatesAreBlockwise) {
  StepProgram program;
  Machine m(program, {});
  Tensor p = m.parameter({8192}, DType::f32, true);
  p.impl()->grad = eager::Counted<eager::TensorImpl>(m.empty({8192}, DType::f32).impl());
  Optimizer optimizer(m, *find_optimizer("adam8bit"), OptimizerImpl::automatic, false, {p});
  const size_t blocks = program.block_count();
  optimizer.step();
  int64_t bytes = 0;
  for (size_t b = blocks + 1; b <= program.block_count(); ++b)
    bytes += program.block(BlockId{static_cast<uint32_t>(b)}).requested.value;
  EXPECT_EQ(bytes, 16640);  // 2.03125 bytes an element
  m.close();
}

TEST(Optimizer, TableNamesAreFound) {
  for (const OptimizerRow& row : optimizer_table()) EXPECT_EQ(find_optimizer(row.name), &row);
  EXPECT_EQ(find_optimizer("adm"), nullptr);
}

}  // namespace
}  // namespace ullage
