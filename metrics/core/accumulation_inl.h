#pragma once

#include <type_traits>
#include <typeinfo>
#include <utility>

#include "tally/metrics/core/accumulation.h"

namespace tally::internal {

template <class Batch>
void Accumulation::absorb(Batch& batch) {
  static_assert(!std::is_same_v<Batch, RowBatch>,
                "observe() of rows with keys returns a vector of RowBatch");
  // Another shared library may have a table of its own for the same type.
  const StateOps& ops = column().identity.ops();
  if (&ops != &state_ops<Batch>() && *ops.type != typeid(Batch)) {
    refuse_batch(0);
  }
  if (index_) refuse_batch_without_key();
  absorb_states(static_cast<void*>(&batch));
}

template <class Observe, class Evaluate>
auto Accumulation::forward(MaybeDevice inputs, const Observe& observe,
                           const Evaluate& evaluate) {
  const auto ranks = ranks_to_sync_on_step();
  const auto prepare = [&] {
    require_unsynced("forward");
    require_device(inputs);
    return observe();
  };
  auto batch = ranks ? or_report(ranks, prepare) : prepare();
  auto value = ranks ? value_of_ranks(batch, ranks, evaluate) : evaluate(batch);
  if (inputs.is_beside_cpu()) move_result(value, inputs.get());
  absorb(batch);
  note_device(inputs);
  if (may_warn_) warn_of_own_rows();
  return value;
}

template <class Prepare>
auto Accumulation::or_report(
    const std::shared_ptr<sync::Communicator>& communicator,
    const Prepare& prepare) const -> decltype(prepare()) {
  try {
    return prepare();
  } catch (...) {
    if (communicator) report_failure(communicator);
    throw;
  }
}

template <class State>
State Accumulation::merge_batches(
    const State& batch,
    const std::shared_ptr<sync::Communicator>& communicator) {
  AnyState merged = merge_batches(AnyState::of(batch), communicator);
  return std::move(merged.get<State>());
}

template <class Batch, class Evaluate>
auto Accumulation::value_of_ranks(
    const Batch& batch, const std::shared_ptr<sync::Communicator>& communicator,
    const Evaluate& evaluate) {
  auto merged = merge_batches(batch, communicator);
  auto value = evaluate(merged);
  if (drop_graph(merged)) {
    auto plain = evaluate(merged);
    ResultParts parts, plain_parts;
    result_parts(value, parts);
    result_parts(plain, plain_parts);
    take_values(parts, plain_parts);
  }
  return value;
}

template <class State>
bool Accumulation::drop_graph(State& state) {
  Fields fields;
  state.fields(fields);
  return drop_graph(std::as_const(fields));
}

}  // namespace tally::internal
