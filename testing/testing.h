#pragma once

/// Everything for tests over ranks; see docs/testing.md.
#include "tally/testing/allocation_fault.h"     // IWYU pragma: export
#include "tally/testing/expect_sync_error.h"    // IWYU pragma: export
#include "tally/testing/faulty_communicator.h"  // IWYU pragma: export
#include "tally/testing/generators.h"           // IWYU pragma: export
#include "tally/testing/gradients.h"            // IWYU pragma: export
#include "tally/testing/matchers.h"             // IWYU pragma: export
#include "tally/testing/metric_laws.h"          // IWYU pragma: export
#include "tally/testing/ranks_test.h"           // IWYU pragma: export
#include "tally/testing/thread_ranks.h"         // IWYU pragma: export
