#include "tally/metrics/intervals/resampling_engine.h"

#include <c10/util/Exception.h>

#include <string>
#include <utility>

#include "tally/metrics/core/sorted_rows.h"
#include "tally/metrics/intervals/jackknife_engine.h"
#include "tally/metrics/resampling/jackknife.h"
#include "tally/metrics/resampling/philox.h"
#include "tally/state/state_parts.h"

namespace tally::internal::intervals {

ResamplingEngine::ResamplingEngine(std::unique_ptr<Metric> metric,
                                   const IntervalOptions& options)
    : IntervalEngine(std::move(metric), options),
      weights_(options.seed(),
               options.method() == IntervalMethod::kDoubleOrNothing
                   ? WeightKind::kDoubleOrNothing
                   : WeightKind::kPoisson,
               options.replicates()) {}

IntervalMethod ResamplingEngine::method() const {
  return weights_.kind() == WeightKind::kPoisson
             ? IntervalMethod::kPoisson
             : IntervalMethod::kDoubleOrNothing;
}

StateKey ResamplingEngine::key() const {
  return "Replicates(" + std::to_string(options_.replicates()) +
         ", seed=" + std::to_string(options_.seed()) + ", " +
         text_of(method()) + "; " + metric_->state_key() + ")";
}

AnyState ResamplingEngine::identity_with(AnyState resampled) const {
  return AnyState::of(StateParts(
      {{"whole", metric_->make_state()}, {"resampled", std::move(resampled)}}));
}

const AnyState& ResamplingEngine::whole(const AnyState& state) {
  return state.get<StateParts>().parts()[0];
}

const AnyState& ResamplingEngine::resampled(const AnyState& state) {
  return state.get<StateParts>().parts()[1];
}

std::vector<double> ResamplingEngine::accelerations(const AnyState&,
                                                    std::size_t values) const {
  return std::vector<double>(values, 0);
}

std::optional<DrawnResult> ResamplingEngine::draw(const AnyState& state,
                                                  std::int64_t n) const {
  if (n == 0) return std::nullopt;
  return DrawnResult{flat_result(*metric_, whole(state)), replicates(state, n)};
}

Intervals ResamplingEngine::intervals(const AnyState& state,
                                      std::int64_t n) const {
  const FlatResult value = flat_result(*metric_, whole(state));
  auto drawn = replicates(state, n);
  std::vector<double> skews(drawn.size(), 0);
  if (options_.ends() == ReplicateInterval::kBca) {
    skews = accelerations(state, drawn.size());
  }
  std::vector<Bounds> bounds;
  for (std::size_t v = 0; v < drawn.size(); ++v) {
    bounds.push_back(replicate_bounds(value.values[v], drawn[v],
                                      options_.ends(), options_.level(),
                                      skews[v]));
  }
  return make_intervals(value, bounds, unfilled(n, options_.replicates()));
}

AnyState JackknifeEngine::identity() const {
  std::vector<std::pair<std::string, AnyState>> blocks;
  for (std::int64_t i = 0; i < options_.blocks(); ++i) {
    blocks.emplace_back(std::to_string(i), metric_->make_state());
  }
  return AnyState::of(StateParts(std::move(blocks)));
}

StateKey JackknifeEngine::key() const {
  return "Jackknife(blocks=" + std::to_string(options_.blocks()) +
         ", seed=" + std::to_string(options_.seed()) + "; " +
         metric_->state_key() + ")";
}

AnyState JackknifeEngine::observe(Inputs inputs,
                                  const std::vector<std::int64_t>& ids) const {
  std::vector<std::int64_t> codes;
  codes.reserve(ids.size());
  for (const std::int64_t id : ids) {
    codes.push_back(block_of(options_.seed(), id, options_.blocks()));
  }
  AnyState batch = identity();
  auto& states = batch.get<StateParts>().parts();
  const auto observe_one = [&](std::size_t block, Inputs own) {
    metric_->observe_into(states[block], own, BatchOrigin());
  };
  bool has_rows = false;
  for (const InputRef& input : inputs) has_rows = has_rows || input.rows() >= 0;
  if (!has_rows || ids.empty()) {
    observe_one(ids.empty() ? 0 : static_cast<std::size_t>(codes[0]), inputs);
    return batch;
  }
  const SortedRows sorted(codes, states.size(), inputs);
  for (std::size_t block = 0; block < states.size(); ++block) {
    sorted.use(block, [&](Inputs own, std::int64_t rows) {
      if (rows > 0) observe_one(block, own);
    });
  }
  return batch;
}

DrawnResult JackknifeEngine::values_of(const AnyState& state) const {
  const auto& blocks = state.get<StateParts>().parts();
  const std::string owner = metric_->name();
  const std::vector<AnyState> rests =
      without_each(metric_->make_state(), blocks, owner.c_str());
  DrawnResult drawn;
  drawn.value = flat_result(*metric_, rests.back());
  const std::size_t count = drawn.value.values.size();
  drawn.replicates.assign(count, std::vector<double>(blocks.size()));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const FlatResult each = flat_result(*metric_, rests[i]);
    TORCH_CHECK_VALUE(each.values.size() == count, owner,
                      ": expected a result whose size does not depend on the "
                      "data, got ",
                      count, " and ", each.values.size(), " numbers");
    for (std::size_t v = 0; v < count; ++v) {
      drawn.replicates[v][i] = each.values[v];
    }
  }
  return drawn;
}

std::optional<DrawnResult> JackknifeEngine::draw(const AnyState& state,
                                                 std::int64_t n) const {
  if (n == 0) return std::nullopt;
  return values_of(state);
}

Intervals JackknifeEngine::intervals(const AnyState& state,
                                     std::int64_t n) const {
  const DrawnResult drawn = values_of(state);
  std::vector<Bounds> bounds;
  for (std::size_t v = 0; v < drawn.replicates.size(); ++v) {
    bounds.push_back(jackknife_bounds(drawn.value.values[v],
                                      drawn.replicates[v], options_.level()));
  }
  return make_intervals(drawn.value, bounds, unfilled(n, options_.blocks()));
}

}  // namespace tally::internal::intervals
