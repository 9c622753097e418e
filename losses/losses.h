#pragma once

/// Everything in tally::losses.
#include "tally/losses/calibration/cross_entropy_loss.h"  // IWYU pragma: export
#include "tally/losses/calibration/soft_calibration_loss.h"  // IWYU pragma: export
#include "tally/losses/check_distributed_gradients.h"  // IWYU pragma: export
#include "tally/losses/codebook/lfq.h"                 // IWYU pragma: export
#include "tally/losses/codebook/vector_quantize.h"     // IWYU pragma: export
#include "tally/losses/contrastive/clip_loss.h"        // IWYU pragma: export
#include "tally/losses/contrastive/nt_xent_loss.h"     // IWYU pragma: export
#include "tally/losses/contrastive/sig_lip_loss.h"     // IWYU pragma: export
#include "tally/losses/contrastive/sup_con_loss.h"     // IWYU pragma: export
#include "tally/losses/grad_cache.h"                   // IWYU pragma: export
#include "tally/losses/lovasz/lovasz_hinge_loss.h"     // IWYU pragma: export
#include "tally/losses/lovasz/lovasz_softmax_loss.h"   // IWYU pragma: export
#include "tally/losses/metric_loss.h"                  // IWYU pragma: export
#include "tally/losses/pairs/barlow_twins_loss.h"      // IWYU pragma: export
#include "tally/losses/pairs/coca_loss.h"              // IWYU pragma: export
#include "tally/losses/pairs/dcl_loss.h"               // IWYU pragma: export
#include "tally/losses/pairs/distill_clip_loss.h"      // IWYU pragma: export
#include "tally/losses/pairs/vicreg_loss.h"            // IWYU pragma: export
#include "tally/losses/ranking/aucm_loss.h"            // IWYU pragma: export
#include "tally/losses/ranking/fast_ap_loss.h"         // IWYU pragma: export
#include "tally/losses/ranking/pairwise_auc_loss.h"    // IWYU pragma: export
#include "tally/losses/ranking/partial_auc_loss.h"     // IWYU pragma: export
#include "tally/losses/ranking/smooth_ap_loss.h"       // IWYU pragma: export
#include "tally/losses/slates/approx_ndcg_loss.h"      // IWYU pragma: export
#include "tally/losses/slates/lambda_loss.h"           // IWYU pragma: export
#include "tally/losses/slates/list_net_loss.h"         // IWYU pragma: export
#include "tally/losses/soft_counts/balanced_accuracy_loss.h"  // IWYU pragma: export
#include "tally/losses/soft_counts/dice_loss.h"      // IWYU pragma: export
#include "tally/losses/soft_counts/f_beta_loss.h"    // IWYU pragma: export
#include "tally/losses/soft_counts/jaccard_loss.h"   // IWYU pragma: export
#include "tally/losses/soft_counts/matthews_loss.h"  // IWYU pragma: export
#include "tally/losses/soft_counts/tversky_loss.h"   // IWYU pragma: export
