#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tally/cli/evaluate.h"
#include "tally/metrics/slices/slice_keys.h"
#include "tally/sync/communicator.h"

/// Keys and ids as users write them.
namespace tally::cli {

/// The keys of rows whose texts in the columns of --by these are. Throws
/// c10::ValueError for a column of many numbers with fractions.
SliceKeys keys_of(const std::vector<std::vector<std::string>>& columns,
                  Job& job);

/// Throws c10::ValueError for an empty id, or group, of a row; `first` is the
/// number of the first one.
void check_given(const std::vector<std::string>& ids, std::int64_t first,
                 Job& job);

/// Notes the ids of a batch, except those of rows that a weight of 0 leaves
/// out.
void note_ids(const SampleIds& ids, const std::vector<InputValue>& values,
              Job& job);

/// Throws c10::ValueError for such a column, and for an id that repeats, over
/// all ranks. Collective.
void check_keys(Job& job, const std::shared_ptr<sync::Communicator>& ranks);

}  // namespace tally::cli
