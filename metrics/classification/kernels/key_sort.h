#pragma once

#include <cstdint>

namespace tally::internal::classification {

/// Sorts in ascending order, in the widest vectors that the machine has.
void sort_keys(std::uint32_t* keys, std::int64_t count);
void sort_keys(std::uint64_t* keys, std::int64_t count);
/// The same where there are no fast vectors. Instantiated for these two.
template <class Key>
void sort_by_digits(Key* keys, std::int64_t count);

}  // namespace tally::internal::classification
