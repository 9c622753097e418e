#include "tally/python/csrc/syncable.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "tally/python/csrc/option_names.h"

namespace tally::python {

StatusParts parts_of(const absl::Status& status) {
  return {static_cast<std::int64_t>(status.code()),
          std::string(status.message())};
}

MetricOptions make_metric_options(
    bool dist_sync_on_step, bool sync_on_compute, bool compute_with_cache,
    const std::string& gradient_flow, const std::optional<double>& sync_timeout,
    bool validate_args, const std::string& nan_policy, bool compute_on_cpu,
    const Group& process_group) {
  NanPolicy policy{};
  const auto refusal = OptionRef(policy).set(nan_policy);
  TORCH_CHECK_VALUE(!refusal, "nan_policy: expected ", refusal->expected,
                    ", got '", refusal->got, "'");
  return MetricOptions()
      .dist_sync_on_step(dist_sync_on_step)
      .sync_on_compute(sync_on_compute)
      .compute_with_cache(compute_with_cache)
      .gradient_flow(gradient_flow_of(gradient_flow))
      .sync_timeout(timeout_of(sync_timeout))
      .validate_args(validate_args)
      .nan_policy(policy)
      .compute_on_cpu(compute_on_cpu)
      .communicator(communicator_of(process_group));
}

CheckpointRanks checkpoint_ranks(const std::string& text) {
  if (text == "one_file") return CheckpointRanks::kOneFile;
  TORCH_CHECK_VALUE(text == "file_per_rank",
                    "ranks: expected one of own, one_file, file_per_rank, got "
                    "'",
                    text, "'");
  return CheckpointRanks::kFilePerRank;
}

at::Tensor tensor_of(const std::string& bytes) {
  at::Tensor tensor =
      at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  std::copy(bytes.begin(), bytes.end(),
            static_cast<std::uint8_t*>(tensor.data_ptr()));
  return tensor;
}

std::string bytes_of(const at::Tensor& tensor) {
  TORCH_CHECK_TYPE(tensor.scalar_type() == at::kByte && tensor.dim() == 1,
                   "expected a state as a 1-dim tensor of bytes, got ",
                   tensor.scalar_type(), " ", tensor.sizes());
  const at::Tensor bytes = tensor.cpu().contiguous();
  return std::string(static_cast<const char*>(bytes.data_ptr()), bytes.numel());
}

}  // namespace tally::python
