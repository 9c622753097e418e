#pragma once

#include <ATen/Parallel.h>
#include <ATen/ops/stack.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/metrics/common/block_sums.h"
#include "tally/metrics/common/fused.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/regression/kernels/error_slopes.h"
#include "tally/metrics/regression/states/error_sums.h"
#include "tally/state/detected.h"
#include "tally/state/fresh_tensor.h"

/// Sums of errors as one node of the graph.
namespace tally::internal::regression {

template <class Error>
using ScaleOf = decltype(std::declval<const Error&>().scale(0.0));

/// That of an error's derivatives, specialized for errors that have one.
template <class Error>
std::optional<ErrorKernel> kernel_of(const Error&) {
  return std::nullopt;
}

/// Sums by a kernel that the error itself does not name, specialized likewise.
template <class Error, class T>
std::optional<PlainSums> kernel_sums(const Error&, const T*, const T*,
                                     std::int64_t) {
  return std::nullopt;
}

/// The sum of errors and, where errors have scales, of weights.
template <class Error>
class FusedErrors final : public Fused {
 public:
  FusedErrors(const Error& error, const ErrorKernel& kernel,
              const ErrorState& sums)
      : error_(error), kernel_(kernel), sums_(sums) {}

  at::Tensor value(at::TensorList) const override {
    at::Tensor value = fresh_tensor({2}, at::kDouble);
    auto* const to = value.mutable_data_ptr<double>();
    to[0] = sums_.sum.value();
    to[1] = sums_.weight.value();
    return value;
  }

  std::vector<at::Tensor> gradients(at::TensorList inputs,
                                    const at::Tensor& gradient,
                                    c10::ArrayRef<bool> wanted) const override {
    const auto* const factors = gradient.const_data_ptr<double>();
    return visit_values(
        inputs[0], inputs[1],
        [&](const auto* p, const auto* t) -> std::vector<at::Tensor> {
          using T = std::decay_t<decltype(*p)>;
          if constexpr (std::is_floating_point_v<T>) {
            std::vector<at::Tensor> slopes = fresh_gradients(inputs, wanted);
            T* to[2] = {nullptr, nullptr};
            for (std::size_t i = 0; i < 2; ++i) {
              if (wanted[i]) to[i] = slopes[i].template mutable_data_ptr<T>();
            }
            if (write(p, t, inputs[0].numel(), {factors[0], factors[1]}, to)) {
              return slopes;
            }
          }
          return {};
        });
  }

  at::Tensor formula(at::TensorList inputs) const override {
    const at::Tensor preds = inputs[0].to(at::kDouble);
    const at::Tensor target = inputs[1].to(at::kDouble);
    const at::Tensor sum = error_(preds, target).sum();
    if constexpr (kHas<ScaleOf, Error>) {
      return at::stack({sum, error_.scale(target).sum()});
    } else {
      return at::stack({sum, sum.detach()});
    }
  }

 private:
  template <class T>
  bool write(const T* p, const T* t, std::int64_t count,
             const SlopeFactors& factors, T* const* to) const {
    std::atomic<bool> holds = true;
    at::parallel_for(
        0, count, kSumBlock, [&](std::int64_t begin, std::int64_t end) {
          const auto from = [begin](T* values) {
            return values == nullptr ? nullptr : values + begin;
          };
          if (!error_slopes(kernel_, p + begin, t + begin, end - begin, factors,
                            from(to[0]), from(to[1]))) {
            holds = false;
          }
        });
    return holds;
  }

  Error error_;
  ErrorKernel kernel_;
  ErrorState sums_;
};

}  // namespace tally::internal::regression
