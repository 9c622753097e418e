#pragma once

#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tally/state/note.h"
#include "tally/state/state.h"

namespace tally {

/// A warning of a metric, about some of its rows or about its options.
///
/// Metrics give it when they compute a value: once until reset(), over all
/// batches and ranks, on rank 0.
struct MetricWarning {
  std::string metric;       ///< its name in a collection, or that of its class
  std::string name;         ///< "no_tokens"; empty for options
  std::int64_t count = 0;   ///< rows it is about; 0 for options
  std::int64_t rows = 0;    ///< rows in total
  std::int64_t first = -1;  ///< the first of them, counted from 0; -1: unknown
  std::string text;         ///< "NaN was ignored", or a sentence on options
  std::string advice;       ///< what to do about it; empty for options

  /// "MeanMetric: NaN was ignored in 2 of 5 rows, first row 3; choose ...".
  /// `first_place` replaces "row 3".
  std::string message(const std::string& first_place = "") const;
};

/// While it exists, warnings of this thread are passed to a function instead of
/// TORCH_WARN. The innermost one gets them.
///
/// Example:
///     std::vector<MetricWarning> warnings;
///     const WarningGuard guard(
///         [&](const MetricWarning& w) { warnings.push_back(w); });
///     metric.compute();
class WarningGuard {
 public:
  using Handler = std::function<void(const MetricWarning&)>;

  explicit WarningGuard(Handler handler);
  ~WarningGuard();
  WarningGuard(const WarningGuard&) = delete;
  WarningGuard& operator=(const WarningGuard&) = delete;

 private:
  Handler handler_;
  Handler* outer_;
};

namespace internal {

/// How the rows of several states, or of the parts of one, belong together.
enum class RowParts {
  kSame,       ///< each has seen the same rows
  kResampled,  ///< the same, with numbers that are not those of the data
  kDisjoint,   ///< each has seen rows of its own
};

/// The notes of a kind in some states.
struct KindOfNotes {
  Note note;
  bool knows_first = true;  ///< whether its first row is one of the data
};
std::vector<KindOfNotes> notes_of(c10::ArrayRef<const AnyState*> states,
                                  RowParts parts = RowParts::kSame);

/// Which warnings have been given since the last reset. Shared by everything
/// that computes values of the same accumulated data.
class GivenWarnings {
 public:
  explicit GivenWarnings(RowParts parts = RowParts::kSame) : parts_(parts) {}
  GivenWarnings(const GivenWarnings& other);
  /// None given yet.
  std::shared_ptr<GivenWarnings> fresh() const {
    return std::make_shared<GivenWarnings>(parts_);
  }

  /// Gives those of the states' notes with marks, and of the options' remarks,
  /// that have not been given. `speaks`: whether on this rank.
  void give(const std::string& metric, c10::ArrayRef<const AnyState*> states,
            c10::ArrayRef<std::string> remarks, bool speaks);
  /// Gives one about a value, unless that of its name has been given.
  void give(const MetricWarning& warning, bool speaks);

 private:
  mutable std::mutex mutex_;
  std::vector<const NoteKind*> kinds_;
  std::vector<std::string> names_;
  bool remarked_ = false;
  RowParts parts_;
};

}  // namespace internal
}  // namespace tally
