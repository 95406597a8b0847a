// Diagnostics: findings about input that is odd but usable, counted by kind, with the first example kept. Libraries
// never print: they add here, and the apps show it. Every kind is declared once, in kDiagnosticKinds (diagnostics.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ullage {

enum class Severity { info, notice, warning, error };

struct DiagnosticKind {
  std::string_view kind;  // stable identifier in JSON: "unknown_op"
  Severity severity;
  std::string_view meaning;  // one sentence: what it means for the user's number
};

struct Diagnostic {
  std::string kind;
  Severity severity = Severity::notice;
  int64_t count = 0;
  std::string meaning;
  std::string first;  // the first example: a node, a tensor, an offset
};

class Diagnostics {
 public:
  // `kind` must be a row of kDiagnosticKinds; anything else is our bug.
  void add(std::string_view kind, std::string_view example = {}, int64_t count = 1);
  void merge(const Diagnostics& other);
  // In order of severity (worst first), then kind.
  std::vector<Diagnostic> rows() const;
  bool empty() const { return counts_.empty(); }
  int64_t count(std::string_view kind) const;

 private:
  struct Entry {
    int64_t count = 0;
    std::string first;
  };
  std::map<std::string, Entry, std::less<>> counts_;
};

const DiagnosticKind* find_diagnostic_kind(std::string_view kind);

}  // namespace ullage
