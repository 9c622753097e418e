// The program `tally`: computes metrics from predictions stored in files. See
// `tally --help` for its usage.
#include <c10/util/Exception.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

#include "tally/cli/arguments.h"
#include "tally/cli/describe.h"
#include "tally/cli/evaluate.h"
#include "tally/cli/output.h"
#include "tally/cli/spool.h"
#include "tally/sync/environment.h"
#include "tally/sync/errors.h"
#include "tally/sync/init.h"
#include "tally/sync/launch.h"
#include "tally/sync/launch/spawn.h"
#include "tally/version.h"

namespace {

using tally::cli::Arguments;
using tally::cli::Command;

constexpr int kSyncFailed = 1;
constexpr int kBadInput = 2;

tally::sync::Environment environment() {
  return tally::sync::parse_environment(
      [](const char* name) -> const char* { return std::getenv(name); });
}

/// Whether this process reports for all ranks.
bool is_first() {
  try {
    return environment().rank == 0;
  } catch (const std::exception&) {
    return true;
  }
}

int run_evaluate(Arguments& arguments, int argc, char** argv) {
  const bool is_rank = environment().world_size > 1;
  const tally::cli::Spool spool(arguments, is_rank);
  if (!is_rank) {
    // Errors are reported once, before any rank is started.
    const int ranks = static_cast<int>(std::max<std::int64_t>(
        {1, arguments.ranks,
         static_cast<std::int64_t>(arguments.split.size())}));
    tally::cli::check_output(arguments.output);
    if (ranks > 1) {
      tally::cli::prepare(arguments, ranks);
      if (const auto status = tally::sync::launch_local(ranks, argc, argv)) {
        return *status;
      }
    }
  }
  const auto ranks = tally::sync::init_from_env();
  const bool shows = ranks->rank() == 0 && isatty(STDERR_FILENO) != 0;
  tally::cli::Report report;
  {
    tally::cli::Progress progress(shows ? &std::cerr : nullptr);
    report = tally::cli::evaluate(arguments, ranks, progress);
  }
  if (ranks->rank() == 0) {
    std::istringstream remarks(report.remarks);
    for (std::string line; std::getline(remarks, line);) {
      std::cerr << "tally: " + line + "\n";
    }
    tally::cli::write_output(arguments.output,
                             tally::cli::render(report, arguments.format,
                                                arguments.csv_options.labels));
  }
  return 0;
}

std::string version() {
  const tally::BuildInfo build = tally::build_info();
  return std::string("tally ") + build.version + " (LibTorch " +
         build.libtorch + ", " + build.compiler +
         (build.optimized ? ")\n" : ", not optimized)\n");
}

int run(int argc, char** argv) {
  Arguments arguments = tally::cli::parse_arguments(argc, argv);
  switch (arguments.command) {
    case Command::kEvaluate:
      return run_evaluate(arguments, argc, argv);
    case Command::kVersion:
      tally::cli::write_output("", version());
      return 0;
    case Command::kCompletion:
      tally::cli::write_output(
          "",
          tally::cli::completion(tally::builtin_registry(), arguments.name));
      return 0;
    case Command::kList:
      tally::cli::write_output(
          "", tally::cli::list_metrics(tally::builtin_registry(),
                                       arguments.words, arguments.format));
      return 0;
    case Command::kDescribe:
      tally::cli::write_output(
          "", tally::cli::describe_metric(tally::builtin_registry(),
                                          arguments.name, arguments.format));
      return 0;
    case Command::kHelp:
      break;
  }
  tally::cli::write_output("", tally::cli::kHelp);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  tally::cli::hold_closed_streams();
  tally::sync::internal::end_with_launcher();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    const bool is_sync =
        dynamic_cast<const tally::sync::SyncError*>(&error) != nullptr;
    // All ranks throw the same error for bad input.
    const bool is_agreed =
        dynamic_cast<const c10::ValueError*>(&error) != nullptr;
    if (is_first() || !is_agreed) tally::sync::explain_failure(error, "tally");
    return is_sync ? kSyncFailed : kBadInput;
  }
}
