#include <gtest/gtest.h>
#include <tally/tally.h>
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <limits>

#include "tally/tests/docs/things.h"
#include "tally/tests/docs/train_set.h"

// What single pages take for granted, besides.
tally::MetricCollection metrics;
at::Tensor groups, rows;
tally::sync::Call call("example");
void check(const at::Tensor&) {}
at::Tensor forward(const at::Tensor& own) { return own; }
at::Tensor backward(const tally::sync::Call&, const at::Tensor&,
                    const at::Tensor& gradient) {
  return gradient;
}

// Behind the others.
#include "tests/docs/guides.inc"
