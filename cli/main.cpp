#include <iostream>

#include "cli/commands.h"

int main(int argc, char** argv) { return ullage::cli::run(argc, argv, {std::cout, std::cerr}); }
