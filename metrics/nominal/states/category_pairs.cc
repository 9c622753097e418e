#include "tally/metrics/nominal/states/category_pairs.h"

#include <c10/util/Exception.h>

#include "tally/metrics/checks.h"

namespace tally {

CategoryPairs::State CategoryPairs::observe(const at::Tensor& preds,
                                            const at::Tensor& target) const {
  internal::check_same_device("preds", preds, "target", target);
  const auto a =
      internal::nominal::categories_of("preds", preds, rules_, num_classes_);
  const auto b =
      internal::nominal::categories_of("target", target, rules_, num_classes_);
  TORCH_CHECK_VALUE(preds.size(0) == target.size(0),
                    "expected as many rows in preds and target, got ",
                    preds.sizes(), " and ", target.sizes());
  State state;
  const at::Tensor cells = internal::nominal::count_categories(a, b);
  if (cells.size(0) > 0) state.cells = Rows(cells.to(preds.device()));
  return state;
}

}  // namespace tally
