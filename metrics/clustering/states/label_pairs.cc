#include "tally/metrics/clustering/states/label_pairs.h"

#include "tally/metrics/clustering/inputs/inputs.h"
#include "tally/metrics/tables/label_range.h"

namespace tally {

LabelPairs::State LabelPairs::observe(const at::Tensor& preds,
                                      const at::Tensor& target) const {
  internal::clustering::check_label_pairs(preds, target);
  const auto plain = [](const at::Tensor& labels) {
    return labels.to(at::kCPU, at::kLong).contiguous().view(-1);
  };
  const at::Tensor rows = plain(preds);
  const at::Tensor columns = plain(target);
  internal::tables::check_label_range("preds", rows, num_classes_);
  internal::tables::check_label_range("target", columns, num_classes_);
  State state;
  if (rows.numel() > 0) {
    state.cells =
        Rows(internal::tables::count_pairs(rows, columns).to(preds.device()));
  }
  return state;
}

}  // namespace tally
