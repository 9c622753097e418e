#include "tally/metrics/wrappers/stacked_results.h"

#include <ATen/ops/stack.h>

#include <utility>

namespace tally::internal {

Results stacked(const std::vector<Results>& several, const char* owner,
                Dimension what) {
  Results all;
  for (const auto& [name, first] : several.front()) {
    std::vector<at::Tensor> values;
    for (const Results& results : several) {
      TORCH_CHECK_VALUE(
          results.contains(name) && results.size() == several.front().size(),
          owner, ": expected the same results of every ", to_string(what));
      const at::Tensor& value = results.at(name);
      TORCH_CHECK_VALUE(value.sizes() == first.sizes(), owner,
                        ": expected results of the same sizes of every ",
                        to_string(what), ", got ", first.sizes(), " and ",
                        value.sizes());
      values.push_back(value);
    }
    Dimensions dimensions = several.front().dimensions(name);
    dimensions.insert(dimensions.begin(), what);
    all.add(name, at::stack(values), std::move(dimensions));
  }
  return all;
}

}  // namespace tally::internal
