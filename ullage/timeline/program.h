// StepProgram: every allocation and free of a run, in the order a program makes them, before any allocator has seen
// them.
//
//   StepProgram program;
//   BlockId weight = program.alloc(Bytes(37632), {.category = Category::parameters, .node = 3, .phase = Phase::setup});
//   program.mark("after_model", 0);
//   BlockId out = program.alloc(MiB(6), {.node = 3, .phase = Phase::forward, .step = 1});
//   program.set_category(out, Category::activations);   // autograd saved it: one label a block, the last one counts
//   program.free(out);
//
// It holds no addresses and no rounding: sim/replay plays it through an Allocator and the result is a Timeline.
//
//   events   0:alloc b1   1:mark m0   2:alloc b2   3:free b2        kind + id, 5 bytes each in two columns
//   blocks   b1 {37632, parameters, node 3, ...}   b2 {6 MiB, activations, node 3, ...}      by BlockId
//   marks    m0 {"after_model", step 0, event 1}
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ullage/base/bytes.h"
#include "ullage/base/id.h"
#include "ullage/timeline/category.h"

namespace ullage {

struct BlockTag;
using BlockId = Id<BlockTag>;  // one request of memory, from its alloc to its free

enum class Phase : uint8_t { setup, inputs, forward, backward, optimizer, communication, other };

inline constexpr std::array<std::string_view, 7> kPhaseNames = {"setup",     "inputs",        "forward", "backward",
                                                                "optimizer", "communication", "other"};
constexpr std::string_view phase_name(Phase phase) { return kPhaseNames[static_cast<size_t>(phase)]; }

enum class ProgramEventKind : uint8_t {
  alloc,          // id = block
  free,           // id = block
  mark,           // id = index into marks()
  record_stream,  // id = index for stream_use()
  empty_cache,    // id = 0; torch.cuda.empty_cache(), also what cuDNN's benchmark mode does
};

struct ProgramBlock {
  Bytes requested;
  uint32_t node = 0;    // owner: a graph node's index, 0 = nobody; its name lives elsewhere
  uint32_t stream = 0;  // 0 = the default stream
  uint16_t step = 0;    // optimizer step, 0 = before the first
  Category category = Category::temporaries;
  Phase phase = Phase::other;
};

// What a block is, besides its size.
struct BlockLabel {
  Category category = Category::temporaries;
  uint32_t node = 0;
  Phase phase = Phase::other;
  uint16_t step = 0;
  uint32_t stream = 0;
};

struct ProgramMark {
  std::string name;  // "after_model", "after_inputs", "after_forward", "after_backward", "after_step"
  uint16_t step = 0;
  uint32_t event = 0;  // its position among the events
};

struct ProgramEvent {
  ProgramEventKind kind = ProgramEventKind::alloc;
  uint32_t id = 0;

  BlockId block() const { return BlockId{id}; }
};

class StepProgram {
 public:
  void reserve(size_t events, size_t blocks) {
    kinds_.reserve(events);
    ids_.reserve(events);
    blocks_.reserve(blocks + 1);
  }

  BlockId alloc(Bytes requested, const BlockLabel& label) {
    const BlockId id{static_cast<uint32_t>(blocks_.size())};
    blocks_.push_back({requested, label.node, label.stream, label.step, label.category, label.phase});
    push(ProgramEventKind::alloc, id.index);
    return id;
  }
  void free(BlockId block) { push(ProgramEventKind::free, block.index); }
  void set_category(BlockId block, Category category) { blocks_[block.index].category = category; }
  void mark(std::string name, uint16_t step) {
    marks_.push_back({std::move(name), step, static_cast<uint32_t>(kinds_.size())});
    push(ProgramEventKind::mark, static_cast<uint32_t>(marks_.size() - 1));
  }
  // The block is also used by `stream`: its memory waits for that stream after the free.
  void record_stream(BlockId block, uint32_t stream) {
    stream_uses_.push_back({block, stream});
    push(ProgramEventKind::record_stream, static_cast<uint32_t>(stream_uses_.size() - 1));
  }
  void empty_cache() { push(ProgramEventKind::empty_cache, 0); }

  struct StreamUse {
    BlockId block;
    uint32_t stream = 0;
  };

  size_t event_count() const { return kinds_.size(); }
  ProgramEvent event(size_t index) const { return {kinds_[index], ids_[index]}; }
  size_t block_count() const { return blocks_.size() - 1; }
  const ProgramBlock& block(BlockId id) const { return blocks_[id.index]; }
  const std::vector<ProgramMark>& marks() const { return marks_; }
  const StreamUse& stream_use(uint32_t index) const { return stream_uses_[index]; }

 private:
  void push(ProgramEventKind kind, uint32_t id) {
    kinds_.push_back(kind);
    ids_.push_back(id);
  }

  std::vector<ProgramEventKind> kinds_;
  std::vector<uint32_t> ids_;
  std::vector<ProgramBlock> blocks_{1};  // slot 0 is nobody
  std::vector<ProgramMark> marks_;
  std::vector<StreamUse> stream_uses_;
};

}  // namespace ullage
