// Events a second (a request and its free are two) of each allocator on a recorded training run, and of a plain best
// fit in std::set with the same rounding and splitting and nothing else, as the peer of the same run.
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "ullage/sim/alloc/pytorch_sizes.h"
#include "ullage/sim/allocator.h"
#include "ullage/sim/replay.h"

namespace {

using namespace ullage;  // a program of its own

struct Event {
  BlockId block;
  Bytes size;  // 0: free
};

// Three training steps of ResNet-50, recorded from PyTorch.
std::vector<Event> recorded_run() {
  std::ifstream file(ULLAGE_SOURCE_DIR "/tests/data/allocator/train_resnet50.txt");
  std::vector<Event> events;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    char action = 0;
    uint32_t id = 0;
    int64_t size = 0;
    in >> action >> id >> size;
    if (action == 'a') events.push_back({BlockId{id}, Bytes(size)});
    if (action == 'r') events.push_back({BlockId{id}, Bytes(0)});
  }
  return events;
}

void play(benchmark::State& state, const AllocatorOptions& options) {
  const std::vector<Event> events = recorded_run();
  for (auto _ : state) {
    auto allocator = make_allocator(options).value();
    for (const Event& event : events) {
      if (event.size > Bytes(0))
        allocator->alloc(event.block, event.size);
      else
        allocator->free(event.block);
    }
    benchmark::DoNotOptimize(allocator->stats().reserved.all.peak);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(events.size()));
}

void pytorch(benchmark::State& state) { play(state, {}); }
void pytorch_expandable(benchmark::State& state) { play(state, {.alloc_conf = "expandable_segments:True"}); }
void bfc(benchmark::State& state) { play(state, {.kind = AllocatorKind::bfc}); }
void ideal(benchmark::State& state) { play(state, {.kind = AllocatorKind::ideal}); }

void replay_to_timeline(benchmark::State& state) {
  StepProgram program;
  std::map<uint32_t, BlockId> block_of;
  for (const Event& event : recorded_run()) {
    if (event.size > Bytes(0))
      block_of[event.block.index] = program.alloc(event.size, {});
    else
      program.free(block_of[event.block.index]);
  }
  for (auto _ : state) {
    auto allocator = make_allocator({}).value();
    benchmark::DoNotOptimize(replay(program, *allocator).timeline.peak(Counter::allocated));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(program.event_count()));
}

// The peer: tree nodes and hash-free maps, no statistics, no streams.
class PlainBestFit {
 public:
  void alloc(BlockId id, Bytes requested) {
    const int64_t size = round_size(requested, conf_).value;
    const bool small = size <= kSmallLimit.value;
    auto& free = free_[small ? 0 : 1];
    auto found = free.lower_bound({size, 0});
    int64_t address = 0;
    if (found == free.end()) {
      const int64_t segment = segment_size(Bytes(size), conf_).value;
      address = next_;
      next_ += segment + 512;  // a gap, so that segments never merge
      blocks_[address] = {segment, true, small};
    } else {
      address = found->second;
      free.erase(found);
      blocks_[address].is_used = true;
    }
    Block& block = blocks_[address];
    const int64_t rest = block.size - size;
    if (small ? rest >= kMinBlock.value : rest > kSmallLimit.value) {
      block.size = size;
      blocks_[address + size] = {rest, false, small};
      free.insert({rest, address + size});
    }
    live_[id.index] = address;
  }
  void free(BlockId id) {
    auto at = blocks_.find(live_[id.index]);
    live_.erase(id.index);
    auto& free = free_[at->second.small ? 0 : 1];
    at->second.is_used = false;
    if (auto next = std::next(at); next != blocks_.end() && adjoin(*at, *next)) {
      free.erase({next->second.size, next->first});
      at->second.size += next->second.size;
      blocks_.erase(next);
    }
    if (at != blocks_.begin()) {
      if (auto before = std::prev(at); adjoin(*before, *at)) {
        free.erase({before->second.size, before->first});
        before->second.size += at->second.size;
        blocks_.erase(at);
        at = before;
      }
    }
    free.insert({at->second.size, at->first});
  }

 private:
  struct Block {
    int64_t size = 0;
    bool is_used = false;
    bool small = false;
  };
  static bool adjoin(const std::pair<const int64_t, Block>& a, const std::pair<const int64_t, Block>& b) {
    return !a.second.is_used && !b.second.is_used && a.first + a.second.size == b.first;
  }

  AllocConf conf_;
  int64_t next_ = 512;
  std::map<int64_t, Block> blocks_;
  std::map<uint32_t, int64_t> live_;
  std::set<std::pair<int64_t, int64_t>> free_[2];
};

void plain_best_fit_in_std_set(benchmark::State& state) {
  const std::vector<Event> events = recorded_run();
  for (auto _ : state) {
    PlainBestFit allocator;
    for (const Event& event : events) {
      if (event.size > Bytes(0))
        allocator.alloc(event.block, event.size);
      else
        allocator.free(event.block);
    }
    benchmark::DoNotOptimize(&allocator);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(events.size()));
}

// Many free blocks of many sizes, the case a sorted vector would be slow at: half of 200,000 live blocks freed at
// random.
void pytorch_many_free_blocks(benchmark::State& state) {
  std::vector<Event> events;
  uint64_t draw = 1;
  const auto next = [&] { return (draw = draw * 6364136223846793005u + 1442695040888963407u) >> 33; };
  for (uint32_t id = 1; id <= 200000; ++id) {
    events.push_back({BlockId{id}, Bytes(512 + static_cast<int64_t>(next() % 900000))});
  }
  for (uint32_t id = 1; id <= 200000; id += 2) events.push_back({BlockId{id}, Bytes(0)});
  for (uint32_t id = 200001; id <= 300000; ++id) {
    events.push_back({BlockId{id}, Bytes(512 + static_cast<int64_t>(next() % 900000))});
  }
  for (auto _ : state) {
    auto allocator = make_allocator({}).value();
    for (const Event& event : events) {
      if (event.size > Bytes(0))
        allocator->alloc(event.block, event.size);
      else
        allocator->free(event.block);
    }
    benchmark::DoNotOptimize(allocator->stats().reserved.all.peak);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(events.size()));
}

BENCHMARK(pytorch);
BENCHMARK(pytorch_expandable);
BENCHMARK(bfc);
BENCHMARK(ideal);
BENCHMARK(replay_to_timeline);
BENCHMARK(plain_best_fit_in_std_set);
BENCHMARK(pytorch_many_free_blocks);

}  // namespace
