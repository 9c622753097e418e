// Trains two small networks contrastively with several processes, so that
// features of the left half of a handwritten digit's image are close to those
// of its right half. The numbers of processes and micro-batches do not affect
// the results: losses and gradients equal those of a single process with the
// whole batch.
//
//   ./tools/bazel run //examples:clip
//   ./tools/bazel run //examples:clip -- --ranks 3 --micro-batches 4
//
// prints, after some seconds, how often the right half of a test image is
// retrieved among those of 360 images,
//
//   epoch    loss  recall@1  recall@5
//       0       -    0.0000    0.0083
//       1  5.4519    0.0139    0.0556
//   ...
//      10  3.0237    0.0861    0.3611
//   ...
//      20  2.2458    0.1667    0.4750
#include <ATen/ops/full.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "tally/examples/clip/options.h"
#include "tally/examples/clip/training.h"
#include "tally/examples/digits/data.h"
#include "tally/metrics/results.h"
#include "tally/sinks/metric_logger.h"
#include "tally/sinks/progress.h"
#include "tally/sync/init.h"
#include "tally/sync/launch.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

void print(const clip::Epoch& epoch) {
  if (epoch.number == 0) {
    std::printf("epoch    loss  recall@1  recall@5\n    0       -");
  } else {
    std::printf("%5lld  %6.4f", static_cast<long long>(epoch.number),
                epoch.loss);
  }
  std::printf("  %8.4f  %8.4f\n", epoch.test.at_1, epoch.test.at_5);
  std::fflush(stdout);
}

void write_json(const std::string& path, int ranks,
                const clip::Outcome& outcome) {
  nlohmann::ordered_json json;
  json["ranks"] = ranks;
  json["loss"] = outcome.losses;
  json["recall@1"] = outcome.test.at_1;
  json["recall@5"] = outcome.test.at_5;
  std::ofstream file(path);
  file << json.dump(1) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

tally::Results logged(const clip::Epoch& epoch) {
  tally::Results results;
  if (epoch.number > 0)
    results.add("loss", at::full({}, epoch.loss, at::kDouble));
  results.add("recall@1", at::full({}, epoch.test.at_1, at::kDouble));
  results.add("recall@5", at::full({}, epoch.test.at_5, at::kDouble));
  return results;
}

void run_rank(const digits::Digits& images, const clip::Options& options) {
  const auto ranks = tally::sync::init_from_env();
  const bool is_first = ranks->rank() == 0;
  tally::MetricLogger logger;
  // An error comes again with finish(), when the rest has been done.
  if (!options.log().empty()) logger.add_folder(options.log());
  tally::Progress progress = tally::Progress::on_stderr("steps", is_first);
  const clip::Outcome outcome = clip::train(
      digits::split(images), options, *ranks,
      [&](const clip::Epoch& epoch) {
        progress.end();
        if (is_first) print(epoch);
        logger.write(epoch.number, logged(epoch));
      },
      [&](std::int64_t done, std::int64_t all) { progress.update(done, all); });
  if (is_first && !options.json().empty()) {
    write_json(options.json(), ranks->size(), outcome);
  }
  const absl::Status written = logger.finish();
  if (!written.ok()) {
    throw std::runtime_error(
        std::string(written.message().data(), written.message().size()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  clip::Options options;
  try {
    options = clip::parse_command_line(argc, argv);
  } catch (const c10::ValueError& error) {
    std::cerr << tally::sync::describe(error) << '\n';
    return kBadUsage;
  }
  if (options.help()) {
    std::cout << clip::kHelp;
    return 0;
  }
  try {
    const digits::Digits images = digits::read_digits(digits::find_digits());
    if (const auto status = tally::sync::launch_local(
            static_cast<int>(options.ranks()), argc, argv)) {
      return *status;
    }
    run_rank(images, options);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "clip: " + tally::sync::describe(error) + "\n";
    return kFailed;
  }
}
