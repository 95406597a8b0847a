# One warning set for all our targets, under g++ 12 and clang-19; warnings are errors.
add_library(ullage_warnings INTERFACE)
target_compile_options(ullage_warnings INTERFACE
  -Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wold-style-cast -Wcast-qual
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wextra-semi -Wformat=2 -Wundef
  # Designated initialisers that leave members at their defaults are how we pass options.
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Both are known to fire on correct std::string and tl::expected code in g++ 12 once it inlines.
  target_compile_options(ullage_warnings INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # std::stable_sort of libstdc++ 12 uses a function that C++17 deprecated.
  target_compile_options(ullage_warnings INTERFACE -Wno-deprecated-declarations)
endif()
