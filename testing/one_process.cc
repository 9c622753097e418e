#include <ATen/core/grad_mode.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <exception>

#include "tally/state/codec.h"
#include "tally/sync/agree.h"
#include "tally/sync/fingerprint.h"
#include "tally/testing/internal/cuts.h"
#include "tally/testing/matchers.h"

namespace tally::testkit {
namespace {

using losses::GradientReduction;
using losses::GradientVerdict;
using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;
using Tensors = std::vector<at::Tensor>;
using Function = std::function<at::Tensor(const Tensors& rows)>;
using Counts = std::vector<std::int64_t>;

struct RowSplit {
  const char* name;
  Counts rows;  ///< of each rank
};

std::vector<RowSplit> row_splits(std::int64_t rows, int ranks,
                                 const OneProcessOptions& options) {
  const Counts even(static_cast<std::size_t>(ranks), 1);
  Counts uneven = even, idle_first = even, idle_last = even;
  for (std::size_t r = 0; r < uneven.size(); ++r) {
    uneven[r] = static_cast<std::int64_t>((r + 1) * (r + 1));
  }
  idle_first.front() = 0;
  idle_last.back() = 0;
  std::vector<RowSplit> splits;
  const bool enough = rows >= ranks;
  const auto deal = [&](const char* name, const Counts& weights) {
    splits.push_back({name, internal::shares(rows, weights)});
  };
  if (enough || options.idle_ranks()) {
    deal("even", even);
    if (ranks == 1) return splits;
  }
  if (enough) {
    Counts counts = internal::shares(rows - ranks, uneven);
    for (std::int64_t& count : counts) ++count;
    splits.push_back({"uneven", counts});
    counts = internal::shares(rows - 1, idle_first);
    counts.front() = 1;
    splits.push_back({"one row on the first rank", counts});
  }
  if (options.idle_ranks() && rows > 0) {
    deal("idle first rank", idle_first);
    deal("idle last rank", idle_last);
  }
  return splits;
}

std::int64_t common_rows(const Function& function, const Tensors& rows) {
  TORCH_CHECK_VALUE(function, "expected a function, got none");
  TORCH_CHECK_VALUE(!rows.empty(), "expected at least one tensor of rows");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    TORCH_CHECK_VALUE(rows[i].defined() && rows[i].dim() > 0,
                      "expected rows in tensor ", i, ", got ",
                      rows[i].defined() ? "a 0-dim tensor" : "nothing");
    TORCH_CHECK_VALUE(rows[i].size(0) == rows[0].size(0), "expected ",
                      rows[0].size(0), " rows in tensor ", i, ", got ",
                      rows[i].size(0));
  }
  return rows[0].size(0);
}

Tensors leaves_of(const Tensors& rows, std::int64_t first, std::int64_t count,
                  bool with_graph) {
  Tensors leaves;
  for (const at::Tensor& tensor : rows) {
    leaves.push_back(tensor.detach().narrow(0, first, count).clone());
    if (with_graph && tensor.is_floating_point()) {
      leaves.back().set_requires_grad(true);
    }
  }
  return leaves;
}

class Check {
 public:
  Check(const Function& function, const Tensors& rows,
        const OneProcessOptions& options)
      : function_(function),
        rows_(rows),
        options_(options),
        call_("EqualsOneProcess", options.communicator()) {}

  AssertionResult run() {
    std::vector<RowSplit> splits;
    sync::agree(call_, [&] {
      const std::int64_t count = common_rows(function_, rows_);
      splits = row_splits(count, call_.size(), options_);
      TORCH_CHECK_VALUE(!splits.empty(), "expected at least as many rows as ",
                        "ranks without idle ranks, got ", count, " for ",
                        call_.size(), " ranks");
      whole_ = value_of(0, count, sync::single_process_communicator());
      if (options_.value() == RankValue::kOfOwnRows) {
        TORCH_CHECK_VALUE(whole_.dim() > 0 && whole_.size(0) == count,
                          "expected a value with a row for each of ", count,
                          " rows, got ", whole_.sizes());
      }
      sync::Offer offer;
      offer.schema = schema();
      return offer;
    });
    for (const RowSplit& split : splits) {
      AssertionResult result = check_value(split);
      if (result && whole_.requires_grad()) result = check_gradients(split);
      if (!result) {
        return AssertionFailure()
               << "split \"" << split.name << "\", rows "
               << c10::IntArrayRef(split.rows) << ": " << result.message();
      }
    }
    return AssertionSuccess();
  }

 private:
  bool rows_are_own() const {
    return options_.value() == RankValue::kOfOwnRows;
  }

  std::string schema() const {
    std::string bytes;
    Encoder encoder(bytes);
    for (const at::Tensor& tensor : rows_) encoder.tensor(tensor.detach());
    return c10::str("rows with checksum ", sync::fingerprint(bytes), ", value ",
                    rows_are_own() ? "of own rows" : "of all rows",
                    whole_.requires_grad() ? ", with gradients" : "");
  }

  at::Tensor value_of(std::int64_t first, std::int64_t count,
                      const std::shared_ptr<sync::Communicator>& ranks) const {
    const sync::CommunicatorGuard guard(ranks);
    const at::AutoGradMode record(options_.check_gradients());
    at::Tensor value =
        function_(leaves_of(rows_, first, count, options_.check_gradients()));
    TORCH_CHECK_VALUE(value.defined(), "expected a value, got none");
    return value;
  }

  at::Tensor expected(const RowSplit& split) const {
    return rows_are_own() ? whole_.narrow(0, first_of(split), count_of(split))
                          : whole_;
  }
  std::int64_t count_of(const RowSplit& split) const {
    return split.rows[static_cast<std::size_t>(call_.rank())];
  }
  // Elements in a row of the value.
  std::int64_t row_size() const {
    return whole_.numel() / std::max<std::int64_t>(1, whole_.size(0));
  }
  std::int64_t first_of(const RowSplit& split) const {
    std::int64_t first = 0;
    for (int r = 0; r < call_.rank(); ++r) first += split.rows[r];
    return first;
  }

  AssertionResult check_value(const RowSplit& split) const {
    std::exception_ptr failed;
    std::string difference;
    try {
      const at::Tensor own =
          value_of(first_of(split), count_of(split), call_.communicator);
      const at::Tensor one = expected(split);
      difference = near(own, one,
                        options_.tolerance().value_or(
                            default_tolerance(one.scalar_type())))
                       .message();
    } catch (const sync::SyncError&) {
      throw;  // as on every rank
    } catch (const std::exception&) {
      failed = std::current_exception();
    }
    const sync::Agreement agreement = sync::agree(call_, [&] {
      if (failed) std::rethrow_exception(failed);
      sync::Offer offer;
      offer.payload = difference;
      return offer;
    });
    std::string text;
    for (std::size_t r = 0; r < agreement.payloads.size(); ++r) {
      if (agreement.payloads[r].empty()) continue;
      text += c10::str("\nrank ", r, ": ", agreement.payloads[r]);
    }
    if (text.empty()) return AssertionSuccess();
    return AssertionFailure() << "the value is not that of one process" << text;
  }

  // A number that depends on every finite part of the value.
  at::Tensor weighted_sum(const at::Tensor& value, const RowSplit& split,
                          const Tensors& rows) const {
    const bool alone = sync::default_communicator()->size() == 1;
    const at::Tensor one =
        (alone ? whole_ : expected(split)).detach().reshape({-1});
    const std::int64_t offset =
        alone || !rows_are_own() ? 0 : first_of(split) * row_size();
    const at::Tensor places = one.isfinite().nonzero().reshape({-1});
    const at::Tensor weights =
        places.add(offset).to(at::kDouble).add(1).cos().add(2);
    at::Tensor sum = value.reshape({-1})
                         .index_select(0, places)
                         .to(at::kDouble)
                         .mul(weights)
                         .sum();
    // A rank without rows has a graph, too.
    for (const at::Tensor& tensor : rows) {
      if (!tensor.requires_grad()) continue;
      sum = sum.add(tensor.reshape({-1}).narrow(0, 0, 0).sum());
    }
    return sum;
  }

  AssertionResult check_gradients(const RowSplit& split) const {
    const GradientReduction reduction = options_.gradients().value_or(
        rows_are_own() ? GradientReduction::kSum : GradientReduction::kMean);
    const auto report = losses::check_distributed_gradients(
        [&](const Tensors& rows) {
          return weighted_sum(function_(rows), split, rows);
        },
        rows_, {},
        losses::CheckDistributedGradientsOptions()
            .gradients(reduction)
            .rows(split.rows)
            .check_reference(false)
            .communicator(call_.communicator));
    for (const losses::GradientCheck& check : report.inputs) {
      if (check.verdict == GradientVerdict::kExact ||
          check.verdict == GradientVerdict::kNone ||
          check.verdict == GradientVerdict::kTooSmall) {
        continue;
      }
      return AssertionFailure()
             << "the gradients are not those of one process\n"
             << report;
    }
    return AssertionSuccess();
  }

  const Function& function_;
  const Tensors& rows_;
  const OneProcessOptions& options_;
  const sync::Call call_;
  at::Tensor whole_;
};

}  // namespace

AssertionResult EqualsOneProcess(const Function& function, const Tensors& rows,
                                 const OneProcessOptions& options) {
  return Check(function, rows, options).run();
}

}  // namespace tally::testkit
