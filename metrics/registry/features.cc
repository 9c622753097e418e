#include "tally/metrics/features/features.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

void add_features(Registry& r) {
  r.add<FrechetInceptionDistance>(
      {"Distance of real and generated features as normal distributions.",
       "[0, inf)"});
  r.add<KernelInceptionDistance>(
      {"Squared maximum mean discrepancy of real and generated features.",
       "any"});
  r.add<InceptionScore>(
      {"How certain a classifier is of samples, and how various they are.",
       "[1, C]"});
  r.add<MemorizationInformedFrechetInceptionDistance>(
      {"Frechet distance, divided by how near to real ones samples are.",
       "[0, inf)"});
  r.add<ImprovedPrecisionRecall>(
      {"How many samples of one kind are near one of the other kind.",
       "[0, 1]"});
  r.add<DensityCoverage>(
      {"How many real neighborhoods a sample is in, and how many have one.",
       "coverage in [0, 1], density in [0, inf)"});
  r.add<CLIPScore>(
      {"How well texts describe images, by cosines of their features.",
       "[0, scale]"});
  r.add<LearnedPerceptualImagePatchSimilarity>(
      {"Distance of images by normalized layers of a network.", "[0, inf)",
       "channels=[2], pixels=[4]"});
  r.add<BERTScore>(
      {"Precision, recall and F1 of tokens matched by their embeddings.",
       "[-1, 1]"});
}

}  // namespace tally::internal
