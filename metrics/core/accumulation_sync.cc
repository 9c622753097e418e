#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "tally/metrics/core/accumulation.h"
#include "tally/state/codec.h"
#include "tally/sync/agree.h"
#include "tally/sync/autograd.h"
#include "tally/sync/communicator.h"
#include "tally/sync/exchange/state_sync.h"
#include "tally/sync/fingerprint.h"

namespace tally::internal {
namespace {

/// That ranks have the same rows with keys.
struct NoFields {
  void fields(Fields&) {}
};

}  // namespace

std::shared_ptr<sync::Communicator> Accumulation::communicator() const {
  return options_.communicator() ? options_.communicator()
                                 : sync::default_communicator();
}

std::shared_ptr<sync::Communicator> Accumulation::other_ranks() const {
  auto ranks = communicator();
  return ranks->size() > 1 ? ranks : nullptr;
}

bool Accumulation::computes_for_all() const {
  if (other_ranks()) return options_.sync_on_compute();
  return options_.communicator() || !sync::CommunicatorGuard::is_active();
}

void Accumulation::take_values(const ResultParts& graph,
                               const ResultParts& plain) {
  auto from = plain.begin();
  for (const ResultParts::Part& part : graph) {
    at::Tensor& own = *part.value;
    const at::Tensor& value = *(from++)->value;
    own = own.defined() && own.requires_grad()
              ? sync::replace_values(own, value)
              : value;
  }
}

bool Accumulation::drop_graph(const Fields& fields) {
  const bool graph = requires_grad(fields);
  if (graph) detach(fields);
  return graph;
}

bool Accumulation::drop_graph(std::vector<AnyState>& states) {
  bool graph = false;
  for (AnyState& state : states) graph = drop_graph(state) || graph;
  return graph;
}

std::vector<std::vector<std::string>> Accumulation::all_keys(
    sync::internal::MetricCall call, c10::ArrayRef<const Accumulation*> several,
    const std::shared_ptr<sync::Communicator>& ranks, sync::Timeout timeout) {
  std::vector<std::vector<std::string>> all;
  std::vector<std::size_t> collecting;
  const Accumulation& first = *several.front();
  std::string owners;
  first.or_report(ranks, [&] {
    for (std::size_t i = 0; i < several.size(); ++i) {
      all.push_back(several[i]->own_keys());
      const RowIndex* const index = several[i]->index();
      if (index == nullptr || !index->rules().collected) continue;
      collecting.push_back(i);
      owners += (owners.empty() ? "" : ", ") + several[i]->label();
    }
  });
  if (collecting.empty()) return all;
  const sync::Call agreed(
      c10::str("the keys of ", owners, " for ", sync::internal::name_of(call)),
      ranks, timeout);
  const sync::AskedBy asked(owners);
  const sync::Agreement gathered = sync::agree(agreed, [&] {
    sync::Offer offer;
    Encoder encoder(offer.payload);
    for (const std::size_t i : collecting) {
      encoder.integer(static_cast<std::int64_t>(all[i].size()));
      for (const std::string& key : all[i]) encoder.text(key);
    }
    return offer;
  });
  first.or_report(ranks, [&] {
    std::vector<std::set<std::string>> merged(collecting.size());
    for (const std::string_view each : gathered.payloads) {
      Decoder decoder(each);
      for (std::set<std::string>& keys : merged) {
        for (std::int64_t left = decoder.integer(); left > 0; --left) {
          keys.insert(decoder.text());
        }
      }
    }
    for (std::size_t i = 0; i < collecting.size(); ++i) {
      all[collecting[i]].assign(merged[i].begin(), merged[i].end());
    }
  });
  return all;
}

std::vector<sync::internal::SyncItem> Accumulation::items(
    const std::vector<std::string>& keys, bool with_identity_only) const {
  std::vector<sync::internal::SyncItem> list;
  list.reserve((keys.size() + 1) * columns_.size() + 1);
  const auto add = [&](const std::string& name, const StateCell* row) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const StateColumn& column = columns_[c];
      const bool has_state =
          row != nullptr && !with_identity_only && row[c].local.defined();
      list.push_back({column.label + name, column.key,
                      has_state ? row[c].local : column.identity,
                      column.identity, row != nullptr ? row[c].count : 0,
                      device_.current()});
    }
  };
  if (!index_) {
    add("", cells_.data());
    return list;
  }
  const RowKeys& rules = index_->rules();
  if (rules.collected) rules.check(keys, /*others=*/0);
  std::string joined;
  for (const std::string& key : keys) {
    joined += std::to_string(key.size()) + ':' + key;
  }
  const AnyState nothing = AnyState::of(NoFields());
  list.push_back({rules.owner,
                  StateKey(c10::str(rules.owner, "(rows=", keys.size(),
                                    ", keys=", sync::fingerprint(joined), ")"),
                           typeid(NoFields)),
                  nothing, nothing, update_count_, device_.current()});
  for (const std::string& key : keys) {
    const auto place = index_->find(key);
    add(" of " + rules.name(key), place ? &cell(*place, 0) : nullptr);
  }
  return list;
}

StoredRows Accumulation::local() const {
  StoredRows own = stored(/*with_values=*/false);
  for (std::size_t i = 0; i < own.cells.size(); ++i) {
    AnyState& state = own.cells[i].state;
    if (!state.defined()) state = columns_[i % columns_.size()].identity;
  }
  return own;
}

StoredRows Accumulation::Shape::merged(sync::internal::SyncResult& result,
                                       std::size_t& next) const {
  StoredRows all;
  for (const std::string& key : keys) all.add_row(key, columns);
  if (next < result.devices.size()) all.device = result.devices[next];
  if (has_keys) {
    all.update_count = result.update_counts[next++];
  } else {
    all.cells.resize(columns);
  }
  for (StoredCell& cell : all.cells) {
    cell.state = std::move(result.states[next]);
    cell.count = result.update_counts[next++];
  }
  return all;
}

// Clones share it from the first sync on.
sync::internal::SyncHistory* Accumulation::history() {
  if (!history_) history_ = std::make_shared<sync::internal::SyncHistory>();
  return history_.get();
}

std::optional<StoredRows> Accumulation::merge_ranks(
    sync::internal::MetricCall call,
    const std::shared_ptr<sync::Communicator>& ranks, bool cached,
    const std::vector<std::string>* keys) {
  sync::internal::SyncOptions options;
  options.call = call;
  options.timeout = options_.timeout();
  options.cached = cached;
  if (index_) options.label = label();
  auto known = keys != nullptr ? std::vector<std::vector<std::string>>()
                               : all_keys(call, this, ranks, options.timeout);
  Shape shape;
  const auto list = or_report(ranks, [&] {
    shape = shape_of(keys != nullptr ? *keys : std::move(known[0]));
    options.history = history();
    pack_states();
    return items(shape.keys, false);
  });
  auto result = sync::internal::sync_states(list, ranks, options);
  if (result.all_cached) return std::nullopt;
  std::size_t next = 0;
  return shape.merged(result, next);
}

std::vector<AnyState> Accumulation::merge_batches(
    std::vector<AnyState> batch,
    const std::shared_ptr<sync::Communicator>& communicator) {
  sync::internal::SyncOptions options;
  options.call = sync::internal::MetricCall::kForward;
  options.timeout = options_.timeout();
  options.flow = options_.gradient_flow();
  const auto list = or_report(communicator, [&] {
    options.history = history();
    std::vector<std::string> keys;
    if (index_) keys.push_back(index_->key(last_row()));
    std::vector<sync::internal::SyncItem> all = items(keys, true);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      all[(index_ ? 1 : 0) + i].state = std::move(batch[i]);
    }
    return all;
  });
  auto merged = sync::internal::sync_states(list, communicator, options).states;
  if (index_) merged.erase(merged.begin());
  merged.resize(batch.size());
  return merged;
}

AnyState Accumulation::merge_batches(
    AnyState batch, const std::shared_ptr<sync::Communicator>& communicator) {
  std::vector<AnyState> states;
  states.push_back(std::move(batch));
  return std::move(merge_batches(std::move(states), communicator)[0]);
}

void Accumulation::report_failure(
    const std::shared_ptr<sync::Communicator>& communicator) const {
  sync::internal::report_failure(label(), std::current_exception(),
                                 *communicator, options_.timeout());
}

std::function<StateRows()> Accumulation::start_merge_ranks() const {
  const std::size_t width = columns_.size();
  const auto ranks = other_ranks();
  if (!ranks) {
    return [width, own = local()] { return StateRows(width, own); };
  }
  sync::internal::SyncOptions options;
  options.call = sync::internal::MetricCall::kSyncAsync;
  options.timeout = options_.timeout();
  if (index_) options.label = label();
  Shape shape =
      shape_of(all_keys(options.call, this, ranks, options.timeout)[0]);
  auto list = or_report(ranks, [&] {
    auto own = items(shape.keys, false);
    for (sync::internal::SyncItem& item : own) pack(item.state);
    return own;
  });
  return [pending = std::make_shared<sync::internal::PendingSync>(
              std::move(list), ranks, options),
          shape = std::move(shape)] {
    auto result = pending->wait();
    std::size_t next = 0;
    return StateRows(shape.columns, shape.merged(result, next));
  };
}

void Accumulation::require_one_sync() const {
  TORCH_CHECK(!synced_, label(), ": sync() was called twice; call unsync()",
              " before the next one");
}

void Accumulation::sync() {
  const auto ranks = other_ranks();
  or_report(ranks, [&] { require_one_sync(); });
  StoredRows all = ranks
                       ? *merge_ranks(sync::internal::MetricCall::kSync, ranks,
                                      /*cached=*/false)
                       : local();
  make_place_for(all);
  take_synced(std::move(all));
}

void Accumulation::make_place_for(const StoredRows& merged) {
  if (!index_) return;
  own_rows_ = index_->size();
  add_rows(merged.keys, /*known=*/false);
}

void Accumulation::take_synced(StoredRows merged) noexcept {
  const std::size_t width = columns_.size();
  for (std::size_t i = 0; i < merged.cells.size(); ++i) {
    StateCell& own =
        cell(index_ ? *index_->find(merged.keys[i / width]) : 0, i % width);
    own.synced = std::move(merged.cells[i].state);
    own.synced_count = merged.cells[i].count;
  }
  synced_update_count_ = merged.update_count;
  synced_device_ = merged.device;
  synced_ = true;
  invalidate_value();
}

}  // namespace tally::internal
