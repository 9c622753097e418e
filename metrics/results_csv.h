#pragma once

#include <c10/util/FunctionRef.h>

#include <string>
#include <string_view>

#include "tally/metrics/results.h"

namespace tally {

/// Results as CSV, in their order and in full precision: the line
/// "metric,index,value", and one for each number. An element's index is its
/// place in the tensor ("2 0" in a matrix), and empty for a single number; an
/// undefined tensor is one line with the value null. NaN and infinities are
/// NaN, Infinity and -Infinity, and names are quoted where they must be.
///
/// Throws c10::TypeError for complex numbers.
///
/// Example:
///     MetricCollection metrics;
///     metrics.add("accuracy", MulticlassAccuracy(10));
///     metrics.update(preds, target);
///     std::cout << to_csv(metrics.compute());    // accuracy,,0.8
std::string to_csv(const Results& results);

/// The same without the first line, and with `prefix` before every other.
std::string to_csv_lines(const Results& results, std::string_view prefix);

/// The fields of these lines: calls visit(name, index, value) for each, the
/// name as it is.
using CsvVisit =
    c10::function_ref<void(const std::string& name, const std::string& index,
                           const std::string& value)>;
void visit_csv(const Results& results, CsvVisit visit);

/// A text as a field of CSV: quoted if it must be.
std::string csv_field(const std::string& text);

}  // namespace tally
