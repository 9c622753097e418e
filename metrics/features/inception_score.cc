#include "tally/metrics/features/inception_score.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tally/metrics/features/states/feature_samples.h"

namespace tally {
namespace {

// Of `count` rows of logits.
double score_of(const double* logits, std::int64_t count,
                std::int64_t classes) {
  std::vector<double> means(static_cast<std::size_t>(classes));
  std::vector<double> exponentials(means.size());
  const auto samples = static_cast<double>(count);
  double information = 0;  // the mean of sum p log p
  for (std::int64_t i = 0; i < count; ++i) {
    const double* const row = logits + i * classes;
    const double most = *std::max_element(row, row + classes);
    double sum = 0, products = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
      const double from_most = row[c] - most;
      const double exponential = std::exp(from_most);
      exponentials[c] = exponential;
      sum += exponential;
      // 0 log 0 is 0; NaN stays.
      if (exponential != 0) products += exponential * from_most;
    }
    information += (products / sum - std::log(sum)) / samples;
    for (std::int64_t c = 0; c < classes; ++c) {
      means[c] += exponentials[c] / sum / samples;
    }
  }
  double of_means = 0;
  for (const double mean : means) {
    if (mean != 0) of_means += mean * std::log(mean);
  }
  return std::exp(information - of_means);
}

}  // namespace

void InceptionScoreOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(splits_ > 0, metric,
                    ": option 'splits': expected at least 1, got ", splits_);
}

SplitStatistics InceptionScore::evaluate(const State& state) const {
  const auto samples = internal::features::ordered(state.logits, state.ids);
  const std::int64_t rows = samples.size();
  if (rows == 0) return internal::features::statistics_of({});
  const std::int64_t classes = samples.rows.size(1);
  // More parts than samples would leave some of them empty.
  const std::int64_t splits = std::min(options().splits(), rows);
  const double* const logits = samples.rows.const_data_ptr<double>();
  std::vector<double> scores(static_cast<std::size_t>(splits));
  at::parallel_for(0, splits, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t split = begin; split < end; ++split) {
      const std::int64_t first = split * rows / splits;
      const std::int64_t last = (split + 1) * rows / splits;
      scores[split] = score_of(logits + first * classes, last - first, classes);
    }
  });
  return internal::features::statistics_of(scores);
}

}  // namespace tally
