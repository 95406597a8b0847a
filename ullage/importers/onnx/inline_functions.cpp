#include "ullage/importers/onnx/inline_functions.h"

#include <map>
#include <tuple>

#include <fmt/format.h>
#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

namespace ullage::onnx {
namespace {

constexpr int kMaxCalls = 64;  // functions in functions; the dynamo exporter makes one a module level
// What the copies of the bodies may take. Twenty functions, each calling the next one twice, make a million nodes.
constexpr int64_t kCopyLimit = int64_t{256} << 20;

template <class T>
int64_t bytes_in(const std::vector<T>& list) {
  return static_cast<int64_t>(list.size() * sizeof(T));
}

// What a copy of the node takes, its subgraphs included.
int64_t cost_of(const Node& node) {
  int64_t cost =
      static_cast<int64_t>(sizeof(Node)) + bytes_in(node.inputs) + bytes_in(node.outputs) + bytes_in(node.metadata);
  for (const Attribute& attribute : node.attributes) {
    cost += static_cast<int64_t>(sizeof(Attribute)) + bytes_in(attribute.integers) + bytes_in(attribute.reals) +
            bytes_in(attribute.texts) + bytes_in(attribute.tensors) + bytes_in(attribute.graphs);
    for (const FileGraph& graph : attribute.graphs) {
      cost +=
          bytes_in(graph.initializers) + bytes_in(graph.inputs) + bytes_in(graph.outputs) + bytes_in(graph.value_info);
      for (const Node& inner : graph.nodes) cost += cost_of(inner);
    }
  }
  return cost;
}

class Inliner {
 public:
  explicit Inliner(FileModel& model) : model_(model) {
    for (const Function& function : model.functions)
      functions_.emplace(Key{function.domain, function.name, function.overload}, &function);
  }

  // Copies `nodes` into `out`, calls replaced.
  Status expand(std::vector<Node> nodes, std::vector<Node>& out);

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;

  // One call: what the names and attributes of the body mean there.
  struct Frame {
    const Node& call;
    const Function& function;
    std::string_view prefix;
    tsl::robin_map<std::string_view, std::string_view> names;
  };

  const Function* called(const Node& node) const {
    const auto found = functions_.find(Key{node.domain, node.op, node.overload});
    return found == functions_.end() ? nullptr : found->second;
  }
  Status expand_call(const Node& call, const Function& function, std::vector<Node>& out);
  Status localize(Node& node, Frame& frame);
  Status localize(FileGraph& graph, Frame& frame);
  Status rename(std::string_view& name, Frame& frame);
  Status rename_all(std::vector<std::string_view>& names, Frame& frame);
  void substitute(std::vector<Attribute>& attributes, const Frame& frame);
  Result<std::string_view> make_name(std::string name, const Frame& frame);
  Result<std::string_view> prefix_of(const Node& call);
  Status spend(int64_t bytes, const Node& call);

  FileModel& model_;
  std::map<Key, const Function*> functions_;
  std::vector<const Function*> active_;
  tsl::robin_set<std::string_view> prefixes_;
  int64_t budget_ = kCopyLimit;
};

Status Inliner::spend(int64_t bytes, const Node& call) {
  budget_ -= bytes;
  if (budget_ >= 0) return {};
  return fail(ErrorCode::limit,
              fmt::format("inlining the file's functions takes more than {}", format_bytes(Bytes(kCopyLimit))),
              call.place());
}

Result<std::string_view> Inliner::make_name(std::string name, const Frame& frame) {
  UL_TRY_STATUS(spend(static_cast<int64_t>(name.size() + sizeof(name)), frame.call));
  return model_.made_names.emplace_back(std::move(name));
}

Result<std::string_view> Inliner::prefix_of(const Node& call) {
  const std::string_view wanted = call.name.empty() ? call.op : call.name;
  std::string prefix(wanted);
  // Calls may share a name; the number of prefixes so far makes the search for a free one short.
  for (size_t i = prefixes_.size(); prefixes_.contains(prefix); ++i) prefix = fmt::format("{}_{}", wanted, i + 1);
  UL_TRY_STATUS(spend(static_cast<int64_t>(prefix.size() + sizeof(prefix)), call));
  const std::string_view kept = model_.made_names.emplace_back(std::move(prefix));
  prefixes_.insert(kept);
  return kept;
}

Status Inliner::expand(std::vector<Node> nodes, std::vector<Node>& out) {
  for (Node& node : nodes) {
    for (Attribute& attribute : node.attributes) {
      for (FileGraph& graph : attribute.graphs) {
        std::vector<Node> body;
        UL_TRY_STATUS(expand(std::move(graph.nodes), body));
        graph.nodes = std::move(body);
      }
    }
    if (const Function* function = called(node)) {
      UL_TRY_STATUS(expand_call(node, *function, out));
    } else {
      out.push_back(std::move(node));
    }
  }
  return {};
}

Status Inliner::expand_call(const Node& call, const Function& function, std::vector<Node>& out) {
  for (const Function* caller : active_) {
    if (caller != &function) continue;
    return fail(ErrorCode::format, fmt::format("function '{}' calls itself", function.name), call.place(),
                "ONNX forbids it; the file is damaged or not made by an exporter");
  }
  if (active_.size() == kMaxCalls) {
    return fail(ErrorCode::limit, fmt::format("functions call each other more than {} deep", kMaxCalls), call.place());
  }
  if (call.inputs.size() > function.inputs.size() || call.outputs.size() > function.outputs.size()) {
    return fail(ErrorCode::format,
                fmt::format("calls function '{}' with {} inputs and {} outputs, and it has {} and {}", function.name,
                            call.inputs.size(), call.outputs.size(), function.inputs.size(), function.outputs.size()),
                call.place());
  }
  UL_TRY(const std::string_view prefix, prefix_of(call));
  Frame frame{.call = call, .function = function, .prefix = prefix, .names = {}};
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    frame.names[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : std::string_view();
  }
  // An output that is an input, or the same as another one, has no node of its own to be renamed: an Identity makes it.
  std::vector<std::pair<std::string_view, std::string_view>> copies;
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].empty()) continue;
    if (!frame.names.try_emplace(function.outputs[i], call.outputs[i]).second) {
      copies.emplace_back(frame.names[function.outputs[i]], call.outputs[i]);
    }
  }
  std::vector<Node> body;
  body.reserve(function.nodes.size());
  for (const Node& node : function.nodes) {
    UL_TRY_STATUS(spend(cost_of(node), call));
    UL_TRY_STATUS(localize(body.emplace_back(node), frame));
  }
  active_.push_back(&function);
  UL_TRY_STATUS(expand(std::move(body), out));
  active_.pop_back();
  for (const auto& [from, to] : copies) {
    out.push_back(Node{.op = "Identity", .scope = prefix, .inputs = {from}, .outputs = {to}, .offset = call.offset});
  }
  return {};
}

Status Inliner::localize(Node& node, Frame& frame) {
  node.scope = frame.prefix;
  if (!node.name.empty()) {
    UL_TRY(node.name, make_name(fmt::format("{}/{}", frame.prefix, node.name), frame));
  }
  UL_TRY_STATUS(rename_all(node.inputs, frame));
  UL_TRY_STATUS(rename_all(node.outputs, frame));
  for (Attribute& attribute : node.attributes)
    for (FileGraph& graph : attribute.graphs) UL_TRY_STATUS(localize(graph, frame));
  substitute(node.attributes, frame);  // last: what the call gives has the caller's names already
  return {};
}

Status Inliner::localize(FileGraph& graph, Frame& frame) {
  for (Node& node : graph.nodes) UL_TRY_STATUS(localize(node, frame));
  for (Tensor& tensor : graph.initializers) UL_TRY_STATUS(rename(tensor.name, frame));
  for (std::vector<ValueInfo>* list : {&graph.inputs, &graph.outputs, &graph.value_info})
    for (ValueInfo& info : *list) UL_TRY_STATUS(rename(info.name, frame));
  return {};
}

Status Inliner::rename(std::string_view& name, Frame& frame) {
  if (name.empty()) return {};
  if (const auto known = frame.names.find(name); known != frame.names.end()) {
    name = known->second;
    return {};
  }
  UL_TRY(const std::string_view made, make_name(fmt::format("{}/{}", frame.prefix, name), frame));
  frame.names.emplace(name, made);
  name = made;
  return {};
}

Status Inliner::rename_all(std::vector<std::string_view>& names, Frame& frame) {
  for (std::string_view& name : names) UL_TRY_STATUS(rename(name, frame));
  return {};
}

// References to the function's attributes become what the call gives, else the function's default; else the attribute
// is absent.
void Inliner::substitute(std::vector<Attribute>& attributes, const Frame& frame) {
  std::vector<Attribute> kept;
  kept.reserve(attributes.size());
  for (Attribute& attribute : attributes) {
    if (attribute.reference.empty()) {
      kept.push_back(std::move(attribute));
      continue;
    }
    const Attribute* given = frame.call.find(attribute.reference);
    for (const Attribute& candidate : frame.function.defaults) {
      if (!given && candidate.name == attribute.reference) given = &candidate;
    }
    if (!given || !given->reference.empty()) continue;
    kept.push_back(*given);
    kept.back().name = attribute.name;
  }
  attributes = std::move(kept);
}

}  // namespace

Status inline_functions(FileModel& model) {
  if (model.functions.empty()) return {};
  Inliner inliner(model);
  std::vector<Node> nodes;
  UL_TRY_STATUS(inliner.expand(std::move(model.graph.nodes), nodes));
  model.graph.nodes = std::move(nodes);
  return {};
}

}  // namespace ullage::onnx
