#include "tally/sync/fingerprint.h"

#include <xxhash.h>

namespace tally::sync {

std::uint64_t fingerprint(std::string_view text) noexcept {
  return XXH64(text.data(), text.size(), 0);
}

}  // namespace tally::sync
