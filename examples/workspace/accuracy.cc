// The fraction of correct predictions, in a workspace that depends on Tally.

#include <ATen/ops/tensor.h>
#include <tally/metrics/classification/accuracy.h>
#include <tally/sync/init.h>

#include <iostream>

int main() {
  tally::sync::init_from_env();
  tally::MulticlassAccuracy accuracy(
      tally::MulticlassAccuracyOptions(3).average(tally::Average::kMicro));
  accuracy.update(at::tensor({0, 1, 2, 1}), at::tensor({0, 1, 2, 2}));
  std::cout << accuracy.number() << '\n';
}
