#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "tally/metrics/results.h"
#include "tally/metrics/slices/slice_comparison.h"
#include "tally/metrics/slices/sliced_metric.h"
#include "tally/plots/plots.h"
#include "tally/report/report_page.h"

namespace tally {

/// The ends of a result's interval, of its shape.
struct ReportInterval {
  at::Tensor low;
  at::Tensor high;
};
/// Those of results that are numbers or vectors, by name.
using ReportIntervals = std::map<std::string, ReportInterval>;

// Each adds what it describes to the page's current section. Charts are 400
// pixels wide, or as wide as the screen. `class_names` name classes where there
// are as many.

/// All results: single numbers as a table; vectors of equal length as a table
/// of classes, and as bars up to 30; both with the ends of their intervals;
/// square matrices of counts, and curves (parts `fpr` and `tpr`, `precision`
/// and `recall`, also over `top_k`) as charts; of other tensors dtype and
/// sizes.
///
/// Example:
///     MetricCollection metrics;
///     metrics.add("confusion", MulticlassConfusionMatrix(10));
///     metrics.update(preds, target);
///     ReportPage page("Digits");
///     page.section("Results");
///     add_results(page, metrics.compute());
void add_results(ReportPage& page, const Results& results,
                 const std::vector<std::string>& class_names = {},
                 const ReportIntervals& intervals = {});

/// The slices' rows and single numbers as a table. `columns` name the values of
/// keys.
void add_slices(ReportPage& page, const std::vector<std::string>& columns,
                const std::vector<SliceResult>& slices);

/// How a metric's value in each slice compares with that of all other rows, the
/// worst first: up to 50. `unit` is what is drawn as a whole
/// (SliceComparison::unit()); others than rows are counted.
void add_compared_slices(ReportPage& page, const std::string& metric,
                         const std::vector<ComparedSlice>& slices,
                         const std::string& unit = "row");

// Charts with their numbers as a table; see plots/plots.h for their arguments.
// Tables of curves have the points that are drawn, those of matrices above 30
// classes the 100 largest counts off the diagonal.

void add_roc(ReportPage& page, const std::vector<PlotCurve>& curves,
             const std::string& title = "ROC");
void add_precision_recall(ReportPage& page,
                          const std::vector<PlotCurve>& curves,
                          double prevalence,
                          const std::string& title = "Precision and recall");
void add_confusion_matrix(ReportPage& page, const at::Tensor& matrix,
                          const std::vector<std::string>& class_names = {},
                          const std::string& title = "Confusion matrix");
void add_calibration(ReportPage& page, const at::Tensor& preds,
                     const at::Tensor& target,
                     const std::string& title = "Calibration");
/// Residuals over predictions, and predictions over targets.
void add_residuals(ReportPage& page, const at::Tensor& preds,
                   const at::Tensor& target,
                   const std::string& title = "Residuals");
void add_predicted(ReportPage& page, const at::Tensor& preds,
                   const at::Tensor& target,
                   const std::string& title = "Predicted and true");
/// Over the number of documents.
void add_retrieval(ReportPage& page, const std::vector<PlotCurve>& curves,
                   const std::string& title);
void add_steps(ReportPage& page, const std::vector<PlotCurve>& curves,
               const std::string& title);
/// An interval that does not contain its value is in the table alone.
void add_runs(ReportPage& page, const std::vector<PlotRun>& runs,
              const std::string& title);

}  // namespace tally
