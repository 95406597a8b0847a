// Every event of a timeline as one line of text, to be compared with a recorded trace:
//
//   a 37632 parameters setup - conv1
//   f 37632 …
//   m after_model 0
#pragma once

#include <string>

#include "ullage/ir/graph.h"
#include "ullage/timeline/timeline.h"

namespace ullage {

std::string events_text(const Timeline& timeline, const Graph& graph);

}  // namespace ullage
