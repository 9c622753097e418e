#include "tally/metrics/slices/named_sets.h"

#include <torch/library.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tally/python/csrc/library.h"
#include "tally/python/csrc/object.h"
#include "tally/python/csrc/syncable.h"
#include "tally/python/csrc/values.h"

namespace tally::python {

void define_named_sets(torch::Library& m) {
  using Self = ObjectPtr<NamedSets>;
  auto c = m.class_<Object<NamedSets>>("NamedSets");
  c.def(torch::init([](Strings sets, std::vector<double> weights) {
    return make_object(std::make_shared<NamedSets>(
        std::move(sets), NamedSetsOptions().weights(std::move(weights))));
  }));
  define_states(c);
  c.def("add", [](const Self& self, const std::string& name,
                  const ObjectPtr<Metric>& metric) {
    auto copy = metric->use([](Metric& held) { return held.clone(); });
    self->use([&](NamedSets& held) { held.add(name, std::move(copy)); });
  });
  c.def("update", [](const Self& self, const std::string& set, Strings names,
                     std::vector<std::int64_t> kinds,
                     std::vector<at::Tensor> tensors, Strings texts) {
    const ReadInputs read({std::move(names), std::move(kinds),
                           std::move(tensors), std::move(texts)});
    self->use([&](NamedSets& held) {
      if (read.by_name()) {
        held.update_inputs(set, read.named());
      } else {
        held.update_inputs(set, read.inputs());
      }
    });
  });
  c.def("compute", [](const Self& self) {
    return self->use([](NamedSets& held) { return dict_of(held.compute()); });
  });
  c.def("rows", [](const Self& self, const std::string& set) {
    return self->use([&](NamedSets& held) { return held.rows(set); });
  });
}

}  // namespace tally::python
