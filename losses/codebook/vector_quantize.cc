#include "tally/losses/codebook/vector_quantize.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/zeros.h>
#include <c10/util/FunctionRef.h>
#include <torch/nn/init.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tally/losses/codebook/fixed_order.h"
#include "tally/losses/codebook/kmeans.h"
#include "tally/losses/codebook/nearest_codes.h"
#include "tally/losses/codebook/projection.h"
#include "tally/losses/codebook/token_batch.h"
#include "tally/losses/codebook/tokens.h"
#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_dtype.h"
#include "tally/state/outside_inference.h"
#include "tally/sync/agree.h"
#include "tally/sync/reduction.h"

namespace tally::losses {
namespace {

using internal::sum_over_ranks;
using internal::TokenBatch;
using internal::tokens_at;
using sync::Call;
using Options = VectorQuantizeOptions;

void check_number(const char* name, double value, double least, double most) {
  TORCH_CHECK_VALUE(value >= least && value <= most, "VectorQuantize: option '",
                    name, "': expected ", least, " to ", most, ", got ", value);
}

/// The options with defaults filled in.
Options completed_options(Options o) {
  const auto check_size = [](const char* name, std::int64_t value,
                             std::int64_t least) {
    TORCH_CHECK_VALUE(value >= least, "VectorQuantize: option '", name,
                      "': expected at least ", least, ", got ", value);
  };
  check_size("dim", o.dim(), 1);
  check_size("codebook_size", o.codebook_size(), 1);
  check_size("codebook_dim", o.codebook_dim(), 0);
  check_size("kmeans_iters", o.kmeans_iters(), 1);
  constexpr double kLargest = std::numeric_limits<double>::max();
  check_number("decay", o.decay(), 0, 1);
  check_number("eps", o.eps(), 0, kLargest);
  check_number("threshold_ema_dead_code", o.threshold_ema_dead_code(), 0,
               kLargest);
  check_number("commitment_weight", o.commitment_weight(), 0, kLargest);
  if (o.codebook_dim() == 0) o.codebook_dim(o.dim());
  return o;
}

Call call_of(const Options& o) {
  return Call("VectorQuantize", o.communicator());
}

at::Tensor compared(const at::Tensor& tokens, const Options& o) {
  const at::Tensor wide = internal::in_dtype_of_losses(tokens);
  return o.use_cosine_sim() ? internal::unit_vectors(wide) : wide;
}

/// `state` is what else the ranks' codes have in common.
TokenBatch agreed_tokens(
    const Call& call, const Options& o, const std::string& state,
    c10::function_ref<std::pair<at::Tensor, at::Tensor>()> tokens_and_counts) {
  return internal::agreed_batch(call,
                                c10::str(o.codebook_size(), " codes of size ",
                                         o.codebook_dim(), ", ", state),
                                [&] {
                                  const auto [tokens, counts] =
                                      tokens_and_counts();
                                  return std::pair(compared(tokens, o), counts);
                                });
}

struct Quantized {
  at::Tensor indices;     ///< [n]
  at::Tensor codes;       ///< [n, d], with the gradient for x
  at::Tensor own_errors;  ///< the sum of mean squares, of tokens that count
};

Quantized quantize(const TokenBatch& batch, const at::Tensor& codebook,
                   const Options& o, bool training) {
  const at::Tensor plain = batch.x.detach();
  const at::Tensor codes = codebook.detach().to(plain.scalar_type());
  Quantized result;
  result.indices = internal::nearest(plain, codes, o.use_cosine_sim());
  const at::Tensor chosen = codes.index_select(0, result.indices);
  if (training) {
    result.own_errors = batch.counting(batch.x)
                            .sub(batch.counting(chosen))
                            .square()
                            .mean(1)
                            .sum();
  }
  result.codes =
      training ? internal::pass_through(batch.x, chosen, o.code_gradient())
               : chosen;
  return result;
}

void set_loss(const Call& call, const TokenBatch& batch, const Options& o,
              const at::Tensor& own_errors, const at::Tensor& all_errors,
              VectorQuantizeOutput& output) {
  output.commitment =
      internal::replicated_sum(call, own_errors, all_errors)
          .div(static_cast<double>(std::max<std::int64_t>(1, batch.total)));
  output.loss = output.commitment.mul(o.commitment_weight());
}

void set_shapes(const internal::TokenView& view, const Quantized& quantized,
                const at::Tensor& codes, VectorQuantizeOutput& output) {
  at::Tensor vectors = codes, indices = quantized.indices;
  if (view.counts().defined()) {
    const at::Tensor without = view.counts().logical_not();
    vectors = vectors.masked_fill(without.unsqueeze(1), 0);
    indices = indices.masked_fill(without, -1);
  }
  output.quantized = view.restored(vectors);
  output.indices = view.restored_indices(indices.unsqueeze(1), false);
}

void set_no_loss(const at::Tensor& like, VectorQuantizeOutput& output) {
  output.loss = output.commitment = at::zeros({}, like.options());
}

}  // namespace

namespace functional {

VectorQuantizeOutput vector_quantize(const at::Tensor& x,
                                     const at::Tensor& codebook,
                                     const VectorQuantizeOptions& options,
                                     const at::Tensor& mask, bool training) {
  const internal::AutocastOff autocast_off;
  const Call call = call_of(options);
  internal::TokenView view;
  const auto tokens = [&] {
    TORCH_CHECK_VALUE(codebook.defined() && codebook.dim() == 2 &&
                          codebook.size(0) == options.codebook_size(),
                      "VectorQuantize: codebook: expected ",
                      options.codebook_size(), " rows, got ",
                      codebook.defined() ? c10::str("sizes ", codebook.sizes())
                                         : "an undefined tensor");
    view = internal::TokenView("VectorQuantize", x, codebook.size(1),
                               options.channel_first().value_or(false), mask);
    return std::pair(view.tokens(), view.counts());
  };
  VectorQuantizeOutput output;
  if (!training) {
    const auto [rows, counts] = tokens();
    TokenBatch batch;
    batch.x = compared(rows, options);
    const Quantized quantized = quantize(batch, codebook, options, false);
    set_no_loss(rows, output);
    set_shapes(view, quantized, quantized.codes, output);
    return output;
  }
  const TokenBatch batch = agreed_tokens(call, options, "given", tokens);
  sync::or_give_up(*call.communicator, [&] {
    const Quantized quantized = quantize(batch, codebook, options, true);
    set_loss(call, batch, options, quantized.own_errors,
             sum_over_ranks(call, quantized.own_errors.detach()), output);
    set_shapes(view, quantized, quantized.codes, output);
  });
  return output;
}

}  // namespace functional

struct VectorQuantizeImpl::Step {
  Call call;
  TokenBatch batch;
};

VectorQuantizeImpl::VectorQuantizeImpl(VectorQuantizeOptions o)
    : LossModule(completed_options(std::move(o))) {
  reset();
}

void VectorQuantizeImpl::reset() {
  const tally::internal::OutsideInference outside;
  const std::int64_t dim = options_.dim(), code_dim = options_.codebook_dim();
  if (dim != code_dim) {
    project_in =
        register_module("project_in", torch::nn::Linear(dim, code_dim));
    project_out =
        register_module("project_out", torch::nn::Linear(code_dim, dim));
  }
  const std::int64_t codes = options_.codebook_size();
  at::Tensor start = at::zeros({codes, code_dim});
  if (!options_.kmeans_init()) {
    start = torch::nn::init::kaiming_uniform_(at::empty({1, codes, code_dim}))
                .squeeze(0);
    if (options_.use_cosine_sim()) start = internal::unit_vectors(start);
  }
  codebook = register_buffer("codebook", start);
  code_sums = register_buffer("code_sums", start.clone());
  code_counts = register_buffer("code_counts", at::ones({codes}));
  initialised = register_buffer(
      "initialised", at::full({}, !options_.kmeans_init(), at::kBool));
  steps = register_buffer("steps", at::zeros({}, at::kLong));
}

std::string VectorQuantizeImpl::progress() const {
  if (!initialised.item<bool>()) return "before k-means";
  const auto done = steps.item<std::int64_t>();
  // Codes that have learned the same are the same.
  return done == 0 ? c10::str("of checksum ", internal::checksum(codebook))
                   : c10::str("after ", done, " steps");
}

void VectorQuantizeImpl::set_codebook() {
  // In float64, as the tokens' sums.
  const at::Tensor counts = code_counts.to(at::kDouble);
  const at::Tensor total = internal::fixed_sum(counts);
  const double eps = options_.eps();
  const auto codes = static_cast<double>(options_.codebook_size());
  const at::Tensor smooth =
      counts.add(eps).div(total.add(codes * eps)).mul(total);
  at::Tensor fresh = code_sums.to(at::kDouble).div(smooth.unsqueeze(1));
  if (options_.use_cosine_sim()) fresh = internal::unit_vectors(fresh);
  codebook.copy_(fresh);
}

void VectorQuantizeImpl::begin(const Step& step) {
  if (initialised.item<bool>() || step.batch.total == 0) return;
  // Each token once, before any comes again.
  const at::Tensor order =
      at::randperm(step.batch.total,
                   at::detail::createCPUGenerator(options_.seed()), at::kLong);
  const at::Tensor numbers = order.index_select(
      0, at::arange(options_.codebook_size()).remainder(step.batch.total));
  const internal::Clusters clusters = internal::kmeans(
      step.batch.tokens, tokens_at(step.call, step.batch, numbers),
      options_.kmeans_iters(), options_.use_cosine_sim(),
      [&](const at::Tensor& own) { return sum_over_ranks(step.call, own); });
  code_counts.copy_(clusters.counts);
  code_sums.copy_(clusters.means.mul(clusters.counts.unsqueeze(1)));
  set_codebook();
  initialised.fill_(true);
}

void VectorQuantizeImpl::learn(const Step& step, const at::Tensor& sums) {
  const std::int64_t dims = options_.codebook_dim();
  // Not lerp(), which processors round differently.
  const auto learned = [&](const at::Tensor& old, const at::Tensor& fresh) {
    const double decay = options_.decay();
    return old.to(at::kDouble).mul(decay).add(fresh.mul(1 - decay));
  };
  code_counts.copy_(learned(code_counts, sums.select(1, dims)));
  code_sums.copy_(learned(code_sums, sums.narrow(1, 0, dims)));
  set_codebook();
  if (options_.threshold_ema_dead_code() > 0) replace_dead_codes(step);
}

void VectorQuantizeImpl::replace_dead_codes(const Step& step) {
  const double threshold = options_.threshold_ema_dead_code();
  at::Tensor dead = code_counts.lt(threshold).nonzero().squeeze(1);
  const std::int64_t count = std::min(dead.size(0), step.batch.total);
  if (count == 0) return;
  at::Generator generator = at::detail::createCPUGenerator(
      options_.seed() + static_cast<std::uint64_t>(steps.item<std::int64_t>()));
  const auto some_of = [&](std::int64_t all) {
    return at::randperm(all, generator, at::kLong).narrow(0, 0, count);
  };
  const at::Tensor numbers = some_of(step.batch.total);
  dead = dead.index_select(0, some_of(dead.size(0)).to(dead.device()));
  const at::Tensor fresh =
      tokens_at(step.call, step.batch, numbers).to(codebook.scalar_type());
  codebook.index_copy_(0, dead, fresh);
  code_sums.index_copy_(0, dead, fresh.mul(threshold));
  code_counts.index_fill_(0, dead, threshold);
}

VectorQuantizeOutput VectorQuantizeImpl::forward(const at::Tensor& x,
                                                 const at::Tensor& mask) {
  const internal::AutocastOff autocast_off;
  internal::TokenView view;
  const auto tokens = [&] {
    view = internal::TokenView("VectorQuantize", x, options_.dim(),
                               options_.channel_first(), mask);
    return std::pair(project_in
                         ? internal::projected(*project_in, view.tokens())
                         : view.tokens(),
                     view.counts());
  };
  VectorQuantizeOutput output;
  Quantized quantized;
  if (is_training()) {
    Step step{call_of(options_), {}};
    step.batch = agreed_tokens(step.call, options_, progress(), tokens);
    sync::or_give_up(*step.call.communicator, [&] {
      {
        const at::NoGradGuard no_grad;
        begin(step);
      }
      quantized = quantize(step.batch, codebook, options_, /*training=*/true);
      const at::Tensor own_errors =
          quantized.own_errors.detach().to(at::kDouble).reshape({1});
      at::Tensor all_errors;
      if (options_.freeze_codebook()) {
        all_errors = sum_over_ranks(step.call, own_errors);
      } else {
        const at::NoGradGuard no_grad;
        const at::Tensor sums = internal::sums_of_codes(
            step.batch.tokens, step.batch.counting(quantized.indices),
            options_.codebook_size());
        const at::Tensor all =
            sum_over_ranks(step.call, at::cat({sums.flatten(), own_errors}));
        all_errors = all.narrow(0, sums.numel(), 1);
        steps.add_(1);
        if (step.batch.total > 0) {
          learn(step, all.narrow(0, 0, sums.numel()).view(sums.sizes()));
        }
      }
      set_loss(step.call, step.batch, options_, quantized.own_errors,
               all_errors.squeeze(0), output);
    });
  } else {
    TORCH_CHECK_VALUE(initialised.item<bool>(),
                      "VectorQuantize: expected a training step, of which "
                      "k-means takes the codes, before eval()");
    const auto [rows, counts] = tokens();
    TokenBatch batch;
    batch.x = compared(rows, options_);
    quantized = quantize(batch, codebook, options_, /*training=*/false);
    set_no_loss(rows, output);
  }
  at::Tensor codes = quantized.codes;
  if (project_out) codes = internal::projected(*project_out, codes);
  set_shapes(view, quantized, codes, output);
  return output;
}

at::Tensor VectorQuantizeImpl::indices_to_codes(const at::Tensor& indices) {
  TORCH_CHECK_VALUE(
      indices.defined() && indices.scalar_type() == at::kLong &&
          indices.dim() >= 1,
      "VectorQuantize: indices: expected int64 as forward() returns them, got ",
      indices.defined() ? c10::str(indices.scalar_type(), " ", indices.sizes())
                        : "an undefined tensor");
  at::Tensor codes = codebook.index_select(0, indices.reshape({-1}));
  if (project_out) {
    const internal::AutocastOff autocast_off;
    codes = internal::projected(*project_out, codes)
                .to(project_out->weight.scalar_type());
  }
  std::vector<std::int64_t> sizes = indices.sizes().vec();
  sizes.push_back(codes.size(1));
  codes = codes.reshape(sizes);
  // Images have two dimensions between batch and channels.
  return options_.channel_first().value_or(indices.dim() >= 3)
             ? codes.movedim(-1, 1)
             : codes;
}

template class internal::LossModule<VectorQuantizeImpl, VectorQuantizeOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::VectorQuantizeImpl>;
