#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/files/files.h"
#include "tally/losses/metric_loss.h"
#include "tally/metrics/metrics.h"
#include "tally/testing/gradients.h"
#include "tally/testing/matchers.h"
#include "tally/testing/metric_laws.h"
#include "tally/tests/docs/things.h"

// Behind the others.
#include "tests/docs/testing.inc"
