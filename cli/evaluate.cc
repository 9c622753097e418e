#include "tally/cli/evaluate.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <string>

#include "tally/cli/coco_source.h"
#include "tally/cli/first_failure.h"
#include "tally/cli/key_checks.h"
#include "tally/cli/messages.h"
#include "tally/cli/refused_rows.h"
#include "tally/cli/saved_states.h"
#include "tally/cli/update_inputs.h"
#include "tally/cli/worst_slices.h"
#include "tally/files/file_kind.h"
#include "tally/files/input_file.h"
#include "tally/metrics/progress.h"
#include "tally/metrics/warnings.h"
#include "tally/sync/errors.h"

namespace tally::cli {

namespace {

constexpr std::int64_t kLongestConfig = 1 << 20;
constexpr std::int64_t kBatchBytes = 16 << 20;
constexpr std::int64_t kSpareCount = 100'000;
// Bytes that metrics may hold per byte of the files: values sorted, as float64,
// and held twice.
constexpr std::int64_t kBytesPerByte = 64;

std::string without_prefix(const std::string& name, const std::string& prefix) {
  return name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
}

CollectionConfig read_config(const Arguments& arguments) {
  if (!arguments.config.empty()) {
    files::refuse_other_kinds(files::InputFile(arguments.config));
    const std::string json = files::read_text(arguments.config, kLongestConfig);
    try {
      return parse_collection_config(json);
    } catch (const c10::ValueError& error) {
      TORCH_CHECK_VALUE(false, arguments.config, ": ",
                        without_prefix(error.msg(), "config: "));
    }
  }
  CollectionConfig config;
  for (auto& [name, text] : parse_metric_list(arguments.metrics)) {
    config.members.push_back({std::move(name), std::move(text), {}});
  }
  return config;
}

std::vector<MetricInputs> inputs_of(const CollectionConfig& config) {
  std::vector<MetricInputs> inputs;
  for (const CollectionConfig::Member& member : config.members) {
    inputs.push_back(
        {member.name, builtin_registry().inputs(member.text), member.text});
  }
  return inputs;
}

std::vector<std::int64_t> split_rows(const Arguments& arguments,
                                     std::int64_t rows, int ranks) {
  std::vector<std::int64_t> split = arguments.split;
  if (split.empty()) {
    for (int rank = 0; rank < ranks; ++rank) {
      split.push_back(rows / ranks + (rank < rows % ranks ? 1 : 0));
    }
    return split;
  }
  TORCH_CHECK_VALUE(split.size() == static_cast<std::size_t>(ranks),
                    "--split: expected one number for each of ", ranks,
                    " ranks, got ", split.size());
  std::int64_t left = rows;
  for (const std::int64_t part : split) left = part > left ? -1 : left - part;
  TORCH_CHECK_VALUE(left == 0, "--split: expected numbers that add up to ",
                    rows, " rows");
  return split;
}

SlicedMetric make_slices(const CollectionConfig& config,
                         MetricCollection& metrics, std::int64_t largest) {
  SlicedMetric slices(SlicedMetricOptions().largest(largest));
  for (const CollectionConfig::Member& member : config.members) {
    slices.add(config.prefix + member.name + config.postfix,
               metrics.extract(member.name));
  }
  return slices;
}

/// The option that intervals are made for.
const char* interval_option(const Arguments& arguments) {
  return arguments.replicates.empty() ? "--interval" : "--replicates";
}

std::vector<NamedInterval> make_intervals(const Arguments& arguments,
                                          const CollectionConfig& config,
                                          const MetricCollection& metrics) {
  IntervalOptions options;
  options.method(arguments.interval_method).grouped(!arguments.groups.empty());
  if (arguments.interval > 0) options.level(arguments.interval);
  const bool chooses = !arguments.replicates.empty() &&
                       arguments.interval_method == IntervalMethod::kAuto;
  std::vector<NamedInterval> intervals;
  for (const CollectionConfig::Member& member : config.members) {
    try {
      auto metric = metrics.extract(member.name);
      if (chooses) options.method(IntervalMethod::kJackknife);
      intervals.push_back({config.prefix + member.name + config.postfix,
                           IntervalMetric(std::move(metric), options)});
    } catch (const c10::ValueError& error) {
      TORCH_CHECK_VALUE(false, interval_option(arguments), ": ", member.name,
                        ": ", error.msg());
    }
  }
  return intervals;
}

Results without_prefix(const Results& results, const std::string& prefix) {
  Results renamed;
  for (const auto& [name, value] : results) {
    renamed.add(without_prefix(name, prefix), value, results.dimensions(name));
  }
  return renamed;
}

/// The ids of a batch's rows: of a column, or their numbers.
struct RowIdentity {
  SampleIds ids;
  bool are_given = false;
};

RowIdentity identity_of(const Job& job,
                        const std::vector<std::vector<std::string>>& columns,
                        std::int64_t first, std::int64_t count) {
  if (columns.size() > job.by.size()) {
    return {SampleIds(columns.back()), true};
  }
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return {SampleIds(std::move(numbers)), false};
}

template <class AnyInputs>
void update_rows(NamedInterval& interval, const RowIdentity& rows,
                 const AnyInputs& inputs) {
  // A metric that knows its units needs no number of a row.
  if (!rows.are_given && interval.metric.metric().sampling().unit_input) {
    interval.metric.update_inputs(inputs);
  } else {
    interval.metric.update_inputs(rows.ids, inputs);
  }
}

void update(NamedInterval& interval, const RowIdentity& rows, Inputs inputs) {
  update_rows(interval, rows, inputs);
}

/// Of the named inputs, those that the metric has.
void update(NamedInterval& interval, const RowIdentity& rows,
            NamedInputs inputs) {
  std::vector<NamedInput> own;
  for (const NamedInput& input : inputs) {
    for (const InputInfo& info : interval.metric.metric().inputs()) {
      if (input.name() == info.name) own.push_back(input);
    }
  }
  update_rows(interval, rows, NamedInputs(own));
}

void update_interval(NamedInterval& interval, const RowIdentity& rows,
                     const std::vector<std::string>& names,
                     const std::vector<InputValue>& values) {
  try {
    update_inputs(names, values,
                  [&](auto inputs) { update(interval, rows, inputs); });
  } catch (const c10::Error& error) {
    TORCH_CHECK_VALUE(false, interval.name, ": ", sync::describe(error));
  }
}

void update(Job& job, int rank, Progress& progress, Watcher* watcher,
            WorstSlices* worst) {
  const std::int64_t begin = std::accumulate(
      job.split.begin(), job.split.begin() + rank, std::int64_t{0});
  const std::int64_t rows = job.split[rank];
  for (std::int64_t done = 0; done < rows;) {
    const std::int64_t count = std::min(job.batch_size, rows - done);
    const std::int64_t first = begin + done;
    const std::vector<InputValue> values =
        job.source->read(first, first + count);
    try {
      update_inputs(job.source->names(), values,
                    [&](auto inputs) { job.metrics.update_inputs(inputs); });
    } catch (const c10::Error& error) {
      TORCH_CHECK_VALUE(false, refused_rows(job, sync::describe(error), first));
    }
    const auto columns = job.source->keys();
    // Behind those of slices.
    if (columns.size() > job.by.size()) {
      check_given(columns.back(), first, job);
    }
    try {
      const RowIdentity own = identity_of(job, columns, first, count);
      if (job.has_ids) note_ids(own.ids, values, job);
      std::optional<SliceKeys> keys;
      if (job.slices) {
        keys = keys_of(columns, job);
        update_inputs(job.source->names(), values, [&](auto inputs) {
          job.slices->update_inputs(*keys, inputs);
        });
      }
      if (watcher != nullptr) {
        watcher->batch(first, values, keys ? &*keys : nullptr);
      }
      if (worst != nullptr) worst->batch(values, *keys, own.ids);
      for (NamedInterval& interval : job.intervals) {
        update_interval(interval, own, job.source->names(), values);
      }
    } catch (const c10::Error& error) {
      TORCH_CHECK_VALUE(false, job.source->file_names(), ": ",
                        program_words(sync::describe(error), job));
    }
    done += count;
    progress.update(done, rows);
  }
}

/// Remarks on the files and warnings of the metrics, one per line. Throws
/// c10::ValueError instead if warnings are errors.
std::string told(const Job& job, const Arguments& arguments,
                 const std::vector<MetricWarning>& warnings) {
  if (arguments.quiet) return "";
  std::string lines = job.source->remarks();
  std::string errors;
  for (const MetricWarning& warning : warnings) {
    const std::string place =
        warning.first < 0 ? "" : job.source->place(warning.first);
    const std::string text = warning.message(place);
    lines += "warning: " + text + "\n";
    errors += (errors.empty() ? "" : "; ") + text;
  }
  TORCH_CHECK_VALUE(errors.empty() || !arguments.strict, "--strict: ", errors);
  return lines;
}

}  // namespace

Job prepare(const Arguments& arguments, int ranks, std::int64_t spare_bytes) {
  TORCH_CHECK_VALUE(arguments.ranks == 0 || arguments.ranks == ranks,
                    "--ranks: expected the ", ranks, " of the launcher, got ",
                    arguments.ranks);
  Job job;
  job.config = read_config(arguments);
  if (!arguments.coco.empty()) add_class_metrics(job.config);
  const CollectionConfig& config = job.config;
  const std::vector<MetricInputs> inputs = inputs_of(config);
  job.source = open_source(arguments, inputs);
  check_row_shapes(*job.source, inputs);
  add_options(job.source->options(), job.config);
  const std::int64_t rows = job.source->rows();
  for (const CollectionConfig::Member& member : config.members) {
    builtin_registry().check_sizes(member.text, std::max(kSpareCount, rows));
  }
  job.memory = std::make_unique<TensorLimit>(std::max(
      spare_bytes, kBytesPerByte * rows * job.source->bytes_per_row()));
  job.metrics = make_collection(config);
  if (!arguments.by.empty()) {
    job.by = arguments.by;
    job.slices = make_slices(job.config, job.metrics, arguments.slices);
  }
  if (arguments.interval > 0 || !arguments.replicates.empty()) {
    job.intervals = make_intervals(arguments, job.config, job.metrics);
  }
  check_saved(job, arguments);
  job.has_ids = !arguments.ids.empty();
  job.split = split_rows(arguments, rows, ranks);
  job.batch_size = arguments.batch_size > 0
                       ? arguments.batch_size
                       : std::max<std::int64_t>(
                             1, kBatchBytes / job.source->bytes_per_row());
  return job;
}

Report evaluate(const Arguments& arguments,
                const std::shared_ptr<sync::Communicator>& ranks,
                Progress& progress, std::int64_t spare_bytes,
                Watcher* watcher) {
  std::optional<Job> job;
  agree(
      failure_of([&] { job = prepare(arguments, ranks->size(), spare_bytes); }),
      ranks);
  if (watcher != nullptr) watcher->begin(*job);
  std::optional<WorstSlices> worst;
  if (WorstSlices::are_wanted(*job, arguments)) worst.emplace(*job, arguments);
  agree(failure_of([&] {
          update(*job, ranks->rank(), progress, watcher,
                 worst ? &*worst : nullptr);
        }),
        ranks);
  progress.end();
  check_keys(*job, ranks);
  std::string unit;
  // Progress has a pause of its own.
  const ProgressGuard computing(
      [&](const ComputeProgress& computed) {
        if (computed.unit != unit) progress.start(unit = computed.unit);
        progress.update(computed.done, computed.all);
      },
      std::chrono::milliseconds(0));
  Report report;
  report.ranks = ranks->size();
  report.rows = job->source->rows();
  const CollectionConfig& config = job->config;
  const std::string name =
      config.prefix + config.members.front().name + config.postfix + ".";
  // Of a metric that has no name.
  const std::string unnamed = arguments.are_named ? "" : name;
  std::vector<MetricWarning> warnings;
  {
    const WarningGuard guard(
        [&](const MetricWarning& warning) { warnings.push_back(warning); });
    report.results = without_prefix(job->metrics.compute(), unnamed);
  }
  // Slices have the same rows. Intervals also warn of themselves.
  const NamedInterval* computed = nullptr;
  const WarningGuard guard([&](const MetricWarning& warning) {
    IntervalFlag flag;
    if (computed == nullptr ||
        internal::OptionType<IntervalFlag>::parse(warning.name, flag)) {
      return;
    }
    warnings.push_back(warning);
    warnings.back().metric = computed->name;
  });
  report.by = job->by;
  if (job->slices) report.slices = job->slices->compute();
  for (SliceResult& slice : report.slices) {
    slice.results = without_prefix(slice.results, unnamed);
  }
  if (worst) report.compared = worst->compute(ranks);
  for (NamedInterval& each : job->intervals) {
    computed = &each;
    if (!arguments.replicates.empty()) {
      report.replicates.emplace_back(each.name, each.metric.replicates());
    }
    if (arguments.interval <= 0) continue;
    for (const auto& [part, interval] : each.metric.compute()) {
      report.intervals.add(
          part.empty() ? each.name
                       : without_prefix(each.name + "." + part, unnamed),
          interval);
    }
  }
  agree(failure_of([&] { report.remarks = told(*job, arguments, warnings); }),
        ranks);
  save_states(*job, arguments);
  if (!arguments.coco.empty()) {
    report.table =
        coco_summary(job->config, without_prefix(report.results, name),
                     job->source->categories());
  }
  progress.end();
  return report;
}

}  // namespace tally::cli
