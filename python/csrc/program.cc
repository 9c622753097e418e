#include "tally/cli/program.h"

// What the starter looks for, in a library that hides all else.
extern "C" __attribute__((visibility("default"))) int tally_program(
    int argc, char** argv) {
  return tally::cli::run_program(argc, argv);
}
