#include "ullage/sim/alloc/alloc_conf.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ullage/base/suggest.h"

namespace ullage {

namespace {

constexpr int64_t kMaxMiB = int64_t{1} << 40;  // keeps the product with 2^20 inside 64 bits

enum class Key {
  max_split_size_mb,
  max_non_split_rounding_mb,
  large_segment_size_mb,
  garbage_collection_threshold,
  roundup_power2_divisions,
  per_process_memory_fraction,
  expandable_segments,
  backend,
  ignored_flag,
  ignored_number,
};

struct KeyRow {
  std::string_view name;
  Key key;
};

constexpr KeyRow kKeys[] = {
    {"max_split_size_mb", Key::max_split_size_mb},
    {"max_non_split_rounding_mb", Key::max_non_split_rounding_mb},
    {"large_segment_size_mb", Key::large_segment_size_mb},
    {"garbage_collection_threshold", Key::garbage_collection_threshold},
    {"roundup_power2_divisions", Key::roundup_power2_divisions},
    {"per_process_memory_fraction", Key::per_process_memory_fraction},
    {"expandable_segments", Key::expandable_segments},
    {"backend", Key::backend},
    {"release_lock_on_cudamalloc", Key::ignored_flag},
    {"pinned_use_cuda_host_register", Key::ignored_flag},
    {"pinned_use_background_threads", Key::ignored_flag},
    {"graph_capture_record_stream_reuse", Key::ignored_flag},
    {"pinned_num_register_threads", Key::ignored_number},
    {"pinned_reserve_segment_size_mb", Key::ignored_number},
};

// Words and the marks , : [ ] between them; blanks are dropped wherever they stand.
std::vector<std::string> split_tokens(std::string_view text) {
  std::vector<std::string> tokens;
  bool in_word = false;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    const bool is_mark = c == ',' || c == ':' || c == '[' || c == ']';
    if (is_mark || !in_word) tokens.emplace_back();
    tokens.back() += c;
    in_word = !is_mark;
  }
  return tokens;
}

class Parser {
 public:
  Parser(std::string_view text, int torch) : tokens_(split_tokens(text)), torch_(torch) {}

  Result<AllocConf> parse() {
    while (at_ < tokens_.size()) {
      if (peek() == ",") {
        ++at_;
        continue;
      }
      UL_TRY_STATUS(parse_setting());
    }
    if (!slack_is_set_) conf_.max_non_split_rounding = conf_.large_segment_size;
    if (conf_.max_non_split_rounding < conf_.large_segment_size) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("max_non_split_rounding_mb is {}, less than a large segment of {} MiB",
                              conf_.max_non_split_rounding.value >> 20, conf_.large_segment_size.value >> 20),
                  "max_non_split_rounding_mb", "give at least the size of a large segment");
    }
    if (conf_.max_split_size && *conf_.max_split_size < conf_.large_segment_size) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("max_split_size_mb is {}, less than a large segment of {} MiB",
                              conf_.max_split_size->value >> 20, conf_.large_segment_size.value >> 20),
                  "max_split_size_mb", "give at least the size of a large segment");
    }
    return conf_;
  }

 private:
  std::string_view peek() const { return at_ < tokens_.size() ? std::string_view(tokens_[at_]) : "the end"; }

  Status expect(std::string_view mark, std::string_view key) {
    if (at_ >= tokens_.size() || tokens_[at_] != mark) {
      return fail(ErrorCode::invalid_argument, fmt::format("expected \"{}\", found \"{}\"", mark, peek()),
                  std::string(key));
    }
    ++at_;
    return {};
  }

  template <class Number>
  Result<Number> number(std::string_view key) {
    const std::string_view word = peek();
    Number value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (at_ >= tokens_.size() || error != std::errc() || end != word.data() + word.size()) {
      return fail(ErrorCode::invalid_argument, fmt::format("expected a number, found \"{}\"", word), std::string(key));
    }
    ++at_;
    return value;
  }

  Result<Bytes> mebibytes(std::string_view key) {
    UL_TRY(const int64_t count, number<int64_t>(key));
    if (count < 0 || count > kMaxMiB) {
      return fail(ErrorCode::invalid_argument, fmt::format("{} MiB is out of range", count), std::string(key));
    }
    return MiB(count);
  }

  Result<double> fraction(std::string_view key, bool open) {
    UL_TRY(const double value, number<double>(key));
    if (!(open ? value > 0 && value < 1 : value >= 0 && value <= 1)) {
      return fail(ErrorCode::invalid_argument, fmt::format("{} is not between 0 and 1", value), std::string(key));
    }
    return value;
  }

  Result<bool> flag(std::string_view key) {
    const std::string_view word = peek();
    if (word != "True" && word != "False") {
      return fail(ErrorCode::invalid_argument, fmt::format("expected True or False, found \"{}\"", word),
                  std::string(key), "PyTorch takes exactly these two spellings");
    }
    ++at_;
    return word == "True";
  }

  Status parse_setting() {
    const std::string name(peek());
    const auto row = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const KeyRow& r) { return r.name == name; });
    if (row == std::end(kKeys)) {
      std::vector<std::string> known;
      for (const KeyRow& r : kKeys) known.emplace_back(r.name);
      const std::string near = closest(name, known);
      return fail(
          ErrorCode::invalid_argument, fmt::format("unknown allocator setting \"{}\"", name), {},
          near.empty() ? fmt::format("known: {}", fmt::join(known, ", ")) : fmt::format("did you mean \"{}\"?", near));
    }
    ++at_;
    UL_TRY_STATUS(expect(":", name));
    return parse_value(row->key, name);
  }

  Status parse_value(Key key, const std::string& name) {
    switch (key) {
      case Key::max_split_size_mb: {
        UL_TRY(conf_.max_split_size, mebibytes(name));
        return {};
      }
      case Key::max_non_split_rounding_mb: {
        UL_TRY(conf_.max_non_split_rounding, mebibytes(name));
        slack_is_set_ = true;
        return {};
      }
      case Key::large_segment_size_mb: {
        UL_TRY(conf_.large_segment_size, mebibytes(name));
        if (conf_.large_segment_size <= MiB(10)) {
          return fail(ErrorCode::invalid_argument, "a large segment must have more than 10 MiB", name);
        }
        return {};
      }
      case Key::garbage_collection_threshold: {
        UL_TRY(conf_.garbage_collection_threshold, fraction(name, true));
        return {};
      }
      case Key::per_process_memory_fraction: {
        UL_TRY(conf_.memory_fraction, fraction(name, false));
        return {};
      }
      case Key::expandable_segments: {
        UL_TRY(conf_.expandable_segments, flag(name));
        return {};
      }
      case Key::ignored_flag: {
        UL_TRY([[maybe_unused]] const bool value, flag(name));
        return {};
      }
      case Key::ignored_number: {
        UL_TRY([[maybe_unused]] const int64_t value, number<int64_t>(name));
        return {};
      }
      case Key::backend:
        return parse_backend(name);
      case Key::roundup_power2_divisions:
        break;
    }
    return parse_divisions(name);
  }

  Status parse_backend(const std::string& name) {
    const std::string_view word = peek();
    if (word == "cudaMallocAsync") {
      return fail(ErrorCode::unsupported, "the cudaMallocAsync backend keeps its memory in the driver's pool", name,
                  "only backend:native can be simulated");
    }
    if (word != "native") {
      return fail(ErrorCode::invalid_argument, fmt::format("expected native or cudaMallocAsync, found \"{}\"", word),
                  name);
    }
    ++at_;
    return {};
  }

  static bool is_power_of_two(int64_t value) { return value > 0 && std::has_single_bit(static_cast<uint64_t>(value)); }

  Result<int64_t> division(const std::string& name) {
    UL_TRY(const int64_t value, number<int64_t>(name));
    if (value != 0 && !is_power_of_two(value)) {
      return fail(ErrorCode::invalid_argument, fmt::format("{} is not a power of two", value), name);
    }
    return value;
  }

  Status parse_divisions(const std::string& name) {
    auto& table = conf_.roundup_divisions;
    table.fill(0);
    if (peek() != "[") {
      UL_TRY(const int64_t value, division(name));
      table.fill(value);
      return {};
    }
    ++at_;
    size_t last = 0;
    bool is_first = true;
    while (peek() != "]") {
      if (peek() == ">") {
        ++at_;
        UL_TRY_STATUS(expect(":", name));
        UL_TRY(const int64_t value, division(name));
        // Up to 2.10 the entry of the last key named was overwritten as well.
        const size_t from = torch_ >= 211 && !is_first ? last + 1 : last;
        std::fill(table.begin() + static_cast<std::ptrdiff_t>(std::min(from, table.size())), table.end(), value);
      } else {
        UL_TRY(const int64_t key, number<int64_t>(name));
        if (!is_power_of_two(key)) {
          return fail(ErrorCode::invalid_argument, fmt::format("the key {} (MiB) is not a power of two", key), name);
        }
        UL_TRY_STATUS(expect(":", name));
        UL_TRY(const int64_t value, division(name));
        last = std::min<size_t>(static_cast<size_t>(std::countr_zero(static_cast<uint64_t>(key))), table.size() - 1);
        if (is_first) std::fill(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(last), value);
        table[last] = value;
        is_first = false;
      }
      if (peek() == ",")
        ++at_;
      else if (peek() != "]")
        return expect(",", name);
    }
    return expect("]", name);
  }

  std::vector<std::string> tokens_;
  int torch_;
  size_t at_ = 0;
  AllocConf conf_;
  bool slack_is_set_ = false;
};

}  // namespace

Result<AllocConf> parse_alloc_conf(std::string_view text, int torch) { return Parser(text, torch).parse(); }

}  // namespace ullage
