#pragma once

/// Metrics of texts.
#include "tally/metrics/text/bleu_score.h"              // IWYU pragma: export
#include "tally/metrics/text/char_error_rate.h"         // IWYU pragma: export
#include "tally/metrics/text/chrf_score.h"              // IWYU pragma: export
#include "tally/metrics/text/edit_distance.h"           // IWYU pragma: export
#include "tally/metrics/text/entity_scores.h"           // IWYU pragma: export
#include "tally/metrics/text/extended_edit_distance.h"  // IWYU pragma: export
#include "tally/metrics/text/match_error_rate.h"        // IWYU pragma: export
#include "tally/metrics/text/perplexity.h"              // IWYU pragma: export
#include "tally/metrics/text/rouge_score.h"             // IWYU pragma: export
#include "tally/metrics/text/sacre_bleu_score.h"        // IWYU pragma: export
#include "tally/metrics/text/squad.h"                   // IWYU pragma: export
#include "tally/metrics/text/token_edit_distance.h"     // IWYU pragma: export
#include "tally/metrics/text/token_error_rate.h"        // IWYU pragma: export
#include "tally/metrics/text/translation_edit_rate.h"   // IWYU pragma: export
#include "tally/metrics/text/word_error_rate.h"         // IWYU pragma: export
#include "tally/metrics/text/word_info_lost.h"          // IWYU pragma: export
#include "tally/metrics/text/word_info_preserved.h"     // IWYU pragma: export
