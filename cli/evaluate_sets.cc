#include "tally/cli/evaluate_sets.h"

#include <c10/util/Exception.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tally/cli/set_arguments.h"
#include "tally/metrics/slices/named_sets.h"

namespace tally::cli {
namespace {

/// The lines of a set, which each say so.
std::string of_set(const std::string& name, const std::string& lines) {
  std::istringstream text(lines);
  std::string all;
  for (std::string line; std::getline(text, line);) {
    all += name + ": " + line + "\n";
  }
  return all;
}

}  // namespace

Report evaluate_sets(const Arguments& arguments,
                     const std::shared_ptr<sync::Communicator>& ranks,
                     Progress& progress) {
  Report whole;
  std::vector<SetResult> sets;
  for (const DataSet& set : arguments.sets) {
    progress.start_outer("set", static_cast<std::int64_t>(sets.size()) + 1,
                         static_cast<std::int64_t>(arguments.sets.size()));
    progress.start("rows");
    Report own;
    try {
      own = evaluate(arguments_of(arguments, set), ranks, progress);
    } catch (const c10::ValueError& error) {
      TORCH_CHECK_VALUE(false, "--set: ", set.name, ": ", error.msg());
    }
    whole.ranks = own.ranks;
    whole.rows += own.rows;
    whole.remarks += of_set(set.name, own.remarks);
    for (const auto& [name, interval] : own.intervals) {
      whole.intervals.add(set.name + "/" + name, interval);
    }
    sets.push_back({set.name, own.rows, static_cast<double>(own.rows),
                    std::move(own.results)});
  }
  whole.results = join_sets(sets);
  return whole;
}

}  // namespace tally::cli
