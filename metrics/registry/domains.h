#pragma once

#include "tally/metrics/registry/registry.h"

namespace tally::internal {

// One function per domain, so that the linker drops no metric.
void add_aggregation(Registry& r);
void add_audio(Registry& r);
void add_classification(Registry& r);
void add_clustering(Registry& r);
void add_curves(Registry& r);
void add_detection(Registry& r);
void add_features(Registry& r);
void add_image(Registry& r);
void add_nominal(Registry& r);
void add_regression(Registry& r);
void add_segmentation(Registry& r);
void add_shape(Registry& r);
void add_text(Registry& r);
void add_retrieval(Registry& r);
void add_wrappers(Registry& r);

}  // namespace tally::internal
