#include "tally/metrics/text/text.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_text(Registry&) {}

}  // namespace tally::internal
