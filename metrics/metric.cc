#include "tally/metrics/metric.h"

#include <c10/util/Type.h>

#include "tally/metrics/checkpoint.h"
#include "tally/metrics/file.h"
#include "tally/metrics/metric_of.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

namespace internal {

std::string type_name(const std::type_info& type) {
  return c10::demangle(type.name());
}

void refuse_input_count(const char* metric, std::size_t least, std::size_t most,
                        std::size_t got) {
  TORCH_CHECK_VALUE(false, metric, ": expected ", least,
                    most > least ? c10::str(" to ", most) : std::string(),
                    most == 1 ? " input" : " inputs", ", got ", got);
}

void refuse_input_type(const char* metric, std::size_t index,
                       const std::type_info& expected,
                       const std::type_info& got) {
  TORCH_CHECK_TYPE(false, metric, ": expected input ", index, " to be a ",
                   type_name(expected), ", got a ", type_name(got));
}

}  // namespace internal

using Use = internal::Accumulation::Use;

int BatchOrigin::rank() const {
  return accumulation_ ? accumulation_->communicator()->rank() : 0;
}

std::int64_t BatchOrigin::index() const {
  return accumulation_ ? accumulation_->group().update_count : 0;
}

void Metric::update_inputs(Inputs inputs) {
  const Use use(accumulation_);
  accumulation_.require_unsynced("update");
  const at::NoGradGuard no_grad;
  AnyState batch = make_batch();
  observe_into(batch, inputs, BatchOrigin(accumulation_));
  accumulation_.absorb(batch);
}

Results Metric::forward_inputs(Inputs inputs) {
  const Use use(accumulation_);
  const at::AutoGradMode grad(is_differentiable() &&
                              at::GradMode::is_enabled());
  return accumulation_.forward(
      [&] {
        AnyState batch = make_batch();
        observe_into(batch, inputs, BatchOrigin(accumulation_));
        return batch;
      },
      [&](const AnyState& batch) {
        Results results;
        evaluate_into(batch, "", results);
        return results;
      });
}

AnyState Metric::derive(const AnyState&) const {
  TORCH_CHECK(false, name(), ": expected a metric with a source_key()");
}

void Metric::merge_state(const Metric& other) {
  TORCH_CHECK_VALUE(&other != this, name(),
                    ": merge_state expected another metric, got itself");
  const Use use(accumulation_);
  accumulation_.merge_state(other.accumulation_);
}

std::int64_t Metric::update_count() const {
  const auto& group = accumulation_.group();
  return is_synced() ? group.synced_update_count : group.update_count;
}

void Metric::to(c10::Device device) {
  const Use use(accumulation_);
  accumulation_.to(device);
}

void Metric::set_dtype(at::ScalarType dtype) {
  TORCH_CHECK_VALUE(at::isFloatingType(dtype), name(),
                    ": set_dtype expected a floating-point dtype, got ", dtype);
  const Use use(accumulation_);
  dtype_ = dtype;
  accumulation_.invalidate_value();
}

absl::Status Metric::deserialize(std::string_view bytes) {
  const Use use(accumulation_);
  return accumulation_.deserialize(bytes);
}

absl::Status Metric::save(const std::string& path) const {
  return internal::write_file(path, serialize());
}

absl::Status Metric::load(const std::string& path) {
  std::string bytes;
  const absl::Status status =
      internal::read_file(path, bytes, internal::check_checkpoint);
  return status.ok() ? deserialize(bytes) : status;
}

void Metric::finish(at::Tensor& value) const {
  if (!value.defined()) return;
  if (value.requires_grad() && !is_differentiable()) value = value.detach();
  if (dtype_ && at::isFloatingType(value.scalar_type())) {
    value = value.to(*dtype_);
  }
  const bool shared = value.use_count() > 1 || value.storage().use_count() > 1;
  if (shared && !value.requires_grad()) value = internal::fresh_copy(value);
}

}  // namespace tally
