#include "tally/sync/exchange/state_sync.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/util/Type.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "tally/state/joined.h"
#include "tally/sync/autograd.h"
#include "tally/sync/exchange/exchange.h"
#include "tally/sync/exchange/gathered_states.h"
#include "tally/sync/exchange/sync_history.h"
#include "tally/sync/exchange/tensor_collectives.h"
#include "tally/sync/fingerprint.h"

namespace tally::sync::internal {

SyncHistory::Entry* SyncHistory::find(
    const std::shared_ptr<Communicator>& communicator) {
  // Weak: a later communicator at the same address is another one.
  for (Entry& entry : entries_) {
    if (!entry.first.owner_before(communicator) &&
        !communicator.owner_before(entry.first)) {
      return &entry;
    }
  }
  return nullptr;
}

std::uint32_t SyncHistory::uses(
    const std::shared_ptr<Communicator>& communicator) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const Entry* const entry = find(communicator)) return entry->second;
  entries_.erase(
      std::remove_if(entries_.begin(), entries_.end(),
                     [](const Entry& entry) { return entry.first.expired(); }),
      entries_.end());
  entries_.emplace_back(communicator, 0);
  return 0;
}

void SyncHistory::set_uses(const std::shared_ptr<Communicator>& communicator,
                           std::uint32_t uses) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Entry* const entry = find(communicator)) entry->second = uses;
}

namespace {

// A field's value as a tensor; undefined if it is none or has no gradient.
at::Tensor differentiable(const Field& field) {
  at::Tensor value;
  if (field.kind == Field::Kind::kNumber) value = field.as_number().tensor();
  if (field.kind == Field::Kind::kTensor) value = field.as_tensor();
  if (field.kind == Field::Kind::kRows) value = field.as_rows().tensor();
  return value.defined() && at::isFloatingType(value.scalar_type())
             ? value
             : at::Tensor();
}

void assign(const Field& field, const at::Tensor& value) {
  if (field.kind == Field::Kind::kNumber) field.as_number() = Number(value);
  if (field.kind == Field::Kind::kTensor) field.as_tensor() = value;
  if (field.kind == Field::Kind::kRows) field.as_rows() = Rows(value);
}

// `change` for every field of `states`, with its place among all fields.
template <class Change>
void for_each_field(States& states, const Change& change) {
  for (size_t i = 0; i < states.size(); ++i) {
    const Fields fields = states[i].fields();
    for (size_t f = 0; f < fields.size(); ++f) change(fields[f], i, f);
  }
}

}  // namespace

void take_values(States& graph, const States& plain) {
  for_each_field(graph, [&](const Field& field, size_t i, size_t f) {
    if (field.kind == Field::Kind::kRows) return;  // only moved, never computed
    const Field same = plain[i].fields()[f];
    const at::Tensor value = differentiable(field);
    if (value.defined() && value.requires_grad()) {
      assign(field, replace_values(value, differentiable(same)));
    } else if (field.kind == Field::Kind::kNumber) {
      field.as_number() = same.as_number();
    } else if (field.kind == Field::Kind::kTensor) {
      field.as_tensor() = same.as_tensor();
    }
  });
}

States fold_own_graph(const GatheredStates& gathered, States own, size_t rank,
                      double factor, const std::string& name) {
  if (gathered.ranks() > 1) {
    for_each_field(own, [&](const Field& field, size_t, size_t) {
      const at::Tensor value = differentiable(field);
      if (value.defined() && value.requires_grad()) {
        assign(field, without_other_graphs(value, factor, name));
      }
    });
  }
  States result = gathered.fold(0, rank);
  gathered.merge_rank(result, own, rank);
  const States behind = gathered.fold(rank + 1, gathered.ranks());
  gathered.merge_rank(result, behind, rank);
  return result;
}

States fold_all_graphs(const GatheredStates& gathered, States own, size_t rank,
                       const std::shared_ptr<Communicator>& communicator) {
  std::vector<States> ranks;
  for (size_t r = 0; r < gathered.ranks(); ++r) {
    ranks.push_back(gathered.rank(r));
  }
  // A field that one rank lacks (an idle rank) has an empty place there.
  std::vector<std::vector<at::Tensor>> slots(ranks.size());
  for (size_t r = 0; r < ranks.size(); ++r) {
    for_each_field(ranks[r], [&](const Field& field, size_t, size_t) {
      const at::Tensor value = differentiable(field);
      slots[r].push_back(value.defined() ? value : at::empty({0}, at::kDouble));
    });
  }
  std::vector<at::Tensor> mine;
  size_t place = 0;
  for_each_field(own, [&](const Field& field, size_t, size_t) {
    const at::Tensor value = differentiable(field);
    const at::Tensor& plain = slots[rank][place++];
    mine.push_back(value.defined() ? value : plain);
  });
  slots = attach_all_ranks(mine, slots, communicator, gathered.sequence());
  States result = gathered.fold(0, 0);
  for (size_t r = 0; r < ranks.size(); ++r) {
    place = 0;
    for_each_field(ranks[r], [&](const Field& field, size_t, size_t) {
      const at::Tensor& value = slots[r][place++];
      if (differentiable(field).defined()) assign(field, value);
    });
    gathered.merge_rank(result, ranks[r], r);
  }
  return result;
}

namespace {

thread_local bool is_metric_loss = false;

// The types' names are those of one program, which all ranks run. To make them
// readable takes longer than an exchange.
std::string schema_of(const std::vector<SyncItem>& items, bool readable) {
  std::string text;
  for (const SyncItem& item : items) {
    text += item.label + " = " + item.key.text() + " {" +
            item.identity.fields().schema() + "}";
    for (const std::type_index& type : item.key.types()) {
      text += " ";
      text += readable ? c10::demangle(type.name()) : type.name();
    }
    text += "\n";
  }
  return text;
}

bool any_requires_grad(const std::vector<SyncItem>& items) {
  for (const SyncItem& item : items) {
    if (requires_grad(item.state.fields())) return true;
  }
  return false;
}

std::string label_of(const std::vector<SyncItem>& items) {
  return tally::internal::joined(
      ", ", items, [](const SyncItem& item) { return item.label; });
}

Contribution contribution_of(const std::vector<SyncItem>& items,
                             const std::shared_ptr<Communicator>& communicator,
                             const SyncOptions& options,
                             std::optional<std::int64_t> reduced_bytes) {
  Contribution own{ExchangeKind::kStates,
                   options.label.empty() ? label_of(items) : options.label};
  const AskedBy asked(own.label);
  return prepared(
      *communicator, std::move(own), options.timeout, [&](Contribution& mine) {
        mine.fingerprint = fingerprint(schema_of(items, /*readable=*/false));
        mine.schema = [&items] { return schema_of(items, /*readable=*/true); };
        const bool graph = options.flow != GradientFlow::kDetached &&
                           at::GradMode::is_enabled() &&
                           any_requires_grad(items);
        EncodedStates encoded =
            encode_states(items, reduced_bytes, communicator->accelerator());
        mine.payload =
            std::make_shared<const std::string>(std::move(encoded.payload));
        const bool loss =
            options.call == MetricCall::kForward && is_metric_loss;
        mine.call = loss ? MetricCall::kMetricLoss : options.call;
        mine.flow = options.flow;
        if (!items.empty()) mine.updates = items.front().update_count;
        if (options.history) mine.uses = options.history->uses(communicator);
        mine.flags = (options.cached ? flags::kCached : 0) |
                     (graph ? flags::kHasGraph : 0) |
                     (encoded.leaves_out ? flags::kMoves : 0);
      });
}

// All ranks have taken part in one more. Who has had nothing to sync yet is no
// measure: an empty metric may stand in for several of the others.
void note_use(const std::vector<SyncItem>& items, const SyncOptions& options,
              const std::shared_ptr<Communicator>& communicator,
              const Contributions& all) {
  if (!options.history || items.empty()) return;
  const bool forward = options.call == MetricCall::kForward;
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
  or_give_up(communicator, [&] {
    make_ready(communicator, {label, all.sequence, timeout}, kAnnouncedBytes,
               [&] {
                 gathered.emplace(items, all, communicator);
                 result.update_counts = gathered->update_counts();
                 result.devices = gathered->devices();
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
  const Contribution own =
      contribution_of(items, communicator, options, left_out_bytes);
  const AskedBy asked(own.label);
  const Contributions all = Exchange::run(*communicator, own, options.timeout);
  note_use(items, options, communicator, all);
  if (all.payloads_skipped) return all_cached();
  if (all.any(flags::kMoves)) {
    return merged_with_large(items, all, *communicator, own.label,
                             options.timeout);
  }
  const bool graph = (own.flags & flags::kHasGraph) != 0;
  const bool all_ranks =
      options.flow == GradientFlow::kAllRanks && all.any(flags::kHasGraph);
  if (all_ranks) require_gradients(*communicator, own.label, all);
  GatheredStates gathered(items, all, *communicator);
  SyncResult result;
  result.update_counts = gathered.update_counts();
  result.devices = gathered.devices();
  result.states = graph || all_ranks ? gathered.fold(0, gathered.ranks())
                                     : gathered.fold_away();
  if (!graph && !all_ranks) return result;
  const auto rank = static_cast<size_t>(communicator->rank());
  States mine;
  for (const SyncItem& item : items) mine.push_back(item.state);
  const double factor =
      options.flow == GradientFlow::kReplicated ? communicator->size() : 1;
  States with_graph =
      all_ranks
          ? fold_all_graphs(gathered, std::move(mine), rank, communicator)
          : fold_own_graph(gathered, std::move(mine), rank, factor, own.label);
  take_values(with_graph, result.states);
  result.states = std::move(with_graph);
  return result;
}

struct PendingSync::Started {
  Started(std::vector<SyncItem> list, std::shared_ptr<Communicator> ranks,
          const SyncOptions& options)
      : items(std::move(list)),
        communicator(std::move(ranks)),
        own(contribution_of(items, communicator, plain(options),
                            /*reduced_bytes=*/std::nullopt)),
        exchange(start(options.timeout)) {}

  static SyncOptions plain(SyncOptions options) {
    options.flow = GradientFlow::kDetached;
    return options;
  }
  std::unique_ptr<Exchange> start(Timeout timeout) const {
    const AskedBy asked(own.label);
    return Exchange::start(*communicator, own, timeout);
  }

  std::vector<SyncItem> items;
  std::shared_ptr<Communicator> communicator;
  Contribution own;
  std::unique_ptr<Exchange> exchange;
};

PendingSync::PendingSync(std::vector<SyncItem> items,
                         std::shared_ptr<Communicator> communicator,
                         SyncOptions options)
    : started_(std::make_unique<Started>(std::move(items),
                                         std::move(communicator), options)) {}
PendingSync::PendingSync(PendingSync&&) noexcept = default;
PendingSync& PendingSync::operator=(PendingSync&&) noexcept = default;
PendingSync::~PendingSync() = default;

SyncResult PendingSync::wait() {
  const AskedBy asked(started_->own.label);
  const Contributions all = started_->exchange->finish();
  if (all.payloads_skipped) return all_cached();
  GatheredStates gathered(started_->items, all, *started_->communicator);
  SyncResult result;
  result.update_counts = gathered.update_counts();
  result.devices = gathered.devices();
  result.states = gathered.fold_away();
  return result;
}

void report_failure(const std::string& label, const std::exception_ptr& error,
                    Communicator& communicator, Timeout timeout) noexcept {
  const AskedBy asked(label);
  report(communicator, ExchangeKind::kStates, label, error, timeout);
}

AsMetricLoss::AsMetricLoss() : before_(std::exchange(is_metric_loss, true)) {}

AsMetricLoss::~AsMetricLoss() { is_metric_loss = before_; }

}  // namespace tally::sync::internal
