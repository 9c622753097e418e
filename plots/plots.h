#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tally {

/// Options of plots.
struct PlotOptions {
  /// Default: that of the plot, such as "ROC".
  TORCH_ARG(std::string, title);
  /// In pixels. Default: 480; the height follows.
  TORCH_ARG(double, width) = 480;
};

/// A named curve: tensors [N] of real numbers.
struct PlotCurve {
  std::string name;
  at::Tensor x;
  at::Tensor y;
  /// Bounds of y, such as those of pointwise intervals, drawn as a band; not of
  /// precision over recall, whose steps have none.
  at::Tensor low = {};
  at::Tensor high = {};
};

/// The value of a run, with the bounds of its interval if it has one.
struct PlotRun {
  std::string name;
  double value = 0;
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

// Plots of results, as static SVG of one element: text that a browser shows and
// a page can contain. Each has a title and a description for screen readers.
// Series differ in color, dashes and marker, so that color alone tells nothing;
// colors reach a contrast of 3:1 on the white ground. Curves are drawn with as
// few points as half a pixel allows; areas are those of the whole curve.
//
// Throw c10::ValueError for tensors of other sizes, no curve at all, and more
// than 8 of them; c10::TypeError for complex numbers. NaN and infinities are
// not drawn: they interrupt a curve.

/// Receiver operating characteristic: x the false, y the true positive rate,
/// with the diagonal, and the area under each curve.
///
/// Example:
///     BinaryROC roc;
///     roc.update(preds, target);
///     auto curve = roc.compute();
///     std::string svg = roc_plot({{"model", curve.fpr, curve.tpr}});
std::string roc_plot(const std::vector<PlotCurve>& curves,
                     const PlotOptions& options = {});

/// x the recall, y the precision: drawn as steps, as a precision is reached at
/// a recall and not between two, with the area of these steps (the average
/// precision), lines of equal F1, and the precision of chance, which is the
/// ratio `prevalence` of positives; NaN: not drawn.
std::string precision_recall_plot(const std::vector<PlotCurve>& curves,
                                  double prevalence,
                                  const PlotOptions& options = {});

/// Reliability of predicted probabilities [N] of targets [N] of 0 and 1: in
/// `bins` bins of about equally many rows (equal predictions share one), the
/// ratio of positives over the mean prediction, with its Wilson interval of
/// 95 %, and the histogram of the predictions below. Throws c10::ValueError for
/// predictions outside of [0, 1], or other targets.
std::string calibration_plot(const at::Tensor& preds, const at::Tensor& target,
                             std::int64_t bins = 10,
                             const PlotOptions& options = {});

/// A matrix [C, C] of counts, rows the true and columns the predicted classes.
/// Cells are colored by their part of the row in matplotlib's cividis, and
/// contain the count where it fits. `class_names`: those of the classes; by
/// default they are numbered.
std::string confusion_matrix_plot(
    const at::Tensor& matrix, const std::vector<std::string>& class_names = {},
    const PlotOptions& options = {});

/// A bar for each element of `values` [C], from 0, and a line from `low` to
/// `high` [C] where there are intervals. `class_names` as above.
std::string bar_plot(const at::Tensor& values,
                     const std::vector<std::string>& class_names = {},
                     const PlotOptions& options = {},
                     const at::Tensor& low = {}, const at::Tensor& high = {});

/// Values over steps: x the step, y the value.
std::string steps_plot(const std::vector<PlotCurve>& curves,
                       const PlotOptions& options = {});

/// Values from 0 to 1 over the number k of documents that are retrieved, such
/// as precision, recall and NDCG at k.
std::string retrieval_plot(const std::vector<PlotCurve>& curves,
                           const PlotOptions& options = {});

/// What is left of targets [N] over predictions [N], target - prediction. Of
/// points that hide each other, one is drawn.
std::string residuals_plot(const at::Tensor& preds, const at::Tensor& target,
                           const PlotOptions& options = {});

/// Predictions [N] over targets [N] on equal axes, with the diagonal.
std::string predicted_plot(const at::Tensor& preds, const at::Tensor& target,
                           const PlotOptions& options = {});

/// A value of several runs, one below the other, on an axis that need not begin
/// at 0. Throws c10::ValueError for an interval that does not contain its
/// value.
std::string runs_plot(const std::vector<PlotRun>& runs,
                      const PlotOptions& options = {});

}  // namespace tally
