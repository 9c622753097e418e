#pragma once

#include <cstdint>
#include <vector>

#include "tally/metrics/core/state_rows.h"
#include "tally/metrics/resampling/sample_ids.h"
#include "tally/metrics/slices/slice_keys.h"
#include "tally/state/fields.h"
#include "tally/state/rows.h"
#include "tally/state/state.h"

/// The units behind a slice's value, and the blocks that they are drawn in.
namespace tally::internal::slices {

inline constexpr std::size_t kBlocks = 20;

/// What is accumulated for a block of a slice, besides the metric's state.
struct SliceUnits {
  Rows ids;  ///< int64: of each row, or of each group once a batch
  std::int64_t counted = 0;  ///< rows whose weight is not 0
  /// Rows with weights, or of several trials, which are no proportion.
  std::int64_t dependent = 0;

  void fields(Fields& f) {
    f("ids", ids)("counted", counted)("dependent", dependent);
  }
};

/// The block of each id.
SliceKeys block_keys(const SampleIds& ids);

/// What is known of a batch's ids.
struct IdsOfBatch {
  bool are_distinct = false;   ///< they have to be
  bool are_dependent = false;  ///< see SliceUnits::dependent
  std::vector<bool> counting;  ///< rows whose ids count; empty: all
};

/// The SliceUnits of each row of a batch; `ids` has that of each of its inputs'
/// rows.
void add_units(const SliceKeys& keys, const SampleIds& ids,
               const IdsOfBatch& known, std::vector<RowBatch>& batch);

/// A slice, or all others together.
struct SlicePart {
  std::vector<SliceValue> key;
  std::int64_t rows = 0;
  std::int64_t counted = 0;      ///< of these, whose weight is not 0
  std::vector<AnyState> blocks;  ///< kBlocks; undefined ones have no rows
  std::vector<std::int64_t> block_counted =
      std::vector<std::int64_t>(kBlocks, 0);
  std::vector<std::int64_t> units;  ///< ids, ascending, each once
  std::int64_t dependent = 0;
};

enum class UnitKind {
  kRows,    ///< an id comes once
  kGroups,  ///< rows of an id may be in several slices
  kWhole,   ///< all rows of an id are in one slice
};

/// The slices with their units, in the order of keys. Throws c10::ValueError
/// for ids that there cannot be: `unit` is their word.
std::vector<SlicePart> parts_of(const StateRows& rows, UnitKind kind,
                                const char* owner, const char* unit);

/// The number of different units.
std::int64_t count_units(const std::vector<SlicePart>& parts);

}  // namespace tally::internal::slices
