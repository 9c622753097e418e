#include "tally/metrics/clustering/clustering.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {
namespace {

void add_label_scores(Registry& r) {
  r.add<MutualInfoScore>(
      {"What predicted clusters say about the true ones, in nats.",
       "[0, inf)"});
  r.add<NormalizedMutualInfoScore>(
      {"Mutual information over a mean of both entropies.", "[0, 1]"});
  r.add<AdjustedMutualInfoScore>(
      {"Normalized mutual information, adjusted for chance.", "(-inf, 1]"});
  r.add<RandScore>(
      {"The fraction of pairs of samples on which clusterings agree.",
       "[0, 1]"});
  r.add<AdjustedRandScore>(
      {"The Rand score, adjusted for chance.", "[-0.5, 1]"});
  r.add<FowlkesMallowsIndex>(
      {"The geometric mean of precision and recall of pairs.", "[0, 1]"});
  r.add<HomogeneityScore>(
      {"Whether clusters hold samples of a single class.", "[0, 1]"});
  r.add<CompletenessScore>(
      {"Whether samples of a class are in a single cluster.", "[0, 1]"});
  r.add<VMeasureScore>(
      {"The harmonic mean of homogeneity and completeness.", "[0, 1]"});
  r.add<ClusterAccuracy>(
      {"Accuracy with clusters assigned to classes in the best way.",
       "[0, 1]"});
}

void add_data_scores(Registry& r) {
  r.add<CalinskiHarabaszScore>(
      {"The variance between clusters over that inside.", "[0, inf)"});
  r.add<DaviesBouldinScore>(
      {"The likeness of clusters to those that are most like them.",
       "[0, inf]"});
  r.add<DunnIndex>(
      {"The least distance between clusters over the largest inside.",
       "[0, inf]"});
  r.add<SilhouetteScore>(
      {"How much nearer points are to their own cluster than to others.",
       "[-1, 1]"});
}

}  // namespace

void add_clustering(Registry& r) {
  add_label_scores(r);
  add_data_scores(r);
}

}  // namespace tally::internal
