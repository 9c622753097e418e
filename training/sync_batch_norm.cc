#include "tally/training/sync_batch_norm.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/batch_norm_update_stats.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/FunctionRef.h>

#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/port/autograd.h"
#include "tally/sync/agree.h"
#include "tally/sync/autograd.h"
#include "tally/sync/reduce.h"

namespace tally::training {
namespace internal {
namespace {

// Float32 or wider.
at::ScalarType wide_dtype(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

double number_in(std::string_view bytes, std::size_t i) {
  double number = 0;
  std::memcpy(&number, bytes.data() + i * sizeof(double), sizeof(double));
  return number;
}

// Of each channel.
struct Statistics {
  explicit Statistics(std::int64_t channels)
      : mean(channels, 0.0), squares(channels, 0.0) {}

  double count = 0;
  std::vector<double> mean;
  std::vector<double> squares;  // of distances from the mean, summed up

  std::string bytes() const {
    std::string text(sizeof(double) * (1 + 2 * mean.size()), '\0');
    std::memcpy(text.data(), &count, sizeof(double));
    char* place = text.data() + sizeof(double);
    std::memcpy(place, mean.data(), mean.size() * sizeof(double));
    place += mean.size() * sizeof(double);
    std::memcpy(place, squares.data(), squares.size() * sizeof(double));
    return text;
  }
  // Adds another rank's, in bytes() of equally many channels.
  void merge(std::string_view other) {
    const double more = number_in(other, 0);
    if (more == 0) return;
    const double total = count + more;
    for (std::size_t c = 0; c < mean.size(); ++c) {
      const double distance = number_in(other, 1 + c) - mean[c];
      squares[c] += number_in(other, 1 + mean.size() + c) +
                    distance * distance * (count * more / total);
      mean[c] += distance * (more / total);
    }
    count = total;
  }
  // `numbers` divided by `divisor`, where and as `like` says.
  static at::Tensor tensor(const std::vector<double>& numbers, double divisor,
                           const at::TensorOptions& like) {
    return at::tensor(numbers, at::kDouble).div(divisor).to(like);
  }
};

// Of this rank's rows.
Statistics statistics_of(const at::Tensor& input) {
  const std::int64_t channels = input.size(1);
  Statistics result(channels);
  if (input.numel() == 0) return result;
  const at::Tensor wide = input.detach().to(wide_dtype(input));
  const auto [mean, variance] =
      at::batch_norm_update_stats(wide, {}, {}, /*momentum=*/0);
  result.count = static_cast<double>(input.numel() / channels);
  const at::Tensor means = mean.to(at::kCPU, at::kDouble).contiguous();
  const at::Tensor squares =
      variance.to(at::kCPU, at::kDouble).mul(result.count).contiguous();
  const double* data = means.const_data_ptr<double>();
  result.mean.assign(data, data + channels);
  data = squares.const_data_ptr<double>();
  result.squares.assign(data, data + channels);
  return result;
}

void check_input(const at::Tensor& input, int dimensions,
                 const SyncBatchNormOptions& options, const std::string& name) {
  TORCH_CHECK_VALUE(input.defined() && input.is_floating_point(), name,
                    ": expected an input of a floating dtype, got ",
                    input.toString());
  const std::int64_t most = dimensions + 2;
  TORCH_CHECK_VALUE(
      input.dim() == most || (dimensions == 1 && input.dim() == 2), name,
      ": expected an input of ",
      dimensions == 1 ? "2 or 3" : std::to_string(most), " dimensions, got ",
      input.sizes());
  TORCH_CHECK_VALUE(input.size(1) == options.num_features(), name,
                    ": expected ", options.num_features(), " channels, got ",
                    input.size(1));
}

at::Tensor along(const at::Tensor& channels, const at::Tensor& like) {
  std::vector<std::int64_t> sizes(like.dim(), 1);
  sizes[1] = -1;
  return channels.view(sizes);
}

at::Tensor normalize(const at::Tensor& input, const BatchNormTensors& tensors,
                     const at::Tensor& mean, const at::Tensor& variance,
                     double eps) {
  const at::ScalarType dtype = wide_dtype(input);
  const auto wide = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(dtype) : tensor;
  };
  return at::batch_norm(wide(input), wide(tensors.weight), wide(tensors.bias),
                        wide(mean), wide(variance), /*training=*/false,
                        /*momentum=*/0, eps, /*cudnn_enabled=*/false)
      .to(input.scalar_type());
}

// What backward needs of one call.
class Normalization : public std::enable_shared_from_this<Normalization> {
 public:
  using Saved = port::SavedVariable;

  Normalization(const sync::Call& call, std::int64_t sequence,
                const at::Tensor& input, const BatchNormTensors& tensors,
                at::Tensor mean, at::Tensor variance, double count, double eps)
      : call_(call.backward(sequence)),
        second_(call.backward_of_gradient()),
        input_(input, /*is_output=*/false),
        weight_(tensors.weight, /*is_output=*/false),
        has_weight_(tensors.weight.defined()),
        has_bias_(tensors.bias.defined()),
        mean_(std::move(mean)),
        variance_(std::move(variance)),
        count_(count),
        eps_(eps) {}

  // Gradients of input, weight and bias, if they are there. Where gradients of
  // gradients are wanted, all of it carries a graph.
  std::vector<at::Tensor> gradients(const at::Tensor& of_output) const {
    const at::ScalarType dtype = mean_.scalar_type();
    const bool again = at::GradMode::is_enabled();
    at::Tensor input, weight, gradient, mean, variance, of_weight, of_bias;
    // What fails here, such as an input changed in place, reaches the others.
    const at::Tensor sums = sum(again, [&] {
      input = input_.unpack().to(dtype);
      if (has_weight_) weight = weight_.unpack().to(dtype);
      gradient = of_output.to(dtype);
      std::tie(mean, variance) =
          again ? with_graph(input) : std::tuple(mean_, variance_);
      std::tie(of_weight, of_bias) = sums_of(input, gradient, mean, variance);
      return at::cat({of_weight, of_bias}).to(at::kDouble);
    });
    const auto means = sums.div(count_).to(dtype).chunk(2);
    const at::Tensor inverse = variance.add(eps_).rsqrt();
    const at::Tensor slope = along(inverse.mul(means[0]), input);
    const at::Tensor scale =
        along(has_weight_ ? inverse.mul(weight) : inverse, input);
    const at::Tensor centered = input.sub(along(mean, input));
    at::Tensor of_input = gradient.sub(along(means[1], input));
    of_input = again ? of_input.addcmul(centered, slope, -1).mul(scale)
                     : of_input.addcmul_(centered, slope, -1).mul_(scale);
    std::vector<at::Tensor> result{of_input};
    if (has_weight_) result.push_back(of_weight);
    if (has_bias_) result.push_back(of_bias);
    return result;
  }

 private:
  // Over this rank's rows: the gradients of weight and bias.
  std::tuple<at::Tensor, at::Tensor> sums_of(const at::Tensor& input,
                                             const at::Tensor& gradient,
                                             const at::Tensor& mean,
                                             const at::Tensor& variance) const {
    if (at::GradMode::is_enabled() || input.numel() == 0) {
      std::vector<std::int64_t> dimensions{0};
      for (std::int64_t d = 2; d < input.dim(); ++d) dimensions.push_back(d);
      const at::Tensor centered = input.sub(along(mean, input));
      return {gradient.mul(centered)
                  .sum(dimensions)
                  .mul(variance.add(eps_).rsqrt()),
              gradient.sum(dimensions)};
    }
    // On a GPU it wants the saved statistics all the same, and gives no
    // gradient of a weight that there is not.
    auto [none, of_weight, of_bias] = at::native_batch_norm_backward(
        gradient, input, at::ones_like(mean), mean, variance, mean,
        variance.add(eps_).rsqrt(), /*train=*/false, eps_, {false, true, true});
    return {of_weight, of_bias};
  }

  // Mean and variance as functions of `input` and the other ranks'.
  std::tuple<at::Tensor, at::Tensor> with_graph(const at::Tensor& input) const {
    const auto attached = sync::attach(
        {input}, {mean_.clone(), variance_.clone()},
        [input, self = shared_from_this()](const auto& gradients) {
          const auto sums = self->sum(at::cat(gradients)).chunk(2);
          const at::Tensor centered =
              input.sub(along(self->mean_with_graph(input), input));
          return std::vector<at::Tensor>{
              centered.mul(along(sums[1].mul(2 / self->count_), input))
                  .add(along(sums[0].div(self->count_), input))};
        });
    return {attached[0], attached[1]};
  }
  at::Tensor mean_with_graph(const at::Tensor& input) const {
    if (!at::GradMode::is_enabled()) return mean_;
    return sync::attach(
        input, mean_.clone(),
        [like = input.detach(),
         self = shared_from_this()](const at::Tensor& gradient) {
          return along(self->sum(gradient).div(self->count_), like)
              .expand_as(like);
        });
  }
  at::Tensor sum(const at::Tensor& own) const {
    return sync::reduce(second_, sync::Reduction::kSum,
                        [&] { return own.to(at::kDouble); })
        .to(own.scalar_type());
  }
  // Of the ranks' float64 tensors. Within a slot in one collective, where
  // reduce() takes two from 250 channels on.
  at::Tensor sum(bool with_graph,
                 c10::function_ref<at::Tensor()> prepare) const {
    const std::int64_t channels = mean_.numel();
    if (with_graph || call_.size() > 64 || channels > 1000) {
      return sync::reduce(call_, sync::Reduction::kSum, prepare);
    }
    const std::int64_t count = 2 * channels;
    const sync::Agreement agreement = sync::agree(call_, [&] {
      sync::Offer offer;
      const at::Tensor own = sync::plain(prepare()).cpu();
      offer.schema = c10::str("sum of ", own.sizes());
      offer.payload.assign(static_cast<const char*>(own.const_data_ptr()),
                           own.nbytes());
      return offer;
    });
    at::Tensor total = at::zeros({count}, at::kDouble);
    auto* const sums = total.mutable_data_ptr<double>();
    for (std::string_view of_rank : agreement.payloads) {
      for (std::int64_t i = 0; i < count; ++i) sums[i] += number_in(of_rank, i);
    }
    return total.to(mean_.device());
  }

  sync::Call call_;
  sync::Call second_;
  Saved input_, weight_;
  bool has_weight_, has_bias_;
  at::Tensor mean_, variance_;
  double count_, eps_;
};

void update_running(const SyncBatchNormOptions& options,
                    const BatchNormTensors& tensors, const Statistics& batch) {
  const at::NoGradGuard no_grad;
  at::Tensor tracked = tensors.num_batches_tracked;
  tracked.add_(1);
  const double factor =
      options.momentum() ? *options.momentum() : 1 / tracked.item<double>();
  const auto add = [&](at::Tensor running, const at::Tensor& value) {
    running.mul_(1 - factor).add_(value, factor);
  };
  add(tensors.running_mean,
      Statistics::tensor(batch.mean, 1, tensors.running_mean.options()));
  add(tensors.running_var, Statistics::tensor(batch.squares, batch.count - 1,
                                              tensors.running_var.options()));
}

std::string name_of(int dimensions, const SyncBatchNormOptions& options) {
  std::string name = c10::str("SyncBatchNorm", dimensions, "d");
  if (!options.name().empty()) name += " " + options.name();
  return name;
}

}  // namespace

BatchNormTensors batch_norm_tensors(const SyncBatchNormOptions& options) {
  const std::int64_t channels = options.num_features();
  TORCH_CHECK_VALUE(channels > 0,
                    "SyncBatchNorm: expected at least one channel, got ",
                    channels);
  BatchNormTensors tensors;
  if (options.affine()) {
    tensors.weight = at::ones({channels}, at::requires_grad());
    tensors.bias = at::zeros({channels}, at::requires_grad());
  }
  if (options.track_running_stats()) {
    tensors.running_mean = at::zeros({channels});
    tensors.running_var = at::ones({channels});
    tensors.num_batches_tracked = at::zeros({}, at::kLong);
  }
  return tensors;
}

at::Tensor sync_batch_norm(const at::Tensor& input, int dimensions,
                           const SyncBatchNormOptions& options,
                           const BatchNormTensors& tensors, bool training) {
  const bool tracks = tensors.running_mean.defined();
  const std::string name = name_of(dimensions, options);
  if (!training && tracks) {
    check_input(input, dimensions, options, name);
    return normalize(input, tensors, tensors.running_mean, tensors.running_var,
                     options.eps());
  }
  const sync::Call call(name, options.communicator(), options.timeout());
  const sync::AskedBy asked = call.asked();
  const sync::Agreement agreement = sync::agree(call, [&] {
    check_input(input, dimensions, options, name);
    sync::Offer offer;
    offer.schema = c10::str(
        options.num_features(), " channels, ", input.scalar_type(), ", eps ",
        options.eps(), ", momentum ",
        options.momentum() ? c10::str(*options.momentum()) : "none",
        training && tracks ? ", with" : ", without", " running statistics");
    offer.payload = statistics_of(input).bytes();
    offer.has_graph = sync::has_graph(input);
    return offer;
  });
  Statistics all(options.num_features());
  for (std::string_view of_rank : agreement.payloads) all.merge(of_rank);
  // The same on every rank.
  TORCH_CHECK_VALUE(all.count != 1, name, ": expected more than 1 value per ",
                    "channel over all ranks, got 1");
  const at::TensorOptions like = input.options().dtype(wide_dtype(input));
  if (all.count == 0) {
    const at::Tensor nothing = at::zeros({options.num_features()}, like);
    return normalize(input, tensors, nothing, nothing, options.eps());
  }
  const at::Tensor mean = Statistics::tensor(all.mean, 1, like);
  const at::Tensor variance = Statistics::tensor(all.squares, all.count, like);
  if (training && tracks) update_running(options, tensors, all);
  if (!agreement.any_graph) {
    return normalize(input, tensors, mean, variance, options.eps());
  }
  const auto normalization =
      std::make_shared<Normalization>(call, agreement.sequence, input, tensors,
                                      mean, variance, all.count, options.eps());
  std::vector<at::Tensor> inputs{input};
  if (tensors.weight.defined()) inputs.push_back(tensors.weight);
  if (tensors.bias.defined()) inputs.push_back(tensors.bias);
  at::Tensor output;
  {
    const at::NoGradGuard no_grad;
    output = normalize(input, tensors, mean, variance, options.eps());
  }
  return sync::attach(inputs, {output}, [normalization](const auto& gradients) {
    return normalization->gradients(gradients[0]);
  })[0];
}

void print_sync_batch_norm(std::ostream& stream, int dimensions,
                           const SyncBatchNormOptions& options) {
  stream << std::boolalpha << "tally::training::SyncBatchNorm" << dimensions
         << "d(" << options.num_features() << ", eps=" << options.eps()
         << ", momentum="
         << (options.momentum() ? c10::str(*options.momentum()) : "None")
         << ", affine=" << options.affine()
         << ", track_running_stats=" << options.track_running_stats() << ')';
}

}  // namespace internal

SyncBatchNormOptions::SyncBatchNormOptions(
    const torch::nn::BatchNormOptions& options)
    : num_features_(options.num_features()),
      eps_(options.eps()),
      momentum_(options.momentum()),
      affine_(options.affine()),
      track_running_stats_(options.track_running_stats()) {}

}  // namespace tally::training
