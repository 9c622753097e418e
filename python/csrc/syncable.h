#pragma once

#include <absl/status/status.h>
#include <torch/custom_class.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/python/csrc/groups.h"
#include "tally/python/csrc/object.h"
#include "tally/python/csrc/values.h"

namespace tally::python {

/// Code (see absl::StatusCode) and message.
using StatusParts = std::tuple<std::int64_t, std::string>;
StatusParts parts_of(const absl::Status& status);

/// In the order of the arguments of the methods that take them.
MetricOptions make_metric_options(
    bool dist_sync_on_step, bool sync_on_compute, bool compute_with_cache,
    const std::string& gradient_flow, const std::optional<double>& timeout,
    bool validate_args, const std::string& nan_policy, bool compute_on_cpu,
    const Group& process_group);

/// "one_file" or "file_per_rank". Throws c10::ValueError for another text.
CheckpointRanks checkpoint_ranks(const std::string& text);
/// Bytes as uint8, which the tensor owns.
at::Tensor tensor_of(std::string bytes);
/// Those of a tensor on the CPU, which has to outlive them. Throws
/// c10::TypeError for other tensors.
std::string_view bytes_of(const at::Tensor& tensor);

inline Results computed(Metric& metric) { return metric.compute_results(); }
inline Results computed(MetricCollection& metrics) { return metrics.compute(); }
inline std::shared_ptr<Metric> clone_of(const Metric& metric) {
  return metric.clone();
}
template <class T>
std::shared_ptr<T> clone_of(const T& held) {
  return std::make_shared<T>(held.clone());
}

/// The methods of everything that accumulates.
template <class T>
void define_states(torch::class_<Object<T>>& c) {
  using Self = ObjectPtr<T>;
  c.def("reset",
        [](const Self& self) { self->use([](T& held) { held.reset(); }); });
  c.def("sync",
        [](const Self& self) { self->use([](T& held) { held.sync(); }); });
  c.def("unsync",
        [](const Self& self) { self->use([](T& held) { held.unsync(); }); });
  c.def("is_synced", [](const Self& self) {
    return self->use([](T& held) { return held.is_synced(); });
  });
  c.def("update_count", [](const Self& self) {
    return self->use([](T& held) { return held.update_count(); });
  });
  c.def("merge_state", [](const Self& self, const Self& other) {
    TORCH_CHECK_VALUE(self != other,
                      "merge_state expected another one, got itself");
    self->use(
        [&](T& held) { other->use([&](T& from) { held.merge_state(from); }); });
  });
  c.def("state", [](const Self& self) {
    return self->use([](T& held) { return dict_of(held.state()); });
  });
  c.def("to", [](const Self& self, at::Device device) {
    self->use([&](T& held) { held.to(device); });
  });
  c.def("serialize", [](const Self& self) {
    return self->use([](T& held) { return tensor_of(held.serialize()); });
  });
  c.def("deserialize", [](const Self& self, const at::Tensor& bytes) {
    return self->use(
        [&](T& held) { return parts_of(held.deserialize(bytes_of(bytes))); });
  });
  c.def("to_bytes", [](const Self& self) {
    return self->use([](T& held) { return tensor_of(held.to_bytes()); });
  });
  c.def("spec", [](const Self& self) {
    return self->use([](T& held) { return held.spec(); });
  });
  c.def("save",
        [](const Self& self, const std::string& path, const std::string& ranks,
           std::int64_t part, std::int64_t parts) {
          return self->use([&](T& held) {
            return parts_of(ranks == "own"
                                ? held.save(path, StatePart{part, parts})
                                : held.save(path, checkpoint_ranks(ranks)));
          });
        });
  c.def("load", [](const Self& self, const std::string& path,
                   const std::string& ranks) {
    return self->use([&](T& held) {
      return parts_of(ranks == "own"
                          ? held.load(path)
                          : held.load(path, checkpoint_ranks(ranks)));
    });
  });
  c.def("clone", [](const Self& self) {
    return self->use([](T& held) { return make_object(clone_of(held)); });
  });
  c.def("repr", [](const Self& self) {
    return self->use([](T& held) { return held.repr(); });
  });
  c.def("set_options", [](const Self& self, bool dist_sync_on_step,
                          bool sync_on_compute, bool compute_with_cache,
                          const std::string& gradient_flow,
                          const std::optional<double>& timeout,
                          bool validate_args, const std::string& nan_policy,
                          bool compute_on_cpu, const Group& process_group) {
    self->use([&](T& held) {
      held.set_metric_options(make_metric_options(
          dist_sync_on_step, sync_on_compute, compute_with_cache, gradient_flow,
          timeout, validate_args, nan_policy, compute_on_cpu, process_group));
    });
  });
}

/// update() and forward() with inputs of any kinds.
template <class T>
void define_updates(torch::class_<Object<T>>& c) {
  using Self = ObjectPtr<T>;
  using at::Tensor;
  c.def("update",
        [](const Self& self, Strings names, std::vector<std::int64_t> kinds,
           std::vector<Tensor> tensors, Strings texts) {
          const ReadInputs read({std::move(names), std::move(kinds),
                                 std::move(tensors), std::move(texts)});
          self->use([&](T& held) {
            if (read.by_name()) {
              held.update_inputs(read.named());
            } else {
              held.update_inputs(read.inputs());
            }
          });
        });
  c.def("forward", [](const Self& self, Strings names,
                      std::vector<std::int64_t> kinds,
                      std::vector<Tensor> tensors, Strings texts) {
    const ReadInputs read({std::move(names), std::move(kinds),
                           std::move(tensors), std::move(texts)});
    return self->use([&](T& held) {
      return value_of(read.by_name() ? held.forward_inputs(read.named())
                                     : held.forward_inputs(read.inputs()));
    });
  });
}

/// The methods that metrics and collections share.
template <class T>
void define_common(torch::class_<Object<T>>& c) {
  using Self = ObjectPtr<T>;
  using at::Tensor;
  define_states(c);
  c.def("update1", [](const Self& self, const Tensor& a) {
    self->use([&](T& held) { held.update(a); });
  });
  c.def("update2", [](const Self& self, const Tensor& a, const Tensor& b) {
    self->use([&](T& held) { held.update(a, b); });
  });
  c.def("update3", [](const Self& self, const Tensor& a, const Tensor& b,
                      const Tensor& d) {
    self->use([&](T& held) { held.update(a, b, d); });
  });
  const auto forward = [](const Self& self, Inputs inputs) {
    return self->use(
        [&](T& held) { return value_of(held.forward_inputs(inputs)); });
  };
  c.def("forward1", [forward](const Self& self, const Tensor& a) {
    return forward(self, {InputRef::of(a)});
  });
  c.def("forward2",
        [forward](const Self& self, const Tensor& a, const Tensor& b) {
          return forward(self, {InputRef::of(a), InputRef::of(b)});
        });
  c.def("forward3", [forward](const Self& self, const Tensor& a,
                              const Tensor& b, const Tensor& d) {
    return forward(self, {InputRef::of(a), InputRef::of(b), InputRef::of(d)});
  });
  define_updates(c);
  c.def("compute", [](const Self& self) {
    return self->use([](T& held) { return value_of(computed(held)); });
  });
  c.def("set_dtype", [](const Self& self, std::int64_t dtype) {
    self->use(
        [&](T& held) { held.set_dtype(static_cast<at::ScalarType>(dtype)); });
  });
}

}  // namespace tally::python
