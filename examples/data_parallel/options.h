#pragma once

#include <c10/util/Exception.h>
#include <torch/arg.h>

#include <cstdint>
#include <string>

#include "tally/examples/command_line.h"

namespace data_parallel {

/// Images in a step, of all ranks together.
inline constexpr std::int64_t kBatch = 36;

/// What the command line says.
struct Options {
  /// Local processes to train with; under torchrun, its own.
  TORCH_ARG(std::int64_t, ranks) = 2;
  /// Where to write losses and accuracies, if anywhere.
  TORCH_ARG(std::string, json);
  /// Where to save, and to go on from if there is something.
  TORCH_ARG(std::string, checkpoint);

 public:
  void visit(tally::OptionVisitor& v) {
    v("ranks", ranks_);
    v("json", json_);
    v("checkpoint", checkpoint_);
  }
  void validate(const char* program) const {
    examples::check_range(program, "ranks", ranks_, 1, kBatch);
    TORCH_CHECK_VALUE(kBatch % ranks_ == 0, program,
                      ": option 'ranks': ", "expected a divisor of ", kBatch,
                      ", got ", ranks_);
  }
};

}  // namespace data_parallel
