#include "tally/losses/registry/loss_registry.h"

#include <c10/util/Exception.h>

#include <optional>
#include <type_traits>
#include <utility>

#include "tally/losses/boxes/box_overlap_loss.h"
#include "tally/losses/calibration/cross_entropy_loss.h"
#include "tally/losses/calibration/mmce_loss.h"
#include "tally/losses/calibration/soft_calibration_loss.h"
#include "tally/losses/codebook/lfq.h"
#include "tally/losses/codebook/vector_quantize.h"
#include "tally/losses/contrastive/clip_loss.h"
#include "tally/losses/contrastive/nt_xent_loss.h"
#include "tally/losses/contrastive/sig_lip_loss.h"
#include "tally/losses/contrastive/sup_con_loss.h"
#include "tally/losses/lovasz/lovasz_hinge_loss.h"
#include "tally/losses/lovasz/lovasz_softmax_loss.h"
#include "tally/losses/pairs/barlow_twins_loss.h"
#include "tally/losses/pairs/coca_loss.h"
#include "tally/losses/pairs/dcl_loss.h"
#include "tally/losses/pairs/distill_clip_loss.h"
#include "tally/losses/pairs/vicreg_loss.h"
#include "tally/losses/ranking/aucm_loss.h"
#include "tally/losses/ranking/fast_ap_loss.h"
#include "tally/losses/ranking/pairwise_auc_loss.h"
#include "tally/losses/ranking/partial_auc_loss.h"
#include "tally/losses/ranking/smooth_ap_loss.h"
#include "tally/losses/slates/approx_ndcg_loss.h"
#include "tally/losses/slates/lambda_loss.h"
#include "tally/losses/slates/list_net_loss.h"
#include "tally/losses/soft_counts/balanced_accuracy_loss.h"
#include "tally/losses/soft_counts/dice_loss.h"
#include "tally/losses/soft_counts/f_beta_loss.h"
#include "tally/losses/soft_counts/jaccard_loss.h"
#include "tally/losses/soft_counts/matthews_loss.h"
#include "tally/losses/soft_counts/tversky_loss.h"
#include "tally/losses/soft_order/soft_order.h"
#include "tally/losses/soft_order/soft_spearman_loss.h"
#include "tally/metrics/common/did_you_mean.h"
#include "tally/metrics/metric_spec.h"
#include "tally/state/detected.h"

namespace tally::losses {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using Buffers = std::map<std::string, Tensor>;
using tally::internal::kHas;

Tensors tensors_of(Tensor value) { return {std::move(value)}; }
Tensors tensors_of(ClipLogits v) { return {v.per_image, v.per_text}; }
Tensors tensors_of(CoCaLosses v) { return {v.contrastive, v.caption}; }
Tensors tensors_of(DistillClipLosses v) { return {v.contrastive, v.distill}; }
Tensors tensors_of(LFQOutput v) {
  return {v.quantized,          v.indices,       v.aux_loss,
          v.per_sample_entropy, v.batch_entropy, v.commitment};
}
Tensors tensors_of(VectorQuantizeOutput v) {
  return {v.quantized, v.indices, v.loss, v.commitment};
}

template <class Options>
using TimeoutOf = decltype(std::declval<Options&>().timeout());
template <class Options>
using CommunicatorOf = decltype(std::declval<Options&>().communicator());
template <class Options>
using ClipOf = decltype(std::declval<Options&>().clip());

template <class Options>
void set_ranks(Options& options, const LossRanks& ranks) {
  if constexpr (kHas<ClipOf, Options>) {
    set_ranks(options.clip(), ranks);
  } else {
    if constexpr (kHas<CommunicatorOf, Options>) {
      options.communicator(ranks.communicator);
    }
    if constexpr (kHas<TimeoutOf, Options>) {
      options.timeout(ranks.timeout);
    } else {
      TORCH_CHECK_VALUE(!ranks.timeout, "timeout: expected none, got ",
                        ranks.timeout.value().count(), " ms");
    }
  }
}

void put(const Buffers& buffers, const char* name, Tensor& buffer) {
  const auto found = buffers.find(name);
  if (found != buffers.end()) buffer = found->second;
}
template <class Impl>
void put_all(const Buffers&, Impl&) {}
void put_all(const Buffers& buffers, NTXentLossImpl& impl) {
  put(buffers, "memory_bank", impl.memory_bank);
  put(buffers, "memory_bank_next", impl.memory_bank_next);
}
void put_all(const Buffers& buffers, LFQImpl& impl) {
  put(buffers, "rotation", impl.rotation);
}
void put_all(const Buffers& buffers, VectorQuantizeImpl& impl) {
  put(buffers, "codebook", impl.codebook);
  put(buffers, "code_sums", impl.code_sums);
  put(buffers, "code_counts", impl.code_counts);
  put(buffers, "initialised", impl.initialised);
  put(buffers, "steps", impl.steps);
}

template <class Impl, std::size_t... I>
Tensors call(Impl& impl, const Tensors& inputs, std::index_sequence<I...>) {
  return tensors_of(impl.forward(inputs[I]...));
}
Tensors call(LFQImpl& impl, const Tensors& inputs,
             std::index_sequence<0, 1, 2>) {
  std::optional<double> inverse_temperature;
  if (inputs[2].defined()) inverse_temperature = inputs[2].item<double>();
  return tensors_of(impl.forward(inputs[0], inputs[1], inverse_temperature));
}
/// The last two are what a weight_fn would give for each view as the first.
Tensors call(DCLLossImpl& impl, const Tensors& inputs,
             std::index_sequence<0, 1, 2, 3>) {
  DCLLossOptions options = impl.options();
  if (inputs[2].defined()) {
    options.weight_fn(
        [&, given = std::size_t{2}](const Tensor&, const Tensor&) mutable {
          return inputs[given++];
        });
  }
  return {functional::dcl_loss(inputs[0], inputs[1], options)};
}

/// "a, b" as "a" and "b".
constexpr std::size_t count_of(std::string_view names) {
  std::size_t count = names.empty() ? 0 : 1;
  for (const char c : names) count += c == ',' ? 1 : 0;
  return count;
}
std::vector<std::string> split(std::string_view names) {
  std::vector<std::string> all;
  while (!names.empty()) {
    const std::size_t end = names.find(", ");
    all.emplace_back(names.substr(0, end));
    names.remove_prefix(end == names.npos ? names.size() : end + 2);
  }
  return all;
}

template <class Impl>
class LossOf final : public Loss {
  using Options = std::decay_t<decltype(std::declval<const Impl&>().options())>;
  static constexpr std::size_t kInputs = count_of(Impl::kSummary.inputs);

 public:
  explicit LossOf(Options options)
      : impl_(std::make_shared<Impl>(std::move(options))) {}

  static std::unique_ptr<Loss> make(
      const std::map<std::string, std::string>& texts, const LossRanks& ranks) {
    auto options = unset_options<Options>();
    parse_options(options, Impl::kName, texts);
    set_ranks(options, ranks);
    return std::make_unique<LossOf>(std::move(options));
  }
  static LossEntry entry() {
    return {Impl::kName,
            Impl::kSummary,
            describe_options(unset_options<Options>()),
            split(Impl::kSummary.inputs),
            split(Impl::kSummary.results),
            &make};
  }

  Tensors forward(const Tensors& inputs) override {
    check(inputs);
    return call(*impl_, inputs, std::make_index_sequence<kInputs>());
  }
  Tensors logits(const Tensors& inputs) override {
    if constexpr (std::is_same_v<Impl, ClipLossImpl>) {
      check(inputs);
      return tensors_of(
          impl_->logits(inputs[0], inputs[1], inputs[2], inputs[3]));
    } else {
      return Loss::logits(inputs);
    }
  }
  Tensor indices_to_codes(const Tensor& indices, bool project_out) override {
    if constexpr (std::is_same_v<Impl, LFQImpl>) {
      return impl_->indices_to_codes(indices, project_out);
    } else if constexpr (std::is_same_v<Impl, VectorQuantizeImpl>) {
      return impl_->indices_to_codes(indices);
    } else {
      return Loss::indices_to_codes(indices, project_out);
    }
  }
  void set_buffers(const Buffers& buffers) override {
    put_all(buffers, *impl_);
  }
  torch::nn::Module& module() override { return *impl_; }

 private:
  static void check(const Tensors& inputs) {
    TORCH_CHECK_VALUE(inputs.size() == kInputs, Impl::kName, ": expected ",
                      kInputs, " inputs, ", Impl::kSummary.inputs, ", got ",
                      inputs.size());
  }

  std::shared_ptr<Impl> impl_;
};

template <class... Impls>
std::map<std::string, LossEntry> entries_of() {
  return {{Impls::kName, LossOf<Impls>::entry()}...};
}

}  // namespace

Tensors Loss::logits(const Tensors&) {
  TORCH_CHECK(false, "this loss has no logits");
}

Tensor Loss::indices_to_codes(const Tensor&, bool) {
  TORCH_CHECK(false, "this loss has no codes");
}

const std::map<std::string, LossEntry>& loss_entries() {
  static const std::map<std::string, LossEntry> all = entries_of<
      ApproxNDCGLossImpl, AUCMLossImpl, BalancedAccuracyLossImpl,
      BarlowTwinsLossImpl, BoxOverlapLossImpl, ClipLossImpl, CoCaLossImpl,
      GlobalCrossEntropyLossImpl, DCLLossImpl, DCLWLossImpl, DiceLossImpl,
      DistillClipLossImpl, FastAPLossImpl, FBetaLossImpl, FocalLossImpl,
      FocalTverskyLossImpl, GeneralizedDiceLossImpl, JaccardLossImpl,
      LambdaLossImpl, LFQImpl, ListNetLossImpl, LovaszHingeLossImpl,
      LovaszSoftmaxLossImpl, MatthewsLossImpl, MMCELossImpl, NTXentLossImpl,
      PairwiseAUCLossImpl, PartialAUCLossImpl, SigLipLossImpl, SmoothAPLossImpl,
      SoftCalibrationLossImpl, SoftRankImpl, SoftSortImpl, SoftSpearmanLossImpl,
      SupConLossImpl, TverskyLossImpl, VectorQuantizeImpl, VICRegLossImpl>();
  return all;
}

const LossEntry& loss_entry(const std::string& name) {
  const auto found = loss_entries().find(name);
  if (found != loss_entries().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, entry] : loss_entries()) names.push_back(known);
  TORCH_CHECK_VALUE(false, "unknown loss '", name, "'",
                    tally::internal::did_you_mean(name, names));
}

std::unique_ptr<Loss> make_loss(std::string_view text, const LossRanks& ranks) {
  const MetricSpec spec = parse_metric_spec(text);
  return loss_entry(spec.name).make(spec.options, ranks);
}

}  // namespace tally::losses
