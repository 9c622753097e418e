#include "tally/metrics/text/entity_scores.h"

#include <string>

namespace tally {
namespace {

using internal::text::TypeCounts;

// A value of one type. Only of types without entities on one side does
// zero_division matter.
using Value = double (*)(const TypeCounts& counts, double zero_division);

double ratio(std::int64_t matches, std::int64_t total, double zero_division) {
  return total == 0 ? zero_division
                    : static_cast<double>(matches) / static_cast<double>(total);
}

double precision(const TypeCounts& counts, double zero_division) {
  return ratio(counts.matches, counts.preds, zero_division);
}

double recall(const TypeCounts& counts, double zero_division) {
  return ratio(counts.matches, counts.target, zero_division);
}

double f1(const TypeCounts& counts, double zero_division) {
  const double p = precision(counts, zero_division);
  const double r = recall(counts, zero_division);
  return p + r == 0 ? 0 : 2 * p * r / (p + r);
}

double average(const internal::text::CountsByType& types,
               const EntityScoreOptions& options, Value value) {
  const double zero_division = options.zero_division();
  TypeCounts all;
  double sum = 0, weighted = 0;
  for (const auto& [name, counts] : types) {
    all.matches += counts.matches;
    all.preds += counts.preds;
    all.target += counts.target;
    const double of_type = value(counts, zero_division);
    sum += of_type;
    weighted += of_type * static_cast<double>(counts.target);
  }
  switch (options.average()) {
    case Average::kMacro:
      return sum / static_cast<double>(types.size());
    case Average::kWeighted:
      if (all.target > 0) return weighted / static_cast<double>(all.target);
      // Predictions without targets are wrong; of recall there is none.
      return all.preds == 0 || value == recall ? zero_division : 0;
    default:
      return value(all, zero_division);
  }
}

Results results_of(const EntityCounts::State& state,
                   const EntityScoreOptions& options, Value value) {
  const auto types = internal::text::counts_by_type(state);
  Results results;
  if (options.average() != Average::kNone) {
    results.add("", internal::scalar_tensor(average(types, options, value)));
    return results;
  }
  for (const auto& [name, counts] : types) {
    results.add(
        name, internal::scalar_tensor(value(counts, options.zero_division())));
  }
  return results;
}

}  // namespace

Results EntityPrecision::evaluate(const State& state) const {
  return results_of(state, options(), precision);
}

Results EntityRecall::evaluate(const State& state) const {
  return results_of(state, options(), recall);
}

Results EntityF1Score::evaluate(const State& state) const {
  return results_of(state, options(), f1);
}

template class MetricOf<EntityPrecision, EntityCounts, Results>;
template class MetricOf<EntityRecall, EntityCounts, Results>;
template class MetricOf<EntityF1Score, EntityCounts, Results>;

}  // namespace tally
