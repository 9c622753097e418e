#pragma once

/// Everything in tally::losses.
#include "tally/losses/check_distributed_gradients.h"  // IWYU pragma: export
#include "tally/losses/codebook/lfq.h"                 // IWYU pragma: export
#include "tally/losses/codebook/vector_quantize.h"     // IWYU pragma: export
#include "tally/losses/contrastive/clip_loss.h"        // IWYU pragma: export
#include "tally/losses/contrastive/nt_xent_loss.h"     // IWYU pragma: export
#include "tally/losses/contrastive/sig_lip_loss.h"     // IWYU pragma: export
#include "tally/losses/contrastive/sup_con_loss.h"     // IWYU pragma: export
#include "tally/losses/grad_cache.h"                   // IWYU pragma: export
#include "tally/losses/metric_loss.h"                  // IWYU pragma: export
#include "tally/losses/pairs/barlow_twins_loss.h"      // IWYU pragma: export
#include "tally/losses/pairs/coca_loss.h"              // IWYU pragma: export
#include "tally/losses/pairs/dcl_loss.h"               // IWYU pragma: export
#include "tally/losses/pairs/distill_clip_loss.h"      // IWYU pragma: export
#include "tally/losses/pairs/vicreg_loss.h"            // IWYU pragma: export
