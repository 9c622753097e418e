#include <gtest/gtest.h>
#include <tally/tally.h>
#include <torch/torch.h>

#include <iostream>

#include "tally/tests/docs/things.h"
#include "tally/tests/docs/train_set.h"

// Behind the others.
#include "tests/docs/other.inc"

namespace {

// That they compile is all there is to test, as their inputs are made up.
TEST(ExamplesTest, Compile) {}

}  // namespace
