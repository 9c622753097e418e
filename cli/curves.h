#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tally/cli/evaluate.h"
#include "tally/metrics/collection.h"
#include "tally/plots/plots.h"
#include "tally/sync/communicator.h"

namespace tally::cli {

/// What a report shows of a classifier beside the metrics asked for.
struct CurvesShown {
  /// Why there is less than that; empty otherwise.
  std::string remark;
  std::vector<PlotCurve> roc;
  std::vector<PlotCurve> precision_recall;
  double prevalence = 0;    ///< NaN for several classes
  at::Tensor confusion;     ///< undefined if there is none
  std::string calibration;  ///< what is calibrated; empty: nothing
  at::Tensor preds;         ///< probabilities [N], and whether they came true
  at::Tensor target;
};

/// Evaluates curves, confusion matrix and calibration of the rows that metrics
/// of classification read, with the options that these have. Whatever refuses
/// the rows is omitted from the report, which says why.
class Curves final : public Watcher {
 public:
  explicit Curves(std::vector<std::string> labels)
      : labels_(std::move(labels)) {}

  void begin(const Job& job) override;
  void batch(std::int64_t first, const std::vector<InputValue>& values,
             const SliceKeys* keys) override;
  /// Over all ranks. Collective.
  CurvesShown compute(const std::shared_ptr<sync::Communicator>& ranks);

 private:
  void choose(const Job& job);
  void add_members(const Job& job);
  bool is_input(const char* kind) const;
  at::Tensor input(const std::vector<InputValue>& values, const char* name,
                   std::size_t position) const;
  void update(const std::vector<InputValue>& values);
  void update_confidence(const at::Tensor& preds, const at::Tensor& target);
  std::vector<PlotCurve> curves_of(const Results& results,
                                   const std::string& name, const char* x,
                                   const char* y) const;
  void add_calibration(const Results& results, const at::Tensor& totals,
                       CurvesShown& shown) const;

  std::vector<std::string> labels_;
  std::string failure_;
  MetricTask task_ = MetricTask::kNone;
  CollectionConfig::Member member_;  // the first of this task
  std::map<std::string, std::string> options_;
  std::vector<std::string> names_;  // of inputs, in their order
  std::int64_t classes_ = 0;
  bool has_scores_ = false;
  bool averages_ = false;  // instead of a curve per class
  bool has_weight_ = false;
  MetricCollection metrics_;
  bool confides_ = false;        // whether there is what follows
  MetricCollection confidence_;  // of the highest score, that it is right
  MetricCollection right_;
};

}  // namespace tally::cli
