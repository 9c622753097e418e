#pragma once

/// How categorical variables are associated, and raters agree.
#include "tally/metrics/nominal/cramers_v.h"     // IWYU pragma: export
#include "tally/metrics/nominal/fleiss_kappa.h"  // IWYU pragma: export
#include "tally/metrics/nominal/pearsons_contingency_coefficient.h"  // IWYU pragma: export
#include "tally/metrics/nominal/theils_u.h"      // IWYU pragma: export
#include "tally/metrics/nominal/tschuprows_t.h"  // IWYU pragma: export
