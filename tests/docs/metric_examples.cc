#include <ATen/ops/arange.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

#include "tally/metrics/metrics.h"
#include "tally/tests/docs/things.h"

// Behind the others.
#include "tests/docs/metric.inc"
