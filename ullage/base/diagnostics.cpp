#include "ullage/base/diagnostics.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "ullage/base/bytes.h"
#include "ullage/base/result.h"

namespace ullage {

namespace {

constexpr Severity kInfo = Severity::info;
constexpr Severity kNotice = Severity::notice;
constexpr Severity kWarning = Severity::warning;

// Every kind there is, by name. A meaning is one sentence about the user's number.
constexpr auto kDiagnosticKinds = std::to_array<DiagnosticKind>({
    {"batch_norm_folded", kWarning,
     "Batch norms were folded into convolutions at export, so their parameters and saved activations are missing."},
    {"control_flow_worst_branch", kNotice,
     "Of the branches of a condition only the one that needs most memory was counted."},
    {"data_dependent_shape", kWarning,
     "A size depends on values that are known only at run time; the largest possible size was counted."},
    {"dropout_removed_by_exporter", kWarning,
     "The exporter removed dropout, so the masks that training keeps are missing from the number."},
    {"duplicate_name", kNotice, "Two things in the file share a name; the first one was used."},
    {"duplicate_opset", kNotice, "The file imports one operator set at two versions; the higher one was used."},
    {"dynamic_dim_assumed", kNotice,
     "A dimension that the file leaves open was given a size; set it with --batch, --seq or --input."},
    {"loop_trip_count_assumed", kNotice,
     "How often a loop runs is not in the file; one iteration's memory and one pass over its outputs were counted."},
    {"missing_external_data", kInfo,
     "The file that holds the weights is not there; sizes come from the declared shapes and stay exact."},
    {"missing_weights", kInfo, "Weights are declared without their values; sizes come from the declared shapes."},
    {"payload_size_mismatch", kWarning,
     "A tensor's stored bytes disagree with its shape and type; the declared shape was counted."},
    {"rebatched_constant", kNotice,
     "A constant of the file fixed the batch it was exported with; it was rewritten for the batch asked for."},
    {"unknown_dtype", kWarning, "An element type is not known; four bytes an element were counted."},
    {"unknown_op", kWarning, "An operator has no rule; only its outputs were counted, so the number may be too small."},
    {"unsafe_external_path", kWarning,
     "The file names weights outside its folder, which is not followed; sizes come from the declared shapes."},
    {"unsupported_opset", kWarning,
     "The operator set is newer than the newest one known; operators were read as of the newest known version."},
    {"unused_initializer", kInfo, "A weight is used by no operator; it is counted as a parameter all the same."},
});

}  // namespace

const DiagnosticKind* find_diagnostic_kind(std::string_view kind) {
  const auto* row = std::find_if(kDiagnosticKinds.begin(), kDiagnosticKinds.end(),
                                 [&](const DiagnosticKind& candidate) { return candidate.kind == kind; });
  return row == kDiagnosticKinds.end() ? nullptr : row;
}

void Diagnostics::add(std::string_view kind, std::string_view example, int64_t count) {
  check(find_diagnostic_kind(kind) != nullptr, "a diagnostic's kind is declared in kDiagnosticKinds");
  auto entry = counts_.find(kind);
  if (entry == counts_.end()) entry = counts_.emplace(kind, Entry{}).first;
  if (entry->second.first.empty()) entry->second.first = example;
  entry->second.count = saturating_add(entry->second.count, count);
}

void Diagnostics::merge(const Diagnostics& other) {
  for (const auto& [kind, entry] : other.counts_) add(kind, entry.first, entry.count);
}

std::vector<Diagnostic> Diagnostics::rows() const {
  std::vector<Diagnostic> rows;
  for (const auto& [kind, entry] : counts_) {
    const DiagnosticKind* declared = find_diagnostic_kind(kind);
    rows.push_back({kind, declared->severity, entry.count, std::string(declared->meaning), entry.first});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.severity > b.severity; });
  return rows;
}

int64_t Diagnostics::count(std::string_view kind) const {
  const auto entry = counts_.find(kind);
  return entry == counts_.end() ? 0 : entry->second.count;
}

}  // namespace ullage
