#include "tally/testing/internal/law_check.h"

#include <algorithm>
#include <utility>

#include "tally/testing/internal/drive.h"

namespace tally::testkit::internal {
namespace {

// What a batch is to a metric, for as long as it lives.
class Given {
 public:
  explicit Given(const Batch& batch) {
    for (const BatchInput& input : batch) values_.push_back(input.value());
    for (const InputValue& value : values_) refs_.push_back(value.ref());
  }
  Inputs inputs() const { return refs_; }

 private:
  std::vector<InputValue> values_;
  std::vector<InputRef> refs_;
};

}  // namespace

void update(Metric& metric, const Batch& batch) {
  metric.update_inputs(Given(batch).inputs());
}

void update(Metric& metric, const std::vector<Batch>& batches) {
  for (const Batch& batch : batches) update(metric, batch);
}

Results forward(Metric& metric, const Batch& batch) {
  return metric.forward_inputs(Given(batch).inputs());
}

Batch with_graph(const Batch& rows, const std::vector<std::size_t>& inputs) {
  Batch result;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool floating = rows[i].is_floating();
    result.push_back(floating ? rows[i].tensor().to(at::kDouble).clone()
                              : rows[i]);
    const bool wanted =
        std::find(inputs.begin(), inputs.end(), i) != inputs.end();
    if (floating && wanted) result.back().tensor().set_requires_grad(true);
  }
  return result;
}

bool find_throws(const std::vector<std::exception_ptr>& errors,
                 Findings& findings) {
  bool any = false;
  for (size_t rank = 0; rank < errors.size(); ++rank) {
    if (!errors[rank]) continue;
    any = true;
    const Findings::Within within(findings, "on rank " + std::to_string(rank));
    try {
      std::rethrow_exception(errors[rank]);
    } catch (const sync::SyncError& error) {
      if (error.code() == sync::SyncErrorCode::kPeerLost) continue;
      findings.add("a call threw", sync::describe(error));
    } catch (const std::exception& error) {
      findings.add("a call threw", sync::describe(error));
    }
  }
  return any;
}

}  // namespace tally::testkit::internal

namespace tally::testkit {

namespace internal {

const std::vector<MetricLaw>& all_laws() {
  static const std::vector<MetricLaw> laws = [] {
    std::vector<MetricLaw> all;
    for (int law = 0; law <= static_cast<int>(MetricLaw::kDevice); ++law) {
      all.push_back(static_cast<MetricLaw>(law));
    }
    return all;
  }();
  return laws;
}

bool is_over_ranks(MetricLaw law) {
  return law == MetricLaw::kBadInput || law == MetricLaw::kSplits ||
         law == MetricLaw::kSyncedForward || law == MetricLaw::kMixedRanks ||
         law == MetricLaw::kGradients;
}

LawCheck::LawCheck(LawSubject subject)
    : subject_(std::move(subject)), pristine_(subject_.batches) {
  for (const Batch& batch : batches()) {
    for (const BatchInput& input : batch) {
      if (!input.is_floating() || input.tensor().numel() == 0) continue;
      const double most =
          input.tensor().nan_to_num(0, 0, 0).abs().max().item<double>();
      largest_ = std::max(largest_, most);
    }
  }
  near_ = tolerance(options().rtol());
}

std::vector<Finding> LawCheck::check(MetricLaw law) {
  findings_ = Findings();
  // One that changes its inputs breaks kAliases, not what is checked next.
  subject_.batches.clear();
  for (const Batch& batch : pristine_) {
    subject_.batches.push_back(testkit::copy_of(batch));
  }
  try {
    switch (law) {
      case MetricLaw::kAliases:
        check_aliases();
        break;
      case MetricLaw::kIdentity:
        check_identity();
        break;
      case MetricLaw::kAssociativity:
        check_associativity();
        break;
      case MetricLaw::kForward:
        check_forward();
        break;
      case MetricLaw::kSaveAndLoad:
        check_save_and_load();
        break;
      case MetricLaw::kClone:
        check_clone();
        break;
      case MetricLaw::kReset:
        check_reset();
        break;
      case MetricLaw::kLayout:
        check_layout();
        break;
      case MetricLaw::kBest:
        check_best();
        break;
      case MetricLaw::kBadInput:
        check_bad_input();
        break;
      case MetricLaw::kSplits:
        check_splits();
        break;
      case MetricLaw::kSyncedForward:
        check_synced_forward();
        break;
      case MetricLaw::kMixedRanks:
        check_mixed_ranks();
        break;
      case MetricLaw::kInference:
        check_inference();
        check_inference_gradients();
        break;
      case MetricLaw::kThreads:
        check_threads();
        break;
      case MetricLaw::kGradients:
        check_gradients();
        break;
      case MetricLaw::kDevice:
        if (options().device()) check_device();
        break;
    }
  } catch (const std::exception& error) {
    findings_.add("a call threw", sync::describe(error));
  }
  return findings_.list();
}

const Results& LawCheck::whole() {
  if (!whole_) whole_ = made_of(batches())->compute_results();
  return *whole_;
}

std::unique_ptr<Metric> LawCheck::made_of(
    const std::vector<Batch>& batches) const {
  auto metric = make();
  update(*metric, batches);
  return metric;
}

bool LawCheck::obeys(MetricLaw law) const {
  const auto& without = options().without();
  return std::find(without.begin(), without.end(), law) == without.end();
}

std::vector<Split> LawCheck::splits(int ranks) const {
  return splits_of(batches(), ranks,
                   {subject_.cut_rows, options().takes_empty_batches(),
                    !options().order_matters()});
}

std::vector<int> LawCheck::few_ranks() const {
  std::vector<int> few;
  for (const int ranks : options().ranks()) {
    if (ranks > 1 && few.size() < 2) few.push_back(ranks);
  }
  return few;
}

}  // namespace internal

const char* to_string(MetricLaw law) {
  switch (law) {
    case MetricLaw::kAliases:
      return "aliases";
    case MetricLaw::kIdentity:
      return "identity";
    case MetricLaw::kAssociativity:
      return "associativity";
    case MetricLaw::kForward:
      return "forward";
    case MetricLaw::kSaveAndLoad:
      return "save and load";
    case MetricLaw::kClone:
      return "clone";
    case MetricLaw::kReset:
      return "reset";
    case MetricLaw::kLayout:
      return "layout";
    case MetricLaw::kBest:
      return "best";
    case MetricLaw::kBadInput:
      return "bad input";
    case MetricLaw::kSplits:
      return "splits";
    case MetricLaw::kSyncedForward:
      return "synced forward";
    case MetricLaw::kMixedRanks:
      return "mixed ranks";
    case MetricLaw::kInference:
      return "inference mode";
    case MetricLaw::kThreads:
      return "threads";
    case MetricLaw::kGradients:
      return "gradients";
    case MetricLaw::kDevice:
      return "device";
  }
  return "";
}

std::ostream& operator<<(std::ostream& out, MetricLaw law) {
  return out << to_string(law);
}

}  // namespace tally::testkit
