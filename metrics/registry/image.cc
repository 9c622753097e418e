#include "tally/metrics/image/image.h"

#include "tally/metrics/registry/domains.h"

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

}  // namespace tally::internal
