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
  std::fflush(nullptr);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  std::abort();  // libFuzzer keeps the input only of a crash
#else
  std::_Exit(kInternalError);
#endif
}

}  // namespace ullage
