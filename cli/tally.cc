// The program `tally`: computes metrics from predictions stored in files. See
// `tally --help` for its usage.
#include <c10/util/Exception.h>
#include <c10/util/FunctionRef.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "tally/cli/arguments.h"
#include "tally/cli/compare_runs.h"
#include "tally/cli/completion.h"
#include "tally/cli/describe.h"
#include "tally/cli/ending.h"
#include "tally/cli/evaluate.h"
#include "tally/cli/evaluate_sets.h"
#include "tally/cli/messages.h"
#include "tally/cli/output.h"
#include "tally/cli/plan.h"
#include "tally/cli/program.h"
#include "tally/cli/render.h"
#include "tally/cli/report_pages.h"
#include "tally/cli/set_arguments.h"
#include "tally/cli/spool.h"
#include "tally/cli/states.h"
#include "tally/metrics/intervals/replicates.h"
#include "tally/metrics/registry/config_schema.h"
#include "tally/sinks/progress.h"
#include "tally/sync/communicator.h"
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

using OnRank = c10::function_ref<void(
    const std::shared_ptr<tally::sync::Communicator>& ranks,
    tally::Progress& progress)>;

/// Starts ranks, if there are to be several, and makes the call on each.
int on_ranks(Arguments& arguments, int argc, char** argv, OnRank call) {
  const bool is_rank = environment().world_size > 1;
  if (!is_rank) tally::cli::check_outputs(arguments);
  const tally::cli::Spool spool(arguments, is_rank);
  if (!is_rank) {
    // Errors are reported once, before any rank is started.
    const int ranks = static_cast<int>(std::max<std::int64_t>(
        {1, arguments.ranks,
         static_cast<std::int64_t>(arguments.split.size())}));
    if (ranks > 1) {
      for (const Arguments& each : tally::cli::evaluations_of(arguments)) {
        tally::cli::prepare(each, ranks);
      }
      if (const auto status = tally::sync::launch_local(ranks, argc, argv)) {
        return *status;
      }
    }
  }
  const auto ranks = [] {
    const tally::cli::SilentOutput silent;
    return tally::sync::init_from_env();
  }();
  tally::Progress progress =
      tally::Progress::on_stderr("rows", ranks->rank() == 0);
  call(ranks, progress);
  return 0;
}

int run_evaluate(Arguments& arguments, int argc, char** argv) {
  return on_ranks(
      arguments, argc, argv, [&](const auto& ranks, auto& progress) {
        const auto report =
            arguments.sets.empty()
                ? tally::cli::evaluate(arguments, ranks, progress)
                : tally::cli::evaluate_sets(arguments, ranks, progress);
        if (ranks->rank() != 0) return;
        tally::cli::print_remarks(report);
        if (!arguments.replicates.empty()) {
          tally::cli::write_output(arguments.replicates,
                                   tally::to_text(report.replicates));
        }
        tally::cli::write_output(
            arguments.output, tally::cli::render(report, arguments.format,
                                                 arguments.csv_options.labels));
      });
}

int run_report(Arguments& arguments, int argc, char** argv) {
  const std::string command = tally::cli::command_text(argc, argv);
  if (!arguments.logs.empty()) {
    tally::cli::check_outputs(arguments);
    tally::cli::report_logs(arguments, command);
    return 0;
  }
  return on_ranks(
      arguments, argc, argv, [&](const auto& ranks, auto& progress) {
        tally::cli::report_evaluation(arguments, command, ranks, progress);
      });
}

int run_compare(const Arguments& arguments) {
  tally::cli::check_outputs(arguments);
  const tally::cli::Spool spool(arguments, /*is_rank=*/false);
  const auto runs = tally::cli::compare_runs(arguments);
  tally::cli::print_remarks(runs);
  tally::cli::write_output(arguments.output,
                           tally::cli::render(runs, arguments.format));
  return 0;
}

int run_plan(const Arguments& arguments) {
  tally::cli::check_outputs(arguments);
  tally::cli::write_output(arguments.output, tally::cli::plan(arguments));
  return 0;
}

int run_merge(const Arguments& arguments) {
  tally::cli::check_outputs(arguments);
  tally::cli::write_output("", tally::cli::merge_states(arguments));
  return 0;
}

int run_show(const Arguments& arguments) {
  tally::cli::check_outputs(arguments);
  tally::cli::write_output(arguments.output,
                           tally::cli::show_states(arguments));
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
    case Command::kReport:
      return run_report(arguments, argc, argv);
    case Command::kCompare:
      return run_compare(arguments);
    case Command::kPlan:
      return run_plan(arguments);
    case Command::kMerge:
      return run_merge(arguments);
    case Command::kShow:
      return run_show(arguments);
    case Command::kVersion:
      tally::cli::write_output("", version());
      return 0;
    case Command::kCompletion:
      tally::cli::write_output(
          "", tally::cli::completion(tally::builtin_registry(), arguments.name,
                                     tally::losses::loss_entries()));
      return 0;
    case Command::kList:
      tally::cli::write_output(
          "", tally::cli::list_metrics(tally::builtin_registry(),
                                       arguments.words, arguments.format,
                                       tally::losses::loss_entries()));
      return 0;
    case Command::kDescribe:
      tally::cli::write_output(
          "", arguments.json_schema
                  ? tally::collection_config_schema()
                  : tally::cli::describe_metric(
                        tally::builtin_registry(), arguments.name,
                        arguments.format, tally::losses::loss_entries()));
      return 0;
    case Command::kHelp:
      break;
  }
  tally::cli::write_output("", tally::cli::kHelp);
  return 0;
}

}  // namespace

int tally::cli::run_program(int argc, char** argv) {
  tally::cli::hold_closed_streams();
  const bool is_launched = !tally::sync::internal::end_with_launcher().empty();
  tally::cli::say_what_ends(/*tells=*/!is_launched && is_first());
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    const bool is_sync =
        dynamic_cast<const tally::sync::SyncError*>(&error) != nullptr;
    // All ranks throw the same error for bad input.
    const bool is_agreed =
        dynamic_cast<const c10::ValueError*>(&error) != nullptr;
    if (is_agreed && is_first()) {
      const std::string message = tally::cli::program_message(
          tally::sync::describe(error), tally::losses::loss_entries());
      tally::sync::explain_failure(std::runtime_error(message), "tally");
    } else if (!is_agreed) {
      tally::sync::explain_failure(error, "tally");
    }
    return is_sync ? kSyncFailed : kBadInput;
  }
}
