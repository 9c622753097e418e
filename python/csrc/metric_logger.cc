#include "tally/sinks/metric_logger.h"

#include <c10/util/Exception.h>
#include <torch/library.h>

#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "tally/python/csrc/groups.h"
#include "tally/python/csrc/library.h"
#include "tally/python/csrc/object.h"
#include "tally/python/csrc/syncable.h"
#include "tally/python/csrc/values.h"
#include "tally/sinks/csv_sink.h"
#include "tally/sinks/json_lines_sink.h"
#include "tally/sinks/table_sink.h"
#include "tally/sinks/tensorboard_sink.h"

namespace tally::python {
namespace {

std::unique_ptr<Sink> make_sink(const std::string& kind,
                                const std::string& path, Strings labels) {
  if (kind == "json_lines") return std::make_unique<JsonLinesSink>(path);
  if (kind == "csv") return std::make_unique<CsvSink>(path);
  if (kind == "wide_csv") {
    return std::make_unique<CsvSink>(path, CsvLayout::kWide);
  }
  if (kind == "table") {
    return std::make_unique<TableSink>(std::cerr, std::move(labels));
  }
  TORCH_CHECK_VALUE(kind == "tensorboard", "there is no sink '", kind, "'");
  return std::make_unique<TensorBoardSink>(path, std::move(labels));
}

}  // namespace

void define_metric_logger(torch::Library& m) {
  using Self = ObjectPtr<MetricLogger>;
  auto c = m.class_<Object<MetricLogger>>("MetricLogger");
  c.def(torch::init([](std::string id, std::string command,
                       std::int64_t first_step, const Group& group) {
    Run run;
    run.id = std::move(id);
    run.command = std::move(command);
    run.first_step = first_step;
    return make_object(
        std::make_shared<MetricLogger>(std::move(run), communicator_of(group)));
  }));
  c.def("add", [](const Self& self, const std::string& kind,
                  const std::string& path, Strings labels) {
    auto sink = make_sink(kind, path, std::move(labels));
    return self->use(
        [&](MetricLogger& held) { return held.add(std::move(sink)); });
  });
  c.def("add_folder",
        [](const Self& self, const std::string& folder, Strings labels) {
          return self->use([&](MetricLogger& held) {
            return held.add_folder(folder, std::move(labels));
          });
        });
  c.def("log_collection", [](const Self& self, std::int64_t step,
                             const ObjectPtr<MetricCollection>& metrics) {
    return self->use([&](MetricLogger& held) {
      return metrics->use([&](MetricCollection& collection) {
        return dict_of(held.log(step, collection));
      });
    });
  });
  c.def("log_metric",
        [](const Self& self, std::int64_t step, const std::string& name,
           const ObjectPtr<Metric>& metric) {
          return self->use([&](MetricLogger& held) {
            return metric->use([&](Metric& logged) {
              return dict_of(held.log(step, name, logged));
            });
          });
        });
  c.def("write",
        [](const Self& self, std::int64_t step, const TensorDict& values) {
          Results results;
          for (const auto& each : values) results.add(each.key(), each.value());
          self->use([&](MetricLogger& held) { held.write(step, results); });
        });
  c.def("write_image", [](const Self& self, std::int64_t step,
                          const std::string& name, const at::Tensor& pixels) {
    self->use(
        [&](MetricLogger& held) { held.write_image(step, name, pixels); });
  });
  c.def("write_text", [](const Self& self, std::int64_t step,
                         const std::string& name, const std::string& text) {
    self->use([&](MetricLogger& held) { held.write_text(step, name, text); });
  });
  c.def("write_histogram",
        [](const Self& self, std::int64_t step, const std::string& name,
           const at::Tensor& values) {
          self->use([&](MetricLogger& held) {
            held.write_histogram(step, name, values);
          });
        });
  c.def("status", [](const Self& self) {
    return self->use(
        [](MetricLogger& held) { return parts_of(held.status()); });
  });
  c.def("finish", [](const Self& self) {
    return self->use(
        [](MetricLogger& held) { return parts_of(held.finish()); });
  });
}

}  // namespace tally::python
