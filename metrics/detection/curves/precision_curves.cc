#include "tally/metrics/detection/curves/precision_curves.h"

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "tally/metrics/detection/curves/hit_lists.h"
#include "tally/metrics/detection/kernels/score_order.h"
#include "tally/metrics/detection/options/match_rules.h"

namespace tally::internal::detection {

double mean_of(const at::Tensor& array, const CurveSelection& selection) {
  const double* values = array.const_data_ptr<double>();
  const std::int64_t depths = array.size(-1);
  const std::int64_t areas = array.size(-2);
  const std::int64_t classes = array.size(-3);
  const std::int64_t thresholds = array.size(0);
  if (array.numel() == 0) return -1;
  const std::int64_t lines =
      array.numel() / (thresholds * classes * areas * depths);
  const std::int64_t first =
      static_cast<std::int64_t>(selection.threshold.value_or(0));
  const std::int64_t last = selection.threshold ? first + 1 : thresholds;
  std::vector<std::size_t> all(static_cast<std::size_t>(classes));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::size_t>& chosen =
      selection.classes ? *selection.classes : all;
  const auto area = static_cast<std::int64_t>(selection.area);
  const auto depth = static_cast<std::int64_t>(selection.depth);
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t line = first * lines; line < last * lines; ++line) {
    for (const std::size_t k : chosen) {
      const std::int64_t place = line * classes + static_cast<std::int64_t>(k);
      const double value = values[(place * areas + area) * depths + depth];
      if (value <= -1) continue;
      sum += value;
      ++count;
    }
  }
  return count == 0 ? -1 : sum / static_cast<double>(count);
}

namespace {

// Calls `visit` with each bit that is set, the first of which is `offset`.
template <class Visit>
void for_each_bit(std::uint64_t word, std::size_t offset, const Visit& visit) {
  for (; word != 0; word &= word - 1) {
    visit(offset + static_cast<std::size_t>(__builtin_ctzll(word)));
  }
}

}  // namespace

HitLists::HitLists(const DistinctRows& rows)
    : words_(rows.words),
      thresholds_(rows.thresholds),
      hits_(rows.areas * rows.thresholds),
      ignored_(rows.areas * rows.thresholds),
      ignored_areas_(rows.areas),
      masks_(rows.areas * rows.words) {
  for (std::size_t bit = 0; bit < hits_.size(); ++bit) {
    masks_[bit / thresholds_ * words_ + bit / 64] |= std::uint64_t{1}
                                                     << bit % 64;
  }
}

void HitLists::read(const ClassRows& rows, std::int64_t max_detections) {
  for (auto& hits : hits_) hits.clear();
  std::fill(ignored_.begin(), ignored_.end(), 0);
  std::fill(ignored_areas_.begin(), ignored_areas_.end(), 0);
  count_ = 0;
  for (const std::int64_t* row : rows.detections) {
    if (MatchRow::rank(row) >= max_detections) continue;
    const double score = score_of(row[MatchRow::kScore]);
    if (count_ == 0) first_score_ = score;
    ++count_;
    add_ignored(row + MatchRow::kBits + words_);
    for (std::size_t word = 0; word < words_; ++word) {
      const auto bits = static_cast<std::uint64_t>(row[MatchRow::kBits + word]);
      for_each_bit(bits, 64 * word, [&](std::size_t bit) {
        if (bit >= hits_.size()) return;
        const std::int64_t counted =
            count_ - ignored_[bit] - ignored_areas_[bit / thresholds_];
        hits_[bit].push_back({static_cast<double>(counted), score});
      });
    }
  }
}

// Mostly, what is ignored is so at all thresholds.
void HitLists::add_ignored(const std::int64_t* bits) {
  for (std::size_t area = 0; area < ignored_areas_.size(); ++area) {
    const std::uint64_t* mask = &masks_[area * words_];
    bool all = true;
    for (std::size_t word = 0; word < words_; ++word) {
      all &=
          (static_cast<std::uint64_t>(bits[word]) & mask[word]) == mask[word];
    }
    if (all) {
      ++ignored_areas_[area];
      continue;
    }
    for (std::size_t word = 0; word < words_; ++word) {
      for_each_bit(static_cast<std::uint64_t>(bits[word]) & mask[word],
                   64 * word, [this](std::size_t bit) { ++ignored_[bit]; });
    }
  }
}

namespace {

// How many hits reach each recall.
std::vector<std::size_t> needed_hits(const std::vector<double>& recalls,
                                     std::int64_t objects) {
  std::vector<std::size_t> needed;
  const auto all = static_cast<double>(objects);
  for (const double recall : recalls) {
    double hits = std::max(0.0, std::floor(recall * all) - 1);
    while (hits / all < recall) ++hits;
    needed.push_back(static_cast<std::size_t>(hits));
  }
  return needed;
}

// COCO's, which never divides by 0.
double precision_of(const std::vector<Hit>& hits, std::size_t i) {
  constexpr double kSpacing = std::numeric_limits<double>::epsilon();
  return static_cast<double>(i + 1) / (hits[i].counted + kSpacing);
}

// Where an entry of the arrays is.
class Places {
 public:
  Places(std::size_t recalls, std::size_t classes, std::size_t areas,
         std::size_t depths)
      : recalls_(recalls), classes_(classes), areas_(areas), depths_(depths) {}
  std::size_t recall(std::size_t t, std::size_t k, std::size_t a,
                     std::size_t m) const {
    return ((t * classes_ + k) * areas_ + a) * depths_ + m;
  }
  std::size_t precision(std::size_t t, std::size_t r, std::size_t k,
                        std::size_t a, std::size_t m) const {
    return recall(t * recalls_ + r, k, a, m);
  }

 private:
  std::size_t recalls_, classes_, areas_, depths_;
};

struct Arrays {
  double* precision;
  double* recall;
  double* scores;  // null: not wanted
};

}  // namespace

PrecisionCurves precision_curves(const DistinctRows& rows,
                                 std::vector<ClassRows>& classes,
                                 const CurveRules& rules) {
  const auto size = [](const auto& list) {
    return static_cast<std::int64_t>(list.size());
  };
  const auto thresholds = static_cast<std::int64_t>(rows.thresholds);
  const auto areas = static_cast<std::int64_t>(rows.areas);
  PrecisionCurves curves;
  curves.precision = at::full({thresholds, size(rules.recalls), size(classes),
                               areas, size(rules.max_detections)},
                              -1.0, at::kDouble);
  curves.recall =
      at::full({thresholds, size(classes), areas, size(rules.max_detections)},
               -1.0, at::kDouble);
  Arrays arrays{curves.precision.mutable_data_ptr<double>(),
                curves.recall.mutable_data_ptr<double>(), nullptr};
  if (rules.with_scores) {
    curves.scores = curves.precision.clone();
    arrays.scores = curves.scores.mutable_data_ptr<double>();
  }
  const Places places(rules.recalls.size(), classes.size(), rows.areas,
                      rules.max_detections.size());

  const auto read_curve = [&](const HitLists& lists, std::size_t t,
                              std::size_t k, std::size_t a, std::size_t m,
                              const std::vector<std::size_t>& needed) {
    const std::vector<Hit>& hits = lists.hits(a, t);
    arrays.recall[places.recall(t, k, a, m)] =
        static_cast<double>(hits.size()) /
        static_cast<double>(classes[k].objects[a]);
    // The envelope: the best precision from here on.
    double best = 0;
    std::size_t next = hits.size();
    for (std::size_t r = needed.size(); r-- > 0;) {
      const std::size_t place = places.precision(t, r, k, a, m);
      double precision = 0;
      double score = 0;
      if (needed[r] <= hits.size() && lists.count() > 0) {
        const std::size_t first = needed[r] == 0 ? 0 : needed[r] - 1;
        while (next > first) {
          --next;
          best = std::max(best, precision_of(hits, next));
        }
        precision = best;
        score = needed[r] == 0 ? lists.first_score() : hits[first].score;
      }
      arrays.precision[place] = precision;
      if (arrays.scores) arrays.scores[place] = score;
    }
  };

  at::parallel_for(
      0, size(classes), 1, [&](std::int64_t begin, std::int64_t end) {
        HitLists lists(rows);
        for (auto k = static_cast<std::size_t>(begin);
             k < static_cast<std::size_t>(end); ++k) {
          rows.sort(classes[k]);
          for (std::size_t m = 0; m < rules.max_detections.size(); ++m) {
            lists.read(classes[k], rules.max_detections[m]);
            for (std::size_t a = 0; a < rows.areas; ++a) {
              if (classes[k].objects[a] <= 0) continue;
              const std::vector<std::size_t> needed =
                  needed_hits(rules.recalls, classes[k].objects[a]);
              for (std::size_t t = 0; t < rows.thresholds; ++t) {
                read_curve(lists, t, k, a, m, needed);
              }
            }
          }
        }
      });
  return curves;
}

}  // namespace tally::internal::detection
