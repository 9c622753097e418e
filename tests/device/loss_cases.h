#pragma once

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// A case of each loss, for tests on the pretend device.
namespace tally::losses::device_cases {

using Tensors = std::vector<at::Tensor>;

inline at::Tensor normal(at::IntArrayRef sizes) {
  return at::randn(sizes, at::kDouble);
}
inline at::Tensor scale() { return at::full({}, 5.0, at::kDouble); }
inline at::Tensor labels(std::int64_t rows, std::int64_t classes) {
  return at::arange(rows, at::kLong).remainder(classes);
}

inline Tensors classes() { return {normal({12, 4}), labels(12, 4)}; }
inline Tensors scores() { return {at::rand({12}, at::kDouble), labels(12, 2)}; }
inline Tensors slates() {
  return {normal({3, 4}), labels(12, 5).remainder(3).view({3, 4})};
}
inline Tensors views() { return {normal({6, 4}), normal({6, 4})}; }

inline Tensors with(Tensors inputs, const Tensors& more) {
  inputs.insert(inputs.end(), more.begin(), more.end());
  return inputs;
}

inline at::Tensor boxes() {
  const at::Tensor corners = normal({6, 2});
  return at::cat({corners, corners + normal({6, 2}).exp()}, 1);
}

struct Case {
  std::string text;
  std::function<Tensors()> inputs;  // those that may be left out, undefined
};

inline const std::vector<Case> kCases{
    {"AUCMLoss", scores},
    {"AUCMLoss(learned=true)", scores},
    {"ApproxNDCGLoss", [] { return with(slates(), {{}}); }},
    {"BalancedAccuracyLoss", classes},
    {"BarlowTwinsLoss", views},
    {"BoxOverlapLoss",
     [] {
       return Tensors{boxes(), boxes()};
     }},
    {"ClipLoss",
     [] {
       return with(views(), {scale(), {}});
     }},
    {"CoCaLoss(caption_loss_weight=2, clip_loss_weight=1)",
     [] {
       return with(views(),
                   {normal({6, 3, 5}), labels(18, 5).view({6, 3}), scale()});
     }},
    {"DCLLoss",
     [] {
       return with(views(), {{}, {}});
     }},
    {"DCLWLoss", views},
    {"DiceLoss", classes},
    {"DistillClipLoss",
     [] { return with(with(views(), {scale()}), with(views(), {scale()})); }},
    {"FBetaLoss", classes},
    {"FastAPLoss", [] { return with(scores(), {{}}); }},
    {"FastAPLoss", [] { return with(scores(), {labels(12, 3)}); }},
    {"FocalLoss", classes},
    {"FocalTverskyLoss", classes},
    {"GeneralizedDiceLoss", classes},
    {"GlobalCrossEntropyLoss", classes},
    {"GlobalCrossEntropyLoss(class_weights=[1,2,3,4], label_smoothing=0.1)",
     classes},
    {"JaccardLoss", classes},
    {"LFQ(dim=4)",
     [] {
       return Tensors{normal({2, 3, 4}), {}, {}};
     }},
    {"LambdaLoss", [] { return with(slates(), {{}}); }},
    {"ListNetLoss", [] { return with(slates(), {{}}); }},
    {"LovaszHingeLoss", scores},
    {"LovaszSoftmaxLoss", classes},
    {"MMCELoss", classes},
    {"MatthewsLoss", classes},
    {"NTXentLoss", views},
    {"NTXentLoss(memory_bank_size=16, memory_bank_dim=4)", views},
    {"PairwiseAUCLoss", scores},
    {"PartialAUCLoss", scores},
    {"SigLipLoss",
     [] {
       return with(views(), {scale(), scale().neg()});
     }},
    {"SmoothAPLoss", [] { return with(scores(), {{}}); }},
    {"SoftCalibrationLoss", classes},
    {"SoftRank",
     [] {
       return Tensors{normal({3, 5})};
     }},
    {"SoftSort",
     [] {
       return Tensors{normal({3, 5})};
     }},
    {"SoftSpearmanLoss",
     [] {
       return Tensors{normal({12}), normal({12})};
     }},
    {"SupConLoss",
     [] {
       return Tensors{normal({6, 2, 4}), labels(6, 3)};
     }},
    {"TverskyLoss", classes},
    {"VICRegLoss", views},
    {"VectorQuantize(dim=4, codebook_size=8)",
     [] {
       return Tensors{normal({2, 3, 4}), {}};
     }},
};

inline std::string name_of(const std::string& text) {
  return text.substr(0, text.find('('));
}

// What the loss is trained by: not targets, and not a teacher's features.
inline bool is_learned(const std::string& input, const at::Tensor& tensor) {
  return tensor.is_floating_point() && input != "target" &&
         input.rfind("teacher", 0) != 0;
}

}  // namespace tally::losses::device_cases
