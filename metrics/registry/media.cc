#include "tally/metrics/audio/audio.h"
#include "tally/metrics/detection/detection.h"
#include "tally/metrics/features/features.h"
#include "tally/metrics/image/image.h"
#include "tally/metrics/registry/domains.h"
#include "tally/metrics/segmentation/segmentation.h"
#include "tally/metrics/text/text.h"

namespace tally::internal {

void add_image(Registry& r) {
  r.add<PeakSignalNoiseRatio, PeakSignalNoiseRatioWithBlockedEffect,
        StructuralSimilarityIndexMeasure,
        MultiScaleStructuralSimilarityIndexMeasure, UniversalImageQualityIndex,
        VisualInformationFidelity, SpectralAngleMapper,
        ErrorRelativeGlobalDimensionlessSynthesis, RelativeAverageSpectralError,
        RootMeanSquaredErrorUsingSlidingWindow, SpatialCorrelationCoefficient,
        SpectralDistortionIndex, SpatialDistortionIndex, QualityWithNoReference,
        TotalVariation, VideoPeakSignalNoiseRatio,
        VideoStructuralSimilarityIndexMeasure>();
}

void add_detection(Registry& r) {
  r.add<CompleteIntersectionOverUnion, DetectionConfusionMatrix,
        DetectionF1Score, DetectionPrecision, DetectionRecall,
        DistanceIntersectionOverUnion, GeneralizedIntersectionOverUnion,
        IntersectionOverUnion, LVISAveragePrecision, MeanAveragePrecision,
        MeanAverageRecall, ModifiedPanopticQuality, PanopticQuality,
        PascalVOCAveragePrecision>();
}

void add_segmentation(Registry& r) {
  r.add<DiceScore, GeneralizedDiceScore, MeanIoU, HausdorffDistance,
        AverageSymmetricSurfaceDistance, NormalizedSurfaceDistance,
        BoundaryF1>();
}

void add_audio(Registry& r) {
  r.add<SignalNoiseRatio, ScaleInvariantSignalNoiseRatio,
        ComplexScaleInvariantSignalNoiseRatio,
        ScaleInvariantSignalDistortionRatio,
        SourceAggregatedSignalDistortionRatio, SignalDistortionRatio,
        PermutationInvariantTraining, ShortTimeObjectiveIntelligibility>();
}

void add_text(Registry& r) {
  r.add<WordErrorRate, CharErrorRate, MatchErrorRate, WordInfoLost,
        WordInfoPreserved, EditDistance, TokenErrorRate, TokenEditDistance,
        TranslationEditRate, ExtendedEditDistance, SQuAD, Perplexity, BLEUScore,
        SacreBLEUScore, CHRFScore, ROUGEScore, EntityPrecision, EntityRecall,
        EntityF1Score>();
}

void add_features(Registry& r) {
  r.add<FrechetInceptionDistance, KernelInceptionDistance, InceptionScore,
        MemorizationInformedFrechetInceptionDistance, ImprovedPrecisionRecall,
        DensityCoverage, CLIPScore, LearnedPerceptualImagePatchSimilarity,
        BERTScore>();
}

}  // namespace tally::internal
