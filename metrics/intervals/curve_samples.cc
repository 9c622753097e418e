#include "tally/metrics/intervals/curve_samples.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tally/metrics/common/constants.h"

namespace tally::internal::intervals {
namespace {

/// What the samples of an id contribute to an area, by class: their weighted
/// placements less the area, over the sum of the class's weights.
struct ClusterTerm {
  std::int64_t id = 0;
  double of_positives = 0;
  double of_negatives = 0;
  double positives = 0;  // their weights
  double negatives = 0;
};

struct ClusterTerms {
  double area = kNaN;
  double positives = 0;  // samples that count
  double negatives = 0;
  std::vector<ClusterTerm> terms;  // by id
};

ClusterTerms terms_of(std::vector<CurveSample> samples) {
  ClusterTerms all;
  if (!are_numbers(samples)) return all;
  sort_samples(CurveArea::kRoc, samples);
  double positives = 0;
  double negatives = 0;
  double pairs = 0;
  const auto visit = [&](const auto& use) {
    double below[2] = {0, 0};
    for_each_score(samples, [&](std::size_t begin, std::size_t end) {
      double own[2] = {0, 0};
      for (std::size_t i = begin; i < end; ++i) {
        own[samples[i].is_positive] += samples[i].weight;
      }
      use(begin, end, below, own);
      for (const int i : {0, 1}) below[i] += own[i];
    });
  };
  visit([&](std::size_t, std::size_t, const double* below, const double* own) {
    pairs += own[1] * (below[0] + own[0] / 2);
    negatives += own[0];
    positives += own[1];
  });
  if (!(positives > 0) || !(negatives > 0)) return all;
  all.area = pairs / positives / negatives;
  std::vector<ClusterTerm> single;
  visit([&](std::size_t begin, std::size_t end, const double* below,
            const double* own) {
    const double of_positive =
        ((below[0] + own[0] / 2) / negatives - all.area) / positives;
    const double of_negative =
        (1 - (below[1] + own[1] / 2) / positives - all.area) / negatives;
    for (std::size_t i = begin; i < end; ++i) {
      const CurveSample& sample = samples[i];
      if (sample.weight == 0) continue;
      const bool is_positive = sample.is_positive;
      (is_positive ? all.positives : all.negatives) += 1;
      ClusterTerm term;
      term.id = sample.id;
      (is_positive ? term.positives : term.negatives) = sample.weight;
      term.of_positives = term.positives * of_positive;
      term.of_negatives = term.negatives * of_negative;
      single.push_back(term);
    }
  });
  std::sort(single.begin(), single.end(),
            [](const ClusterTerm& a, const ClusterTerm& b) {
              return std::tie(a.id, a.of_positives, a.of_negatives) <
                     std::tie(b.id, b.of_positives, b.of_negatives);
            });
  for (const ClusterTerm& term : single) {
    if (all.terms.empty() || all.terms.back().id != term.id) {
      all.terms.push_back(term);
      continue;
    }
    ClusterTerm& sum = all.terms.back();
    sum.of_positives += term.of_positives;
    sum.of_negatives += term.of_negatives;
    sum.positives += term.positives;
    sum.negatives += term.negatives;
  }
  return all;
}

// n / (n - 1), for variances of n terms.
double correction(double n) { return n / (n - 1); }

/// The clusters with samples of a class.
struct ClassClusters {
  double count = 0;
  double sum = 0;
  double squares = 0;

  void add(double size) {
    count += size > 0;
    sum += size;
    squares += size * size;
  }
  /// Kish's number of clusters of equal sizes.
  double effective() const { return squares > 0 ? sum * sum / squares : 0; }
};

}  // namespace

bool are_numbers(const std::vector<CurveSample>& samples) {
  return std::all_of(samples.begin(), samples.end(), [](const auto& sample) {
    return sample.score == sample.score && std::isfinite(sample.weight) &&
           sample.weight >= 0;
  });
}

// The order of equal scores decides the last digits of weighted sums.
void sort_samples(CurveArea kind, std::vector<CurveSample>& samples) {
  const bool is_ascending = kind == CurveArea::kRoc;
  std::sort(samples.begin(), samples.end(),
            [=](const CurveSample& a, const CurveSample& b) {
              if (a.score != b.score) {
                return is_ascending ? a.score < b.score : a.score > b.score;
              }
              return std::tie(a.is_positive, a.id, a.weight) <
                     std::tie(b.is_positive, b.id, b.weight);
            });
}

double roc_acceleration(std::vector<CurveSample> samples) {
  double squares = 0;
  double cubes = 0;
  for (const ClusterTerm& term : terms_of(std::move(samples)).terms) {
    const double sum = term.of_positives + term.of_negatives;
    squares += sum * sum;
    cubes += sum * sum * sum;
  }
  return squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
}

ClusteredArea clustered_area(std::vector<CurveSample> samples) {
  const ClusterTerms all = terms_of(std::move(samples));
  double of_positives = 0;
  double of_negatives = 0;
  double of_both = 0;
  ClassClusters positives;
  ClassClusters negatives;
  ClusteredArea area;
  AreaEstimate& estimate = area.estimate;
  for (const ClusterTerm& term : all.terms) {
    of_positives += term.of_positives * term.of_positives;
    of_negatives += term.of_negatives * term.of_negatives;
    of_both += term.of_positives * term.of_negatives;
    positives.add(term.positives);
    negatives.add(term.negatives);
  }
  estimate.effective_positives = positives.effective();
  estimate.effective_negatives = negatives.effective();
  area.deciding = std::min(positives.count, negatives.count);
  area.clusters = static_cast<double>(all.terms.size());
  estimate.area = all.area;
  estimate.positives = all.positives;
  estimate.negatives = all.negatives;
  const double variance = correction(positives.count) * of_positives +
                          correction(negatives.count) * of_negatives +
                          2 * correction(area.clusters) * of_both;
  estimate.standard_error =
      std::isfinite(variance) && variance >= 0 ? std::sqrt(variance) : kNaN;
  return area;
}

PrecisionWithoutEach precision_without_each(std::vector<CurveSample> samples) {
  sort_samples(CurveArea::kPrecisionRecall, samples);
  struct Step {
    std::size_t end = 0;
    double own = 0;        // positives of this score
    double positives = 0;  // up to here
    double all = 0;
  };
  std::vector<Step> steps;
  PrecisionWithoutEach result;
  double squares = 0;
  double positives = 0;
  double all = 0;
  bool is_weighted = false;
  for_each_score(samples, [&](std::size_t begin, std::size_t end) {
    Step step;
    step.end = end;
    for (std::size_t i = begin; i < end; ++i) {
      const double weight = samples[i].weight;
      is_weighted = is_weighted || weight != 1;
      all += weight;
      if (!samples[i].is_positive) continue;
      step.own += weight;
      squares += weight * weight;
    }
    positives += step.own;
    step.positives = positives;
    step.all = all;
    steps.push_back(step);
  });
  result.positives = squares > 0 ? positives * positives / squares : 0;
  double above = 0;
  for (const Step& step : steps) {
    if (step.all > 0) above += step.own * step.positives / step.all;
  }
  const double value = above / positives;
  result.without.resize(samples.size());
  // From the last step on: what those below have without a positive, or a
  // negative; of weighted samples, how it changes with a weight.
  double below_positive = 0;
  double below_negative = 0;
  for (std::size_t i = steps.size(); i-- > 0;) {
    const Step& step = steps[i];
    const std::size_t begin = i > 0 ? steps[i - 1].end : 0;
    if (!(step.all > 0)) continue;
    const double precision = step.positives / step.all;
    above -= step.own * precision;
    if (is_weighted) {
      below_positive += step.own * (1 - precision) / step.all;
      below_negative -= step.own * precision / step.all;
      for (std::size_t j = begin; j < step.end; ++j) {
        const bool is_positive = samples[j].is_positive;
        const double change =
            is_positive ? precision + below_positive - value : below_negative;
        result.without[j] = value - samples[j].weight * change / positives;
      }
      continue;
    }
    const double rest = step.all - 1;
    const auto without = [&](double own, double before) {
      return rest > 0 ? own * before / rest : 0;
    };
    const double positive =
        (above + without(step.own - 1, step.positives - 1) + below_positive) /
        (positives - 1);
    const double negative =
        (above + without(step.own, step.positives) + below_negative) /
        positives;
    for (std::size_t j = begin; j < step.end; ++j) {
      result.without[j] = samples[j].is_positive ? positive : negative;
    }
    below_positive += without(step.own, step.positives - 1);
    below_negative += without(step.own, step.positives);
  }
  for (const CurveSample& sample : samples) {
    result.weights.push_back(sample.weight);
  }
  return result;
}

}  // namespace tally::internal::intervals
