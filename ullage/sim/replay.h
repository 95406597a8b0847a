// Replay: plays a StepProgram through an Allocator; the result is a Timeline.
//
//   UL_TRY(auto allocator, make_allocator({}));
//   Replay run = replay(program, *allocator);
//   run.timeline.peak(Counter::allocated);
//   run.timeline.find_mark("after_forward", 2)->peaks.reserved;
//   if (run.failure) ...   // the first request that could not be served; the timeline ends before it
//
// Block ids of the program and of the timeline are the same. What it costs the device beyond the allocator (context,
// libraries) is added by whoever asks, not here.
#pragma once

#include <cstdint>
#include <optional>

#include "ullage/sim/allocator.h"
#include "ullage/timeline/program.h"
#include "ullage/timeline/timeline.h"

namespace ullage {

struct ReplayFailure {
  uint32_t event = 0;  // of the program
  BlockId block;
  OutOfMemory out_of_memory;
};

struct Replay {
  Timeline timeline;
  AllocatorStats stats;  // at the end; peaks are those of the whole run
  std::optional<ReplayFailure> failure;
};

Replay replay(const StepProgram& program, Allocator& allocator);

}  // namespace ullage
