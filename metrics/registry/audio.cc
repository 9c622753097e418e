#include "tally/metrics/audio/audio.h"

#include "tally/metrics/registry/domains.h"

namespace tally::internal {

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

}  // namespace tally::internal
