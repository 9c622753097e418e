#include "tally/metrics/audio/audio.h"
#include "tally/metrics/detection/detection.h"
#include "tally/metrics/features/features.h"
#include "tally/metrics/image/image.h"
#include "tally/metrics/registry/domains.h"
#include "tally/metrics/segmentation/segmentation.h"
#include "tally/metrics/text/text.h"

namespace tally::internal {

void add_image(Registry& r) {
  r.add<PeakSignalNoiseRatio>(
      {"Largest square over mean squared error of images, in dB.",
       "[-inf, inf]", "data_range=1"});
  r.add<PeakSignalNoiseRatioWithBlockedEffect>(
      {"The same, with visible edges of blocks as errors, in dB.",
       "[-inf, inf]", "data_range=1"});
  r.add<StructuralSimilarityIndexMeasure>(
      {"Luminance and contrast in windows of two images (SSIM).", "[-1, 1]",
       "data_range=1"});
  r.add<MultiScaleStructuralSimilarityIndexMeasure>(
      {"Structural similarity in several scales (MS-SSIM).", "[0, 1]",
       "data_range=1"});
  r.add<UniversalImageQualityIndex>(
      {"Correlation, luminance and contrast in windows (UQI).", "[-1, 1]"});
  r.add<VisualInformationFidelity>(
      {"How much of the information of an image is left (VIF).", "[0, inf]",
       "data_range=1"});
  r.add<SpectralAngleMapper>(
      {"Angle between the spectra of pixels (SAM).", "[0, pi]"});
  r.add<ErrorRelativeGlobalDimensionlessSynthesis>(
      {"Relative global error of a synthesis (ERGAS), in percent.",
       "[0, inf]"});
  r.add<RelativeAverageSpectralError>(
      {"Error in windows relative to their means (RASE), in percent.",
       "[0, inf]"});
  r.add<RootMeanSquaredErrorUsingSlidingWindow>(
      {"Root mean squared error in windows.", "[0, inf]"});
  r.add<SpatialCorrelationCoefficient>(
      {"Correlation of edges in windows (SCC).", "[-1, 1]"});
  r.add<SpectralDistortionIndex>(
      {"Change of the likeness of channels (D_lambda).", "[0, 2]"});
  r.add<SpatialDistortionIndex>(
      {"Change of the likeness to a panchromatic image (D_s).", "[0, 2]"});
  r.add<QualityWithNoReference>(
      {"Both distortions of sharpened images in one (QNR).", "[0, 1]"});
  r.add<TotalVariation>(
      {"Sum of absolute differences of neighboring pixels.", "[0, inf]"});
  r.add<VideoPeakSignalNoiseRatio>(
      {"Peak signal-to-noise ratio of the frames of videos, in dB.",
       "[-inf, inf]", "data_range=1"});
  r.add<VideoStructuralSimilarityIndexMeasure>(
      {"Structural similarity of the frames of videos.", "[-1, 1]",
       "data_range=1"});
}

void add_detection(Registry& r) {
  r.add<CompleteIntersectionOverUnion>(
      {"Mean overlap of boxes, with distances and aspect ratios (CIoU).",
       "[-1.5, 1]"});
  r.add<DistanceIntersectionOverUnion>(
      {"Mean overlap of boxes, with the distances of centers (DIoU).",
       "[-1, 1]"});
  r.add<GeneralizedIntersectionOverUnion>(
      {"Mean overlap of boxes, with the space between them (GIoU).",
       "[-1, 1]"});
  r.add<IntersectionOverUnion>(
      {"Mean intersection over union of boxes (IoU).", "[0, 1]"});
  r.add<LVISAveragePrecision>(
      {"Mean average precision of detected objects by the rules of LVIS.",
       "[0, 1]; -1 without objects"});
  r.add<MeanAveragePrecision>(
      {"Mean average precision and recall of detected objects, as COCO's.",
       "[0, 1]; -1 without objects"});
  r.add<MeanAverageRecall>(
      {"Mean recall of detected objects over overlaps and classes.",
       "[0, 1]; -1 without objects"});
  r.add<ModifiedPanopticQuality>(
      {"Panoptic quality whose regions need not overlap by half.", "[0, 1]",
       "things=[0, 1], stuffs=[2]"});
  r.add<PanopticQuality>(
      {"Quality of segmentations into things and stuffs, as panopticapi's.",
       "[0, 1]", "things=[0, 1], stuffs=[2]"});
  r.add<PascalVOCAveragePrecision>(
      {"Mean average precision of boxes by the rules of PASCAL VOC.",
       "[0, 1]"});
}

void add_segmentation(Registry& r) {
  r.add<DiceScore>(
      {"Overlap of two segmentations, relative to their mean size.", "[0, 1]",
       "num_classes=5"});
  r.add<GeneralizedDiceScore>(
      {"The Dice score with small classes weighing as much as large ones.",
       "[0, 1]", "num_classes=5"});
  r.add<MeanIoU>({"The mean intersection over union of classes.", "[0, 1]"});
  r.add<HausdorffDistance>(
      {"The largest distance from one surface to the other.", "[0, inf]",
       "num_classes=5"});
  r.add<AverageSymmetricSurfaceDistance>(
      {"The average distance between two surfaces.", "[0, inf]",
       "num_classes=5"});
  r.add<NormalizedSurfaceDistance>(
      {"The fraction of two surfaces that lies near the other one.", "[0, 1]",
       "num_classes=5, tolerance=1"});
  r.add<BoundaryF1>({"Precision and recall of boundaries, within a tolerance.",
                     "[0, 1]", "num_classes=5"});
}

void add_audio(Registry& r) {
  r.add<SignalNoiseRatio>({"Energy of reference over error, in dB.", "any"});
  r.add<ScaleInvariantSignalNoiseRatio>(
      {"Energy of scaled reference over error, without means, in dB.", "any"});
  r.add<ComplexScaleInvariantSignalNoiseRatio>(
      {"Energy of scaled reference over error of spectrograms, in dB.", "any"});
  r.add<ScaleInvariantSignalDistortionRatio>(
      {"Energy of scaled reference over error, in dB.", "any"});
  r.add<SourceAggregatedSignalDistortionRatio>(
      {"The same, of the energies of all speakers together, in dB.", "any"});
  r.add<SignalDistortionRatio>(
      {"Energy of filtered reference over error (BSS eval), in dB.",
       "[-inf, inf]"});
  r.add<PermutationInvariantTraining>(
      {"Mean score of speakers in their best order.", "any",
       "metric=ScaleInvariantSignalNoiseRatio"});
  r.add<ShortTimeObjectiveIntelligibility>(
      {"Predicted intelligibility of speech (STOI, ESTOI).", "[-1, 1]",
       "fs=16000"});
}

void add_text(Registry& r) {
  r.add<WordErrorRate>(
      {"Word errors per word of the references (WER).", "[0, inf]"});
  r.add<CharErrorRate>(
      {"Character errors per character of the references (CER).", "[0, inf]"});
  r.add<MatchErrorRate>(
      {"Fraction of the matches between words that are errors (MER).",
       "[0, 1]"});
  r.add<WordInfoLost>(
      {"Word information of both texts that is lost (WIL).", "[0, 1]"});
  r.add<WordInfoPreserved>(
      {"Word information of both texts that is preserved (WIP).", "[0, 1]"});
  r.add<EditDistance>({"Characters to edit in each text.", "[0, inf]"});
  r.add<TokenErrorRate>(
      {"Error rate of sequences of integer tokens.", "[0, inf]"});
  r.add<TokenEditDistance>(
      {"Tokens to edit in each sequence of integers.", "[0, inf]"});
  r.add<TranslationEditRate>(
      {"Edits and shifts of words per word of the references (TER).",
       "[0, inf]"});
  r.add<ExtendedEditDistance>(
      {"Edits of characters with jumps, per character (EED).", "[0, 1]"});
  r.add<SQuAD>(
      {"Exact match and F1 of answers to questions, in percent.", "[0, 100]"});
  r.add<Perplexity>(
      {"Effective number of tokens that a language model chooses among.",
       "[1, inf]"});
  r.add<BLEUScore>(
      {"n-grams of tokenized hypotheses that references have.", "[0, 1]"});
  r.add<SacreBLEUScore>(
      {"BLEU of plain texts, tokenized and smoothed as in sacrebleu.",
       "[0, 1]"});
  r.add<CHRFScore>(
      {"n-grams of characters and words in common: chrF, chrF++.", "[0, 1]"});
  r.add<ROUGEScore>(
      {"n-grams and subsequences that summaries and references share.",
       "[0, 1]"});
  r.add<EntityPrecision>(
      {"Fraction of entities predicted by tags that are correct.", "[0, 1]"});
  r.add<EntityRecall>(
      {"Fraction of entities in the target's tags that are found.", "[0, 1]"});
  r.add<EntityF1Score>(
      {"Harmonic mean of precision and recall of tagged entities.", "[0, 1]"});
}

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
