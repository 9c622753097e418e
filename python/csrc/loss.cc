#include "tally/python/csrc/loss.h"

#include <tuple>
#include <type_traits>
#include <utility>

#include "tally/python/csrc/loss_options.h"

namespace tally::python {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using Texts = std::map<std::string, std::string>;

c10::IValue ivalue_of(Tensor value) { return value; }
c10::IValue ivalue_of(losses::ClipLogits v) {
  return std::make_tuple(v.per_image, v.per_text);
}
c10::IValue ivalue_of(losses::CoCaLosses v) {
  return std::make_tuple(v.contrastive, v.caption);
}
c10::IValue ivalue_of(losses::DistillClipLosses v) {
  return std::make_tuple(v.contrastive, v.distill);
}
c10::IValue ivalue_of(losses::LFQOutput v) {
  return std::make_tuple(v.quantized, v.indices, v.aux_loss,
                         v.per_sample_entropy, v.batch_entropy, v.commitment);
}
c10::IValue ivalue_of(losses::VectorQuantizeOutput v) {
  return std::make_tuple(v.quantized, v.indices, v.loss, v.commitment);
}

template <class Options, class = void>
struct HasTimeout : std::false_type {};
template <class Options>
struct HasTimeout<Options,
                  std::void_t<decltype(std::declval<Options&>().timeout())>>
    : std::true_type {};

template <class Options, class = void>
struct HasCommunicator : std::false_type {};
template <class Options>
struct HasCommunicator<
    Options, std::void_t<decltype(std::declval<Options&>().communicator())>>
    : std::true_type {};

template <class Options>
void set_ranks(Options& options, const Group& group,
               const std::optional<double>& timeout) {
  if constexpr (HasCommunicator<Options>::value) {
    options.communicator(communicator_of(group));
  }
  if constexpr (HasTimeout<Options>::value) {
    options.timeout(timeout_of(timeout));
  } else {
    TORCH_CHECK_VALUE(!timeout, "timeout: expected none, got ", *timeout);
  }
}
void set_ranks(losses::CoCaLossOptions& options, const Group& group,
               const std::optional<double>& timeout) {
  set_ranks(options.clip(), group, timeout);
}
void set_ranks(losses::DistillClipLossOptions& options, const Group& group,
               const std::optional<double>& timeout) {
  set_ranks(options.clip(), group, timeout);
}

void put(const std::map<std::string, Tensor>& buffers, const char* name,
         Tensor& buffer) {
  const auto found = buffers.find(name);
  if (found != buffers.end()) buffer = found->second;
}
template <class Impl>
void put_all(const std::map<std::string, Tensor>&, Impl&) {}
void put_all(const std::map<std::string, Tensor>& buffers,
             losses::NTXentLossImpl& impl) {
  put(buffers, "memory_bank", impl.memory_bank);
  put(buffers, "memory_bank_next", impl.memory_bank_next);
}
void put_all(const std::map<std::string, Tensor>& buffers,
             losses::LFQImpl& impl) {
  put(buffers, "rotation", impl.rotation);
}
void put_all(const std::map<std::string, Tensor>& buffers,
             losses::VectorQuantizeImpl& impl) {
  put(buffers, "codebook", impl.codebook);
  put(buffers, "code_sums", impl.code_sums);
  put(buffers, "code_counts", impl.code_counts);
  put(buffers, "initialised", impl.initialised);
  put(buffers, "steps", impl.steps);
}

template <class Impl, std::size_t... I>
c10::IValue call(Impl& impl, const Tensors& inputs, std::index_sequence<I...>) {
  return ivalue_of(impl.forward(inputs[I]...));
}
c10::IValue call(losses::LFQImpl& impl, const Tensors& inputs,
                 std::index_sequence<0, 1, 2>) {
  std::optional<double> inverse_temperature;
  if (inputs[2].defined()) inverse_temperature = inputs[2].item<double>();
  return ivalue_of(impl.forward(inputs[0], inputs[1], inverse_temperature));
}

/// The last two are what a weight_fn would give for each view as the first.
c10::IValue call(losses::DCLLossImpl& impl, const Tensors& inputs,
                 std::index_sequence<0, 1, 2, 3>) {
  losses::DCLLossOptions options = impl.options();
  if (inputs[2].defined()) {
    options.weight_fn(
        [&, given = std::size_t{2}](const Tensor&, const Tensor&) mutable {
          return inputs[given++];
        });
  }
  return losses::functional::dcl_loss(inputs[0], inputs[1], options);
}

/// `kInputs`: how many tensors forward() takes.
template <class Impl, class Options, std::size_t kInputs>
class LossOf final : public Loss {
 public:
  explicit LossOf(Options options)
      : impl_(std::make_shared<Impl>(std::move(options))) {}

  static std::unique_ptr<Loss> make(const std::string& name, const Texts& texts,
                                    const Group& group,
                                    const std::optional<double>& timeout) {
    NamedOptions<Options> named;
    parse_options(named, name, texts);
    set_ranks(named.options, group, timeout);
    return std::make_unique<LossOf>(std::move(named.options));
  }

  c10::IValue forward(const Tensors& inputs) override {
    TORCH_CHECK_VALUE(inputs.size() == kInputs, "expected ", kInputs,
                      " inputs, got ", inputs.size());
    return call(*impl_, inputs, std::make_index_sequence<kInputs>());
  }
  c10::IValue logits(const Tensors& inputs) override {
    if constexpr (std::is_same_v<Impl, losses::ClipLossImpl>) {
      TORCH_CHECK_VALUE(inputs.size() == kInputs, "expected ", kInputs,
                        " inputs, got ", inputs.size());
      return ivalue_of(
          impl_->logits(inputs[0], inputs[1], inputs[2], inputs[3]));
    } else {
      return Loss::logits(inputs);
    }
  }
  Tensor indices_to_codes(const Tensor& indices, bool project_out) override {
    if constexpr (std::is_same_v<Impl, losses::LFQImpl>) {
      return impl_->indices_to_codes(indices, project_out);
    } else if constexpr (std::is_same_v<Impl, losses::VectorQuantizeImpl>) {
      return impl_->indices_to_codes(indices);
    } else {
      return Loss::indices_to_codes(indices, project_out);
    }
  }
  void set_buffers(const std::map<std::string, Tensor>& buffers) override {
    put_all(buffers, *impl_);
  }
  torch::nn::Module& module() override { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

template <class Impl, class Options, std::size_t kInputs>
LossEntry entry(const char* what, std::vector<std::string> required,
                std::vector<std::string> inputs,
                std::vector<std::string> results = {}) {
  return {what,
          std::move(required),
          describe_options(NamedOptions<Options>()),
          std::move(inputs),
          std::move(results),
          &LossOf<Impl, Options, kInputs>::make};
}

}  // namespace

c10::IValue Loss::logits(const Tensors&) {
  TORCH_CHECK(false, "this loss gives no logits");
}

Tensor Loss::indices_to_codes(const Tensor&, bool) {
  TORCH_CHECK(false, "this loss has no codes");
}

const std::map<std::string, LossEntry>& losses_by_name() {
  using namespace losses;
  static const std::map<std::string, LossEntry> all = {
      {"ClipLoss",
       entry<ClipLossImpl, ClipLossOptions, 4>(
           "The contrastive loss of CLIP over the pairs of all "
           "ranks.",
           {},
           {"image_features", "text_features", "logit_scale", "logit_bias?"})},
      {"SigLipLoss",
       entry<SigLipLossImpl, SigLipLossOptions, 4>(
           "The sigmoid loss of SigLIP over the pairs of all ranks.", {},
           {"image_features", "text_features", "logit_scale", "logit_bias"})},
      {"CoCaLoss", entry<CoCaLossImpl, CoCaLossOptions, 5>(
                       "The losses of CoCa: contrastive, and of captions.",
                       {"caption_loss_weight", "clip_loss_weight"},
                       {"image_features", "text_features", "logits", "labels",
                        "logit_scale"},
                       {"contrastive", "caption"})},
      {"DistillClipLoss",
       entry<DistillClipLossImpl, DistillClipLossOptions, 6>(
           "The loss of CLIP, and how far its logits are from a teacher's.", {},
           {"image_features", "text_features", "logit_scale",
            "teacher_image_features", "teacher_text_features",
            "teacher_logit_scale"},
           {"contrastive", "distill"})},
      {"NTXentLoss", entry<NTXentLossImpl, NTXentLossOptions, 2>(
                         "The loss of SimCLR and, with a memory bank, of MoCo.",
                         {}, {"out0", "out1"})},
      {"SupConLoss",
       entry<SupConLossImpl, SupConLossOptions, 2>(
           "The supervised contrastive loss over the rows of all ranks.", {},
           {"features", "labels?"})},
      {"DCLLoss", entry<DCLLossImpl, DCLLossOptions, 4>(
                      "The decoupled contrastive loss over all ranks.", {},
                      {"a", "b", "weight_a?", "weight_b?"})},
      {"DCLWLoss",
       entry<DCLWLossImpl, DCLWLossOptions, 2>(
           "The decoupled contrastive loss with weights of the pairs.", {},
           {"a", "b"})},
      {"BarlowTwinsLoss",
       entry<BarlowTwinsLossImpl, BarlowTwinsLossOptions, 2>(
           "The redundancy reduction of Barlow Twins over all ranks.", {},
           {"a", "b"})},
      {"VICRegLoss",
       entry<VICRegLossImpl, VICRegLossOptions, 2>(
           "Variance, invariance and covariance of two views, of all ranks.",
           {}, {"a", "b"})},
      {"DiceLoss", entry<DiceLossImpl, DiceLossOptions, 2>(
                       "1 - Dice of the soft counts of all ranks.", {},
                       {"preds", "target"})},
      {"GeneralizedDiceLoss",
       entry<GeneralizedDiceLossImpl, GeneralizedDiceLossOptions, 2>(
           "1 - Dice of all classes, weighted by how rare they are.", {},
           {"preds", "target"})},
      {"JaccardLoss", entry<JaccardLossImpl, JaccardLossOptions, 2>(
                          "1 - Jaccard index of the soft counts of all ranks.",
                          {}, {"preds", "target"})},
      {"TverskyLoss", entry<TverskyLossImpl, TverskyLossOptions, 2>(
                          "1 - Tversky index of the soft counts of all ranks.",
                          {}, {"preds", "target"})},
      {"FocalTverskyLoss",
       entry<FocalTverskyLossImpl, FocalTverskyLossOptions, 2>(
           "The power of 1 - Tversky index of each class.", {},
           {"preds", "target"})},
      {"FBetaLoss", entry<FBetaLossImpl, FBetaLossOptions, 2>(
                        "1 - F-beta score of the soft counts of all ranks.", {},
                        {"preds", "target"})},
      {"MatthewsLoss",
       entry<MatthewsLossImpl, MatthewsLossOptions, 2>(
           "1 - Matthews correlation of the soft counts of all ranks.", {},
           {"preds", "target"})},
      {"BalancedAccuracyLoss",
       entry<BalancedAccuracyLossImpl, BalancedAccuracyLossOptions, 2>(
           "1 - balanced accuracy of the soft counts of all ranks.", {},
           {"preds", "target"})},
      {"LovaszHingeLoss", entry<LovaszHingeLossImpl, LovaszHingeLossOptions, 2>(
                              "The Lovasz extension of the binary Jaccard "
                              "loss, with hinge errors.",
                              {}, {"preds", "target"})},
      {"LovaszSoftmaxLoss",
       entry<LovaszSoftmaxLossImpl, LovaszSoftmaxLossOptions, 2>(
           "The Lovasz extension of the Jaccard loss of each class.", {},
           {"preds", "target"})},
      {"PairwiseAUCLoss",
       entry<PairwiseAUCLossImpl, PairwiseAUCLossOptions, 2>(
           "A surrogate of AUROC over the pairs of all ranks.", {},
           {"preds", "target"})},
      {"AUCMLoss", entry<AUCMLossImpl, AUCMLossOptions, 2>(
                       "The AUC margin loss over the samples of all ranks.", {},
                       {"preds", "target"})},
      {"SmoothAPLoss",
       entry<SmoothAPLossImpl, SmoothAPLossOptions, 3>(
           "1 - average precision with sigmoids for ranks, of all ranks.", {},
           {"preds", "target", "query?"})},
      {"FastAPLoss",
       entry<FastAPLossImpl, FastAPLossOptions, 3>(
           "1 - average precision from a soft histogram of all ranks.", {},
           {"preds", "target", "query?"})},
      {"ApproxNDCGLoss", entry<ApproxNDCGLossImpl, ApproxNDCGLossOptions, 3>(
                             "1 - NDCG with sigmoids for positions, over the "
                             "slates of all ranks.",
                             {}, {"preds", "target", "query?"})},
      {"LambdaLoss",
       entry<LambdaLossImpl, LambdaLossOptions, 3>(
           "Weighted logistic losses of pairs in the slates of all ranks.", {},
           {"preds", "target", "query?"})},
      {"ListNetLoss",
       entry<ListNetLossImpl, ListNetLossOptions, 3>(
           "Cross-entropy of grades and scores over the slates of all ranks.",
           {}, {"preds", "target", "query?"})},
      {"PartialAUCLoss",
       entry<PartialAUCLossImpl, PartialAUCLossOptions, 2>(
           "A surrogate of the partial AUROC over the samples of all ranks.",
           {}, {"preds", "target"})},
      {"CrossEntropyLoss",
       entry<CrossEntropyLossImpl, CrossEntropyLossOptions, 2>(
           "Cross-entropy as a ratio of sums over all ranks.", {},
           {"preds", "target"})},
      {"FocalLoss",
       entry<FocalLossImpl, FocalLossOptions, 2>(
           "Cross-entropy with less weight on what is predicted well.", {},
           {"preds", "target"})},
      {"BoxOverlapLoss",
       entry<BoxOverlapLossImpl, BoxOverlapLossOptions, 2>(
           "1 - IoU, GIoU, DIoU or CIoU of pairs of boxes, of all ranks.", {},
           {"preds", "target"})},
      {"MMCELoss", entry<MMCELossImpl, MMCELossOptions, 2>(
                       "The maximum mean calibration error, of all ranks.", {},
                       {"preds", "target"})},
      {"SoftRank",
       entry<SoftRankImpl, SoftRankOptions, 1>(
           "Ranks with derivatives, of the last dimension.", {}, {"values"})},
      {"SoftSort", entry<SoftSortImpl, SoftSortOptions, 1>(
                       "Sorted values with derivatives, of the last dimension.",
                       {}, {"values"})},
      {"SoftSpearmanLoss",
       entry<SoftSpearmanLossImpl, SoftSpearmanLossOptions, 2>(
           "1 - rank correlation with soft ranks, of all ranks.", {},
           {"preds", "target"})},
      {"SoftCalibrationLoss",
       entry<SoftCalibrationLossImpl, SoftCalibrationLossOptions, 2>(
           "The expected calibration error with soft bins, of all ranks.", {},
           {"preds", "target"})},
      {"LFQ", entry<LFQImpl, LFQOptions, 3>(
                  "Lookup-free quantization with its entropy loss.", {},
                  {"x", "mask?", "inverse_temperature?"},
                  {"quantized", "indices", "aux_loss", "per_sample_entropy",
                   "batch_entropy", "commitment"})},
      {"VectorQuantize",
       entry<VectorQuantizeImpl, VectorQuantizeOptions, 2>(
           "Vector quantization with a codebook of moving averages.",
           {"dim", "codebook_size"}, {"x", "mask?"},
           {"quantized", "indices", "loss", "commitment"})}};
  return all;
}

}  // namespace tally::python
