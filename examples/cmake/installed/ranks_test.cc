// A metric on this project's own data, on 1, 2 and 3 processes.

#include <ATen/ops/full.h>
#include <tally/metrics/classification/accuracy.h>
#include <tally/testing/ranks_test.h>

RANKS_TEST(AccuracyTest, IsThatOfAllRanks, 1, 2, 3) {
  tally::BinaryAccuracy accuracy;
  // Rank r has r + 1 samples; those of rank 0 are wrong.
  const at::Tensor target =
      at::full({self.rank() + 1}, self.rank() > 0, at::kLong);
  accuracy.update(at::full({self.rank() + 1}, 0.9), target);
  const double samples = self.size() * (self.size() + 1) / 2.0;
  EXPECT_DOUBLE_EQ(accuracy.number(), (samples - 1) / samples);
}
