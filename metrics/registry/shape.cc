#include "tally/metrics/shape/shape.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_shape(Registry& r) {
  r.add<LipVertexError>(
      {"Largest squared distance of a vertex of the lips, per frame.",
       "[0, inf]", "mouth_map=[0, 1, 2]"});
  r.add<ProcrustesDisparity>(
      {"How little points look like others, moved, scaled and turned.",
       "[0, 1] for each sample"});
}

}  // namespace tally::internal
