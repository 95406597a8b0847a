// Result<T>: a value, or one Error a person can act on. The library never throws.
//
//   Result<Bytes> size = parse_bytes("24GiB");
//   UL_TRY(auto bytes, parse_bytes(text));      // returns the error to the caller
//
// Three kinds of trouble, never mixed: input that cannot be used is an Error here; input that is odd but usable is
// counted in Diagnostics; a mistake of ours is check() below, which ends the program (exit code 70).
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace ullage {

enum class ErrorCode {
  io,                // the operating system said no
  format,            // the bytes are not what the format allows
  unsupported,       // understood, but not something we can answer for
  limit,             // larger than we are willing to follow
  invalid_argument,  // what the user asked for makes no sense
  infeasible,        // there is no answer under these constraints
};

struct Error {
  ErrorCode code = ErrorCode::format;
  std::string message;     // what is wrong, and what was expected instead
  std::string where = {};  // file, byte offset, node or flag; outermost first, joined by ": "
  std::string hint = {};   // what the user can do about it

  // Adds an outer place: at("a.onnx") turns "node 3" into "a.onnx: node 3".
  Error at(const std::string& outer) && {
    where = where.empty() ? outer : outer + ": " + where;
    return std::move(*this);
  }
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string where = {}, std::string hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(where), std::move(hint)});
}

// Ends the program with file and line when a belief of ours is wrong. Never reachable from user input.
void check(bool belief, const char* what, const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace ullage

#define UL_CONCAT_(a, b) a##b
#define UL_CONCAT(a, b) UL_CONCAT_(a, b)
// UL_TRY(auto x, expression_of_Result): binds the value or returns the error. The names inside are numbered, so that an
// expression may hold a lambda that uses the macros itself.
#define UL_TRY(binding, ...) UL_TRY_(UL_CONCAT(ul_try_, __COUNTER__), binding, __VA_ARGS__)
#define UL_TRY_(tmp, binding, ...)                           \
  auto&& tmp = (__VA_ARGS__);                                \
  if (!tmp) return ::tl::unexpected(std::move(tmp).error()); \
  binding = std::move(*tmp)
// UL_TRY_STATUS(expression_of_Status): returns the error, if any.
#define UL_TRY_STATUS(...) UL_TRY_STATUS_(UL_CONCAT(ul_status_, __COUNTER__), __VA_ARGS__)
#define UL_TRY_STATUS_(tmp, ...)                                                           \
  do {                                                                                     \
    if (auto&& tmp = (__VA_ARGS__); !tmp) return ::tl::unexpected(std::move(tmp).error()); \
  } while (false)
