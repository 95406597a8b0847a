#include "ullage/sim/replay.h"

#include <utility>

namespace ullage {

namespace {

class Player {
 public:
  Player(const StepProgram& program, Allocator& allocator) : program_(program), allocator_(allocator) {
    run_.timeline.reserve(program.event_count());
    for (uint32_t index = 1; index <= program.block_count(); ++index) {
      const ProgramBlock& block = program.block(BlockId{index});
      run_.timeline.add_block(block.requested, {.category = block.category,
                                                .node = block.node,
                                                .phase = block.phase,
                                                .step = block.step,
                                                .stream = block.stream});
    }
  }

  Replay play() {
    for (uint32_t index = 0; index < program_.event_count() && !run_.failure; ++index) play_event(index);
    run_.stats = allocator_.stats();
    return std::move(run_);
  }

 private:
  void play_event(uint32_t index) {
    const ProgramEvent event = program_.event(index);
    switch (event.kind) {
      case ProgramEventKind::alloc:
        return alloc(index, event.block());
      case ProgramEventKind::free:
        return free(event.block());
      case ProgramEventKind::mark: {
        const ProgramMark& mark = program_.marks()[event.id];
        return run_.timeline.mark(mark.name, mark.step);
      }
      case ProgramEventKind::record_stream: {
        const StepProgram::StreamUse& use = program_.stream_use(event.id);
        return allocator_.record_stream(use.block, use.stream);
      }
      case ProgramEventKind::empty_cache:
        allocator_.empty_cache();
        add_completed();
        now_ = allocator_.stats().current();
        return run_.timeline.other(now_);
    }
  }

  void alloc(uint32_t index, BlockId id) {
    const ProgramBlock& block = program_.block(id);
    const AllocResult result = allocator_.alloc(id, block.requested, block.stream);
    if (allocator_.has_completed()) add_completed();
    if (!result.served) {
      run_.failure = ReplayFailure{index, id, allocator_.out_of_memory()};
      return;
    }
    now_ = allocator_.stats().current();
    run_.timeline.alloc(id, result.allocated, now_);
  }

  void free(BlockId id) {
    const FreeResult result = allocator_.free(id);
    now_ = allocator_.stats().current();
    if (result == FreeResult::pending)
      run_.timeline.free_requested(id, now_);
    else
      run_.timeline.free(id, now_);
  }

  // Frees that waited complete inside a later call, before what that call was for.
  void add_completed() {
    for (const BlockId id : allocator_.take_completed()) {
      now_.active -= run_.timeline.block(id).allocated;
      now_.requested -= run_.timeline.block(id).requested;
      run_.timeline.free_completed(id, now_);
    }
  }

  const StepProgram& program_;
  Allocator& allocator_;
  CounterValues now_;  // after the last event
  Replay run_;
};

}  // namespace

Replay replay(const StepProgram& program, Allocator& allocator) { return Player(program, allocator).play(); }

}  // namespace ullage
