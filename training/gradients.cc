#include "tally/training/gradients.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "tally/sync/agree.h"
#include "tally/training/scale_gradients.h"

namespace tally::training {
namespace {

using Gradients = std::vector<at::Tensor>;

// What a thread sums up at a time, wherever its work begins.
constexpr std::int64_t kBlock = 1 << 14;
// Sums that do not wait for each other.
constexpr int kLanes = 8;
// In the denominator of clip_grad_norm_.
constexpr double kLibTorchs = 1e-6;

template <class T, class Term, class Combine>
double fold(const T* values, std::int64_t count, const Term& term,
            const Combine& combine) {
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] =
          combine(lanes[lane], term(static_cast<double>(values[i + lane])));
    }
  }
  for (int lane = 0; i < count; ++i, ++lane) {
    lanes[lane] = combine(lanes[lane], term(static_cast<double>(values[i])));
  }
  double all = 0;
  for (const double lane : lanes) all = combine(all, lane);
  return all;
}

template <class T, class Term, class Combine>
double fold_blocks(const at::Tensor& values, const Term& term,
                   const Combine& combine) {
  const T* const data = values.const_data_ptr<T>();
  const std::int64_t count = values.numel();
  std::vector<double> blocks((count + kBlock - 1) / kBlock);
  at::parallel_for(0, static_cast<std::int64_t>(blocks.size()), 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t b = begin; b < end; ++b) {
                       blocks[b] = fold(data + b * kBlock,
                                        std::min(kBlock, count - b * kBlock),
                                        term, combine);
                     }
                   });
  double all = 0;
  for (const double block : blocks) all = combine(all, block);
  return all;
}

template <class Term, class Combine>
double fold_gradient(at::Tensor gradient, const Term& term,
                     const Combine& combine) {
  if (gradient.scalar_type() != at::kDouble) gradient = gradient.to(at::kFloat);
  gradient = gradient.contiguous();
  return gradient.scalar_type() == at::kDouble
             ? fold_blocks<double>(gradient, term, combine)
             : fold_blocks<float>(gradient, term, combine);
}

template <class Term, class Combine>
double fold_gradients(const Gradients& gradients, const Term& term,
                      const Combine& combine) {
  double all = 0;
  for (const at::Tensor& gradient : gradients) {
    all = combine(all, fold_gradient(gradient, term, combine));
  }
  return all;
}

double sum(double a, double b) { return a + b; }
// NaN is the largest of all.
double largest(double a, double b) { return a > b || std::isnan(a) ? a : b; }

double norm_on_cpu(const Gradients& gradients, double type) {
  if (type == 2) {
    return std::sqrt(fold_gradients(
        gradients, [](double x) { return x * x; }, sum));
  }
  if (std::isinf(type)) {
    return fold_gradients(
        gradients, [](double x) { return std::abs(x); }, largest);
  }
  return std::pow(
      fold_gradients(
          gradients, [=](double x) { return std::pow(std::abs(x), type); },
          sum),
      1 / type);
}

// Waits once.
double norm_on_device(const Gradients& gradients, double type) {
  const Gradients norms = at::_foreach_norm(gradients, type, at::kDouble);
  return at::linalg_vector_norm(at::stack(norms), type).item<double>();
}

// By type and index of the device, of complex numbers their absolute values.
std::map<std::pair<c10::DeviceType, c10::DeviceIndex>, Gradients>
gradients_by_device(const std::vector<at::Tensor>& parameters) {
  std::map<std::pair<c10::DeviceType, c10::DeviceIndex>, Gradients> all;
  for (const at::Tensor& parameter : parameters) {
    if (!parameter.grad().defined()) continue;
    const at::Tensor gradient = parameter.grad().detach();
    const c10::Device device = gradient.device();
    all[{device.type(), device.index()}].push_back(
        gradient.is_complex() ? gradient.abs() : gradient);
  }
  return all;
}

double norm_of(const std::vector<at::Tensor>& parameters, double type) {
  std::vector<at::Tensor> norms;
  for (const auto& [device, gradients] : gradients_by_device(parameters)) {
    norms.push_back(at::scalar_tensor(device.first == at::kCPU
                                          ? norm_on_cpu(gradients, type)
                                          : norm_on_device(gradients, type),
                                      at::kDouble));
  }
  if (norms.empty()) return 0;
  if (norms.size() == 1) return norms[0].item<double>();
  return at::linalg_vector_norm(at::stack(norms), type).item<double>();
}

}  // namespace

namespace internal {

void check(const ClipGradientsOptions& options) {
  TORCH_CHECK_VALUE(
      options.max_norm() >= 0,
      "average_and_clip_gradients: expected max_norm to be at least 0, got ",
      options.max_norm());
  TORCH_CHECK_VALUE(
      options.norm_type() > 0,
      "average_and_clip_gradients: expected norm_type to be positive, got ",
      options.norm_type());
}

double scale_gradients(const std::vector<at::Tensor>& parameters,
                       const ClipGradientsOptions& options) {
  const at::NoGradGuard no_grad;
  const double norm = norm_of(parameters, options.norm_type());
  TORCH_CHECK(
      !options.error_if_nonfinite() || std::isfinite(norm),
      "average_and_clip_gradients: the norm of the averaged gradients is ",
      norm);
  const double scale = options.max_norm() / (norm + kLibTorchs);
  if (scale >= 1) return norm;
  Gradients gradients;
  for (const at::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  at::_foreach_mul_(gradients, scale);
  return norm;
}

}  // namespace internal

void average_gradients(const torch::nn::Module& module,
                       std::shared_ptr<sync::Communicator> communicator,
                       sync::Timeout timeout) {
  sync::average_gradients(module.parameters(), std::move(communicator),
                          timeout);
}

double average_and_clip_gradients(const std::vector<at::Tensor>& parameters,
                                  const ClipGradientsOptions& options) {
  try {
    internal::check(options);
  } catch (...) {
    sync::report_failure(sync::Call("average_and_clip_gradients",
                                    options.communicator(), options.timeout()),
                         std::current_exception());
    throw;
  }
  sync::average_gradients(parameters, options.communicator(),
                          options.timeout());
  return internal::scale_gradients(parameters, options);
}

double average_and_clip_gradients(const torch::nn::Module& module,
                                  const ClipGradientsOptions& options) {
  return average_and_clip_gradients(module.parameters(), options);
}

}  // namespace tally::training
