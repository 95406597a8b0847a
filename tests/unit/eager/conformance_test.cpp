// Whole programs against memory that PyTorch was measured to take, byte for byte (conformance vectors C1 to C4): after
// forward with the loss alive, at the peak of forward, at the peak of backward, and at the end with the gradients. All
// beyond weights and inputs. The vectors were measured on a CPU, so library workspaces, which only a GPU has, are left
// out of the sums here.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/eager_fixture.h"

namespace ullage::eager {
namespace {

struct Memory {
  int64_t forward_retained = 0;
  int64_t forward_peak = 0;
  int64_t backward_peak = 0;
  int64_t end = 0;
  bool operator==(const Memory&) const = default;
};

void PrintTo(const Memory& m, std::ostream* out) {
  *out << m.forward_retained << " " << m.forward_peak << " " << m.backward_peak << " " << m.end;
}

class Program {
 public:
  Tensor linear(const Tensor& x, int64_t out, bool bias = false) {
    const Tensor& w = weight({out, x.size(-1 + x.rank())});
    const Tensor b = bias ? weight({out}) : Tensor();
    return f_.run("linear", {x, w, b}, {OutSpec(Shape{x.size(0), out}, DType::f32)})[0];
  }
  Tensor apply(std::string_view op, std::vector<Tensor> inputs) {
    const Shape sizes = inputs[0].sizes();
    return f_.run(op, std::move(inputs), {OutSpec(sizes, DType::f32)})[0];
  }

  // Weights are made before anything is counted.
  Memory run(const std::vector<Shape>& weights, const std::function<Tensor(Program&, Tensor)>& model) {
    for (const Shape& sizes : weights) weights_.push_back(f_.leaf(sizes));
    const Tensor x = f_.data({64, 256});
    const StepProgram& program = f_.m().program();
    const size_t begin = program.event_count();
    Tensor loss = f_.run("sum", {model(*this, x)}, {OutSpec(Shape{}, DType::f32)})[0];
    const size_t middle = program.event_count();
    run_backward(f_.m(), loss);
    const auto [retained, forward_peak] = walk(program, begin, middle, 0);
    const auto [end, backward_peak] = walk(program, middle, program.event_count(), retained);
    return {retained, forward_peak, backward_peak, end};
  }

 private:
  Tensor weight(const Shape& sizes) {
    check(weights_[used_].sizes() == sizes, "a weight of other sizes was expected");
    return weights_[used_++];
  }

  // Bytes at the end of a stretch of events, and the most there were.
  static std::pair<int64_t, int64_t> walk(const StepProgram& program, size_t from, size_t to, int64_t bytes) {
    int64_t peak = bytes;
    for (size_t i = from; i < to; ++i) {
      const ProgramEvent event = program.event(i);
      const ProgramBlock& block = program.block(event.block());
      if (block.category == Category::workspace) continue;
      bytes += event.kind == ProgramEventKind::alloc ? block.requested.value : -block.requested.value;
      peak = std::max(peak, bytes);
    }
    return {bytes, peak};
  }

  EagerFixture f_;
  std::vector<Tensor> weights_;
  size_t used_ = 0;
};

TEST(Conformance, C1LinearGelu) {
  const Memory memory = Program().run({{256, 256}, {256, 256}, {256, 256}}, [](Program& p, Tensor x) {
    for (int i = 0; i < 3; ++i) x = p.apply("gelu", {p.linear(x, 256)});
    return x;
  });
  EXPECT_EQ(memory, (Memory{327684, 393220, 851976, 786436}));
}

TEST(Conformance, C2LinearWithBiasTanh) {
  const Memory memory =
      Program().run({{256, 256}, {256}, {256, 256}, {256}, {256, 256}, {256}}, [](Program& p, Tensor x) {
        for (int i = 0; i < 3; ++i) x = p.apply("tanh", {p.linear(x, 256, true)});
        return x;
      });
  EXPECT_EQ(memory, (Memory{196612, 262144, 855048, 789508}));
}

TEST(Conformance, C3ResidualMlp) {
  const Memory memory =
      Program().run({{256, 256}, {1024, 256}, {256, 1024}, {1024, 256}, {256, 1024}}, [](Program& p, Tensor x) {
        Tensor h = p.linear(x, 256);
        for (int i = 0; i < 2; ++i) h = p.apply("add", {h, p.linear(p.apply("gelu", {p.linear(h, 1024)}), 256)});
        return h;
      });
  EXPECT_EQ(memory, (Memory{1179652, 1310720, 4653064, 4456452}));
}

TEST(Conformance, C4SwiGlu) {
  const Memory memory = Program().run({{256, 256}, {512, 256}, {512, 256}, {256, 512}}, [](Program& p, Tensor x) {
    const Tensor h = p.linear(x, 256);
    const Tensor gate = p.apply("silu", {p.linear(h, 512)});
    return p.linear(p.apply("mul", {gate, p.linear(h, 512)}), 256);
  });
  EXPECT_EQ(memory, (Memory{589828, 655364, 1900552, 1835012}));
}

}  // namespace
}  // namespace ullage::eager
