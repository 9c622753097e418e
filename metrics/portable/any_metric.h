#pragma once

#include <absl/status/statusor.h>
#include <c10/util/ArrayRef.h>

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "tally/metrics/collection.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/intervals/model_comparison.h"
#include "tally/metrics/metric.h"
#include "tally/metrics/registry/registry.h"
#include "tally/metrics/slices/named_sets.h"
#include "tally/metrics/slices/slice_comparison.h"
#include "tally/metrics/slices/sliced_metric.h"
#include "tally/metrics/wrappers/metric_tracker.h"

/// States as values: made in one process, carried as bytes, merged in another.
namespace tally {

/// Anything that a text describes in full.
using AnyMetric = std::variant<std::unique_ptr<Metric>, MetricCollection,
                               SlicedMetric, SliceComparison, IntervalMetric,
                               ModelComparison, MetricTracker, NamedSets>;

/// What they have in common.
MetricBase& base_of(AnyMetric& metric);
const MetricBase& base_of(const AnyMetric& metric);

/// Makes what MetricBase::spec() describes: a metric of the registry, a
/// wrapper or arithmetic on metrics, "MetricCollection(metrics={a: A(), b:
/// B()}, prefix=val_)", "SlicedMetric(metric=A(), largest=20)",
/// "SliceComparison(metric=A())", "IntervalMetric(metric=A(), level=0.9)",
/// "ModelComparison(metric=A())", "MetricTracker(metric=A(), maximize={A:
/// true})", "MetricTracker(metrics=MetricCollection(...))" or
/// "NamedSets(sets=[a, b], metrics={A: A()})". Throws c10::ValueError like
/// Registry::make.
AnyMetric make_any_metric(std::string_view text,
                          const Registry& registry = builtin_registry());

/// Makes the object whose MetricBase::to_bytes() these are, with what it
/// accumulated. Its options for ranks are the defaults, and its state is on the
/// CPU.
///
/// The bytes may come from anywhere: nothing is allocated by a number in them
/// that they do not bear out. They are not authenticated: whoever can change
/// them can change values.
///
/// Errors: kDataLoss for bytes that are truncated or damaged;
/// kFailedPrecondition for those of a newer version, of serialize(), which do
/// not say what made them, and for classes that the registry does not have, by
/// name: make one of those, and read the bytes by its deserialize().
///
/// Example:
///     MulticlassAccuracy accuracy(10);
///     accuracy.update(preds, target);
///     std::string bytes = accuracy.to_bytes();
///     // In another process:
///     auto whole = from_bytes(bytes);
///     std::cout << std::get<std::unique_ptr<Metric>>(*whole)->number();
absl::StatusOr<AnyMetric> from_bytes(
    std::string_view bytes, const Registry& registry = builtin_registry());

/// The same without what it accumulated.
absl::StatusOr<AnyMetric> empty_from_bytes(
    std::string_view bytes, const Registry& registry = builtin_registry());

/// The metric that has accumulated all that these have, merged in this order,
/// which is that of ranks: counts and rows are those of one process to the last
/// bit, sums of floating-point numbers to 1e-12 (docs/numerics.md). Errors:
/// those of from_bytes, and kInvalidArgument for no bytes and for those of
/// another metric or of other options, by their place.
absl::StatusOr<AnyMetric> merge_bytes(
    c10::ArrayRef<std::string_view> parts,
    const Registry& registry = builtin_registry());

/// Adds what `other` accumulated. Throws c10::ValueError for another class or
/// other options, and like merge_state().
void merge_into(AnyMetric& metric, const AnyMetric& other);

}  // namespace tally
