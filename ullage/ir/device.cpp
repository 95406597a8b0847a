#include "ullage/ir/device.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ullage/base/suggest.h"

namespace ullage {

namespace embedded {
extern const std::string_view devices_json;
}

namespace {

ComputeCapability parse_capability(const std::string& text) {
  ComputeCapability out;
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, out.major);
  if (major.ptr != end) std::from_chars(major.ptr + 1, end, out.minor);
  return out;
}

std::vector<Device> parse_devices(std::string_view text) {
  const nlohmann::json rows = nlohmann::json::parse(text, nullptr, false);
  check(rows.is_array(), "data/devices.json is an array");
  std::vector<Device> out;
  for (const nlohmann::json& row : rows) {
    Device d;
    d.id = row["id"].get<std::string>();
    d.name = row["name"].get<std::string>();
    if (row.contains("aliases")) d.aliases = row["aliases"].get<std::vector<std::string>>();
    d.nominal = Bytes(row["nominal"].get<int64_t>());
    if (row.contains("driver_total")) d.driver_total = Bytes(row["driver_total"].get<int64_t>());
    d.usable = Bytes(row["usable"].get<int64_t>());
    d.compute_capability = parse_capability(row["compute_capability"].get<std::string>());
    d.sms = row["sms"].get<int>();
    d.bandwidth = static_cast<int64_t>(row["bandwidth_gb_s"].get<double>() * 1e9);
    d.l2 = Bytes(row["l2"].get<int64_t>());
    d.context = {MiB(row["context_mib"][0].get<int64_t>()), MiB(row["context_mib"][1].get<int64_t>())};
    d.source = row["source"].get<std::string>();
    out.push_back(std::move(d));
  }
  return out;
}

// "GeForce RTX 3090" → "rtx3090": lower case, no separators, no brand words.
std::string normalized(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ' ' || c == '-' || c == '_' || c == '(' || c == ')') continue;
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  for (const std::string_view brand : {"nvidia", "geforce", "tesla", "amd", "instinct"}) {
    if (out.starts_with(brand) && out.size() > brand.size()) out.erase(0, brand.size());
  }
  // "24gb" and "24gib" are how capacities in names are also written.
  for (const std::string_view unit : {"gib", "gb"}) {
    const size_t at = out.rfind(unit);
    const bool after_digit = at != std::string::npos && at > 0 && out[at - 1] >= '0' && out[at - 1] <= '9';
    if (after_digit && at + unit.size() == out.size() && out.find('.') == std::string::npos) {
      out.resize(at + 1);
      break;
    }
  }
  return out;
}

}  // namespace

int max_threads_per_sm(ComputeCapability capability) {
  if (capability == ComputeCapability{7, 5}) return 1024;
  const bool graphics_die = (capability.major == 8 && capability.minor >= 6) || capability.major == 12;
  return graphics_die ? 1536 : 2048;
}

const std::vector<Device>& all_devices() {
  static const std::vector<Device> devices = parse_devices(embedded::devices_json);
  return devices;
}

Result<Device> find_device(std::string_view text) {
  const std::string wanted = normalized(text);
  std::vector<std::string> ids;
  for (const Device& d : all_devices()) {
    if (normalized(d.id) == wanted || normalized(d.name) == wanted) return d;
    for (const std::string& alias : d.aliases) {
      if (normalized(alias) == wanted) return d;
    }
    ids.push_back(d.id);
  }
  // Separators make words look farther apart than they are, so compare without them.
  std::vector<std::string> plain;
  for (const std::string& id : ids) plain.push_back(normalized(id));
  const std::string near = closest(wanted, plain);
  const auto at = std::find(plain.begin(), plain.end(), near);
  const std::string hint = at == plain.end()
                               ? "`ullage list devices` shows all; --capacity 24GiB needs no name"
                               : fmt::format("did you mean {}?", ids[static_cast<size_t>(at - plain.begin())]);
  return fail(ErrorCode::invalid_argument, fmt::format("no device is called '{}'", text), "", hint);
}

Device capacity_only(Bytes capacity) {
  Device d;
  for (const Device& row : all_devices()) {
    if (row.id == "a100-40g") d = row;
  }
  d.id.clear();
  d.aliases.clear();
  d.name = format_bytes(capacity);
  d.nominal = d.usable = capacity;
  d.driver_total = Bytes();
  d.source = "capacity given by the user; everything else as the A100 40GB";
  return d;
}

}  // namespace ullage
