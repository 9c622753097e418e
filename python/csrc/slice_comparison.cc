#include "tally/metrics/slices/slice_comparison.h"

#include <torch/library.h>

#include <cstdint>
#include <memory>
#include <optional>
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

/// Key, rows and units; value and its ends, rest, difference, low, high,
/// standard error, degrees of freedom, effect, p and q; flags.
using ComparedParts = std::tuple<Kinds, Strings, std::int64_t, std::int64_t,
                                 std::vector<double>, Strings>;

ComparedParts compared_parts(const ComparedSlice& slice) {
  auto [kinds, texts] = key_parts(slice.key);
  return {
      std::move(kinds),
      std::move(texts),
      slice.rows,
      slice.units,
      {slice.value, slice.value_low, slice.value_high, slice.rest,
       slice.difference, slice.low, slice.high, slice.standard_error,
       slice.degrees_of_freedom, slice.effect, slice.p_value, slice.q_value},
      slice.flags.names()};
}

}  // namespace

void define_slice_comparison(torch::Library& m) {
  using Self = ObjectPtr<SliceComparison>;
  auto c = m.class_<Object<SliceComparison>>("SliceComparison");
  c.def(torch::init([](const ObjectPtr<Metric>& metric, std::int64_t min_rows,
                       std::int64_t largest, std::int64_t max_slices,
                       double level, bool grouped) {
    auto copy = metric->use([](Metric& held) { return held.clone(); });
    return make_object(std::make_shared<SliceComparison>(
        std::move(copy), SliceComparisonOptions()
                             .min_rows(min_rows)
                             .largest(largest)
                             .max_slices(max_slices)
                             .level(level)
                             .grouped(grouped)));
  }));
  define_states(c);
  c.def("update", [](const Self& self, const Kinds& key_kinds,
                     const std::vector<Tensor>& key_tensors,
                     const Strings& key_texts, const std::optional<Tensor>& ids,
                     const std::optional<Strings>& text_ids, Strings names,
                     Kinds kinds, std::vector<Tensor> tensors, Strings texts) {
    const SliceKeys keys = read_keys(key_kinds, key_tensors, key_texts);
    std::optional<SampleIds> known;
    if (ids) known.emplace(*ids);
    if (text_ids) known.emplace(*text_ids);
    const ReadInputs read({std::move(names), std::move(kinds),
                           std::move(tensors), std::move(texts)});
    const auto update = [&](SliceComparison& held, auto inputs) {
      if (known) {
        held.update_inputs(keys, *known, inputs);
      } else {
        held.update_inputs(keys, inputs);
      }
    };
    self->use([&](SliceComparison& held) {
      if (read.by_name()) {
        update(held, read.named());
      } else {
        update(held, read.inputs());
      }
    });
  });
  c.def("compute", [](const Self& self) {
    return self->use([](SliceComparison& held) {
      std::vector<ComparedParts> slices;
      for (const ComparedSlice& slice : held.compute()) {
        slices.push_back(compared_parts(slice));
      }
      return slices;
    });
  });
  c.def("unit", [](const Self& self) {
    return self->use(
        [](SliceComparison& held) { return std::string(held.unit()); });
  });
}

}  // namespace tally::python
