#pragma once

#include <cstdint>

namespace tally::internal::classification {

/// Sorts in ascending order, with the widest vectors of the machine.
void sort_keys(std::uint32_t* keys, std::int64_t count);
void sort_keys(std::uint64_t* keys, std::int64_t count);
/// The same without fast vectors. Instantiated for these two types.
template <class Key>
void sort_by_digits(Key* keys, std::int64_t count);

}  // namespace tally::internal::classification
