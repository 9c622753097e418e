#include "tally/training/gradient_buckets.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "tally/port/guards.h"
#include "tally/state/outside_inference.h"
#include "tally/sync/exchange/gradient_layout.h"

namespace tally::training::internal {
namespace {

namespace si = sync::internal;

c10::Stream stream_of(c10::Device device) {
  return port::Devices(device.type()).getStream(device);
}

c10::Device device_of(const std::vector<at::Tensor>& parameters,
                      const std::vector<std::size_t>& some) {
  const c10::Device first = parameters[some.front()].device();
  const bool same = std::all_of(some.begin(), some.end(), [&](std::size_t i) {
    return parameters[i].device() == first;
  });
  return same ? first : c10::Device(at::kCPU);
}

bool takes(const sync::Communicator& communicator, c10::Device device) {
  return device == communicator.device() ||
         device == communicator.accelerator();
}

GradientBucket make_bucket(const char* name,
                           const std::vector<at::Tensor>& parameters,
                           std::vector<std::size_t> some, at::ScalarType dtype,
                           const sync::Communicator& communicator) {
  const c10::Device device = device_of(parameters, some);
  TORCH_CHECK_VALUE(
      takes(communicator, device) || communicator.device().is_cpu(), name,
      ": expected parameters on the device of the group, ",
      communicator.device(), ", got parameter ", some.front(), " on ",
      parameters[some.front()].device());
  std::int64_t numel = 0;
  for (const std::size_t i : some) numel += si::reals(parameters[i]).numel();
  const auto options = at::TensorOptions().dtype(dtype);
  GradientBucket bucket;
  bucket.flat = at::empty({numel}, options.device(device));
  bucket.sent =
      takes(communicator, device) ? bucket.flat : at::empty({numel}, options);
  std::int64_t begin = 0;
  for (const std::size_t i : some) {
    const at::Tensor shape = si::reals(parameters[i]);
    bucket.places.push_back(
        bucket.flat.narrow(0, begin, shape.numel()).view(shape.sizes()));
    begin += shape.numel();
    if (!device.is_cpu()) bucket.filled.emplace_back(device.type());
  }
  if (!device.is_cpu()) bucket.summed.emplace(device.type());
  bucket.parameters = std::move(some);
  return bucket;
}

}  // namespace

void GradientBucket::record_filled(std::size_t k) {
  if (!filled.empty()) filled[k].record(stream_of(flat.device()));
}

void GradientBucket::sum(sync::Communicator& communicator) {
  for (const c10::Event& event : filled) {
    event.block(stream_of(flat.device()));
  }
  const bool is_sent_as_it_is = sent.is_same(flat);
  if (!is_sent_as_it_is) sent.copy_(flat);
  communicator.all_reduce(sent, sync::ReduceOp::kSum);
  if (!is_sent_as_it_is) flat.copy_(sent);
  if (summed) summed->record(stream_of(flat.device()));
}

void GradientBucket::wait_until_summed() const {
  if (summed) summed->block(stream_of(flat.device()));
}

std::vector<GradientBucket> make_gradient_buckets(
    const char* name, const std::vector<at::Tensor>& parameters,
    std::int64_t bucket_bytes, const sync::Communicator& communicator) {
  const tally::internal::OutsideInference outside;
  std::vector<GradientBucket> buckets;
  std::vector<std::size_t> open;
  std::int64_t numel = 0;
  const auto close = [&](at::ScalarType dtype) {
    if (open.empty()) return;
    buckets.push_back(make_bucket(name, parameters, std::exchange(open, {}),
                                  dtype, communicator));
    numel = 0;
  };
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const auto size = static_cast<std::int64_t>(c10::elementSize(dtype));
    for (std::size_t i = parameters.size(); i-- > 0;) {
      if (si::gradient_sum_dtype(parameters[i].scalar_type()) != dtype) {
        continue;
      }
      open.push_back(i);
      numel += si::reals(parameters[i]).numel();
      if (numel * size >= bucket_bytes) close(dtype);
    }
    close(dtype);
  }
  return buckets;
}

std::string transport_of(const std::vector<GradientBucket>& buckets,
                         const sync::Communicator& communicator) {
  if (!communicator.accelerator()) return "";
  std::string bits;
  for (const GradientBucket& bucket : buckets) {
    bits += bucket.flat.device() == communicator.accelerator() ? '1' : '0';
  }
  return "buckets on the accelerator " + bits + ", ";
}

}  // namespace tally::training::internal
