#include <ATen/ops/empty.h>
#include <torch/serialize/input-archive.h>
#include <torch/serialize/output-archive.h>

#include <cstring>
#include <string>

#include "tally/metrics/metric_base.h"

namespace tally {
namespace {

constexpr const char* kKey = "tally";

}  // namespace

torch::serialize::OutputArchive& operator<<(
    torch::serialize::OutputArchive& archive, const MetricBase& metric) {
  const std::string bytes = metric.serialize();
  at::Tensor tensor =
      at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  archive.write(kKey, tensor, /*is_buffer=*/true);
  return archive;
}

torch::serialize::InputArchive& operator>>(
    torch::serialize::InputArchive& archive, MetricBase& metric) {
  at::Tensor tensor;
  TORCH_CHECK_VALUE(archive.try_read(kKey, tensor, /*is_buffer=*/true) &&
                        tensor.scalar_type() == at::kByte,
                    "expected the state of a metric in the archive, got none");
  const at::Tensor bytes = tensor.cpu().contiguous();
  const absl::Status status =
      metric.deserialize({static_cast<const char*>(bytes.data_ptr()),
                          static_cast<std::size_t>(bytes.numel())});
  TORCH_CHECK_VALUE(status.ok(), std::string(status.message().data(),
                                             status.message().size()));
  return archive;
}

}  // namespace tally
