#include "tally/metrics/detection/curves/precision_curves.h"

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/detection/curves/hit_lists.h"

namespace tally::internal::detection {
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
