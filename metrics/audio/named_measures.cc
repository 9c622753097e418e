#include "tally/metrics/audio/named_measures.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "tally/metrics/audio/complex_scale_invariant_signal_noise_ratio.h"
#include "tally/metrics/audio/scale_invariant_signal_distortion_ratio.h"
#include "tally/metrics/audio/scale_invariant_signal_noise_ratio.h"
#include "tally/metrics/audio/short_time_objective_intelligibility.h"
#include "tally/metrics/audio/signal_distortion_ratio.h"
#include "tally/metrics/audio/signal_noise_ratio.h"
#include "tally/metrics/audio/source_aggregated_signal_distortion_ratio.h"
#include "tally/metrics/common/did_you_mean.h"
#include "tally/metrics/metric_spec.h"

namespace tally::internal::audio {
namespace {

using Make = std::shared_ptr<const SignalMeasure> (*)(const MetricSpec& spec);
struct Named {
  const char* name;
  Make make;
};

template <class Measure>
std::shared_ptr<const SignalMeasure> make(const MetricSpec& spec) {
  auto options = unset_options<typename Measure::Options>();
  parse_options(options, spec.name, spec.options);
  return std::make_shared<const Measure>(
      validated(std::move(options), spec.name.c_str()));
}

constexpr Named kMeasures[] = {
    {ComplexScaleInvariantSignalNoiseRatio::kName, &make<ComplexNoiseRatio>},
    {ScaleInvariantSignalDistortionRatio::kName, &make<ScaledDistortionRatio>},
    {ScaleInvariantSignalNoiseRatio::kName, &make<ScaledNoiseRatio>},
    {ShortTimeObjectiveIntelligibility::kName, &make<Intelligibility>},
    {SignalDistortionRatio::kName, &make<FilteredDistortionRatio>},
    {SignalNoiseRatio::kName, &make<NoiseRatio>},
    {SourceAggregatedSignalDistortionRatio::kName,
     &make<AggregatedDistortionRatio>},
};

}  // namespace

bool names_measure(const std::string& text) {
  const std::string name = text.substr(0, text.find('('));
  return std::any_of(std::begin(kMeasures), std::end(kMeasures),
                     [&](const Named& one) { return name == one.name; });
}

std::shared_ptr<const SignalMeasure> named_measure(const std::string& text) {
  const MetricSpec spec = parse_metric_spec(text);
  std::vector<std::string> names;
  for (const Named& one : kMeasures) {
    if (spec.name == one.name) return one.make(spec);
    names.emplace_back(one.name);
  }
  C10_THROW_ERROR(
      ValueError,
      c10::str("expected a metric among ", c10::Join(", ", names), ", got ",
               spec.name, did_you_mean(spec.name, names)));
}

}  // namespace tally::internal::audio
