#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tally::internal::text {

/// Numbers tokens 0, 1, ... by their first occurrence; equal tokens have equal
/// numbers. Tokens are compared byte by byte, not only by their hashes; the
/// texts that they lie in must outlive them here. clear() is fast, so that one
/// object serves all sentences of a batch in turn.
class TokenIds {
 public:
  std::uint32_t id(std::string_view token);
  std::uint32_t id(std::u32string_view token) {
    return id(std::string_view(reinterpret_cast<const char*>(token.data()),
                               token.size() * sizeof(char32_t)));
  }
  /// The token with this number.
  std::string_view token(std::uint32_t id) const { return tokens_[id]; }
  /// The number of different tokens.
  std::size_t size() const { return tokens_.size(); }
  void clear();

 private:
  struct Slot {
    std::uint32_t generation = 0;  // occupied if that of now
    std::uint32_t id = 0;
    std::uint64_t hash = 0;
  };
  void grow();

  std::vector<Slot> slots_;
  std::vector<std::string_view> tokens_;
  std::uint32_t generation_ = 1;
};

}  // namespace tally::internal::text
