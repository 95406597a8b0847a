#include "ullage/base/result.h"

#include <cstdio>
#include <cstdlib>

namespace ullage {

namespace {
constexpr int kInternalError = 70;  // EX_SOFTWARE of sysexits.h
}

void check(bool belief, const char* what, const char* file, int line) {
  if (belief) return;
  std::fprintf(stderr, "internal error: %s\n  at %s:%d\n  this is a bug in ullage; please report it\n", what, file,
               line);
  std::exit(kInternalError);  // not _Exit: libFuzzer watches for exit and keeps the input
}

}  // namespace ullage
