#include "tally/sync/average_gradients.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/view_as_real.h>

#include <string>
#include <utility>

#include "tally/state/outside_inference.h"
#include "tally/sync/exchange.h"
#include "tally/sync/fingerprint.h"
#include "tally/sync/parameter_list.h"

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

/// The parameters that have a gradient on any rank, and where their sums are
/// made. Every rank gets the same, or an error.
struct Agreed {
  std::vector<at::Tensor> parameters;
  c10::Device device;
};
Agreed agree(const std::vector<at::Tensor>& parameters,
             Communicator& communicator, Timeout timeout) {
  const std::string bits = gradient_bits(parameters);
  const auto schema = [&] { return internal::list_of(parameters); };
  Contribution own{ExchangeKind::kGradients, kName, fingerprint_of(parameters),
                   schema};
  own.payload = bits;
  if (!parameters.empty()) own.device = parameters[0].device();
  const Contributions all = Exchange::run(communicator, own, timeout);
  Agreed result{{}, all.device};
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (const std::string_view payload : all.payloads) {
      if ((payload[i / 8] >> (i % 8) & 1) == 0) continue;
      result.parameters.push_back(parameters[i]);
      break;
    }
  }
  return result;
}

/// Tells the other ranks that this one will not take part.
void report(const std::string& failure, Communicator& communicator,
            Timeout timeout) {
  const auto schema = [] { return std::string(); };
  Contribution own{ExchangeKind::kGradients, kName, 0, schema};
  own.failure = failure;
  Exchange::run(communicator, own, timeout);
}

/// The gradients of the parameters that are summed in one dtype, in a row.
class Bucket {
 public:
  Bucket(const std::vector<at::Tensor>& parameters, at::ScalarType dtype,
         c10::Device device) {
    std::int64_t size = 0;
    for (const at::Tensor& parameter : parameters) {
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

}  // namespace

void average_gradients(const std::vector<at::Tensor>& parameters,
                       std::shared_ptr<Communicator> communicator,
                       Timeout timeout) {
  const AskedBy asked(kName);
  if (!communicator) communicator = default_communicator();
  const bool alone = communicator->size() == 1;
  const at::NoGradGuard no_grad;
  try {
    check(parameters);
  } catch (const c10::ValueError& error) {
    if (!alone) report(describe(error), *communicator, timeout);
    throw;
  }
  if (alone) return;
  const Agreed agreed = agree(parameters, *communicator, timeout);
  std::vector<Bucket> buckets;
  for (at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    buckets.emplace_back(agreed.parameters, dtype, agreed.device);
    buckets.back().average(*communicator, timeout);
  }
  for (const Bucket& bucket : buckets) bucket.write_back();
}

}  // namespace tally::sync
