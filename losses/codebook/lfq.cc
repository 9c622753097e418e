#include "tally/losses/codebook/lfq.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/util/FunctionRef.h>
#include <torch/nn/init.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tally/losses/codebook/code_probability.h"
#include "tally/losses/codebook/fixed_order.h"
#include "tally/losses/codebook/projection.h"
#include "tally/losses/codebook/token_batch.h"
#include "tally/losses/codebook/tokens.h"
#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_dtype.h"
#include "tally/state/outside_inference.h"
#include "tally/sync/reduce.h"

namespace tally::losses {
namespace {

using sync::Call;

constexpr std::int64_t kMostBits = 30;

std::int64_t bits_of(const LFQOptions& options) {
  std::int64_t bits = 0;
  while ((std::int64_t{1} << bits) < options.codebook_size()) ++bits;
  return bits;
}

std::int64_t all_bits(const LFQOptions& options) {
  return bits_of(options) * options.num_codebooks();
}

void check_between(const char* name, double value, double least,
                   const char* expected) {
  TORCH_CHECK_VALUE(std::isfinite(value) && value >= least, "LFQ: option '",
                    name, "': expected ", expected, ", got ", value);
}

/// The options with defaults filled in.
LFQOptions completed_lfq(LFQOptions o) {
  TORCH_CHECK_VALUE(o.dim() > 0 || o.codebook_size() > 0,
                    "LFQ: expected option 'dim' or 'codebook_size' to be "
                    "above 0, got ",
                    o.dim(), " and ", o.codebook_size());
  TORCH_CHECK_VALUE(o.dim() >= 0,
                    "LFQ: option 'dim': expected at least 0, got ", o.dim());
  TORCH_CHECK_VALUE(o.num_codebooks() >= 1,
                    "LFQ: option 'num_codebooks': expected at least 1, got ",
                    o.num_codebooks());
  if (o.codebook_size() == 0) {
    TORCH_CHECK_VALUE(o.dim() <= kMostBits,
                      "LFQ: option 'dim': expected at most ", kMostBits,
                      " without a codebook_size, got ", o.dim());
    o.codebook_size(std::int64_t{1} << o.dim());
  }
  const std::int64_t size = o.codebook_size();
  TORCH_CHECK_VALUE(
      size >= 2 && size <= std::int64_t{1} << kMostBits &&
          (size & (size - 1)) == 0,
      "LFQ: option 'codebook_size': expected a power of 2 from 2 to 2^",
      kMostBits, ", got ", size);
  if (o.dim() == 0) o.dim(all_bits(o));
  if (!o.has_projections()) o.has_projections(o.dim() != all_bits(o));
  TORCH_CHECK_VALUE(*o.has_projections() || o.dim() == all_bits(o),
                    "LFQ: option 'dim': expected ", all_bits(o),
                    ", the number of bits, without projections, got ", o.dim());
  if (!o.keep_num_codebooks_dim()) {
    o.keep_num_codebooks_dim(o.num_codebooks() > 1);
  }
  TORCH_CHECK_VALUE(*o.keep_num_codebooks_dim() || o.num_codebooks() == 1,
                    "LFQ: option 'keep_num_codebooks_dim': expected true with ",
                    o.num_codebooks(), " codebooks, got false");
  TORCH_CHECK_VALUE(std::isfinite(o.codebook_scale()) && o.codebook_scale() > 0,
                    "LFQ: option 'codebook_scale': expected a positive number, "
                    "got ",
                    o.codebook_scale());
  if (const auto clamp = o.soft_clamp_input_value()) {
    TORCH_CHECK_VALUE(std::isfinite(*clamp) && *clamp >= o.codebook_scale(),
                      "LFQ: option 'soft_clamp_input_value': expected at least "
                      "the codebook_scale, ",
                      o.codebook_scale(), ", got ", *clamp);
  }
  const double fraction = o.frac_per_sample_entropy();
  TORCH_CHECK_VALUE(fraction > 0 && fraction <= 1,
                    "LFQ: option 'frac_per_sample_entropy': expected above 0 "
                    "and at most 1, got ",
                    fraction);
  check_between("inverse_temperature", o.inverse_temperature(), 0,
                "at least 0");
  check_between("entropy_loss_weight", o.entropy_loss_weight(), 0,
                "at least 0");
  check_between("commitment_loss_weight", o.commitment_loss_weight(), 0,
                "at least 0");
  check_between("diversity_gamma", o.diversity_gamma(), 0, "at least 0");
  return o;
}

/// What codes are made of after the projection to a sphere.
double component(const LFQOptions& o) {
  return o.spherical()
             ? o.codebook_scale() / std::sqrt(static_cast<double>(bits_of(o)))
             : o.codebook_scale();
}

/// Latents, one row a token.
struct Latents {
  at::Tensor x;       ///< [n, c, bits], float32 or wider
  at::Tensor codes;   ///< of the same size, without a graph
  at::Tensor counts;  ///< [n] bool, or undefined: all
};

Latents latents_of(const at::Tensor& tokens, const LFQOptions& o,
                   const at::Tensor& rotation, const at::Tensor& counts) {
  at::Tensor x = internal::in_dtype_of_losses(tokens);
  if (const auto clamp = o.soft_clamp_input_value()) {
    x = x.div(*clamp).tanh().mul(*clamp);
  }
  x = x.unflatten(1, {o.num_codebooks(), bits_of(o)});
  if (rotation.defined()) {
    x = internal::fixed_product(x, rotation.to(x.scalar_type()));
  }
  if (o.spherical()) {
    x = x.div(x.norm(2, {-1}, /*keepdim=*/true).clamp_min(1e-12))
            .mul(o.codebook_scale());
  }
  const at::Tensor codes =
      x.detach().gt(0).to(x.scalar_type()).mul(2).sub(1).mul(component(o));
  return {x, codes, counts};
}

at::Tensor powers(std::int64_t bits, const at::Tensor& like) {
  return at::full({}, 2, like.options().dtype(at::kLong))
      .pow(at::arange(bits - 1, -1, -1, like.options().dtype(at::kLong)));
}

at::Tensor indices_of(const at::Tensor& codes) {
  return codes.gt(0).to(at::kLong).mul(powers(codes.size(-1), codes)).sum(-1);
}

/// The sums over tokens that the losses are made of.
struct Sums {
  at::Tensor per_sample;     ///< of entropies, mean over codebooks
  at::Tensor probabilities;  ///< [c, codes]
  at::Tensor commitment;     ///< of mean squares
  at::Tensor count;          ///< of tokens, without a graph

  at::Tensor flat() const {
    return at::cat(
        {probabilities.flatten(), at::stack({per_sample, commitment, count})});
  }
  static Sums of_flat(const at::Tensor& flat, std::int64_t codebooks) {
    const std::int64_t parts = flat.size(0) - 3;
    return {flat[parts], flat.narrow(0, 0, parts).unflatten(0, {codebooks, -1}),
            flat[parts + 1], flat[parts + 2].detach()};
  }
};

Sums sums_of(const Latents& latents, const LFQOptions& o) {
  at::Tensor x = latents.x, codes = latents.codes;
  if (latents.counts.defined()) {
    const at::Tensor rows = latents.counts.nonzero().squeeze(1);
    x = x.index_select(0, rows);
    codes = codes.index_select(0, rows);
  }
  const std::int64_t count = x.size(0);
  const at::Tensor logits = x.mul(4 * o.inverse_temperature() * component(o));
  at::Tensor sampled = logits;
  if (o.frac_per_sample_entropy() < 1 && count > 0) {
    const auto size = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<double>(count) *
                                     o.frac_per_sample_entropy()));
    sampled = logits.index_select(
        0, at::randperm(count, at::kLong).narrow(0, 0, size).to(x.device()));
  }
  // As if every token had the sample's mean.
  const double each =
      sampled.size(0) == 0
          ? 0
          : static_cast<double>(count) /
                static_cast<double>(sampled.size(0) * o.num_codebooks());
  return {internal::bit_entropy(sampled).sum().mul(each),
          internal::sum_of_code_probabilities(logits),
          x.sub(codes).square().sum().div(x.size(1) * x.size(2)),
          at::full({}, count, x.options())};
}

void set_losses(const Sums& sums, const LFQOptions& o, LFQOutput& output) {
  // Without tokens all sums are 0.
  const at::Tensor count = sums.count.clamp_min(1);
  output.per_sample_entropy = sums.per_sample.div(count);
  output.commitment = sums.commitment.div(count);
  output.batch_entropy =
      internal::entropy(sums.probabilities.div(count)).mean();
  at::Tensor entropy =
      output.per_sample_entropy.sub(output.batch_entropy, o.diversity_gamma());
  if (o.softplus_entropy_loss()) {
    // Linear where nothing else shows in float64. 0 without tokens.
    entropy = at::softplus(entropy.add(o.entropy_loss_offset()), /*beta=*/1,
                           /*threshold=*/50)
                  .mul(sums.count.gt(0));
  }
  output.aux_loss = entropy.mul(o.entropy_loss_weight())
                        .add(output.commitment, o.commitment_loss_weight());
}

/// `rotation` may be undefined. `prepare` gives the latents; what it throws
/// reaches all ranks.
LFQOutput quantize_lfq(const LFQOptions& o, bool training,
                       const at::Tensor& rotation,
                       c10::function_ref<Latents()> prepare) {
  const internal::AutocastOff autocast_off;
  LFQOutput output;
  Latents latents;
  if (training) {
    Call call("LFQ", o.communicator());
    if (rotation.defined() && call.size() > 1) {
      call.asker = call.name;
      call.name += " with the rotation of checksum ";
      call.name += internal::checksum(rotation);
    }
    if (call.size() == 1) {
      latents = prepare();
      set_losses(sums_of(latents, o), o, output);
    } else {
      at::Tensor own;
      const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
        latents = prepare();
        own = sums_of(latents, o).flat();
        return own.detach();
      });
      set_losses(Sums::of_flat(internal::replicated_sum(call, own, all),
                               o.num_codebooks()),
                 o, output);
    }
  } else {
    latents = prepare();
    const at::Tensor zero = at::zeros({}, latents.x.options());
    output.aux_loss = output.per_sample_entropy = output.batch_entropy =
        output.commitment = zero;
  }
  output.quantized = training ? internal::pass_through(latents.x, latents.codes,
                                                       o.code_gradient())
                              : latents.codes;
  output.indices = indices_of(latents.codes);
  return output;
}

}  // namespace

namespace functional {

LFQOutput lfq(const at::Tensor& x, const LFQOptions& options,
              const at::Tensor& mask, bool training) {
  LFQOptions o = options;
  internal::TokenView view;
  LFQOutput output = quantize_lfq(o, training, {}, [&] {
    o = completed_lfq(options);
    view = internal::TokenView("LFQ", x, all_bits(o), /*channel_first=*/false,
                               mask);
    return latents_of(view.tokens(), o, {}, view.counts());
  });
  output.quantized = view.restored(output.quantized.flatten(1));
  output.indices =
      view.restored_indices(output.indices, *o.keep_num_codebooks_dim());
  return output;
}

}  // namespace functional

LFQImpl::LFQImpl(LFQOptions o) : LossModule(completed_lfq(std::move(o))) {
  reset();
}

void LFQImpl::reset() {
  const tally::internal::OutsideInference outside;
  if (*options_.has_projections()) {
    const auto layer = [&](std::int64_t in, std::int64_t out) {
      return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(
          options_.projection_has_bias()));
    };
    project_in = register_module("project_in",
                                 layer(options_.dim(), all_bits(options_)));
    project_out = register_module("project_out",
                                  layer(all_bits(options_), options_.dim()));
  }
  if (options_.orthogonal_rotation()) {
    const std::int64_t bits = bits_of(options_);
    rotation = register_buffer(
        "rotation", torch::nn::init::orthogonal_(at::empty({bits, bits})));
  }
}

LFQOutput LFQImpl::forward(const at::Tensor& x, const at::Tensor& mask,
                           std::optional<double> inverse_temperature) {
  LFQOptions o = options_;
  if (inverse_temperature) o.inverse_temperature(*inverse_temperature);
  internal::TokenView view;
  LFQOutput output = quantize_lfq(o, is_training(), rotation, [&] {
    check_between("inverse_temperature", o.inverse_temperature(), 0,
                  "at least 0");
    view = internal::TokenView("LFQ", x, o.dim(), o.channel_first(), mask);
    at::Tensor tokens = view.tokens();
    if (project_in) tokens = internal::projected(*project_in, tokens);
    return latents_of(tokens, o, rotation, view.counts());
  });
  const internal::AutocastOff autocast_off;
  at::Tensor codes = output.quantized;
  if (rotation.defined()) {
    codes = codes.matmul(rotation.to(codes.scalar_type()).t());
  }
  codes = codes.flatten(1);
  if (project_out) codes = internal::projected(*project_out, codes);
  output.quantized = view.restored(codes);
  output.indices =
      view.restored_indices(output.indices, *o.keep_num_codebooks_dim());
  return output;
}

at::Tensor LFQImpl::indices_to_codes(const at::Tensor& indices, bool project) {
  const std::int64_t bits = bits_of(options_);
  const std::int64_t codebooks = *options_.keep_num_codebooks_dim() ? 1 : 0;
  TORCH_CHECK_VALUE(
      indices.defined() && indices.scalar_type() == at::kLong &&
          indices.dim() >= 1 + codebooks &&
          (codebooks == 0 || indices.size(-1) == options_.num_codebooks()),
      "LFQ: indices: expected int64 as forward() returns them, got ",
      indices.defined() ? c10::str(indices.scalar_type(), " ", indices.sizes())
                        : "an undefined tensor");
  const internal::AutocastOff autocast_off;
  const at::Tensor numbers = codebooks == 1 ? indices : indices.unsqueeze(-1);
  at::Tensor codes = numbers.unsqueeze(-1)
                         .bitwise_and(powers(bits, indices))
                         .ne(0)
                         .to(at::kDouble)
                         .mul(2)
                         .sub(1)
                         .mul(component(options_));
  if (rotation.defined()) codes = codes.matmul(rotation.to(at::kDouble).t());
  codes = codes.flatten(-2);
  const at::ScalarType dtype =
      project_out ? project_out->weight.scalar_type() : at::kFloat;
  if (project && project_out) codes = internal::projected(*project_out, codes);
  codes = codes.to(dtype);
  // Images have two dimensions between batch and channels.
  const bool channel_first =
      options_.channel_first().value_or(numbers.dim() >= 4);
  return channel_first ? codes.movedim(-1, 1) : codes;
}

template class internal::LossModule<LFQImpl, LFQOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::LFQImpl>;
