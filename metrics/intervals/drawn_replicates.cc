#include "tally/metrics/intervals/drawn_replicates.h"

#include <ATen/ops/empty.h>

#include <algorithm>

namespace tally::internal::intervals {

std::optional<Replicates> drawn_replicates(const IntervalEngine& engine,
                                           const AnyState& state,
                                           std::int64_t rows,
                                           std::int64_t digest) {
  const auto drawn = engine.draw(state, rows);
  if (!drawn) return std::nullopt;
  Replicates replicates;
  replicates.metric = engine.metric().repr();
  replicates.method = engine.method();
  replicates.seed = engine.options().seed();
  replicates.n = rows;
  replicates.digest = digest;
  const std::int64_t count = engine.method() == IntervalMethod::kJackknife
                                 ? engine.options().blocks()
                                 : engine.options().replicates();
  auto element = drawn->replicates.begin();
  for (const auto& [name, value] : drawn->value.results) {
    const std::int64_t elements = value.numel();
    at::Tensor numbers = at::empty({elements, count}, at::kDouble);
    auto* into = numbers.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < elements; ++i, ++element) {
      into = std::copy(element->begin(), element->end(), into);
    }
    auto sizes = value.sizes().vec();
    sizes.insert(sizes.begin(), count);
    replicates.values.add(name, value);
    replicates.replicates.add(name, numbers.t().contiguous().reshape(sizes));
  }
  return replicates;
}

}  // namespace tally::internal::intervals
