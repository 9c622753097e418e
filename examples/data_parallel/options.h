#pragma once

#include <c10/util/Exception.h>
#include <torch/arg.h>

#include <cstdint>
#include <string>

#include "tally/examples/command_line.h"

namespace data_parallel {

/// Images per step, over all ranks.
inline constexpr std::int64_t kBatch = 36;

/// The parsed command line.
struct Options {
  /// Number of local processes; under torchrun, its own are used.
  TORCH_ARG(std::int64_t, ranks) = 2;
  /// File for losses and accuracies; none if empty.
  TORCH_ARG(std::string, json);
  /// File to save to, and to resume from if it exists.
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
