#pragma once

/// Everything in tally::sync.
#include "tally/sync/account.h"               // IWYU pragma: export
#include "tally/sync/agree.h"                 // IWYU pragma: export
#include "tally/sync/autograd.h"              // IWYU pragma: export
#include "tally/sync/average_gradients.h"     // IWYU pragma: export
#include "tally/sync/average_over_ranks.h"    // IWYU pragma: export
#include "tally/sync/broadcast_parameters.h"  // IWYU pragma: export
#include "tally/sync/collectives.h"           // IWYU pragma: export
#include "tally/sync/communicator.h"          // IWYU pragma: export
#include "tally/sync/duplicate.h"             // IWYU pragma: export
#include "tally/sync/environment.h"           // IWYU pragma: export
#include "tally/sync/errors.h"                // IWYU pragma: export
#include "tally/sync/fingerprint.h"           // IWYU pragma: export
#include "tally/sync/gather.h"                // IWYU pragma: export
#include "tally/sync/gloo.h"                  // IWYU pragma: export
#include "tally/sync/init.h"                  // IWYU pragma: export
#include "tally/sync/launch.h"                // IWYU pragma: export
#include "tally/sync/nccl.h"                  // IWYU pragma: export
#include "tally/sync/paired.h"                // IWYU pragma: export
#include "tally/sync/process_group.h"         // IWYU pragma: export
#include "tally/sync/reduce.h"                // IWYU pragma: export
#include "tally/sync/shard.h"                 // IWYU pragma: export
#include "tally/sync/statistics.h"            // IWYU pragma: export
