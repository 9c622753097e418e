#include "tally/cli/key_checks.h"

#include <ATen/ops/cat.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "tally/metrics/common/tensor_of.h"
#include "tally/state/parse_number.h"
#include "tally/sync/gather.h"

namespace tally::cli {
namespace {

// Versions, such as 1.0, are keys; scores would be a slice a row.
constexpr std::size_t kMostFractions = 100;

bool is_fraction(const std::string& text) {
  const auto number = internal::parse_number<double>(text);
  return number && text.find_first_of(".eE") != text.npos;
}

void check_fractions(const Job& job) {
  for (std::size_t i = 0; i < job.by.size(); ++i) {
    const std::set<std::string>& found = job.fractions[i];
    TORCH_CHECK_VALUE(found.size() <= kMostFractions,
                      "--by: expected integers, texts or up to ",
                      kMostFractions, " numbers with fractions in column '",
                      job.by[i], "', got ", *found.begin(),
                      " and more; put numbers into bins");
  }
}

/// Those of all ranks.
void gather_fractions(Job& job,
                      const std::shared_ptr<sync::Communicator>& ranks) {
  std::string own;
  for (std::size_t i = 0; i < job.fractions.size(); ++i) {
    for (const std::string& text : job.fractions[i]) {
      own += std::to_string(i) + " " + text + "\n";
    }
  }
  for (const at::Tensor& bytes : sync::gather_all_tensors(
           internal::tensor_of(own), sync::GradientFlow::kDetached, ranks)) {
    std::istringstream lines(
        std::string(static_cast<const char*>(bytes.data_ptr()),
                    static_cast<std::size_t>(bytes.numel())));
    std::size_t column = 0;
    for (std::string text; lines >> column >> text;) {
      job.fractions[column].insert(text);
    }
  }
}

/// The number of the first row whose id an earlier one has.
std::optional<std::int64_t> first_again(
    const at::Tensor& own, const std::shared_ptr<sync::Communicator>& ranks) {
  const at::Tensor ids = at::cat(
      sync::gather_all_tensors(own, sync::GradientFlow::kDetached, ranks));
  const auto* const id = ids.const_data_ptr<std::int64_t>();
  std::unordered_set<std::int64_t> seen;
  for (std::int64_t row = 0; row < ids.numel() / 2; ++row) {
    const bool counts = id[2 * row + 1] != 0;
    if (counts && !seen.insert(id[2 * row]).second) return row;
  }
  return {};
}

}  // namespace

SliceKeys keys_of(const std::vector<std::vector<std::string>>& columns,
                  Job& job) {
  std::optional<SliceKeys> keys;
  job.fractions.resize(job.by.size());
  for (std::size_t i = 0; i < job.by.size(); ++i) {
    std::vector<SliceValue> values;
    for (const std::string& text : columns[i]) {
      if (is_fraction(text)) job.fractions[i].insert(text);
      values.push_back(text.empty() ? SliceValue() : SliceValue(text));
    }
    SliceKeys column(values);
    keys = keys ? keys->crossed_with(column) : std::move(column);
  }
  check_fractions(job);
  return *std::move(keys);
}

void check_given(const std::vector<std::string>& ids, std::int64_t first,
                 Job& job) {
  const auto empty = std::find(ids.begin(), ids.end(), "");
  TORCH_CHECK_VALUE(
      empty == ids.end(), job.source->place(first + (empty - ids.begin())),
      job.has_ids ? ": --ids: expected an id" : ": --groups: expected a group",
      ", got an empty field");
}

void note_ids(const SampleIds& ids, const std::vector<InputValue>& values,
              Job& job) {
  const auto& names = job.source->names();
  const auto place = static_cast<std::size_t>(
      std::find(names.begin(), names.end(), "weight") - names.begin());
  const auto* const weight =
      place < values.size() ? values[place].ref().as<at::Tensor>() : nullptr;
  const bool has_weights =
      weight != nullptr && weight->dim() == 1 && weight->size(0) == ids.size();
  const at::Tensor counting =
      has_weights ? weight->ne(0).contiguous() : at::Tensor();
  const bool* const counts =
      has_weights ? counting.const_data_ptr<bool>() : nullptr;
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    job.ids.push_back(ids.values()[static_cast<std::size_t>(i)]);
    job.ids.push_back(counts == nullptr || counts[i]);
  }
}

void check_keys(Job& job, const std::shared_ptr<sync::Communicator>& ranks) {
  if (!job.by.empty()) {
    job.fractions.resize(job.by.size());
    gather_fractions(job, ranks);
    check_fractions(job);
  }
  if (!job.has_ids) return;
  const auto row = first_again(internal::tensor_of(job.ids), ranks);
  if (!row) return;
  job.source->read(*row, *row + 1);
  TORCH_CHECK_VALUE(false, job.source->place(*row),
                    ": --ids: expected each id once, got '",
                    job.source->keys().back().front(),
                    "' again; rows that belong together need --groups, and "
                    "rows that only fill a batch a weight of 0");
}

}  // namespace tally::cli
