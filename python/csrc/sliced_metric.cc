#include "tally/metrics/slices/sliced_metric.h"

#include <c10/util/Exception.h>
#include <torch/library.h>

#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "tally/python/csrc/library.h"
#include "tally/python/csrc/object.h"
#include "tally/python/csrc/syncable.h"
#include "tally/python/csrc/values.h"

namespace tally::python {
namespace {

using at::Tensor;
using Kinds = std::vector<std::int64_t>;

enum ValueKind : std::int64_t { kMissing, kText, kInteger };

/// Values of keys, as a method takes them: `kinds` has 0 for one that is
/// missing, 1 for the next of `texts`, and 2 and an integer.
class KeyReader {
 public:
  KeyReader(const Kinds& kinds, const Strings& texts)
      : kinds_(kinds), texts_(texts) {}

  bool is_at_end() const { return kind_ == kinds_.size(); }

  std::int64_t next() {
    TORCH_CHECK_VALUE(kind_ < kinds_.size(), "expected more kinds, got ",
                      kinds_.size());
    return kinds_[kind_++];
  }

  std::vector<SliceValue> values(std::int64_t count) {
    std::vector<SliceValue> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(value());
    return values;
  }

 private:
  SliceValue value() {
    const std::int64_t kind = next();
    if (kind == kMissing) return std::monostate();
    if (kind == kInteger) return next();
    TORCH_CHECK_VALUE(kind == kText && text_ < texts_.size(),
                      "expected a kind from 0 to 2 and ", texts_.size(),
                      " texts at most, got ", kind);
    return texts_[text_++];
  }

  const Kinds& kinds_;
  const Strings& texts_;
  std::size_t kind_ = 0, text_ = 0;
};

/// A column is -1, for the next of `tensors`, or n and its n different values,
/// for the next of `tensors` as their places in each row.
SliceKeys read_column(KeyReader& reader, const Tensor& tensor) {
  const std::int64_t count = reader.next();
  if (count < 0) return SliceKeys(tensor);
  const std::vector<SliceValue> known = reader.values(count);
  const Tensor places = tensor.to(at::kCPU, at::kLong).contiguous();
  const std::int64_t* place = places.const_data_ptr<std::int64_t>();
  std::vector<SliceValue> rows;
  rows.reserve(static_cast<std::size_t>(places.numel()));
  for (std::int64_t i = 0; i < places.numel(); ++i) {
    TORCH_CHECK_VALUE(place[i] >= 0 && place[i] < count, "expected places of ",
                      count, " values, got ", place[i]);
    rows.push_back(known[static_cast<std::size_t>(place[i])]);
  }
  return SliceKeys(rows);
}

SliceKeys read_keys(const Kinds& kinds, const std::vector<Tensor>& tensors,
                    const Strings& texts) {
  TORCH_CHECK_VALUE(!tensors.empty(), "expected a column of keys, got none");
  KeyReader reader(kinds, texts);
  SliceKeys keys = read_column(reader, tensors[0]);
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    keys = keys.crossed_with(read_column(reader, tensors[i]));
  }
  return keys;
}

std::vector<std::vector<SliceValue>> known_keys(std::int64_t columns,
                                                const Kinds& kinds,
                                                const Strings& texts) {
  KeyReader reader(kinds, texts);
  std::vector<std::vector<SliceValue>> keys;
  while (!reader.is_at_end()) keys.push_back(reader.values(columns));
  return keys;
}

std::tuple<Kinds, Strings> key_parts(const std::vector<SliceValue>& key) {
  Kinds kinds;
  Strings texts;
  for (const SliceValue& value : key) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      kinds.insert(kinds.end(), {kInteger, *integer});
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      kinds.push_back(kText);
      texts.push_back(*text);
    } else {
      kinds.push_back(kMissing);
    }
  }
  return {std::move(kinds), std::move(texts)};
}

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
