#include "tally/sync/exchange/state_sync.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "tally/sync/exchange/exchange.h"
#include "tally/sync/exchange/fingerprint.h"
#include "tally/sync/exchange/gathered_states.h"

namespace tally::sync::internal {
namespace {

constexpr std::uint32_t kCached = 1;
constexpr std::uint32_t kHasGraph = 2;
constexpr std::uint32_t kRecordsNothing = 4;
constexpr std::uint32_t kLeavesOut = 8;

thread_local bool is_metric_loss = false;

std::string schema_of(const std::vector<SyncItem>& items) {
  std::string text;
  for (const SyncItem& item : items) {
    text += item.label + " = " + item.key + " {" +
            item.identity.fields().schema() + "}\n";
  }
  return text;
}

bool any_graph(const std::vector<SyncItem>& items) {
  for (const SyncItem& item : items) {
    if (requires_grad(item.state.fields())) return true;
  }
  return false;
}

// What this rank brings, with all that the exchange refers to.
class Prepared {
 public:
  // Throws, after it has told the other ranks, if something is wrong with the
  // items.
  Prepared(const std::vector<SyncItem>& items,
           const std::shared_ptr<Communicator>& communicator,
           const SyncOptions& options,
           std::optional<std::int64_t> reduced_bytes) {
    try {
      for (const SyncItem& item : items) {
        label_ += (label_.empty() ? "" : ", ") + item.label;
      }
      fill(items, communicator, options, reduced_bytes);
    } catch (...) {
      report_failure(label_, std::current_exception(), *communicator,
                     options.timeout);
      throw;
    }
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  const Contribution& contribution() const { return contribution_; }
  const std::string& label() const { return label_; }
  bool graph() const { return (contribution_.flags & kHasGraph) != 0; }

 private:
  void fill(const std::vector<SyncItem>& items,
            const std::shared_ptr<Communicator>& communicator,
            const SyncOptions& options,
            std::optional<std::int64_t> reduced_bytes) {
    schema_ = schema_of(items);
    const bool graph = options.flow != GradientFlow::kDetached &&
                       at::GradMode::is_enabled() && any_graph(items);
    EncodedStates encoded =
        encode_states(items, reduced_bytes, communicator->accelerator());
    payload_ = std::make_shared<const std::string>(std::move(encoded.payload));
    const bool loss = options.call == SyncCall::kForward && is_metric_loss;
    contribution_.kind = ExchangeKind::kStates;
    contribution_.label = label_;
    contribution_.fingerprint = fingerprint(schema_);
    contribution_.call = loss ? SyncCall::kMetricLoss : options.call;
    contribution_.flow = options.flow;
    if (!items.empty()) contribution_.updates = items.front().update_count;
    if (options.history) {
      contribution_.uses = options.history->uses(communicator);
    }
    contribution_.flags = (options.cached ? kCached : 0) |
                          (graph ? kHasGraph : 0) |
                          (encoded.leaves_out ? kLeavesOut : 0) |
                          (at::GradMode::is_enabled() ? 0 : kRecordsNothing);
    contribution_.skip_payload_if_all = kCached;
    contribution_.payload = *payload_;
    contribution_.payload_owner = payload_;
  }

  std::string schema_;
  std::string label_;
  std::shared_ptr<const std::string> payload_;
  struct GetSchema {
    const std::string& schema;
    std::string operator()() const { return schema; }
  } get_schema_{schema_};
  Contribution contribution_{ExchangeKind::kStates, {}, 0, get_schema_};
};

// With a graph on all ranks, a backward pass waits for every rank.
void check_grad_modes(const Contributions& all, const std::string& label,
                      int rank) {
  SyncErrorDetails details;
  for (std::size_t r = 0; r < all.flags.size(); ++r) {
    if ((all.flags[r] & kRecordsNothing) != 0) {
      details.peers.push_back(static_cast<int>(r));
    }
  }
  if (details.peers.empty()) return;
  const std::string others = c10::str(c10::Join(", ", details.peers));
  details.metric = label;
  details.rank = rank;
  details.sequence = all.sequence;
  details.phase = "payload";
  throw SyncError(SyncErrorCode::kMismatch,
                  "backward passes would wait for ranks that record no "
                  "gradients: " +
                      others,
                  std::move(details));
}

bool any_has(const Contributions& all, std::uint32_t flag) {
  return std::any_of(all.flags.begin(), all.flags.end(),
                     [&](std::uint32_t flags) { return (flags & flag) != 0; });
}

// All ranks have taken part in one more. Who has had nothing to sync yet is no
// measure: an empty metric may stand in for several of the others.
void note_use(const std::vector<SyncItem>& items, const SyncOptions& options,
              const std::shared_ptr<Communicator>& communicator,
              const Contributions& all) {
  if (!options.history || items.empty()) return;
  const bool forward = options.call == SyncCall::kForward;
  const bool known = options.history->uses(communicator) > 0;
  if (known || forward || items.front().update_count > 0) {
    options.history->set_uses(communicator, all.uses + 1);
  }
}

// The plain merge, with what was left out of the payloads.
SyncResult merged_with_large(const std::vector<SyncItem>& items,
                             const Contributions& all,
                             Communicator& communicator,
                             const std::string& label, Timeout timeout) {
  SyncResult result;
  std::optional<GatheredStates> gathered;
  owed(communicator, [&] {
    make_ready(communicator, {label, all.sequence, timeout}, kAnnouncedBytes,
               [&] {
                 gathered.emplace(items, all, communicator);
                 result.update_counts = gathered->update_counts();
                 result.states = gathered->fold_away();
                 gathered->prepare_large();
               });
    gathered->move_large(communicator, timeout);
  });
  gathered->complete(result.states);
  return result;
}

SyncResult all_cached() {
  SyncResult result;
  result.all_cached = true;
  return result;
}

}  // namespace

SyncResult sync_states(const std::vector<SyncItem>& items,
                       const std::shared_ptr<Communicator>& communicator,
                       const SyncOptions& options) {
  std::optional<std::int64_t> left_out_bytes;
  if (options.flow == GradientFlow::kDetached) {
    left_out_bytes = reduced_bytes(communicator->size());
  }
  const Prepared own(items, communicator, options, left_out_bytes);
  const AskedBy asked(own.label());
  const Contributions all =
      Exchange::run(*communicator, own.contribution(), options.timeout);
  note_use(items, options, communicator, all);
  if (all.payloads_skipped) return all_cached();
  if (any_has(all, kLeavesOut)) {
    return merged_with_large(items, all, *communicator, own.label(),
                             options.timeout);
  }
  const bool graph = own.graph();
  const bool all_ranks =
      options.flow == GradientFlow::kAllRanks && any_has(all, kHasGraph);
  if (all_ranks) check_grad_modes(all, own.label(), communicator->rank());
  GatheredStates gathered(items, all, *communicator);
  SyncResult result;
  result.update_counts = gathered.update_counts();
  result.states = graph || all_ranks ? gathered.fold(0, gathered.ranks())
                                     : gathered.fold_away();
  if (!graph && !all_ranks) return result;
  const auto rank = static_cast<size_t>(communicator->rank());
  States mine;
  for (const SyncItem& item : items) mine.push_back(item.state);
  const double factor =
      options.flow == GradientFlow::kReplicated ? communicator->size() : 1;
  States with_graph =
      all_ranks ? fold_all_graphs(gathered, std::move(mine), rank, communicator)
                : fold_own_graph(gathered, std::move(mine), rank, factor,
                                 own.label());
  take_values(with_graph, result.states);
  result.states = std::move(with_graph);
  return result;
}

struct PendingSync::Parts {
  Parts(std::vector<SyncItem> list, std::shared_ptr<Communicator> ranks,
        const SyncOptions& options)
      : items(std::move(list)),
        communicator(std::move(ranks)),
        prepared(items, communicator, plain(options),
                 /*reduced_bytes=*/std::nullopt),
        exchange(start(options.timeout)) {}

  static SyncOptions plain(SyncOptions options) {
    options.flow = GradientFlow::kDetached;
    return options;
  }
  std::unique_ptr<Exchange> start(Timeout timeout) const {
    const AskedBy asked(prepared.label());
    return Exchange::start(*communicator, prepared.contribution(), timeout);
  }

  std::vector<SyncItem> items;
  std::shared_ptr<Communicator> communicator;
  Prepared prepared;
  std::unique_ptr<Exchange> exchange;
};

PendingSync::PendingSync(std::vector<SyncItem> items,
                         std::shared_ptr<Communicator> communicator,
                         SyncOptions options)
    : parts_(std::make_unique<Parts>(std::move(items), std::move(communicator),
                                     options)) {}
PendingSync::PendingSync(PendingSync&&) noexcept = default;
PendingSync& PendingSync::operator=(PendingSync&&) noexcept = default;
PendingSync::~PendingSync() = default;

SyncResult PendingSync::wait() {
  const AskedBy asked(parts_->prepared.label());
  const Contributions all = parts_->exchange->finish();
  if (all.payloads_skipped) return all_cached();
  GatheredStates gathered(parts_->items, all, *parts_->communicator);
  SyncResult result;
  result.update_counts = gathered.update_counts();
  result.states = gathered.fold_away();
  return result;
}

void report_failure(const std::string& label, const std::exception_ptr& error,
                    Communicator& communicator, Timeout timeout) noexcept {
  const AskedBy asked(label);
  const auto no_schema = [] { return std::string(); };
  report(communicator, {ExchangeKind::kStates, label, 0, no_schema}, error,
         timeout);
}

AsMetricLoss::AsMetricLoss() : before_(std::exchange(is_metric_loss, true)) {}

AsMetricLoss::~AsMetricLoss() { is_metric_loss = before_; }

}  // namespace tally::sync::internal
