#include "tally/metrics/core/sorted_rows.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace tally::internal {
namespace {

using Codes = c10::ArrayRef<std::int32_t>;

std::vector<std::int64_t> begins_of(const std::vector<std::int64_t>& ends) {
  return {ends.begin(), ends.end() - 1};
}

/// Where each row goes: behind those with its code before it. Found once for
/// all columns, since each place waits for the last one of its code.
std::vector<std::uint32_t> targets_of(const Codes& codes,
                                      const std::vector<std::int64_t>& ends) {
  std::vector<std::uint32_t> next(ends.begin(), ends.end() - 1);
  std::vector<std::uint32_t> targets(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    targets[i] = next[static_cast<std::size_t>(codes[i])]++;
  }
  return targets;
}

template <class T>
void scatter(const T* from, const std::vector<std::uint32_t>& targets,
             T* into) {
  for (std::size_t i = 0; i < targets.size(); ++i) into[targets[i]] = from[i];
}

/// A column by code; undefined where it is no column of plain numbers.
at::Tensor sorted_column(const at::Tensor& column, const Codes& codes,
                         const std::vector<std::int64_t>& ends,
                         std::vector<std::uint32_t>& targets) {
  if (column.layout() != at::kStrided || column.dim() != 1 ||
      !column.is_cpu() || !column.is_contiguous() || column.requires_grad() ||
      column.is_conj() || column.is_neg() ||
      codes.size() > std::numeric_limits<std::uint32_t>::max()) {
    return {};
  }
  if (targets.empty()) targets = targets_of(codes, ends);
  at::Tensor sorted = at::empty_like(column);
  const auto scatter_as = [&](auto like) {
    using T = decltype(like);
    scatter(static_cast<const T*>(column.const_data_ptr()), targets,
            static_cast<T*>(sorted.mutable_data_ptr()));
    return sorted;
  };
  switch (column.element_size()) {
    case 1:
      return scatter_as(std::uint8_t());
    case 2:
      return scatter_as(std::uint16_t());
    case 4:
      return scatter_as(std::uint32_t());
    case 8:
      return scatter_as(std::uint64_t());
    default:
      return {};
  }
}

}  // namespace

bool depends_on_batches(const Metric& metric) {
  if (metric.make_kept().defined()) return true;
  const std::string text = metric.repr();
  for (const char* name :
       {"Running", "RunningMean", "RunningSum", "BootStrapper"}) {
    const std::string call = std::string(name) + "(";
    for (std::size_t at = text.find(call); at != text.npos;
         at = text.find(call, at + 1)) {
      const char before = at == 0 ? ' ' : text[at - 1];
      if (std::isalnum(static_cast<unsigned char>(before)) == 0) return true;
    }
  }
  return false;
}

SortedRows::SortedRows(c10::ArrayRef<std::int32_t> codes, std::size_t count,
                       Inputs inputs)
    : inputs_(inputs), ends_(count + 1) {
  for (const std::int32_t code : codes) {
    ++ends_[static_cast<std::size_t>(code) + 1];
  }
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  std::vector<std::uint32_t> targets;  // once a column needs them
  // Of tensors, parts are views.
  for (const InputRef& input : inputs) {
    tensors_.emplace_back();
    if (input.rows() < 0) continue;
    const auto* const tensor = input.as<at::Tensor>();
    if (tensor != nullptr) {
      tensors_.back() = sorted_column(*tensor, codes, ends_, targets);
      if (tensors_.back().defined()) continue;
    }
    find_places(codes);
    if (tensor == nullptr) continue;
    tensors_.back() = *input.select(places_).ref().as<at::Tensor>();
  }
}

void SortedRows::find_places(c10::ArrayRef<std::int32_t> codes) {
  if (!places_.empty()) return;
  std::vector<std::int64_t> next = begins_of(ends_);
  places_.resize(codes.size());
  for (std::size_t i = 0; i < places_.size(); ++i) {
    std::int64_t& place = next[static_cast<std::size_t>(codes[i])];
    places_[static_cast<std::size_t>(place++)] = static_cast<std::int64_t>(i);
  }
}

}  // namespace tally::internal
