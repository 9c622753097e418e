#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include "tally/metrics/regression/regression.h"
#include "tally/tests/docs/things.h"

// Behind the others.
#include "tests/docs/regression.inc"
