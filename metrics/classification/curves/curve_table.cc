#include "tally/metrics/classification/curves/curve_table.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>

namespace tally::internal::classification {

std::vector<CurvePoints> all_points(const CurveView& view, Average average) {
  const PointReader read(view);
  if (average == Average::kMicro ||
      view.shape.task == CurveShape::Task::kBinary) {
    std::vector<CurvePoints> points;
    points.push_back(read(pooled_counts(view)));
    return points;
  }
  std::vector<CurvePoints> points(view.shape.curves);
  visit_counts(view,
               [&](std::int64_t c, const std::optional<ScoreCounts>& counts) {
                 points[c] = read(counts);
               });
  return points;
}

PaddedRows::PaddedRows(std::int64_t rows, std::int64_t columns)
    : matrix_(at::empty({rows, columns}, at::kDouble)),
      data_(matrix_.mutable_data_ptr<double>()),
      columns_(columns) {
  std::fill_n(data_, rows * columns, std::numeric_limits<double>::quiet_NaN());
}

at::Tensor PaddedRows::tensor(bool one_row) const {
  return one_row ? matrix_.select(0, 0) : matrix_;
}

at::Tensor to_tensor(const std::vector<double>& values) {
  const at::Tensor tensor =
      at::empty({static_cast<std::int64_t>(values.size())}, at::kDouble);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<double>());
  return tensor;
}

void check_curve_average(const char* metric, Average average) {
  TORCH_CHECK_VALUE(average != Average::kWeighted, metric,
                    ": expected average micro, macro or none, got weighted");
}

}  // namespace tally::internal::classification
