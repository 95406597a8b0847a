# ullage_embed(<target> <file> <name>): compiles the text of a file into the target as `ullage::embedded::<name>`, a
# std::string_view, so that the command needs no data files beside it.
function(ullage_embed target file name)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  # A literal may hold 64 KiB at most in some compilers; pieces are joined by the compiler.
  string(LENGTH "${text}" length)
  set(pieces "")
  foreach(start RANGE 0 ${length} 8000)
    string(SUBSTRING "${text}" ${start} 8000 piece)
    string(APPEND pieces "R\"ullage(${piece})ullage\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.embedded.cpp @ONLY CONTENT
"#include <string_view>
namespace ullage::embedded {
extern const std::string_view @name@;
const std::string_view @name@ =
@pieces@;
}  // namespace ullage::embedded
")
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${name}.embedded.cpp)
endfunction()
