#include "tally/metrics/core/sources.h"

#include <c10/util/Exception.h>
#include <pthread.h>
#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iterator>
#include <memory>
#include <random>

#include "tally/state/codec.h"

namespace tally::internal {
namespace {

constexpr std::int64_t kMostParts = std::int64_t{1} << 24;

SourceId draw_bits() {
  SourceId id;
  if (::getrandom(&id, sizeof(id), 0) == sizeof(id)) return id;
  // Older kernels, and sandboxes that forbid the call.
  std::random_device device;
  const auto bits = [&] {
    return std::uint64_t{device()} << 32 | std::uint64_t{device()};
  };
  id.high = bits();
  id.low = bits();
  return id;
}

/// What a process draws once, as that is a system call, and counts up from.
struct Drawn {
  const SourceId first = draw_bits();
  std::atomic<std::uint64_t> count{0};
};
std::atomic<Drawn*> drawn{nullptr};

// A child of fork() draws its own. What it had from its parent is not freed:
// the parent's other threads may have been using it.
void forget_drawn() { drawn.store(nullptr, std::memory_order_relaxed); }

SourceId draw() {
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, &forget_drawn);
  (void)registered;
  Drawn* own = drawn.load(std::memory_order_acquire);
  if (own == nullptr) {
    auto made = std::make_unique<Drawn>();
    if (drawn.compare_exchange_strong(own, made.get(),
                                      std::memory_order_acq_rel)) {
      own = made.release();
    }
  }
  SourceId id = own->first;
  id.low += own->count.fetch_add(1, std::memory_order_relaxed);
  return id;
}

template <class T>
std::vector<T> union_of(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> all;
  all.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(),
                 std::back_inserter(all));
  return all;
}

/// Throws unless each is above the one before.
template <class T>
void check_order(const std::vector<T>& values) {
  TORCH_CHECK_VALUE(std::adjacent_find(values.begin(), values.end(),
                                       [](const T& a, const T& b) {
                                         return !(a < b);
                                       }) == values.end(),
                    "expected sources in their order");
}

std::size_t read_count(Decoder& decoder, std::size_t bytes_of_each) {
  const std::int64_t count = decoder.integer();
  TORCH_CHECK_VALUE(count >= 0 && static_cast<std::size_t>(count) <=
                                      decoder.remaining() / bytes_of_each,
                    "expected a number of sources, got ", count);
  return static_cast<std::size_t>(count);
}

}  // namespace

std::vector<std::int64_t> missing_parts(const std::vector<std::int64_t>& parts,
                                        std::int64_t count) {
  std::vector<std::int64_t> missing;
  auto next = parts.begin();
  for (std::int64_t i = 0; i < count; ++i) {
    if (next != parts.end() && *next == i) {
      ++next;
    } else {
      missing.push_back(i);
    }
  }
  return missing;
}

std::string SourceId::text() const {
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx",
                static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return text;
}

void Sources::add_own() {
  const SourceId id = draw();
  ids_.insert(std::lower_bound(ids_.begin(), ids_.end(), id), id);
  has_own_ = true;
}

void Sources::clear() {
  ids_.clear();
  part_count_ = 0;
  parts_.clear();
  has_own_ = false;
}

Sources Sources::of_copy() const {
  Sources copy = *this;
  copy.has_own_ = false;
  return copy;
}

Sources Sources::merged(const Sources& other) const {
  Sources all;
  all.ids_ = union_of(ids_, other.ids_);
  all.has_own_ = has_own_;
  const auto says_nothing = [](const Sources& each) {
    return each.ids_.empty() && each.part_count_ == 0;
  };
  if (says_nothing(*this) || says_nothing(other) ||
      part_count_ == other.part_count_) {
    all.part_count_ = std::max(part_count_, other.part_count_);
    all.parts_ = union_of(parts_, other.parts_);
  }
  return all;
}

void Sources::set_part(const StatePart& part) {
  if (part.count == 0 && part.index == 0) return;
  TORCH_CHECK_VALUE(part.count >= 1 && part.count <= kMostParts &&
                        part.index >= 0 && part.index < part.count,
                    "expected part i of n with 0 <= i < n, got part ",
                    part.index, " of ", part.count);
  part_count_ = part.count;
  parts_ = {part.index};
}

void Sources::write(Encoder& encoder) const {
  encoder.integer(static_cast<std::int64_t>(ids_.size()));
  for (const SourceId& id : ids_) {
    encoder.integer(static_cast<std::int64_t>(id.high));
    encoder.integer(static_cast<std::int64_t>(id.low));
  }
  encoder.integer(part_count_);
  encoder.integer(static_cast<std::int64_t>(parts_.size()));
  for (const std::int64_t part : parts_) encoder.integer(part);
}

Sources Sources::read(Decoder& decoder) {
  Sources sources;
  sources.ids_.resize(read_count(decoder, 2 * sizeof(std::uint64_t)));
  for (SourceId& id : sources.ids_) {
    id.high = static_cast<std::uint64_t>(decoder.integer());
    id.low = static_cast<std::uint64_t>(decoder.integer());
  }
  check_order(sources.ids_);
  sources.part_count_ = decoder.integer();
  sources.parts_.resize(read_count(decoder, sizeof(std::int64_t)));
  for (std::int64_t& part : sources.parts_) part = decoder.integer();
  check_order(sources.parts_);
  TORCH_CHECK_VALUE(sources.part_count_ >= 0 &&
                        sources.part_count_ <= kMostParts &&
                        (sources.parts_.empty() ||
                         (sources.parts_.front() >= 0 &&
                          sources.parts_.back() < sources.part_count_)),
                    "expected parts below their number, ", sources.part_count_);
  return sources;
}

}  // namespace tally::internal
