#include "tally/metrics/slices/sliced_metric.h"

#include <torch/library.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/python/csrc/library.h"
#include "tally/python/csrc/object.h"
#include "tally/python/csrc/slice_key_values.h"
#include "tally/python/csrc/syncable.h"
#include "tally/python/csrc/values.h"

namespace tally::python {
namespace {

using at::Tensor;

/// Key, rows and results; the key of what others are folded into is empty.
using SliceParts = std::tuple<Kinds, Strings, std::int64_t, TensorDict>;

SliceParts slice_parts(const SliceResult& slice) {
  auto [kinds, texts] = key_parts(slice.key);
  return {std::move(kinds), std::move(texts), slice.rows,
          dict_of(slice.results)};
}

}  // namespace

void define_sliced_metric(torch::Library& m) {
  using Self = ObjectPtr<SlicedMetric>;
  auto c = m.class_<Object<SlicedMetric>>("SlicedMetric");
  c.def(torch::init([](std::int64_t columns, const Kinds& kinds,
                       const Strings& texts, std::int64_t max_slices,
                       std::int64_t largest) {
    return make_object(std::make_shared<SlicedMetric>(
        SlicedMetricOptions()
            .keys(known_keys(columns, kinds, texts))
            .max_slices(max_slices)
            .largest(largest)));
  }));
  define_states(c);
  c.def("keys", [](const Self& self) {
    return self->use([](SlicedMetric& held) {
      std::vector<std::tuple<Kinds, Strings>> keys;
      for (const auto& key : held.keys()) keys.push_back(key_parts(key));
      return keys;
    });
  });
  c.def("add", [](const Self& self, const std::string& name,
                  const ObjectPtr<Metric>& metric) {
    auto copy = metric->use([](Metric& held) { return held.clone(); });
    self->use([&](SlicedMetric& held) { held.add(name, std::move(copy)); });
  });
  c.def("update", [](const Self& self, const Kinds& key_kinds,
                     const std::vector<Tensor>& key_tensors,
                     const Strings& key_texts, Strings names, Kinds kinds,
                     std::vector<Tensor> tensors, Strings texts) {
    const SliceKeys keys = read_keys(key_kinds, key_tensors, key_texts);
    const ReadInputs read({std::move(names), std::move(kinds),
                           std::move(tensors), std::move(texts)});
    self->use([&](SlicedMetric& held) {
      if (read.by_name()) {
        held.update_inputs(keys, read.named());
      } else {
        held.update_inputs(keys, read.inputs());
      }
    });
  });
  c.def("compute", [](const Self& self) {
    return self->use([](SlicedMetric& held) {
      std::vector<SliceParts> slices;
      for (const SliceResult& slice : held.compute()) {
        slices.push_back(slice_parts(slice));
      }
      return slices;
    });
  });
  c.def("size", [](const Self& self) {
    return self->use([](SlicedMetric& held) { return held.size(); });
  });
}

}  // namespace tally::python
