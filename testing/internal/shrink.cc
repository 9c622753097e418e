#include "tally/testing/internal/shrink.h"

#include <algorithm>
#include <utility>

namespace tally::testkit::internal {
namespace {

class Shrinker {
 public:
  Shrinker(FailingCase failing, const Trial& trial)
      : failing_(std::move(failing)), trial_(trial) {}

  void take_ranks() {
    const std::vector<int> ranks = failing_.ranks;
    const int most = *std::max_element(ranks.begin(), ranks.end());
    for (int fewer = 1; fewer <= most; ++fewer) {
      if (fails(failing_.rows, {fewer})) return;
      // What fails may depend on how many rows a rank gets.
      for (std::int64_t row = 0; row < rows() && rows() > 1; ++row) {
        if (fails(without(row, 1), {fewer})) return;
      }
    }
  }

  // Halves first, then quarters, and at last single rows.
  void take_rows() {
    for (std::int64_t part = rows() / 2; part > 0; part /= 2) {
      while (take_part(part)) {
      }
    }
  }

  FailingCase take() { return std::move(failing_); }

 private:
  std::int64_t rows() const { return failing_.rows.front().rows(); }

  Batch without(std::int64_t first, std::int64_t count) const {
    return joined({rows_of(failing_.rows, 0, first),
                   rows_of(failing_.rows, first + count, rows())});
  }

  bool take_part(std::int64_t part) {
    bool any = false;
    for (std::int64_t first = rows() - part; first >= 0; first -= part) {
      if (part >= rows()) break;
      any = fails(without(first, part), failing_.ranks) || any;
    }
    return any;
  }

  bool fails(const Batch& rows, const std::vector<int>& ranks) {
    for (const Finding& finding : trial_(rows, ranks)) {
      if (finding.what != failing_.finding.what) continue;
      failing_ = {rows, ranks, finding};
      return true;
    }
    return false;
  }

  FailingCase failing_;
  const Trial& trial_;
};

}  // namespace

FailingCase shrink(FailingCase failing, bool over_ranks, const Trial& trial) {
  Shrinker shrinker(std::move(failing), trial);
  if (over_ranks) shrinker.take_ranks();
  shrinker.take_rows();
  if (over_ranks) shrinker.take_ranks();
  return shrinker.take();
}

}  // namespace tally::testkit::internal
