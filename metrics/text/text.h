#pragma once

/// Metrics of texts.
#include "tally/metrics/text/bleu_score.h"        // IWYU pragma: export
#include "tally/metrics/text/chrf_score.h"        // IWYU pragma: export
#include "tally/metrics/text/entity_scores.h"     // IWYU pragma: export
#include "tally/metrics/text/rouge_score.h"       // IWYU pragma: export
#include "tally/metrics/text/sacre_bleu_score.h"  // IWYU pragma: export
