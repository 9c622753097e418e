#include "tally/testing/internal/drive.h"

#include <algorithm>

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
