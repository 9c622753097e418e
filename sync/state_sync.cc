#include "tally/sync/state_sync.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "tally/sync/exchange.h"
#include "tally/sync/fingerprint.h"
#include "tally/sync/gathered_states.h"

namespace tally::sync {
namespace {

using internal::GatheredStates;
using internal::States;

constexpr std::uint32_t kCached = 1;
constexpr std::uint32_t kHasGraph = 2;
constexpr std::uint32_t kRecordsNothing = 4;

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
  // Throws, after it has told the other ranks, if the states cannot be encoded.
  Prepared(const std::vector<SyncItem>& items,
           const std::shared_ptr<Communicator>& communicator,
           const SyncOptions& options, bool graph,
           std::optional<std::int64_t> reduced_bytes)
      : schema_(schema_of(items)) {
    for (const SyncItem& item : items) {
      label_ += (label_.empty() ? "" : ", ") + item.label;
    }
    try {
      payload_ = std::make_shared<const std::string>(internal::encode_states(
          items, reduced_bytes, communicator->accelerator()));
    } catch (const std::exception& error) {
      report_failure(label_, describe(error), communicator, options.timeout);
      throw;
    }
    contribution_.kind = ExchangeKind::kStates;
    contribution_.label = label_;
    contribution_.fingerprint = fingerprint(schema_);
    contribution_.flags = (options.cached ? kCached : 0) |
                          (graph ? kHasGraph : 0) |
                          (at::GradMode::is_enabled() ? 0 : kRecordsNothing);
    contribution_.skip_payload_if_all = kCached;
    contribution_.payload = *payload_;
    contribution_.payload_owner = payload_;
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  const Contribution& contribution() const { return contribution_; }
  const std::string& label() const { return label_; }

 private:
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

SyncResult all_cached() {
  SyncResult result;
  result.all_cached = true;
  return result;
}

}  // namespace

SyncResult sync_states(const std::vector<SyncItem>& items,
                       const std::shared_ptr<Communicator>& communicator,
                       const SyncOptions& options) {
  const bool graph = options.flow != GradientFlow::kDetached &&
                     at::GradMode::is_enabled() && any_graph(items);
  std::optional<std::int64_t> reduced_bytes;
  if (options.flow == GradientFlow::kDetached) {
    reduced_bytes = internal::reduced_bytes(communicator->size());
  }
  const Prepared own(items, communicator, options, graph, reduced_bytes);
  const AskedBy asked(own.label());
  const Contributions all =
      Exchange::run(*communicator, own.contribution(), options.timeout);
  if (all.payloads_skipped) return all_cached();
  GatheredStates gathered(items, all, *communicator);
  const bool graph_somewhere =
      std::any_of(all.flags.begin(), all.flags.end(),
                  [](std::uint32_t flags) { return (flags & kHasGraph) != 0; });
  const bool all_ranks =
      options.flow == GradientFlow::kAllRanks && graph_somewhere;
  if (all_ranks) check_grad_modes(all, own.label(), communicator->rank());
  SyncResult result;
  result.update_counts = gathered.update_counts();
  result.states = graph || all_ranks ? gathered.fold(0, gathered.ranks())
                                     : gathered.fold_away();
  gathered.complete(result.states, *communicator, options.timeout);
  if (!graph && !all_ranks) return result;
  const auto rank = static_cast<size_t>(communicator->rank());
  States mine;
  for (const SyncItem& item : items) mine.push_back(item.state);
  const double factor =
      options.flow == GradientFlow::kReplicated ? communicator->size() : 1;
  States with_graph = all_ranks
                          ? internal::fold_all_graphs(gathered, std::move(mine),
                                                      rank, communicator)
                          : internal::fold_own_graph(gathered, std::move(mine),
                                                     rank, factor, own.label());
  internal::take_values(with_graph, result.states);
  result.states = std::move(with_graph);
  return result;
}

struct PendingSync::Parts {
  Parts(std::vector<SyncItem> list, std::shared_ptr<Communicator> ranks,
        const SyncOptions& options)
      : items(std::move(list)),
        communicator(std::move(ranks)),
        prepared(items, communicator, options, /*graph=*/false,
                 /*reduced_bytes=*/std::nullopt),
        exchange(start(options.timeout)) {}

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

void report_failure(const std::string& label, const std::string& reason,
                    const std::shared_ptr<Communicator>& communicator,
                    Timeout timeout) noexcept {
  const AskedBy asked(label);
  try {
    const auto no_schema = [] { return std::string(); };
    Contribution own{ExchangeKind::kStates, label, 0, no_schema};
    own.failure = reason.empty() ? std::string_view("unknown reason")
                                 : std::string_view(reason);
    Exchange::run(*communicator, own, timeout);
  } catch (const std::exception&) {
    // The group is broken as well; the others get an error of their own.
  }
}

}  // namespace tally::sync
