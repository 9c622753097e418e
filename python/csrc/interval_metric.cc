#include "tally/metrics/intervals/interval_metric.h"

#include <c10/util/Exception.h>
#include <torch/library.h>

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/python/csrc/library.h"
#include "tally/python/csrc/object.h"
#include "tally/python/csrc/option_names.h"
#include "tally/python/csrc/syncable.h"
#include "tally/python/csrc/values.h"

namespace tally::python {
namespace {

using at::Tensor;

/// Name, value, low, high and standard error; level, method, rows, replicates
/// and how many of these are undefined.
using IntervalParts =
    std::tuple<std::string, Tensor, Tensor, Tensor, Tensor, double, std::string,
               std::int64_t, std::int64_t, std::int64_t>;

std::string name_of(IntervalMethod method) {
  return internal::OptionType<IntervalMethod>::print(method);
}

IntervalParts parts_of(const std::string& name, const Interval& interval) {
  return {name,
          interval.value,
          interval.low,
          interval.high,
          interval.standard_error,
          interval.level,
          name_of(interval.method),
          interval.n,
          interval.replicates,
          interval.undefined};
}

IntervalOptions options_of(double level, const std::string& method,
                           const std::string& ends, std::int64_t replicates,
                           std::int64_t blocks, std::int64_t seed,
                           bool grouped) {
  return IntervalOptions()
      .level(level)
      .method(choice_of<IntervalMethod>("method", method))
      .ends(choice_of<ReplicateInterval>("ends", ends))
      .replicates(replicates)
      .blocks(blocks)
      .seed(seed)
      .grouped(grouped);
}

}  // namespace

void define_interval_metric(torch::Library& m) {
  using Self = ObjectPtr<IntervalMetric>;
  auto c = m.class_<Object<IntervalMetric>>("IntervalMetric");
  c.def(torch::init([](const ObjectPtr<Metric>& metric, double level,
                       const std::string& method, const std::string& ends,
                       std::int64_t replicates, std::int64_t blocks,
                       std::int64_t seed, bool grouped) {
    auto copy = metric->use([](Metric& held) { return held.clone(); });
    return make_object(std::make_shared<IntervalMetric>(
        std::move(copy),
        options_of(level, method, ends, replicates, blocks, seed, grouped)));
  }));
  c.def("update", [](const Self& self, const std::optional<Tensor>& ids,
                     const std::optional<Strings>& text_ids, Strings names,
                     std::vector<std::int64_t> kinds,
                     std::vector<Tensor> tensors, Strings texts) {
    std::optional<SampleIds> known;
    if (ids) known.emplace(*ids);
    if (text_ids) known.emplace(*text_ids);
    const ReadInputs read({std::move(names), std::move(kinds),
                           std::move(tensors), std::move(texts)});
    const auto update = [&](IntervalMetric& held, auto inputs) {
      if (known) {
        held.update_inputs(*known, inputs);
      } else {
        held.update_inputs(inputs);
      }
    };
    self->use([&](IntervalMetric& held) {
      if (read.by_name()) {
        update(held, read.named());
      } else {
        update(held, read.inputs());
      }
    });
  });
  c.def("compute", [](const Self& self) {
    return self->use([](IntervalMetric& held) {
      std::vector<IntervalParts> parts;
      for (const auto& [name, interval] : held.compute()) {
        parts.push_back(parts_of(name, interval));
      }
      return parts;
    });
  });
  c.def("method", [](const Self& self) {
    return self->use(
        [](IntervalMetric& held) { return name_of(held.method()); });
  });
  c.def("uses_ids", [](const Self& self) {
    return self->use([](IntervalMetric& held) { return held.uses_ids(); });
  });
  c.def("rows", [](const Self& self) {
    return self->use([](IntervalMetric& held) { return held.rows(); });
  });
  c.def("reset", [](const Self& self) {
    self->use([](IntervalMetric& held) { held.reset(); });
  });
  c.def("serialize", [](const Self& self) {
    return self->use(
        [](IntervalMetric& held) { return tensor_of(held.serialize()); });
  });
  c.def("deserialize", [](const Self& self, const Tensor& bytes) {
    return self->use([&](IntervalMetric& held) {
      return parts_of(held.deserialize(bytes_of(bytes)));
    });
  });
}

}  // namespace tally::python
