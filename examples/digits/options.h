#pragma once

#include <string>

#include "tally/metrics/options.h"

namespace digits {

/// The parsed command line.
struct Options {
  TORCH_ARG(std::int64_t, ranks) = 2;
  TORCH_ARG(std::int64_t, epochs) = 30;
  TORCH_ARG(std::int64_t, batch_size) = 32;
  TORCH_ARG(double, lr) = 0.05;
  TORCH_ARG(std::int64_t, seed) = 0;
  TORCH_ARG(std::string, data);
  TORCH_ARG(std::string, json);
  TORCH_ARG(std::string, log);
  TORCH_ARG(bool, verbose) = false;
  TORCH_ARG(bool, help) = false;

 public:
  void visit(tally::OptionVisitor& v);
  void validate(const char* program) const;
};

extern const char* const kHelp;

/// Parses "--name value" and "--name=value". Throws c10::ValueError that names
/// the invalid option.
Options parse_command_line(int argc, char** argv);

}  // namespace digits
