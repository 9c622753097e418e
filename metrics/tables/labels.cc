#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tally/metrics/common/hash.h"
#include "tally/metrics/tables/label_places.h"
#include "tally/metrics/tables/label_range.h"

namespace tally::internal::tables {
namespace {

// Labels whose range is at most so many times as large as their number have
// their places in an array.
constexpr std::uint64_t kRangePerSample = 2;
constexpr std::uint64_t kSmallRange = 1024;

// Gives labels numbers in the order in which they come.
class LabelNumbers {
 public:
  LabelNumbers() : slots_(std::size_t{1} << bits_) {}

  std::uint32_t number_of(std::int64_t label) {
    std::size_t i = slot_of(label);
    while (slots_[i].number != 0) {
      if (slots_[i].label == label) return slots_[i].number - 1;
      i = (i + 1) & (slots_.size() - 1);
    }
    labels_.push_back(label);
    slots_[i] = {label, static_cast<std::uint32_t>(labels_.size())};
    const std::uint32_t number = slots_[i].number - 1;
    if (2 * labels_.size() > slots_.size()) grow();
    return number;
  }
  const std::vector<std::int64_t>& labels() const { return labels_; }

 private:
  struct Slot {
    std::int64_t label = 0;
    std::uint32_t number = 0;  // and 1; 0: there is none
  };

  std::size_t slot_of(std::int64_t label) const {
    // Fibonacci hashing.
    return static_cast<std::size_t>(
        (static_cast<std::uint64_t>(label) * kGoldenRatio) >> (64 - bits_));
  }

  void grow() {
    ++bits_;
    std::vector<Slot> old(std::size_t{1} << bits_);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number == 0) continue;
      std::size_t i = slot_of(slot.label);
      while (slots_[i].number != 0) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = slot;
    }
  }

  int bits_ = 8;
  std::vector<Slot> slots_;
  std::vector<std::int64_t> labels_;
};

LabelPlaces places_in_range(const std::int64_t* labels, std::int64_t count,
                            std::int64_t stride, std::int64_t least,
                            std::uint64_t range) {
  const auto offset_of = [=](std::int64_t i) {
    return static_cast<std::uint64_t>(labels[i * stride]) -
           static_cast<std::uint64_t>(least);
  };
  LabelPlaces result;
  std::vector<std::uint32_t> place(range + 1);
  for (std::int64_t i = 0; i < count; ++i) place[offset_of(i)] = 1;
  for (std::uint64_t offset = 0; offset <= range; ++offset) {
    if (place[offset] == 0) continue;
    place[offset] = static_cast<std::uint32_t>(result.labels.size());
    result.labels.push_back(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + offset));
  }
  result.places.resize(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    result.places[i] = place[offset_of(i)];
  }
  return result;
}

LabelPlaces places_by_hash(const std::int64_t* labels, std::int64_t count,
                           std::int64_t stride) {
  LabelPlaces result;
  result.places.resize(static_cast<std::size_t>(count));
  LabelNumbers numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    result.places[i] = numbers.number_of(labels[i * stride]);
  }
  std::vector<std::pair<std::int64_t, std::uint32_t>> sorted;
  for (const std::int64_t label : numbers.labels()) {
    sorted.emplace_back(label, static_cast<std::uint32_t>(sorted.size()));
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::uint32_t> place(sorted.size());
  for (const auto& [label, number] : sorted) {
    place[number] = static_cast<std::uint32_t>(result.labels.size());
    result.labels.push_back(label);
  }
  for (std::uint32_t& number : result.places) number = place[number];
  return result;
}

}  // namespace

void check_whole_numbers(const char* input, const at::Tensor& labels,
                         const std::string& place) {
  if (!at::isFloatingType(labels.scalar_type())) return;
  const at::Tensor plain =
      labels.detach().to(at::kCPU, at::kDouble).contiguous();
  const auto* const begin = plain.const_data_ptr<double>();
  const auto* const end = begin + plain.numel();
  // Larger ones are whole, but may have been others.
  const auto* const wrong = std::find_if_not(begin, end, [](double label) {
    return std::abs(label) <= 0x1p53 && label == std::trunc(label);
  });
  TORCH_CHECK_VALUE(wrong == end, place, "expected whole numbers as ", input,
                    ", got ", *wrong, " at position ", wrong - begin);
}

void check_label_range(const char* input, const at::Tensor& labels,
                       std::optional<std::int64_t> num_classes) {
  if (!num_classes) return;
  const auto* const begin = labels.const_data_ptr<std::int64_t>();
  const auto* const end = begin + labels.numel();
  // Without branches: the sign of one of the two tells a label out of range.
  const auto most = static_cast<std::uint64_t>(*num_classes - 1);
  std::uint64_t signs = 0;
  for (const auto* label = begin; label != end; ++label) {
    const auto bits = static_cast<std::uint64_t>(*label);
    signs |= bits | (most - bits);
  }
  if (signs >> 63 == 0) return;
  const auto* const wrong = std::find_if(begin, end, [&](std::int64_t label) {
    return label < 0 || label >= *num_classes;
  });
  TORCH_CHECK_VALUE(wrong == end, "expected labels from 0 to ",
                    *num_classes - 1, " in ", input, ", got ", *wrong,
                    " at position ", wrong - begin);
}

void check_num_classes(const char* metric,
                       std::optional<std::int64_t> num_classes) {
  TORCH_CHECK_VALUE(!num_classes || *num_classes >= 1, metric,
                    ": expected num_classes of at least 1, got ",
                    num_classes.value_or(0));
}

LabelPlaces label_places(const std::int64_t* labels, std::int64_t count,
                         std::int64_t stride) {
  if (count == 0) return {};
  TORCH_CHECK_VALUE(count <= std::numeric_limits<std::uint32_t>::max(),
                    "expected less than 2^32 samples, got ", count);
  std::int64_t least = labels[0];
  std::int64_t most = labels[0];
  for (std::int64_t i = 1; i < count; ++i) {
    least = std::min(least, labels[i * stride]);
    most = std::max(most, labels[i * stride]);
  }
  const std::uint64_t range =
      static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
  const auto samples = static_cast<std::uint64_t>(count);
  return range < kRangePerSample * samples + kSmallRange
             ? places_in_range(labels, count, stride, least, range)
             : places_by_hash(labels, count, stride);
}

LabelPlaces label_places(const at::Tensor& labels) {
  return label_places(labels.const_data_ptr<std::int64_t>(), labels.numel());
}

PlaceOrder order_by_place(const LabelPlaces& labels) {
  PlaceOrder result;
  result.begins.resize(labels.labels.size() + 1);
  for (const std::uint32_t place : labels.places) ++result.begins[place + 1];
  for (std::size_t i = 1; i < result.begins.size(); ++i) {
    result.begins[i] += result.begins[i - 1];
  }
  result.order.resize(labels.places.size());
  std::vector<std::int64_t> next = result.begins;
  for (std::size_t i = 0; i < labels.places.size(); ++i) {
    result.order[next[labels.places[i]]++] = static_cast<std::uint32_t>(i);
  }
  return result;
}

}  // namespace tally::internal::tables
