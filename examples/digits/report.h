#pragma once

#include <ostream>
#include <string>

#include "tally/examples/digits/training.h"

namespace digits {

/// "epoch  3/20  loss 0.1234  test accuracy 0.9611".
void print_progress(std::ostream& out, const Epoch& epoch, std::int64_t epochs);

/// The metrics, those of each digit, and the confusion matrix.
void print_report(std::ostream& out, const tally::Results& test);

/// What is logged of an epoch: the metrics, and "loss".
tally::Results logged(const Epoch& epoch);

/// {"ranks": 2, "loss": [...], "metrics": {"accuracy": 0.98, ...}}, where NaN
/// and infinities are strings. Throws std::runtime_error.
void write_json(const std::string& path, int ranks, const Outcome& outcome);

}  // namespace digits
