#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "tally/plots/calibration_bins.h"
#include "tally/plots/thin.h"
#include "tally/report/results_report.h"

namespace tally {
namespace {

constexpr double kWidth = 400;
constexpr std::int64_t kMostShown = 30;  // classes of a matrix as a table
constexpr std::size_t kMostErrors = 100;

PlotOptions titled(const std::string& title) {
  return PlotOptions().title(title).width(kWidth);
}

std::vector<double> numbers_of(const at::Tensor& tensor) {
  const at::Tensor numbers =
      tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const auto* first = static_cast<const double*>(numbers.data_ptr());
  return {first, first + numbers.numel()};
}

/// The points that a curve is drawn with, in the unit square.
void add_points(ReportTable& table, const PlotCurve& curve) {
  const std::vector<double> x = numbers_of(curve.x), y = numbers_of(curve.y);
  std::vector<internal::PlotPoint> points;
  for (std::size_t i = 0; i < x.size(); ++i) {
    points.push_back({x[i] * kWidth, y[i] * kWidth});
  }
  for (const auto& point : internal::thinned(points, 0.5)) {
    table.rows.push_back({curve.name, point.x / kWidth, point.y / kWidth});
  }
}

ReportTable points_of(const std::vector<PlotCurve>& curves,
                      const std::string& title, const char* x, const char* y) {
  ReportTable table{title, {"curve", x, y}, {}};
  for (const PlotCurve& curve : curves) add_points(table, curve);
  return table;
}

std::string label_of(const std::vector<std::string>& labels, std::int64_t i) {
  return labels.empty() ? std::to_string(i)
                        : labels[static_cast<std::size_t>(i)];
}

ReportCell count_cell(double count) {
  if (count == std::floor(count) && std::abs(count) < 1e15) {
    return static_cast<std::int64_t>(count);
  }
  return count;
}

/// The largest counts off the diagonal.
ReportTable errors_of(const std::vector<double>& counts, std::int64_t classes,
                      const std::vector<std::string>& labels,
                      const std::string& title) {
  std::vector<std::pair<double, std::int64_t>> order;
  for (std::int64_t i = 0; i < classes * classes; ++i) {
    const double count = counts[static_cast<std::size_t>(i)];
    if (i / classes != i % classes && count > 0) order.emplace_back(-count, i);
  }
  std::sort(order.begin(), order.end());
  order.resize(std::min(order.size(), kMostErrors));
  ReportTable table{title, {"true", "predicted", "rows"}, {}};
  for (const auto& [count, i] : order) {
    table.rows.push_back({label_of(labels, i / classes),
                          label_of(labels, i % classes), count_cell(-count)});
  }
  return table;
}

}  // namespace

void add_roc(ReportPage& page, const std::vector<PlotCurve>& curves,
             const std::string& title) {
  page.chart(
      roc_plot(curves, titled(title)),
      points_of(curves, title, "false positive rate", "true positive rate"));
}

void add_precision_recall(ReportPage& page,
                          const std::vector<PlotCurve>& curves,
                          double prevalence, const std::string& title) {
  page.chart(precision_recall_plot(curves, prevalence, titled(title)),
             points_of(curves, title, "recall", "precision"));
}

void add_confusion_matrix(ReportPage& page, const at::Tensor& matrix,
                          const std::vector<std::string>& labels,
                          const std::string& title) {
  const std::string svg = confusion_matrix_plot(matrix, labels, titled(title));
  const std::vector<double> counts = numbers_of(matrix);
  const std::int64_t classes = matrix.size(0);
  if (classes > kMostShown) {
    page.chart(svg, errors_of(counts, classes, labels, title));
    return;
  }
  ReportTable table{
      title + ": rows are true, columns predicted classes", {"true"}, {}};
  for (std::int64_t i = 0; i < classes; ++i) {
    table.columns.push_back(label_of(labels, i));
    table.rows.push_back({label_of(labels, i)});
    for (std::int64_t j = 0; j < classes; ++j) {
      table.rows.back().push_back(
          count_cell(counts[static_cast<std::size_t>(i * classes + j)]));
    }
  }
  page.chart(svg, table);
}

void add_calibration(ReportPage& page, const at::Tensor& preds,
                     const at::Tensor& target, const std::string& title) {
  constexpr std::int64_t kBins = 10;
  const std::string svg = calibration_plot(preds, target, kBins, titled(title));
  ReportTable table{
      title, {"mean prediction", "positives", "low", "high", "rows"}, {}};
  for (const internal::CalibrationBin& bin : internal::calibration_bins(
           numbers_of(preds), numbers_of(target), kBins)) {
    table.rows.push_back(
        {bin.mean, bin.ratio, bin.low, bin.high, count_cell(bin.rows)});
  }
  page.chart(svg, table);
}

namespace {

void add_pairs(ReportPage& page, const std::string& svg,
               const std::string& title, const at::Tensor& preds,
               const at::Tensor& target) {
  ReportTable table{title, {"predicted", "true", "residual"}, {}};
  const std::vector<double> p = numbers_of(preds), t = numbers_of(target);
  for (std::size_t i = 0; i < p.size(); ++i) {
    table.rows.push_back({p[i], t[i], t[i] - p[i]});
  }
  page.chart(svg, table);
}

/// A row for each x, which curves need not share, and a column for each curve
/// and the ends of its band.
ReportTable values_of(const std::vector<PlotCurve>& curves,
                      const std::string& title, const char* x_name) {
  ReportTable table{title, {x_name}, {}};
  std::map<double, std::vector<ReportCell>> rows;
  const auto add = [&](const std::string& column, const at::Tensor& places,
                       const at::Tensor& numbers) {
    const std::vector<double> x = numbers_of(places), y = numbers_of(numbers);
    for (std::size_t i = 0; i < x.size(); ++i) {
      auto& row = rows[x[i]];
      if (row.empty()) row.push_back(count_cell(x[i]));
      row.resize(table.columns.size(), "");
      row.push_back(y[i]);
    }
    table.columns.push_back(column);
  };
  for (const PlotCurve& curve : curves) {
    add(curve.name, curve.x, curve.y);
    if (!curve.low.defined() || !curve.high.defined()) continue;
    add(curve.name + " low", curve.x, curve.low);
    add(curve.name + " high", curve.x, curve.high);
  }
  for (auto& [step, row] : rows) {
    row.resize(table.columns.size(), "");
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

void add_residuals(ReportPage& page, const at::Tensor& preds,
                   const at::Tensor& target, const std::string& title) {
  add_pairs(page, residuals_plot(preds, target, titled(title)), title, preds,
            target);
}

void add_predicted(ReportPage& page, const at::Tensor& preds,
                   const at::Tensor& target, const std::string& title) {
  add_pairs(page, predicted_plot(preds, target, titled(title)), title, preds,
            target);
}

void add_retrieval(ReportPage& page, const std::vector<PlotCurve>& curves,
                   const std::string& title) {
  page.chart(retrieval_plot(curves, titled(title)),
             values_of(curves, title, "documents"));
}

void add_steps(ReportPage& page, const std::vector<PlotCurve>& curves,
               const std::string& title) {
  page.chart(steps_plot(curves, titled(title)),
             values_of(curves, title, "step"));
}

void add_runs(ReportPage& page, const std::vector<PlotRun>& runs,
              const std::string& title) {
  const bool has_intervals =
      std::any_of(runs.begin(), runs.end(), [](const PlotRun& run) {
        return !std::isnan(run.low) || !std::isnan(run.high);
      });
  ReportTable table{title, {"run", "value"}, {}};
  if (has_intervals) table.columns.insert(table.columns.end(), {"low", "high"});
  std::vector<PlotRun> drawn = runs;
  for (PlotRun& run : drawn) {
    table.rows.push_back({run.name, run.value});
    if (has_intervals) {
      table.rows.back().push_back(run.low);
      table.rows.back().push_back(run.high);
    }
    if (run.low > run.value || run.high < run.value) {
      run.low = run.high = std::nan("");
    }
  }
  page.chart(runs_plot(drawn, titled(title)), table);
}

}  // namespace tally
