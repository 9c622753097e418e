#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "tally/losses/common/label_inputs.h"
#include "tally/losses/common/loss_module.h"
#include "tally/losses/common/rank_options.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"
#include "tally/metrics/score_kind.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for SoftCalibrationLoss.
struct SoftCalibrationLossOptions : RankOptions<SoftCalibrationLossOptions> {
  /// kBinary or kMulticlass.
  TORCH_ARG(LabelMode, mode) = LabelMode::kMulticlass;
  /// kLogits (sigmoid or softmax are applied) or kProbabilities.
  TORCH_ARG(ScoreKind, input) = ScoreKind::kLogits;
  TORCH_ARG(std::int64_t, n_bins) = 15;
  /// The softer bins are, the larger.
  TORCH_ARG(double, temperature) = 0.01;
  /// The power of differences, 1 or 2.
  TORCH_ARG(std::int64_t, norm) = 2;

 public:
  /// Until 0.2.0.
  auto& num_bins(std::int64_t count) { return n_bins(count); }
  void visit(OptionVisitor& v) {
    v("mode", mode_, tally::internal::words::kLabelMode);
    v("input", input_, tally::internal::words::kScores);
    v("n_bins", n_bins_, "Number of soft bins over [0, 1].");
    v("temperature", temperature_, "Softness of the borders of bins.");
    v("norm", norm_, "Exponent of the gaps of the bins.");
  }
};

/// The expected calibration error with soft bins, added to another loss.
///
///   u_j = softmax over bins of -(c - center_j)^2 / temperature,
///   loss = (sum_j S_j / M * |A_j - C_j|^norm)^(1 / norm)
/// for M samples with a confidence c, where S_j is the sum of u_j, and A_j and
/// C_j are the accuracy and the mean confidence, weighted by u_j. Confidence
/// and accuracy are the largest probability and whether its class is the
/// target; with kBinary, the probability and the label.
///
/// forward(preds, target) takes this rank's scores, [N, C, ...] or [N, ...], of
/// any floating dtype, computed in float32 or wider regardless of autocast, and
/// integer or bool labels [N, ...]. N may differ between ranks and be 0. Bins
/// are those of the samples of all ranks: three numbers for each are sent, none
/// in backward. Memory: n_bins numbers for each sample.
///
/// The result is one number, the same on every rank; 0, with zero gradients, if
/// no rank has samples. Gradients: averaged over the ranks, those of parameters
/// equal those of one process with all samples, including second-order
/// gradients; 0 where the loss is 0. NaN scores give NaN.
///
/// Throws c10::ValueError for invalid arguments, while the other ranks throw
/// SyncError kPeerFailed. Karandikar et al., arXiv 2108.00106.
///
/// Example:
///     losses::SoftCalibrationLoss calibration;
///     calibration->forward(model->forward(x), target).backward();
///     sync::average_gradients(model->parameters());
class SoftCalibrationLossImpl
    : public internal::LossModule<SoftCalibrationLossImpl,
                                  SoftCalibrationLossOptions> {
 public:
  static constexpr const char* kName = "SoftCalibrationLoss";
  static constexpr LossSummary kSummary{
      "The expected calibration error with soft bins, over all ranks.",
      "preds, target",
      "",
      "soft ece",
      R"(\left( \sum_b \frac{n_b}{N} |acc_b - conf_b|^p \right)^{1/p})",
      "Karandikar et al. 2021"};

  explicit SoftCalibrationLossImpl(
      SoftCalibrationLossOptions options = SoftCalibrationLossOptions());

  at::Tensor forward(const at::Tensor& preds, const at::Tensor& target);
};

TORCH_MODULE(SoftCalibrationLoss);

namespace functional {

/// See SoftCalibrationLoss.
at::Tensor soft_calibration_loss(
    const at::Tensor& preds, const at::Tensor& target,
    const SoftCalibrationLossOptions& options = {});

}  // namespace functional
extern template class internal::LossModule<SoftCalibrationLossImpl,
                                           SoftCalibrationLossOptions>;

}  // namespace tally::losses

extern template class torch::nn::Cloneable<
    tally::losses::SoftCalibrationLossImpl>;
