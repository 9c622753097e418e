#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/sync/init.h"
#include "tally/testing/testing.h"

// The tests that the documentation shows.
namespace {

#include "tests/docs/tests.inc"

}  // namespace
