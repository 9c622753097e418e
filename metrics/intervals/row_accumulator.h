#pragma once

#include <absl/status/status.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tally/metrics/intervals/sample_ids.h"
#include "tally/metrics/metric.h"
#include "tally/metrics/warnings.h"
#include "tally/state/state.h"
#include "tally/state/state_key.h"

namespace tally::internal::intervals {

/// What IntervalMetric and ModelComparison accumulate: the state of a method,
/// and how many rows it has; of methods by id also which ids.
class RowAccumulator {
 public:
  struct Rules {
    const char* owner = "";  ///< in messages
    bool uses_ids = false;
    bool grouped = false;
    AnyState identity;
    StateKey key;
  };
  /// Over all ranks.
  struct All {
    AnyState state;
    std::int64_t rows = 0;
    std::int64_t digest = 0;  ///< of the ids, in any order
  };
  using Observe =
      c10::function_ref<AnyState(const std::vector<std::int64_t>& ids)>;

  explicit RowAccumulator(Rules rules);
  RowAccumulator(RowAccumulator&&) noexcept;
  RowAccumulator& operator=(RowAccumulator&&) noexcept;
  ~RowAccumulator();

  const Rules& rules() const { return rules_; }
  /// Of this rank.
  std::int64_t rows() const;
  /// Adds a batch of `rows`; ids are null where rows are to be numbered.
  /// `observe` gets those of the rows, and none if they are not used. `metric`
  /// is the one observed. Throws c10::ValueError for ids that are missing, or
  /// of another number, and what `observe` throws; nothing has changed then.
  void update(const Metric& metric, const SampleIds* ids, std::int64_t rows,
              Observe observe);
  /// Collective, on the metric's ranks. Gives the metric's warnings. Throws
  /// c10::ValueError for ids that repeat and for numbered rows on several
  /// ranks.
  All merged(const Metric& metric) const;
  void reset();

  /// See IntervalMetric. `name`: of the metric observed.
  std::string serialize(const std::string& name) const;
  absl::Status deserialize(const std::string& name, std::string_view bytes);

 private:
  struct Held;

  void check_ids(const Metric& metric, const SampleIds* ids,
                 std::int64_t rows) const;

  Rules rules_;
  std::unique_ptr<Held> held_;
};

}  // namespace tally::internal::intervals
