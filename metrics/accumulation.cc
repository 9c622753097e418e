#include "tally/metrics/accumulation.h"

#include <ATen/ops/scalar_tensor.h>
#include <c10/util/Exception.h>

#include <exception>
#include <iterator>
#include <utility>

#include "tally/sync/autograd.h"
#include "tally/sync/communicator.h"
#include "tally/sync/exchange/state_sync.h"

namespace tally::internal {
namespace {

at::Tensor as_tensor(const Field& field) {
  switch (field.kind) {
    case Field::Kind::kInt:
      return at::scalar_tensor(field.as_int(), at::kLong);
    case Field::Kind::kNumber:
      return field.as_number().tensor().clone();
    case Field::Kind::kTensor:
      return field.as_tensor().defined() ? field.as_tensor().clone()
                                         : at::Tensor();
    case Field::Kind::kRows: {
      const at::Tensor rows = field.as_rows().tensor();
      return rows.defined() ? rows.clone() : rows;
    }
    case Field::Kind::kNote:
      return at::scalar_tensor(field.as_note().count(), at::kLong);
  }
  return {};
}

}  // namespace

Accumulation::Accumulation(Accumulation&& other) noexcept
    : options_(std::move(other.options_)),
      groups_(std::move(other.groups_)),
      history_(std::move(other.history_)),
      synced_(other.synced_),
      current_value_(other.current_value_),
      may_warn_(other.may_warn_),
      value_communicator_(other.value_communicator_) {}

Accumulation& Accumulation::operator=(Accumulation&& other) noexcept {
  options_ = std::move(other.options_);
  groups_ = std::move(other.groups_);
  history_ = std::move(other.history_);
  synced_ = other.synced_;
  current_value_ = other.current_value_;
  may_warn_ = other.may_warn_;
  value_communicator_ = other.value_communicator_;
  return *this;
}

void Accumulation::add_group(std::string label, StateKey key, AnyState identity,
                             bool on_cpu) {
  Group group;
  group.on_cpu = on_cpu;
  group.label = std::move(label);
  group.key = std::move(key);
  group.identity = std::move(identity);
  group.outlasts_reset = tally::outlasts_reset(group.identity);
  for (const Field& field : group.identity.fields()) {
    group.has_notes = group.has_notes || field.kind == Field::Kind::kNote;
  }
  may_warn_ = may_warn_ || group.has_notes;
  group.local = group.identity;
  groups_.push_back(std::move(group));
}

void Accumulation::set_options(MetricOptions options) {
  require_unsynced("set_metric_options");
  TORCH_CHECK(state() == MetricState::kEmpty ||
                  options_state_key(options) == options_state_key(options_),
              label(),
              ": validate_args, nan_policy and compute_on_cpu can be "
              "changed only before the first update");
  options_ = std::move(options);
  invalidate_value();
}

std::shared_ptr<sync::Communicator> Accumulation::communicator() const {
  return options_.communicator() ? options_.communicator()
                                 : sync::default_communicator();
}

std::shared_ptr<sync::Communicator> Accumulation::other_ranks() const {
  auto ranks = communicator();
  return ranks->size() > 1 ? ranks : nullptr;
}

MetricState Accumulation::state() const {
  if (synced_) return MetricState::kSynced;
  for (const Group& group : groups_) {
    if (group.update_count > 0) return MetricState::kUpdated;
  }
  return MetricState::kEmpty;
}

std::string Accumulation::label() const {
  std::string text;
  for (const Group& group : groups_) {
    text += (text.empty() ? "" : ", ") + group.label;
  }
  return text;
}

void Accumulation::refuse_synced(const char* verb) const {
  TORCH_CHECK(false, label(), ": ", verb,
              " is not possible while synced; call unsync() first");
}

void Accumulation::refuse_concurrent() const {
  TORCH_CHECK(false, label(),
              " is used by two threads at once; expected one thread at a time");
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

void Accumulation::absorb(std::vector<AnyState>& batch) {
  c10::SmallVector<void*, 8> states;
  for (AnyState& state : batch) states.push_back(state.data());
  absorb_states(states);
}

void Accumulation::absorb_states(c10::ArrayRef<void*> batches) {
  c10::SmallVector<PendingMerge, 1> merges;
  // A constructor that throws while this grows would leave memory behind.
  merges.reserve(batches.size());
  for (std::size_t i = 0; i < batches.size(); ++i) {
    Group& group = groups_[i];
    merges.emplace_back(group.local.ops(), group.local.data(), batches[i],
                        group.label.c_str(), BatchIntake{group.on_cpu});
  }
  for (PendingMerge& merge : merges) merge.commit();
  for (Group& group : groups_) ++group.update_count;
  invalidate_value();
}

std::vector<sync::internal::SyncItem> Accumulation::items(
    bool with_identity_only) const {
  std::vector<sync::internal::SyncItem> list;
  for (const Group& group : groups_) {
    list.push_back({group.label, group.key,
                    with_identity_only ? AnyState() : group.local,
                    group.identity, group.update_count});
  }
  return list;
}

// Clones share it from the first sync on.
sync::internal::SyncHistory* Accumulation::history() {
  if (!history_) history_ = std::make_shared<sync::internal::SyncHistory>();
  return history_.get();
}

sync::internal::SyncResult Accumulation::merge_ranks(
    sync::internal::SyncCall call,
    const std::shared_ptr<sync::Communicator>& communicator, bool cached) {
  sync::internal::SyncOptions options;
  options.call = call;
  options.timeout = options_.sync_timeout();
  options.cached = cached;
  const auto list = or_report(communicator, [&] {
    options.history = history();
    return items(false);
  });
  return sync::internal::sync_states(list, communicator, options);
}

std::vector<AnyState> Accumulation::merge_batches(
    std::vector<AnyState> batch,
    const std::shared_ptr<sync::Communicator>& communicator) {
  sync::internal::SyncOptions options;
  options.call = sync::internal::SyncCall::kForward;
  options.timeout = options_.sync_timeout();
  options.flow = options_.gradient_flow();
  const auto list = or_report(communicator, [&] {
    options.history = history();
    std::vector<sync::internal::SyncItem> all = items(true);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].state = std::move(batch[i]);
    }
    return all;
  });
  return sync::internal::sync_states(list, communicator, options).states;
}

AnyState Accumulation::merge_batches(
    AnyState batch, const std::shared_ptr<sync::Communicator>& communicator) {
  std::vector<AnyState> states;
  states.push_back(std::move(batch));
  return std::move(merge_batches(std::move(states), communicator)[0]);
}

bool Accumulation::value_is_current(
    const std::shared_ptr<sync::Communicator>& communicator) const {
  return current_value_ && options_.compute_with_cache() &&
         !value_communicator_.owner_before(communicator) &&
         !communicator.owner_before(value_communicator_);
}

void Accumulation::set_value_current(
    const std::shared_ptr<sync::Communicator>& communicator) {
  current_value_ = true;
  value_communicator_ = communicator;
}

bool Accumulation::states_to_compute(
    const std::shared_ptr<sync::Communicator>& ranks, States& states) {
  const bool current = value_is_current(ranks);
  if (!ranks) {
    if (!current) copy_what_outlasts(states);
    return current;
  }
  sync::internal::SyncResult merged =
      merge_ranks(sync::internal::SyncCall::kCompute, ranks, current);
  states.assign(std::make_move_iterator(merged.states.begin()),
                std::make_move_iterator(merged.states.end()));
  return merged.all_cached;
}

void Accumulation::report_failure(
    const std::shared_ptr<sync::Communicator>& communicator) const {
  sync::internal::report_failure(label(), std::current_exception(),
                                 *communicator, options_.sync_timeout());
}

std::function<std::vector<AnyState>()> Accumulation::start_merge_ranks() const {
  const auto ranks = other_ranks();
  if (!ranks) {
    std::vector<AnyState> local;
    for (const Group& group : groups_) local.push_back(group.local);
    return [local = std::move(local)] { return local; };
  }
  sync::internal::SyncOptions options;
  options.call = sync::internal::SyncCall::kSyncAsync;
  options.timeout = options_.sync_timeout();
  auto list = or_report(ranks, [&] { return items(false); });
  return
      [pending = std::make_shared<sync::internal::PendingSync>(
           std::move(list), ranks, options)] { return pending->wait().states; };
}

void Accumulation::require_one_sync() const {
  TORCH_CHECK(!synced_, label(), ": sync() was called twice; call unsync()",
              " before the next one");
}

void Accumulation::sync() {
  require_one_sync();
  const auto ranks = communicator();
  if (ranks->size() > 1) {
    sync::internal::SyncResult result =
        merge_ranks(sync::internal::SyncCall::kSync, ranks, /*cached=*/false);
    take_synced(result.states.data(), result.update_counts.data());
  } else {
    for (Group& group : groups_) {
      group.synced = group.local;
      group.synced_update_count = group.update_count;
    }
    synced_ = true;
    invalidate_value();
  }
}

void Accumulation::take_synced(AnyState* states,
                               const std::int64_t* update_counts) noexcept {
  for (Group& group : groups_) {
    group.synced = std::move(*states++);
    group.synced_update_count = *update_counts++;
  }
  synced_ = true;
  invalidate_value();
}

void Accumulation::unsync() {
  TORCH_CHECK(synced_, label(), ": unsync() without sync()");
  for (Group& group : groups_) group.synced = AnyState();
  synced_ = false;
  invalidate_value();
}

void Accumulation::copy_what_outlasts(States& states) const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    states.push_back(groups_[i].outlasts_reset ? current(i) : AnyState());
  }
}

void Accumulation::keep_what_outlasts(const States& states) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    if (!group.outlasts_reset) continue;
    AnyState notes = states[i];
    tally::reset(notes, group.identity);
    if (synced_) merge(group.synced, notes, group.label.c_str());
    merge(group.local, std::move(notes), group.label.c_str());
  }
}

void Accumulation::reset() {
  for (Group& group : groups_) {
    tally::reset(group.local, group.identity);
    group.synced = AnyState();
    group.update_count = 0;
    group.index_offset = 0;
    group.given = group.given->fresh();
  }
  synced_ = false;
  invalidate_value();
}

void Accumulation::merge_state(const Accumulation& other) {
  require_unsynced("merge_state");
  other.require_unsynced("merge_state");
  bool same = groups_.size() == other.groups_.size();
  for (std::size_t i = 0; same && i < groups_.size(); ++i) {
    const StateKey& key = groups_[i].key;
    const StateKey& others = other.groups_[i].key;
    same = key.text() == others.text();
    TORCH_CHECK_VALUE(!same || key == others, label(),
                      ": merge_state expected states of ", key.type_names(),
                      ", got those of ", others.type_names(),
                      ", which has the same name");
  }
  TORCH_CHECK_VALUE(same, label(), ": merge_state expected the same metrics ",
                    "with the same options, got ", other.label());
  std::vector<AnyState> from;
  for (const Group& group : other.groups_) from.push_back(group.local);
  c10::SmallVector<PendingMerge, 1> merges;
  merges.reserve(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    merges.emplace_back(group.local.ops(), group.local.data(), from[i].data(),
                        group.label.c_str());
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    merges[i].commit();
    groups_[i].update_count += other.groups_[i].update_count;
  }
  invalidate_value();
}

void Accumulation::copy_state(const Accumulation& other) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    groups_[i] = other.groups_[i];
    groups_[i].given = std::make_shared<GivenWarnings>(*other.groups_[i].given);
  }
  history_ = other.history_;
  synced_ = other.synced_;
  invalidate_value();
}

void Accumulation::to(c10::Device device) {
  for (Group& group : groups_) {
    move_to(group.local.fields(), device);
    if (group.synced.defined()) move_to(group.synced.fields(), device);
  }
  invalidate_value();
}

Results Accumulation::state_tensors() const {
  Results results;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::string prefix =
        groups_.size() == 1 ? "" : groups_[i].label + ".";
    for (const Field& field : current(i).fields()) {
      results.add(prefix + field.name, as_tensor(field));
    }
  }
  return results;
}

}  // namespace tally::internal
