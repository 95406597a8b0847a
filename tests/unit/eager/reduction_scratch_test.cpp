#include "ullage/eager/reduction_scratch.h"

#include <gtest/gtest.h>

namespace ullage::eager {
namespace {

struct Card {
  int compute_capability;
  int sm_count;
};
constexpr Card kA100{80, 108};
constexpr Card kH100{90, 132};
constexpr Card kT4{75, 40};
constexpr Card kRtx4090{89, 128};

std::bitset<kMaxRank> dims(std::initializer_list<int> which) {
  std::bitset<kMaxRank> out;
  for (const int d : which) out.set(static_cast<size_t>(d));
  return out;
}

struct Case {
  const char* what;
  Shape sizes;
  Strides strides;
  std::initializer_list<int> reduced;
  int64_t staging;
  int64_t semaphores;
};

void expect(const Case& c, const Card& card) {
  const ReductionScratch got =
      reduction_scratch({c.sizes, c.strides, dims(c.reduced), 4}, card.compute_capability, card.sm_count);
  EXPECT_EQ(got.staging.value, c.staging) << c.what;
  EXPECT_EQ(got.semaphores.value, c.semaphores) << c.what;
}

// Every figure: the blocks that torch.sum allocated after its output, PyTorch 2.15 on the pretend A100. float16 gave
// the same.
TEST(ReductionScratch, EqualsWhatTorchSumAllocatesOnA100) {
  const Case cases[] = {
      {"whole tensor", {4096, 1000}, {1000, 1}, {0, 1}, 1728, 4},
      {"columns", {4096, 768}, {768, 1}, {0}, 25165824, 24},
      {"rows", {4096, 768}, {768, 1}, {1}, 0, 0},
      {"bias of a convolution", {32, 64, 112, 112}, {802816, 12544, 112, 1}, {0, 2, 3}, 1792, 256},
      {"the same, channels last", {32, 64, 112, 112}, {802816, 1, 7168, 64}, {0, 2, 3}, 28311552, 4},
      {"two dims in one", {8, 512, 768}, {393216, 768, 1}, {0, 1}, 25165824, 24},
      {"few values each", {8, 512, 768}, {393216, 768, 1}, {0}, 0, 0},
      {"three outputs", {32, 3, 224, 224}, {150528, 50176, 224, 1}, {0, 2, 3}, 1728, 12},
      {"two columns", {100000, 2}, {2, 1}, {0}, 400, 4},
      {"three columns", {100000, 3}, {3, 1}, {0}, 600, 8},
      {"expanded rows", {4096, 768}, {0, 1}, {0}, 0, 0},
      {"expanded columns", {4096, 768}, {1, 0}, {0}, 1572864, 96},
      {"long rows", {3, 5000000}, {5000000, 1}, {1}, 1728, 12},
      {"transposed", {2304, 6272}, {1, 2304}, {1}, 113246208, 72},
      {"every second element", {500000}, {2}, {0}, 248, 4},
      {"a slice", {200, 100, 200}, {40000, 200, 1}, {0, 1, 2}, 1728, 4},
      {"vocabulary", {50257, 768}, {768, 1}, {0}, 113246208, 24},
      {"around the kept dim", {2, 100, 4096}, {409600, 4096, 1}, {0, 2}, 0, 0},
      {"two outputs at once", {4096, 770}, {770, 1}, {0}, 6307840, 52},
      {"one output at once", {4096, 769}, {769, 1}, {0}, 1574912, 100},
  };
  for (const Case& c : cases) expect(c, kA100);
}

// The same calls on other cards.
TEST(ReductionScratch, FollowsTheCard) {
  expect({"whole tensor", {4096, 1000}, {1000, 1}, {0, 1}, 2000, 4}, kH100);
  expect({"larger tensor", {32, 64, 56, 56}, {200704, 3136, 56, 1}, {0, 1, 2, 3}, 2112, 4}, kH100);
  expect({"whole tensor", {4096, 1000}, {1000, 1}, {0, 1}, 320, 4}, kT4);
  expect({"two dims in one", {8, 512, 768}, {393216, 768, 1}, {0, 1}, 21233664, 24}, kT4);
  expect({"whole tensor", {4096, 1000}, {1000, 1}, {0, 1}, 1536, 4}, kRtx4090);
}

// max with index and var carry more than a number: 16 bytes each.
TEST(ReductionScratch, ScalesWithTheAccumulator) {
  const Reduction columns{{4096, 1000}, {1000, 1}, dims({0}), 4};
  EXPECT_EQ(reduction_scratch(columns, 80, 108), (ReductionScratch{Bytes(32768000), Bytes(32)}));  // mean, prod, norm
  Reduction with_index = columns;
  with_index.accumulator_bytes = 16;
  EXPECT_EQ(reduction_scratch(with_index, 80, 108), (ReductionScratch{Bytes(131072000), Bytes(32)}));  // max(0), std(0)
}

}  // namespace
}  // namespace ullage::eager
