#include "tally/metrics/common/text_key.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string>

#include "tally/state/parse_number.h"

namespace tally::internal {

std::optional<std::int64_t> integer_of_text(std::string_view text) {
  const auto integer = parse_number<std::int64_t>(text);
  return integer && std::to_string(*integer) == text ? integer : std::nullopt;
}

std::int64_t text_key(std::string_view text) {
  if (const auto integer = integer_of_text(text)) return *integer;
  return static_cast<std::int64_t>(XXH64(text.data(), text.size(), 0));
}

}  // namespace tally::internal
