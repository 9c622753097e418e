#include "tally/metrics/core/sorted_rows.h"

#include <cctype>
#include <string>

namespace tally::internal {

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

SortedRows::SortedRows(const std::vector<std::int64_t>& codes,
                       std::size_t count, Inputs inputs)
    : inputs_(inputs), ends_(count + 1) {
  for (const std::int64_t code : codes) {
    ++ends_[static_cast<std::size_t>(code) + 1];
  }
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  std::vector<std::int64_t> next(ends_.begin(), ends_.end() - 1);
  places_.resize(codes.size());
  for (std::size_t i = 0; i < places_.size(); ++i) {
    std::int64_t& place = next[static_cast<std::size_t>(codes[i])];
    places_[static_cast<std::size_t>(place++)] = static_cast<std::int64_t>(i);
  }
  // Of tensors, parts are views.
  for (const InputRef& input : inputs) {
    tensors_.emplace_back();
    if (input.rows() < 0 || input.as<at::Tensor>() == nullptr) continue;
    tensors_.back() = *input.select(places_).ref().as<at::Tensor>();
  }
}

}  // namespace tally::internal
