#pragma once

#include <c10/util/ArrayRef.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally::internal::text {

/// Counts the n-grams of references, and how many of them a hypothesis has. An
/// n-gram is a node of a tree, found by its prefix's node and its last symbol:
/// different n-grams are never counted as one.
class NgramCounts {
 public:
  using Symbols = c10::ArrayRef<std::uint32_t>;

  /// Forgets all references; the memory stays.
  void clear();
  /// Counts the n-grams of orders 1 to `orders`; each counts as often as in
  /// the reference in which it is most frequent.
  void add_reference(Symbols symbols, std::int64_t orders);
  /// Adds to matches[n - 1] the number of n-grams of order n that references
  /// have, each as often as they have it at most. The counts are used up by
  /// this: one hypothesis for each clear().
  void match(Symbols symbols, std::int64_t orders, std::int64_t* matches);

  /// The number of n-grams of order n of so many symbols.
  static std::int64_t count(std::size_t symbols, std::int64_t n) {
    const auto size = static_cast<std::int64_t>(symbols);
    return size < n ? 0 : size - n + 1;
  }

 private:
  // An n-gram of which references have none.
  static constexpr std::uint32_t kNone = 0xffffffff;

  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t epoch = 0;  // of the key; older ones are forgotten
    std::uint32_t node = 0;
  };
  struct Node {
    std::uint32_t most = 0;       // in any reference, less what was matched
    std::uint32_t current = 0;    // in the last reference that has it
    std::uint32_t reference = 0;  // which one
  };

  static std::uint64_t key_of(std::uint32_t prefix, std::uint32_t symbol) {
    return std::uint64_t{prefix} << 32 | symbol;
  }
  // The slot of the key, or the empty one where it belongs.
  std::size_t place(std::uint64_t key) const;
  void reserve(std::size_t nodes);

  std::vector<Slot> slots_ = std::vector<Slot>(256);
  std::vector<Node> nodes_ = std::vector<Node>(1);  // the first is the root
  std::vector<std::uint32_t> prefixes_;  // the node from each symbol on
  std::uint32_t epoch_ = 1;
  std::uint32_t references_ = 0;
};

}  // namespace tally::internal::text
