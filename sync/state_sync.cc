#include "tally/sync/state_sync.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "tally/state/codec.h"
#include "tally/sync/autograd.h"
#include "tally/sync/exchange.h"
#include "tally/sync/fingerprint.h"

namespace tally::sync {
namespace {

constexpr std::uint32_t kCached = 1;
constexpr std::uint32_t kHasGraph = 2;

using States = std::vector<AnyState>;

std::string schema_of(const std::vector<SyncItem>& items) {
  std::string text;
  for (const SyncItem& item : items) {
    text += item.label + " = " + item.key + " {" +
            item.identity.fields().schema() + "}\n";
  }
  return text;
}

std::string encode(const std::vector<SyncItem>& items) {
  std::string bytes;
  Encoder encoder(bytes);
  for (const SyncItem& item : items) {
    encoder.integer(item.update_count);
    encoder.fields(item.state.fields());
  }
  return bytes;
}

bool any_graph(const std::vector<SyncItem>& items) {
  for (const SyncItem& item : items) {
    if (requires_grad(item.state.fields())) return true;
  }
  return false;
}

States identities(const std::vector<SyncItem>& items) {
  States states;
  for (const SyncItem& item : items) states.push_back(item.identity);
  return states;
}

// The gathered states of every rank, and how they become one.
class Gathered {
 public:
  Gathered(const std::vector<SyncItem>& items, const Contributions& all,
           const Communicator& communicator)
      : items_(items), communicator_(communicator), sequence_(all.sequence) {
    for (const std::string_view payload : all.payloads) {
      Decoder decoder(payload);
      ranks_.push_back(identities(items));
      for (size_t i = 0; i < items.size(); ++i) {
        counts_.push_back(decoder.integer());
        decoder.fields(ranks_.back()[i].fields());
        // The payload does not say where states live: as here.
        if (!device_of(items[i]).is_cpu()) {
          move_to(ranks_.back()[i].fields(), device_of(items[i]));
        }
      }
    }
  }

  std::vector<std::int64_t> update_counts() const {
    std::vector<std::int64_t> sums(items_.size());
    for (size_t i = 0; i < counts_.size(); ++i) {
      sums[i % items_.size()] += counts_[i];
    }
    return sums;
  }

  const States& rank(size_t r) const { return ranks_[r]; }

  // The merge of the ranks from `first` to before `last`.
  States fold(size_t first, size_t last) const {
    States result = identities(items_);
    for (size_t r = first; r < last; ++r) merge_rank(result, ranks_[r], r);
    return result;
  }

  void merge_rank(States& into, const States& from, size_t r) const {
    for (size_t i = 0; i < items_.size(); ++i) {
      try {
        merge(into[i], from[i], items_[i].label.c_str());
      } catch (const SyncError&) {
        throw;
      } catch (const std::exception& error) {
        SyncErrorDetails details;
        details.metric = items_[i].label;
        details.rank = communicator_.rank();
        details.peers = {static_cast<int>(r)};
        details.sequence = sequence_;
        details.phase = "merge";
        throw SyncError(SyncErrorCode::kMismatch,
                        c10::str("rank ", r,
                                 "'s state does not fit those of "
                                 "the ranks before it: ",
                                 describe(error)),
                        std::move(details));
      }
    }
  }

  size_t ranks() const { return ranks_.size(); }

 private:
  static c10::Device device_of(const SyncItem& item) {
    for (const Field& field : item.state.fields()) {
      if (field.kind == Field::Kind::kTensor && field.as_tensor().defined()) {
        return field.as_tensor().device();
      }
      if (field.kind == Field::Kind::kRows && field.as_rows().defined()) {
        return field.as_rows().tensor().device();
      }
      if (field.kind == Field::Kind::kNumber && !field.as_number().is_plain()) {
        return field.as_number().tensor().device();
      }
    }
    return at::kCPU;
  }

  const std::vector<SyncItem>& items_;
  const Communicator& communicator_;
  std::int64_t sequence_;
  std::vector<States> ranks_;
  std::vector<std::int64_t> counts_;
};

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

// Puts the values of the plain merge into one with a graph: however the graph
// was folded, every rank then holds the same bits.
void take_values(States& graph, const States& plain) {
  for_each_field(graph, [&](const Field& field, size_t i, size_t f) {
    if (field.kind == Field::Kind::kRows) return;  // only moved, never computed
    const at::Tensor value = differentiable(field);
    if (!value.defined() || !value.requires_grad()) return;
    const Fields same = plain[i].fields();
    assign(field, internal::replace_values(value, differentiable(same[f])));
  });
}

// Own part with its graph between the plain merges of the ranks before and
// behind: no graph grows with the number of ranks.
States fold_own_graph(const Gathered& gathered, States own, size_t rank,
                      double factor) {
  if (factor != 1.0) {
    for_each_field(own, [&](const Field& field, size_t, size_t) {
      const at::Tensor value = differentiable(field);
      if (value.defined() && value.requires_grad()) {
        assign(field, internal::scale_gradient(value, factor));
      }
    });
  }
  States result = gathered.fold(0, rank);
  gathered.merge_rank(result, own, rank);
  const States behind = gathered.fold(rank + 1, gathered.ranks());
  gathered.merge_rank(result, behind, rank);
  return result;
}

// Every rank's part with a graph that leads back to that rank.
States fold_all_graphs(const Gathered& gathered, States own, size_t rank,
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
  slots = internal::attach_all_ranks(mine, slots, communicator);
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

// What this rank brings, with all that the exchange refers to.
class Prepared {
 public:
  // Throws, after it has told the other ranks, if the states cannot be encoded.
  Prepared(const std::vector<SyncItem>& items,
           const std::shared_ptr<Communicator>& communicator,
           const SyncOptions& options, bool graph)
      : schema_(schema_of(items)) {
    for (const SyncItem& item : items) {
      label_ += (label_.empty() ? "" : ", ") + item.label;
    }
    try {
      payload_ = encode(items);
    } catch (const std::exception& error) {
      report_failure(label_, describe(error), communicator, options.timeout);
      throw;
    }
    contribution_.kind = ExchangeKind::kStates;
    contribution_.label = label_;
    contribution_.fingerprint = fingerprint(schema_);
    contribution_.flags =
        (options.cached ? kCached : 0) | (graph ? kHasGraph : 0);
    contribution_.skip_payload_if_all = kCached;
    contribution_.payload = payload_;
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  const Contribution& contribution() const { return contribution_; }

 private:
  std::string schema_;
  std::string label_;
  std::string payload_;
  struct GetSchema {
    const std::string& schema;
    std::string operator()() const { return schema; }
  } get_schema_{schema_};
  Contribution contribution_{ExchangeKind::kStates, {}, 0, get_schema_};
};

SyncResult plain_result(const Gathered& gathered) {
  SyncResult result;
  result.update_counts = gathered.update_counts();
  result.states = gathered.fold(0, gathered.ranks());
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
  const bool graph = options.flow != GradientFlow::kDetached &&
                     at::GradMode::is_enabled() && any_graph(items);
  const Prepared own(items, communicator, options, graph);
  const Contributions all =
      Exchange::run(*communicator, own.contribution(), options.timeout);
  if (all.payloads_skipped) return all_cached();
  const Gathered gathered(items, all, *communicator);
  SyncResult result = plain_result(gathered);

  const bool graph_somewhere =
      std::any_of(all.flags.begin(), all.flags.end(),
                  [](std::uint32_t flags) { return (flags & kHasGraph) != 0; });
  const bool all_ranks =
      options.flow == GradientFlow::kAllRanks && graph_somewhere;
  if (!all_ranks && !graph) return result;
  const auto rank = static_cast<size_t>(communicator->rank());
  States mine;
  for (const SyncItem& item : items) mine.push_back(item.state);
  const double factor =
      options.flow == GradientFlow::kReplicated ? communicator->size() : 1;
  States with_graph =
      all_ranks ? fold_all_graphs(gathered, std::move(mine), rank, communicator)
                : fold_own_graph(gathered, std::move(mine), rank, factor);
  take_values(with_graph, result.states);
  result.states = std::move(with_graph);
  return result;
}

struct PendingSync::Parts {
  Parts(std::vector<SyncItem> list, std::shared_ptr<Communicator> ranks,
        const SyncOptions& options)
      : items(std::move(list)),
        communicator(std::move(ranks)),
        prepared(items, communicator, options, /*graph=*/false),
        exchange(Exchange::start(*communicator, prepared.contribution(),
                                 options.timeout)) {}

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
  const Contributions all = parts_->exchange->finish();
  if (all.payloads_skipped) return all_cached();
  return plain_result(Gathered(parts_->items, all, *parts_->communicator));
}

void report_failure(const std::string& label, const std::string& reason,
                    const std::shared_ptr<Communicator>& communicator,
                    Timeout timeout) noexcept {
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
