#pragma once

#include <memory>
#include <string>

#include "tally/metrics/audio/states/signal_measure.h"

namespace tally::internal::audio {

/// Whether the text begins with the name of such a metric.
bool names_measure(const std::string& text);

/// The score of an audio metric that compares signals, as "Name" or
/// "Name(option=value, ...)". c10::ValueError for other texts.
std::shared_ptr<const SignalMeasure> named_measure(const std::string& text);

}  // namespace tally::internal::audio
