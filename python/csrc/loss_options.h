#pragma once

#include "tally/losses/losses.h"
#include "tally/python/csrc/option_names.h"

/// The options of losses by name, as visit() has those of metrics. Who takes
/// them sets communicator and timeout.
namespace tally::python {

template <class Options>
struct VisitLoss {
  static void visit(Options& o, OptionVisitor& v) { o.visit(v); }
};

template <class Options>
struct NamedOptions {
  Options options = tally::internal::unset_options<Options>();
  void visit(OptionVisitor& v) { VisitLoss<Options>::visit(options, v); }
};

template <class Options>
void visit_tiles(Options& o, OptionVisitor& v) {
  v("pairwise_logits", o.pairwise_logits());
  v("logits_budget_bytes", o.logits_budget_bytes());
}

template <>
struct VisitLoss<losses::ClipLossOptions> {
  static void visit(losses::ClipLossOptions& o, OptionVisitor& v) {
    v("local_loss", o.local_loss());
    v("gather_with_grad", o.gather_with_grad());
    visit_tiles(o, v);
  }
};
template <>
struct VisitLoss<losses::SigLipLossOptions> {
  static void visit(losses::SigLipLossOptions& o, OptionVisitor& v) {
    v("exchange", o.exchange());
  }
};
template <>
struct VisitLoss<losses::NTXentLossOptions> {
  static void visit(losses::NTXentLossOptions& o, OptionVisitor& v) {
    v("temperature", o.temperature());
    v("gather_distributed", o.gather_distributed());
    v("memory_bank_size", o.memory_bank_size());
    v("memory_bank_dim", o.memory_bank_dim());
    visit_tiles(o, v);
  }
};
template <>
struct VisitLoss<losses::SupConLossOptions> {
  static void visit(losses::SupConLossOptions& o, OptionVisitor& v) {
    v("temperature", o.temperature());
    v("base_temperature", o.base_temperature());
    visit_tiles(o, v);
  }
};
template <>
struct VisitLoss<losses::BarlowTwinsLossOptions> {
  static void visit(losses::BarlowTwinsLossOptions& o, OptionVisitor& v) {
    v("lambda_", o.lambda());
    v("eps", o.eps());
  }
};
template <>
struct VisitLoss<losses::VICRegLossOptions> {
  static void visit(losses::VICRegLossOptions& o, OptionVisitor& v) {
    v("lambda_", o.lambda());
    v("mu", o.mu());
    v("nu", o.nu());
    v("eps", o.eps());
  }
};
template <>
struct VisitLoss<losses::DCLLossOptions> {
  static void visit(losses::DCLLossOptions& o, OptionVisitor& v) {
    v("temperature", o.temperature());
  }
};
template <>
struct VisitLoss<losses::DCLWLossOptions> {
  static void visit(losses::DCLWLossOptions& o, OptionVisitor& v) {
    v("temperature", o.temperature());
    v("sigma", o.sigma());
  }
};
template <>
struct VisitLoss<losses::CoCaLossOptions> {
  static void visit(losses::CoCaLossOptions& o, OptionVisitor& v) {
    v("caption_loss_weight", o.caption_loss_weight());
    v("clip_loss_weight", o.clip_loss_weight());
    v("pad_id", o.pad_id());
    VisitLoss<losses::ClipLossOptions>::visit(o.clip(), v);
  }
};
template <>
struct NamedOptions<losses::CoCaLossOptions> {
  losses::CoCaLossOptions options{1, 1};
  void visit(OptionVisitor& v) {
    VisitLoss<losses::CoCaLossOptions>::visit(options, v);
  }
};
template <>
struct VisitLoss<losses::DistillClipLossOptions> {
  static void visit(losses::DistillClipLossOptions& o, OptionVisitor& v) {
    VisitLoss<losses::ClipLossOptions>::visit(o.clip(), v);
  }
};
template <>
struct VisitLoss<losses::LFQOptions> {
  static void visit(losses::LFQOptions& o, OptionVisitor& v) {
    v("dim", o.dim());
    v("codebook_size", o.codebook_size());
    v("num_codebooks", o.num_codebooks());
    v("keep_num_codebooks_dim", o.keep_num_codebooks_dim());
    v("has_projections", o.has_projections());
    v("projection_has_bias", o.projection_has_bias());
    v("channel_first", o.channel_first());
    v("codebook_scale", o.codebook_scale());
    v("soft_clamp_input_value", o.soft_clamp_input_value());
    v("spherical", o.spherical());
    v("orthogonal_rotation", o.orthogonal_rotation());
    v("code_gradient", o.code_gradient());
    v("inverse_temperature", o.inverse_temperature());
    v("entropy_loss_weight", o.entropy_loss_weight());
    v("diversity_gamma", o.diversity_gamma());
    v("frac_per_sample_entropy", o.frac_per_sample_entropy());
    v("softplus_entropy_loss", o.softplus_entropy_loss());
    v("entropy_loss_offset", o.entropy_loss_offset());
    v("commitment_loss_weight", o.commitment_loss_weight());
  }
};
template <>
struct VisitLoss<losses::VectorQuantizeOptions> {
  static void visit(losses::VectorQuantizeOptions& o, OptionVisitor& v) {
    v("dim", o.dim());
    v("codebook_size", o.codebook_size());
    v("codebook_dim", o.codebook_dim());
    v("channel_first", o.channel_first());
    v("decay", o.decay());
    v("eps", o.eps());
    v("kmeans_init", o.kmeans_init());
    v("kmeans_iters", o.kmeans_iters());
    v("use_cosine_sim", o.use_cosine_sim());
    v("threshold_ema_dead_code", o.threshold_ema_dead_code());
    v("freeze_codebook", o.freeze_codebook());
    v("commitment_weight", o.commitment_weight());
    v("code_gradient", o.code_gradient());
  }
};
template <>
struct NamedOptions<losses::VectorQuantizeOptions> {
  losses::VectorQuantizeOptions options{0, 0};
  std::int64_t seed = 0;
  void visit(OptionVisitor& v) {
    VisitLoss<losses::VectorQuantizeOptions>::visit(options, v);
    v("seed", seed);
    options.seed(static_cast<std::uint64_t>(seed));
  }
};

}  // namespace tally::python
