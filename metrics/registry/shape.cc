#include "tally/metrics/shape/shape.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_shape(Registry& r) {
  r.add<ProcrustesDisparity>(
      {"How little points look like others, moved, scaled and turned.",
       "[0, 1] for each sample"});
}

}  // namespace tally::internal
