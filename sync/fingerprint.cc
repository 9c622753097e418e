#include "tally/sync/fingerprint.h"

#include <xxhash.h>

#include <new>

namespace tally::sync {

std::uint64_t fingerprint(std::string_view text) noexcept {
  return XXH64(text.data(), text.size(), 0);
}

struct Fingerprint::State {
  State() : hash(XXH64_createState()) {
    if (hash == nullptr) throw std::bad_alloc();
    XXH64_reset(hash, 0);
  }
  ~State() { XXH64_freeState(hash); }

  XXH64_state_t* hash;
};

Fingerprint::Fingerprint() : state_(std::make_unique<State>()) {}

Fingerprint::~Fingerprint() = default;

void Fingerprint::add(std::string_view piece) noexcept {
  XXH64_update(state_->hash, piece.data(), piece.size());
}

std::uint64_t Fingerprint::value() const noexcept {
  return XXH64_digest(state_->hash);
}

}  // namespace tally::sync
