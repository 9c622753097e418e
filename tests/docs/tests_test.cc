#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/sync/collectives.h"
#include "tally/sync/init.h"
#include "tally/sync/reduce.h"
#include "tally/testing/pretend_device.h"
#include "tally/testing/testing.h"

// The tests that the documentation shows.
namespace {

#include "tests/docs/tests.inc"

}  // namespace
