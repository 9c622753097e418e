#pragma once

#include <string>

#include "tally/metrics/results.h"

namespace tally {

/// Results as a JSON object, in their order and in full precision: numbers,
/// lists of them (of lists, for matrices), and null for what is undefined. NaN
/// and infinities, of which JSON has none, are the strings "NaN", "Infinity"
/// and "-Infinity". Names that are not UTF-8 get replacement characters.
///
/// Throws c10::TypeError for complex numbers.
///
/// Example:
///     MetricCollection metrics;
///     metrics.add("accuracy", MulticlassAccuracy(10));
///     metrics.update(preds, target);
///     std::cout << to_json(metrics.compute());    // {"accuracy":0.8}
std::string to_json(const Results& results);

}  // namespace tally
