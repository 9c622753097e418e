#include "tally/cli/program.h"

int main(int argc, char** argv) { return tally::cli::run_program(argc, argv); }
