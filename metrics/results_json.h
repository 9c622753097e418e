#pragma once

#include <string>

#include "tally/metrics/results.h"

namespace tally {

/// Results as a JSON object, in their order and in full precision: numbers,
/// (nested) lists of numbers, and null for undefined tensors. NaN and
/// infinities, which JSON lacks, are the strings "NaN", "Infinity" and
/// "-Infinity". Invalid UTF-8 in names is replaced.
///
/// Throws c10::TypeError for complex numbers.
///
/// Example:
///     MetricCollection metrics;
///     metrics.add("accuracy", MulticlassAccuracy(10));
///     metrics.update(preds, target);
///     std::cout << to_json(metrics.compute());    // {"accuracy":0.8}
std::string to_json(const Results& results);

/// What the dimensions of results are, of those whose metric says so:
/// {"f1":["class"],"roc.fpr":["class","point"]}.
std::string dimensions_to_json(const Results& results);

}  // namespace tally
