#include "tally/sync/average_gradients.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/view_as_real.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "tally/state/outside_inference.h"
#include "tally/sync/exchange/exchange.h"
#include "tally/sync/exchange/parameter_list.h"
#include "tally/sync/exchange/readiness.h"
#include "tally/sync/fingerprint.h"

namespace tally::sync {
namespace {

constexpr const char* kName = "average_gradients";

/// What the gradients of such parameters are summed in; undefined where there
/// can be none.
at::ScalarType sum_dtype(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
    case at::kBFloat16:
    case at::kFloat:
    case at::kComplexFloat:
      return at::kFloat;
    case at::kDouble:
    case at::kComplexDouble:
      return at::kDouble;
    default:
      return at::ScalarType::Undefined;
  }
}

/// The same memory as real numbers.
at::Tensor reals(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach();
  return plain.is_complex() ? at::view_as_real(plain.resolve_conj()) : plain;
}

void check(const std::vector<at::Tensor>& parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    TORCH_CHECK_VALUE(parameters[i].defined(), kName, ": parameter ", i,
                      " is undefined");
    const at::Tensor& gradient = parameters[i].grad();
    if (!gradient.defined()) continue;
    TORCH_CHECK_VALUE(gradient.layout() == at::kStrided, kName,
                      ": expected dense gradients, got ", gradient.layout(),
                      " for parameter ", i);
    TORCH_CHECK_VALUE(
        sum_dtype(gradient.scalar_type()) != at::ScalarType::Undefined, kName,
        ": cannot average gradients of dtype ", gradient.scalar_type(),
        ", which parameter ", i, " has");
    TORCH_CHECK_VALUE(internal::is_writable(gradient), kName,
                      ": expected gradients that can be written to, got an "
                      "inference tensor outside inference mode for parameter ",
                      i);
  }
}

/// What must be the same on every rank, by list_of for the eye: this is called
/// for each step.
std::uint64_t fingerprint_of(const std::vector<at::Tensor>& parameters) {
  std::string bytes;
  const auto add = [&](const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
  };
  for (const at::Tensor& parameter : parameters) {
    const std::int64_t kind[] = {
        static_cast<std::int64_t>(parameter.scalar_type()), parameter.dim()};
    add(kind, sizeof kind);
    add(parameter.sizes().data(), parameter.dim() * sizeof(std::int64_t));
  }
  return fingerprint(bytes);
}

/// One bit for each parameter that has a gradient.
std::string gradient_bits(const std::vector<at::Tensor>& parameters) {
  std::string bits((parameters.size() + 7) / 8, '\0');
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].grad().defined()) bits[i / 8] |= 1 << (i % 8);
  }
  return bits;
}

/// All ranks' bits, together with these.
std::string bits_of_ranks(const internal::Contributions& all,
                          std::string bits) {
  for (const std::string_view payload : all.payloads) {
    TORCH_CHECK_VALUE(payload.size() == bits.size(), kName, ": expected ",
                      bits.size(), " bytes of each rank, got ", payload.size());
    for (size_t i = 0; i < bits.size(); ++i) {
      bits[i] = static_cast<char>(bits[i] | payload[i]);
    }
  }
  return bits;
}

/// Of the parameters that have a bit.
std::int64_t bytes_of(const std::vector<at::Tensor>& parameters,
                      const std::string& bits) {
  std::int64_t bytes = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if ((bits[i / 8] >> (i % 8) & 1) == 0) continue;
    bytes += static_cast<std::int64_t>(parameters[i].nbytes());
  }
  return bytes;
}

/// The gradients of the parameters that are summed in one dtype, in a row.
class Bucket {
 public:
  Bucket(const std::vector<at::Tensor>& parameters, const std::string& bits,
         at::ScalarType dtype, c10::Device device) {
    std::int64_t size = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor& parameter = parameters[i];
      if ((bits[i / 8] >> (i % 8) & 1) == 0) continue;
      if (sum_dtype(parameter.scalar_type()) != dtype) continue;
      parameters_.push_back(parameter);
      size += reals(parameter).numel();
    }
    flat_ = at::empty({size}, at::TensorOptions().dtype(dtype).device(device));
    for_each([](const at::Tensor& parameter, at::Tensor slice) {
      const at::Tensor& gradient = parameter.grad();
      gradient.defined() ? slice.copy_(reals(gradient)) : slice.zero_();
    });
  }

  void average(Communicator& communicator, Timeout timeout) {
    if (flat_.numel() == 0) return;
    communicator.all_reduce(flat_, ReduceOp::kSum, timeout);
    flat_.div_(communicator.size());
  }

  void write_back() const {
    for_each([](const at::Tensor& parameter, const at::Tensor& slice) {
      at::Tensor& gradient = parameter.mutable_grad();
      if (!gradient.defined()) {
        const tally::internal::OutsideInference outside;
        gradient = at::empty_like(parameter.detach());
      }
      reals(gradient).copy_(slice);
    });
  }

 private:
  template <class Call>
  void for_each(const Call& call) const {
    std::int64_t begin = 0;
    for (const at::Tensor& parameter : parameters_) {
      const at::Tensor shape = reals(parameter);
      call(parameter,
           flat_.narrow(0, begin, shape.numel()).view(shape.sizes()));
      begin += shape.numel();
    }
  }

  std::vector<at::Tensor> parameters_;
  at::Tensor flat_;
};

/// Those of the parameters that have a bit.
std::vector<Bucket> fill_buckets(const std::vector<at::Tensor>& parameters,
                                 const std::string& bits, c10::Device device) {
  std::vector<Bucket> buckets;
  for (at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    buckets.emplace_back(parameters, bits, dtype, device);
  }
  return buckets;
}

/// Sums for which the ranks have agreed on parameters.
std::vector<Bucket> averaged(const std::vector<at::Tensor>& parameters,
                             Communicator& communicator, Timeout timeout) {
  std::vector<Bucket> buckets;
  std::string bits;
  const internal::Contribution own = internal::prepared(
      communicator, {internal::ExchangeKind::kGradients, kName}, timeout,
      [&](internal::Contribution& mine) {
        check(parameters);
        if (!parameters.empty()) mine.device = parameters[0].device();
        mine.schema = [&parameters] { return internal::list_of(parameters); };
        mine.fingerprint = fingerprint_of(parameters);
        bits = gradient_bits(parameters);
        mine.payload = std::make_shared<const std::string>(bits);
        // As a rule all ranks have the same gradients: what fails for want of
        // memory fails here.
        buckets =
            fill_buckets(parameters, bits,
                         internal::likely_device(communicator, mine.device));
      });
  const internal::Contributions all =
      internal::Exchange::run(communicator, own, timeout);
  or_give_up(communicator, [&] {
    const std::string of_any = bits_of_ranks(all, bits);
    const bool same =
        std::all_of(all.payloads.begin(), all.payloads.end(),
                    [&](auto of_rank) { return of_rank == of_any; });
    if (!same || communicator.accelerator()) {
      internal::make_ready(communicator, {kName, all.sequence, timeout},
                           bytes_of(parameters, of_any), [&] {
                             const c10::Device device = internal::likely_device(
                                 communicator, own.device);
                             if (same && device == all.device) return;
                             buckets.clear();
                             buckets =
                                 fill_buckets(parameters, of_any, all.device);
                           });
    }
    for (Bucket& bucket : buckets) bucket.average(communicator, timeout);
  });
  return buckets;
}

}  // namespace

void average_gradients(const std::vector<at::Tensor>& parameters,
                       std::shared_ptr<Communicator> communicator,
                       Timeout timeout) {
  const AskedBy asked(kName);
  if (!communicator) communicator = default_communicator();
  const at::NoGradGuard no_grad;
  if (communicator->size() == 1) {
    check(parameters);
    return;
  }
  for (const Bucket& bucket : averaged(parameters, *communicator, timeout)) {
    bucket.write_back();
  }
}

}  // namespace tally::sync
