#include "tally/losses/grad_cache.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "tally/losses/common/shape_text.h"
#include "tally/sync/agree.h"

namespace tally::losses {
namespace {

using Tensors = std::vector<at::Tensor>;

/// The state of LibTorch's generators for some devices.
class RandomState {
 public:
  explicit RandomState(const std::vector<at::Device>& devices) {
    for (const at::Device& device : devices) {
      at::Generator generator = generator_of(device);
      const std::lock_guard<std::mutex> lock(generator.mutex());
      states_.emplace_back(device, generator.get_state());
    }
  }

  void restore() const {
    for (const auto& [device, state] : states_) {
      at::Generator generator = generator_of(device);
      const std::lock_guard<std::mutex> lock(generator.mutex());
      generator.set_state(state);
    }
  }

 private:
  static at::Generator generator_of(const at::Device& device) {
    return at::globalContext().defaultGenerator(device);
  }

  std::vector<std::pair<at::Device, at::Tensor>> states_;
};

/// Puts random numbers back where they were.
class RestoreRandomState {
 public:
  explicit RestoreRandomState(const std::vector<at::Device>& devices)
      : state_(devices) {}
  ~RestoreRandomState() { state_.restore(); }
  RestoreRandomState(const RestoreRandomState&) = delete;
  RestoreRandomState& operator=(const RestoreRandomState&) = delete;

 private:
  RandomState state_;
};

std::vector<at::Device> devices_of(const Tensors& batch) {
  std::vector<at::Device> devices = {at::kCPU};
  for (const at::Tensor& tensor : batch) {
    if (std::find(devices.begin(), devices.end(), tensor.device()) ==
        devices.end()) {
      devices.push_back(tensor.device());
    }
  }
  return devices;
}

void check_batch(const Tensors& batch, const GradCacheOptions& options) {
  TORCH_CHECK_VALUE(options.micro_batches() >= 1,
                    "cached_backward: expected at least 1 micro-batch, got ",
                    options.micro_batches());
  TORCH_CHECK_VALUE(!batch.empty(),
                    "cached_backward: expected a batch of at least one tensor");
  for (std::size_t i = 0; i < batch.size(); ++i) {
    TORCH_CHECK_VALUE(batch[i].defined() && batch[i].dim() > 0 &&
                          batch[i].size(0) == batch[0].size(0),
                      "cached_backward: expected tensors with the same number "
                      "of rows in the batch, got ",
                      batch[i].defined() ? c10::str("sizes ", batch[i].sizes())
                                         : "an undefined tensor",
                      " as tensor ", i);
  }
}

/// Every micro-batch has rows, except for a single empty one where there are
/// none.
std::vector<Tensors> micro_batches(const Tensors& batch, std::int64_t count) {
  const std::int64_t rows = batch[0].size(0);
  count = std::max<std::int64_t>(1, std::min(count, rows));
  std::vector<Tensors> pieces;
  for (std::int64_t i = 0; i < count; ++i) {
    Tensors piece;
    for (const at::Tensor& tensor : batch) {
      piece.push_back(
          tensor.slice(0, rows * i / count, rows * (i + 1) / count));
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

void check_representations(const Tensors& some, const Tensors& rows,
                           std::size_t count) {
  TORCH_CHECK_VALUE(
      some.size() == count && count > 0,
      "cached_backward: expected encode to return the same number "
      "of tensors each time, at least one, got ",
      some.size());
  for (const at::Tensor& tensor : some) {
    TORCH_CHECK_VALUE(
        tensor.defined() && tensor.is_floating_point() && tensor.dim() > 0 &&
            tensor.size(0) == rows[0].size(0),
        "cached_backward: expected encode to return floating tensors of ",
        rows[0].size(0), " rows, got ", internal::shape_text(tensor));
  }
}

/// Autocast keeps the weights that it has cast: that of LibTorch 2.10 uses
/// those without a graph where one is needed, too.
struct ForgetCasts {
  ~ForgetCasts() { at::autocast::clear_cache(); }
};

/// The first pass.
struct Encoded {
  std::vector<Tensors> pieces;      ///< micro-batches
  std::vector<RandomState> random;  ///< before each
  Tensors representations;          ///< leaves
};

template <class Encode>
Encoded encode_all(const Encode& encode, const Tensors& batch,
                   const GradCacheOptions& options) {
  check_batch(batch, options);
  Encoded encoded;
  encoded.pieces = micro_batches(batch, options.micro_batches());
  const std::vector<at::Device> devices = devices_of(batch);
  const ForgetCasts forget_casts;
  const at::NoGradGuard no_grad;
  std::vector<Tensors> parts;  // of each representation
  for (const Tensors& rows : encoded.pieces) {
    encoded.random.emplace_back(devices);
    const Tensors some = encode(rows);
    if (parts.empty()) parts.resize(some.size());
    check_representations(some, rows, parts.size());
    for (std::size_t i = 0; i < some.size(); ++i) parts[i].push_back(some[i]);
  }
  for (const Tensors& part : parts) {
    encoded.representations.push_back(
        at::cat(part).detach().set_requires_grad(true));
  }
  return encoded;
}

/// The second pass.
template <class Encode>
void send_back(const Encode& encode, const Encoded& encoded) {
  std::int64_t first = 0;
  for (std::size_t i = 0; i < encoded.pieces.size(); ++i) {
    const Tensors& rows = encoded.pieces[i];
    const std::int64_t count = rows[0].size(0);
    encoded.random[i].restore();
    const Tensors some = encode(rows);
    check_representations(some, rows, encoded.representations.size());
    Tensors outputs, gradients;
    for (std::size_t j = 0; j < some.size(); ++j) {
      const at::Tensor& gradient = encoded.representations[j].grad();
      if (!gradient.defined() || !some[j].requires_grad()) continue;
      outputs.push_back(some[j]);
      gradients.push_back(gradient.narrow(0, first, count));
    }
    if (!outputs.empty()) torch::autograd::backward(outputs, gradients);
    first += count;
  }
}

}  // namespace

at::Tensor cached_backward(
    const std::function<Tensors(const Tensors& rows)>& encode,
    const std::function<at::Tensor(const Tensors& representations)>& loss,
    const Tensors& batch, const GradCacheOptions& options) {
  const at::AutoGradMode recording(true);
  Encoded encoded;
  try {
    encoded = encode_all(encode, batch, options);
  } catch (const std::exception&) {
    // The others are on their way into the loss.
    sync::report_failure(sync::Call("cached_backward", options.communicator()),
                         std::current_exception());
    throw;
  }
  const at::Tensor value = loss(encoded.representations);
  TORCH_CHECK_VALUE(value.defined() && value.numel() == 1,
                    "cached_backward: expected loss to return one number, got ",
                    value.defined() ? c10::str("sizes ", value.sizes())
                                    : "an undefined tensor");
  value.backward();
  const RestoreRandomState end(devices_of(batch));
  send_back(encode, encoded);
  return value.detach();
}

}  // namespace tally::losses
