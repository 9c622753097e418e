#pragma once

#include <cstdint>
#include <optional>

#include "tally/losses/common/label_inputs.h"
#include "tally/losses/common/rank_options.h"
#include "tally/metrics/average.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"
#include "tally/metrics/score_kind.h"

namespace tally {
namespace losses {

/// What a class costs that does not occur in target.
enum class AbsentClassLoss {
  kSmooth,  ///< what the formula gives, with smooth_nr and smooth_dr
  kZero,    ///< 0; it counts in the mean over classes
  kSkip,    ///< nothing; it does not count in the mean
};

/// Options of all losses from soft counts.
template <class Self>
struct SoftCountsOptions : RankOptions<Self> {
  TALLY_INHERITED_ARG(Self, LabelMode, mode) = LabelMode::kMulticlass;
  /// kLogits (sigmoid or softmax are applied) or kProbabilities, which are used
  /// as they are.
  TALLY_INHERITED_ARG(Self, ScoreKind, input) = ScoreKind::kLogits;
  /// Whether counts are those of the global batch. Otherwise each sample has
  /// its own, and the result is the mean over the samples of all ranks.
  TALLY_INHERITED_ARG(Self, bool, batch) = true;
  /// For labels between 0 and 1: whether a position has min(p, y) in common,
  /// which makes p = y the best prediction, instead of p * y.
  TALLY_INHERITED_ARG(Self, bool, soft_labels) = false;
  TALLY_INHERITED_ARG(Self, AbsentClassLoss, absent) = AbsentClassLoss::kSmooth;
  /// Whether class 0 counts as well. A class that is alone always counts.
  TALLY_INHERITED_ARG(Self, bool, include_background) = true;
  /// Positions with this integer target do not count.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>,
                      ignore_index) = std::nullopt;
  TALLY_INHERITED_ARG(Self, double, smooth_nr) = 1e-5;
  TALLY_INHERITED_ARG(Self, double, smooth_dr) = 1e-5;

 public:
  void visit(OptionVisitor& v) {
    v("mode", mode_, tally::internal::words::kLabelMode);
    v("input", input_, tally::internal::words::kScores);
    v("batch", batch_,
      "Counts over all samples together; false: for each sample.");
    v("soft_labels", soft_labels_,
      "Whether the overlap of a position is min(p, y) instead of p y.");
    v("absent", absent_, "How a class that no target has is handled.");
    v("include_background", include_background_,
      "Whether class 0 counts as well.");
    v("ignore_index", ignore_index_, tally::internal::words::kIgnoredTargets);
    v("smooth_nr", smooth_nr_, "Added to numerators.");
    v("smooth_dr", smooth_dr_, "Added to denominators.");
  }
};

/// The same of losses with a value for each class.
template <class Self>
struct ClassCountsOptions : SoftCountsOptions<Self> {
  /// kMacro, the mean over classes; kWeighted, by how often they are the
  /// target; kMicro, the loss of the counts of all classes together; kNone, one
  /// loss for each class.
  TALLY_INHERITED_ARG(Self, Average, average) = Average::kMacro;

 public:
  void visit(OptionVisitor& v) {
    SoftCountsOptions<Self>::visit(v);
    v.first<kClassAverages>("average", average_, OptionRole::kState,
                            "How the losses of classes are averaged.");
  }
};

}  // namespace losses

template <>
struct EnumNames<losses::AbsentClassLoss> {
  static constexpr const char* kNames[] = {"smooth", "zero", "skip"};
};

}  // namespace tally
