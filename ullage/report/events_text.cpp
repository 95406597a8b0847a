#include "ullage/report/events_text.h"

#include <iterator>

#include <fmt/format.h>

namespace ullage {

std::string events_text(const Timeline& timeline, const Graph& graph) {
  std::string out;
  size_t mark = 0;
  const auto put_marks = [&](size_t position) {
    for (; mark < timeline.marks().size() && timeline.marks()[mark].position <= position; ++mark) {
      fmt::format_to(std::back_inserter(out), "m {} {}\n", timeline.marks()[mark].name, timeline.marks()[mark].step);
    }
  };
  for (uint32_t event = 0; event < timeline.event_count(); ++event) {
    put_marks(event);
    const BlockId id = timeline.block_of(event);
    if (!id) continue;
    const TimelineBlock& block = timeline.block(id);
    std::string name = "-";
    std::string_view op = "-";
    if (block.label.node > 0) {
      const Node& node = graph.nodes[NodeId{block.label.node}];
      op = node.op;
      if (node.module && !graph.modules[node.module].name.empty()) name = graph.modules[node.module].name;
    }
    fmt::format_to(std::back_inserter(out), "{} {} {} {} {} {}\n",
                   timeline.kind(event) == TimelineEventKind::alloc ? 'a' : 'f', block.requested.value,
                   category_name(block.label.category), op, phase_name(block.label.phase), name);
  }
  put_marks(timeline.event_count());
  return out;
}

}  // namespace ullage
