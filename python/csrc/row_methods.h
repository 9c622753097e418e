#pragma once

#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/intervals/row_metric.h"
#include "tally/python/csrc/object.h"
#include "tally/python/csrc/option_names.h"
#include "tally/python/csrc/syncable.h"
#include "tally/python/csrc/values.h"

namespace tally::python {

/// The methods that Python's classes of rows share, except compute(), whose
/// result differs.
template <class T>
void define_rows(torch::class_<Object<T>>& c) {
  using Self = ObjectPtr<T>;
  define_states(c);
  c.def("update", [](const Self& self, const std::optional<at::Tensor>& ids,
                     const std::optional<Strings>& text_ids, Strings names,
                     std::vector<std::int64_t> kinds,
                     std::vector<at::Tensor> tensors, Strings texts) {
    std::optional<SampleIds> known;
    if (ids) known.emplace(*ids);
    if (text_ids) known.emplace(*text_ids);
    const ReadInputs read({std::move(names), std::move(kinds),
                           std::move(tensors), std::move(texts)});
    const auto update = [&](RowMetric& held, auto inputs) {
      if (known) {
        held.update_inputs(*known, inputs);
      } else {
        held.update_inputs(inputs);
      }
    };
    self->use([&](RowMetric& held) {
      if (read.by_name()) {
        update(held, read.named());
      } else {
        update(held, read.inputs());
      }
    });
  });
  c.def("method", [](const Self& self) {
    return self->use([](T& held) { return words_of(held.method()); });
  });
  c.def("uses_ids", [](const Self& self) {
    return self->use([](RowMetric& held) { return held.uses_ids(); });
  });
  c.def("rows", [](const Self& self) {
    return self->use([](RowMetric& held) { return held.rows(); });
  });
}

}  // namespace tally::python
