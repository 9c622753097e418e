#include <ATen/ops/empty.h>

#include <utility>

#include "tally/sync/autograd.h"
#include "tally/sync/exchange/gathered_states.h"
#include "tally/sync/exchange/tensor_collectives.h"

namespace tally::sync::internal {
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

}  // namespace tally::sync::internal
