#include "tally/metrics/intervals/replicate_engine.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tally/metrics/core/sorted_rows.h"
#include "tally/metrics/intervals/state_checks.h"
#include "tally/metrics/intervals/weighted_sums.h"
#include "tally/metrics/progress.h"
#include "tally/state/state_parts.h"

namespace tally::internal::intervals {
ReplicateSums::ReplicateSums(std::size_t fields) : sums(fields) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < fields; ++i) {
    texts.push_back("replicates" + std::to_string(i));
  }
  names = std::make_shared<const std::vector<std::string>>(std::move(texts));
}

void ReplicateSums::fields(Fields& f) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    f((*names)[i].c_str(), sums[i]);
  }
  f("weights", weights);
}

AnyState ReplicateEngine::identity() const {
  return identity_with(
      AnyState::of(ReplicateSums(metric_->make_state().fields().size())));
}

at::Tensor ReplicateEngine::rows_of(const RowSums& reader,
                                    const AnyState& batch, Inputs inputs,
                                    std::size_t count) const {
  const auto rows = static_cast<std::int64_t>(count);
  at::Tensor values = row_sums_ ? row_sums_(inputs) : at::Tensor();
  if (values.defined() && values.size(1) == reader.width()) return values;
  values = at::empty({rows, reader.width()}, at::kDouble);
  auto* into = values.mutable_data_ptr<double>();
  bool has_rows = false;
  for (const InputRef& input : inputs) has_rows = has_rows || input.rows() >= 0;
  if (!has_rows) {
    reader.read(batch, into);
    return values;
  }
  std::vector<std::int32_t> codes(count);
  std::iota(codes.begin(), codes.end(), std::int32_t{0});
  const SortedRows sorted(codes, count, inputs);
  for (std::size_t i = 0; i < count; ++i, into += reader.width()) {
    sorted.use(i, [&](Inputs own, std::int64_t) {
      AnyState one = metric_->make_state();
      metric_->observe_into(one, own, BatchOrigin());
      reader.read(one, into);
    });
  }
  return values;
}

AnyState ReplicateEngine::observe(Inputs inputs,
                                  const std::vector<std::int64_t>& ids) const {
  AnyState batch = identity();
  auto& parts = batch.get<StateParts>().parts();
  metric_->observe_into(parts[0], inputs, BatchOrigin());
  if (ids.empty()) return batch;
  const RowSums reader(parts[0]);
  const at::Tensor all = weighted_sums(
      weights_, ids,
      rows_of(reader, parts[0], inputs, ids.size()).const_data_ptr<double>(),
      reader.width());
  auto& sums = parts[1].get<ReplicateSums>();
  std::int64_t place = 0;
  for (std::size_t i = 0; i < reader.sizes().size(); ++i) {
    const std::int64_t size = reader.sizes()[i];
    if (size > 0) sums.sums[i] = all.narrow(0, place, size).clone();
    place += size;
  }
  sums.weights = all.select(0, place).clone();
  return batch;
}

std::vector<std::vector<double>> ReplicateEngine::replicates(
    const AnyState& state, std::int64_t n) const {
  const AnyState& own = whole(state);
  const FlatResult value = flat_result(*metric_, own);
  const auto& sums = resampled(state).get<ReplicateSums>();
  std::vector<std::vector<double>> values(value.values.size());
  if (!sums.weights.defined()) return values;
  AnyState both = own;
  merge(both, own, metric_->name().c_str());
  const FlatResult twice = flat_result(*metric_, both);
  const auto* const weights = sums.weights.const_data_ptr<double>();
  const RowSums writer(own);
  const std::int64_t count = options_.replicates();
  check_state_sizes("weights", sums.weights, {count});
  std::vector<double> drawn(static_cast<std::size_t>(writer.width() * count));
  std::int64_t place = 0;
  for (std::size_t i = 0; i < writer.sizes().size(); ++i) {
    const std::int64_t size = writer.sizes()[i];
    if (size > 0 && sums.sums[i].defined()) {
      const at::Tensor all = sums.sums[i].contiguous();
      check_state_sizes("replicates", all, {size, count});
      std::copy_n(all.const_data_ptr<double>(), size * count,
                  drawn.begin() + place * count);
    }
    place += size;
  }
  for (std::int64_t r = 0; r < count; ++r) {
    AnyState replicate = metric_->make_state();
    writer.write(drawn.data() + r, count, replicate);
    const FlatResult each = flat_result(*metric_, replicate);
    TORCH_CHECK_VALUE(each.values.size() == values.size(), metric_->name(),
                      ": expected a result whose size does not depend on the "
                      "data");
    for (std::size_t v = 0; v < values.size(); ++v) {
      const bool grows = doubles(value.values[v], twice.values[v]);
      values[v].push_back(grows ? each.values[v] * static_cast<double>(n) /
                                      weights[r]
                                : each.values[v]);
    }
    report_progress("replicates", r + 1, count);
  }
  return values;
}

}  // namespace tally::internal::intervals
