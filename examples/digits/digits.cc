// Trains a small network on images of handwritten digits with several
// processes, and shows that their number does not affect the results: loss,
// gradients and metrics equal those of a single process, although every batch
// is distributed unevenly and some ranks get nothing.
//
//   ./tools/bazel run //examples:digits
//   ./tools/bazel run //examples:digits -- --ranks 5 --json digits.json
//   ./tools/bazel run //examples:digits -- --log digits   # for TensorBoard
//   torchrun --no-python --nproc-per-node 4 bazel-bin/examples/digits/digits
//
// prints, after a few seconds,
//
//   epoch  1/30  loss 1.6481  test accuracy 0.8278
//   ...
//   epoch 30/30  loss 0.0159  test accuracy 0.9722
//
//   on the test images
//   accuracy   0.972222
//   precision  0.973929
//   recall     0.972299
//   f1         0.972837
//   auroc      0.999688
//   ...
//
//      digit.accuracy  digit.precision  digit.recall  digit.f1
//   0        0.973684                1      0.973684  0.986667
//   1               1                1             1         1
//   2               1         0.962264             1  0.980769
//   3        0.967742                1      0.967742  0.983607
//   4        0.941176         0.941176      0.941176  0.941176
//   5        0.948718         0.948718      0.948718  0.948718
//   6               1         0.942857             1  0.970588
//   7               1         0.970588             1  0.985075
//   8           0.925         0.973684         0.925  0.948718
//   9        0.966667                1      0.966667  0.983051
//
//   confusion   0   1   2   3   4   5   6   7   8   9
//   0          37   0   0   0   1   0   0   0   0   0
//   1           0  31   0   0   0   0   0   0   0   0
//   2           0   0  51   0   0   0   0   0   0   0
//   3           0   0   0  30   0   1   0   0   0   0
//   4           0   0   0   0  32   0   1   0   1   0
//   5           0   0   1   0   0  37   1   0   0   0
//   6           0   0   0   0   0   0  33   0   0   0
//   7           0   0   0   0   0   0   0  33   0   0
//   8           0   0   1   0   1   0   0   1  37   0
//   9           0   0   0   0   0   1   0   0   0  29
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>

#include "tally/examples/digits/data.h"
#include "tally/examples/digits/options.h"
#include "tally/examples/digits/report.h"
#include "tally/examples/digits/training.h"
#include "tally/sinks/metric_logger.h"
#include "tally/sinks/progress.h"
#include "tally/sync/init.h"
#include "tally/sync/launch.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

/// Reports errors that can be detected before ranks are started only once.
digits::Digits prepare(const digits::Options& options) {
  if (!options.json().empty() &&
      !std::ofstream(options.json(), std::ios::app)) {
    throw std::runtime_error("cannot write " + options.json());
  }
  return digits::read_digits(options.data().empty() ? digits::find_digits()
                                                    : options.data());
}

void run_rank(const digits::Digits& images, const digits::Options& options) {
  const auto ranks = tally::sync::init_from_env();
  const bool is_first = ranks->rank() == 0;
  tally::MetricLogger logger;
  // An error comes again with finish(), when the rest has been done.
  if (!options.log().empty()) logger.add_folder(options.log());
  tally::Progress progress = tally::Progress::on_stderr("steps", is_first);
  const digits::Outcome outcome = digits::train(
      digits::split(images), options, *ranks,
      [&](const digits::Epoch& epoch) {
        progress.end();
        if (is_first) {
          digits::print_progress(std::cout, epoch, options.epochs());
        }
        logger.write(epoch.number, digits::logged(epoch));
      },
      [&](std::int64_t done, std::int64_t all) { progress.update(done, all); });
  if (!is_first) return;
  digits::print_report(std::cout, outcome.test);
  if (options.verbose()) std::cout << '\n' << ranks->account();
  if (!options.json().empty()) {
    digits::write_json(options.json(), ranks->size(), outcome);
  }
  const absl::Status logged = logger.finish();
  if (!logged.ok()) {
    throw std::runtime_error(
        std::string(logged.message().data(), logged.message().size()));
  }
}

/// "rank 1", or "digits" if there are no ranks.
std::string who() {
  const char* rank = std::getenv("RANK");
  return rank == nullptr ? "digits" : std::string("rank ") + rank;
}

}  // namespace

int main(int argc, char** argv) {
  digits::Options options;
  try {
    options = digits::parse_command_line(argc, argv);
  } catch (const c10::ValueError& error) {
    std::cerr << tally::sync::describe(error) << '\n';
    return kBadUsage;
  }
  if (options.help()) {
    std::cout << digits::kHelp;
    return 0;
  }
  try {
    const digits::Digits images = prepare(options);
    if (const auto status = tally::sync::launch_local(
            static_cast<int>(options.ranks()), argc, argv)) {
      return *status;
    }
    run_rank(images, options);
    return 0;
  } catch (const std::exception& error) {
    // In a single write: other ranks write to the same terminal.
    std::cerr << who() + ": " + tally::sync::describe(error) + "\n";
    return kFailed;
  }
}
