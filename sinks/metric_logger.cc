#include "tally/sinks/metric_logger.h"

#include <c10/util/Exception.h>

#include <chrono>
#include <filesystem>

#include "tally/sinks/json_lines_sink.h"
#include "tally/sinks/pictures.h"
#include "tally/sinks/tensorboard_sink.h"

namespace tally {
namespace {

double now() {
  using Seconds = std::chrono::duration<double>;
  return Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string text_of(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

}  // namespace

MetricLogger::MetricLogger(Run run, std::shared_ptr<sync::Communicator> ranks)
    : run_(std::move(run)) {
  if (!ranks) ranks = sync::default_communicator();
  writes_ = ranks->rank() == 0;
  if (run_.time == 0) run_.time = now();
}

MetricLogger::~MetricLogger() { finish().IgnoreError(); }

bool MetricLogger::attempt(std::unique_ptr<Sink>& sink,
                           const std::function<absl::Status(Sink&)>& call) {
  absl::Status status;
  try {
    status = call(*sink);
  } catch (const c10::Error& error) {
    status = absl::InvalidArgumentError(error.what_without_backtrace());
  }
  if (status.ok()) return true;
  sink = nullptr;
  TORCH_WARN("results are no longer logged to a sink: ", text_of(status));
  if (status_.ok()) status_ = status;
  return false;
}

bool MetricLogger::add(std::unique_ptr<Sink> sink) {
  TORCH_CHECK_VALUE(sink != nullptr, "MetricLogger: expected a sink, got null");
  TORCH_CHECK_VALUE(
      names_.empty(),
      "MetricLogger: a write has been made; add sinks before the first one");
  if (!writes_) return true;
  const bool begun =
      attempt(sink, [this](Sink& each) { return each.begin(run_); });
  if (sink) sinks_.push_back(std::move(sink));
  return begun;
}

bool MetricLogger::add_folder(const std::string& folder,
                              std::vector<std::string> labels) {
  // Creates the folder.
  const bool events = add<TensorBoardSink>(folder, std::move(labels));
  const bool lines =
      add<JsonLinesSink>(std::filesystem::path(folder) / "log.jsonl");
  return events && lines;
}

void MetricLogger::check_step(std::int64_t step) const {
  TORCH_CHECK_VALUE(step >= run_.first_step,
                    "MetricLogger: expected steps from Run::first_step, ",
                    run_.first_step, ", on, got ", step);
  TORCH_CHECK_VALUE(step >= step_,
                    "MetricLogger: expected steps that do not decrease, got ",
                    step, " after ", step_);
}

void MetricLogger::take_names(std::int64_t step,
                              const std::vector<std::string>& names) {
  check_step(step);
  for (const std::string& name : names) {
    TORCH_CHECK_VALUE(step != step_ || names_.count(name) == 0,
                      "MetricLogger: expected '", name, "' once in step ", step,
                      ", got it twice");
  }
  if (step != step_) names_.clear();
  step_ = step;
  names_.insert(names.begin(), names.end());
}

void MetricLogger::write_to_sinks(
    c10::function_ref<absl::Status(Sink& sink, double time)> write) {
  const double time = now();
  for (auto& sink : sinks_) {
    if (!sink) continue;
    attempt(sink, [&](Sink& each) { return write(each, time); });
  }
}

Results MetricLogger::log(std::int64_t step, MetricCollection& metrics) {
  check_step(step);
  Results results = metrics.compute();
  write(step, results);
  return results;
}

Results MetricLogger::log(std::int64_t step, const std::string& name,
                          Metric& metric) {
  check_step(step);
  Results results;
  const Results parts = metric.compute_results();
  for (const auto& [part, value] : parts) {
    results.add(part.empty() ? name : name + "." + part, value,
                parts.dimensions(part));
  }
  write(step, results);
  return results;
}

void MetricLogger::write(std::int64_t step, const Results& results) {
  std::vector<std::string> names;
  for (const auto& [name, value] : results) names.push_back(name);
  take_names(step, names);
  write_to_sinks(
      [&](Sink& sink, double time) { return sink.write(step, time, results); });
}

void MetricLogger::write_image(std::int64_t step, const std::string& name,
                               const at::Tensor& pixels) {
  if (writes_ || pixels.defined()) internal::check_picture(name, pixels);
  take_names(step, {name});
  write_to_sinks([&](Sink& sink, double time) {
    return sink.write_image(step, time, name, pixels);
  });
}

void MetricLogger::write_text(std::int64_t step, const std::string& name,
                              const std::string& text) {
  take_names(step, {name});
  write_to_sinks([&](Sink& sink, double time) {
    return sink.write_text(step, time, name, text);
  });
}

void MetricLogger::write_histogram(std::int64_t step, const std::string& name,
                                   const at::Tensor& values) {
  TORCH_CHECK_VALUE(!writes_ || values.defined(), "histogram '", name,
                    "': expected a tensor, got none");
  TORCH_CHECK_TYPE(!values.defined() || !values.is_complex(), "histogram '",
                   name, "': expected real numbers, got ",
                   values.scalar_type());
  take_names(step, {name});
  write_to_sinks([&](Sink& sink, double time) {
    return sink.write_histogram(step, time, name, values);
  });
}

absl::Status MetricLogger::finish() {
  for (auto& sink : sinks_) {
    if (!sink) continue;
    attempt(sink, [](Sink& each) { return each.finish(); });
  }
  sinks_.clear();
  return status_;
}

}  // namespace tally
