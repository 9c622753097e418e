#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/testing/internal/pretend_counts.h"
#include "tally/testing/internal/pretend_memory.h"
#include "tally/testing/internal/pretend_operators.h"
#include "tally/testing/internal/pretend_rules.h"

namespace tally::testkit::internal {
namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

// Whether an error is about an index in a tensor, which a kernel of CUDA meets:
// dimensions and the k of kthvalue are checked before it starts.
bool is_met_by_kernel(const std::string& what) {
  const auto says = [&](const char* words) {
    return what.find(words) != what.npos;
  };
  return (says("out of bounds") || says("out of range")) &&
         !says("Dimension out of range") && !says("selected number k");
}

// One call of an operator.
class Kernel {
 public:
  Kernel(const c10::OperatorHandle& op, Stack* stack)
      : op_(op), name_(op.schema().operator_name().name), stack_(stack) {}

  void run() {
    check_not_lost();
    const std::size_t begin = stack_->size() - op_.schema().arguments().size();
    const Stack given(stack_->begin() + static_cast<std::ptrdiff_t>(begin),
                      stack_->end());
    find_device(given);
    refuse(given);
    for (std::size_t i = 0; i < given.size(); ++i) {
      const c10::AliasInfo* const alias =
          op_.schema().arguments()[i].alias_info();
      to_kernel((*stack_)[begin + i], alias && alias->isWrite());
    }
    count(given);
    call();
    resize_written();
    const std::size_t results = op_.schema().returns().size();
    for (std::size_t i = stack_->size() - results; i < stack_->size(); ++i) {
      from_kernel((*stack_)[i]);
    }
  }

 private:
  void find_device(const Stack& given) {
    for (const IValue& value : given) {
      if (value.isTensor()) meet(value.toTensor());
      if (value.isTensorList()) {
        for (const Tensor& one : value.toTensorVector()) meet(one);
      }
      if (value.isOptionalTensorList()) {
        for (const auto& one : value.toOptionalTensorVector()) {
          if (one) meet(*one);
        }
      }
    }
    for (const IValue& value : given) {
      if (!device_ && value.isDevice() && value.toDevice().is_cuda()) {
        device_ = value.toDevice();
      }
    }
    if (device_ && !device_->has_index()) device_ = current_pretend_device();
  }

  void meet(const Tensor& tensor) {
    if (!is_pretend(tensor)) return;
    TORCH_CHECK(!device_ || *device_ == tensor.device(),
                "Expected all tensors to be on the same device, but found at "
                "least two devices, ",
                *device_, " and ", tensor.device(), "! (", name_, ")");
    device_ = tensor.device();
  }

  void refuse(const Stack& given) const {
    TORCH_CHECK_NOT_IMPLEMENTED(!is_of_the_cpu(name_), "Could not run '", name_,
                                "' with arguments from the 'CUDA' backend");
    if (!is_matrix_product(name_)) return;
    for (const IValue& value : given) {
      if (!value.isTensor() || !value.toTensor().defined()) continue;
      const at::ScalarType dtype = value.toTensor().scalar_type();
      TORCH_CHECK_NOT_IMPLEMENTED(
          !at::isIntegralType(dtype, /*includeBool=*/true), "\"", name_,
          "_cuda\" not implemented for '", dtype, "'");
    }
  }

  void refuse_host(const Tensor& tensor, bool is_index) const {
    if (!tensor.defined() || !tensor.is_cpu() || !device_) return;
    if (is_index && takes_host_indices(name_)) {
      count_wait(&DeviceCounts::copies_to_device,
                 "indices from the host, " + name_,
                 &DeviceCounts::bytes_to_device,
                 static_cast<std::int64_t>(tensor.nbytes()));
      return;
    }
    TORCH_CHECK(tensor.dim() == 0 && takes_numbers(name_),
                "Expected all tensors to be on the same device, but found at "
                "least two devices, ",
                *device_, " and cpu! (", name_, ")");
  }

  Tensor argument(const Tensor& tensor, bool is_written, bool is_index) {
    refuse_host(tensor, is_index);
    if (!is_pretend(tensor)) return tensor;
    for (const auto& [host, device] : seen_) {
      if (device.is_same(tensor)) return host;
    }
    // What is empty may be resized, which a view of memory cannot be.
    const Tensor host =
        is_written && tensor.numel() == 0
            ? at::empty(tensor.sizes(), at::TensorOptions()
                                            .dtype(tensor.scalar_type())
                                            .device(at::kCPU))
            : kernel_view(tensor);
    seen_.emplace_back(host, tensor);
    return host;
  }

  void to_kernel(IValue& place, bool is_written) {
    if (place.isTensor()) {
      place = argument(place.toTensor(), is_written, false);
    } else if (place.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& one : place.toTensorVector()) {
        list.push_back(argument(one, is_written, false));
      }
      place = list;
    } else if (place.isOptionalTensorList()) {
      c10::List<std::optional<Tensor>> list;
      for (const auto& one : place.toOptionalTensorVector()) {
        list.push_back(one ? std::optional<Tensor>(argument(*one, false, true))
                           : one);
      }
      place = list;
    } else if (place.isDevice()) {
      place = c10::Device(at::kCPU);
    }
  }

  void count(const Stack& given) const {
    if (launches_kernel(name_)) count_launch(name_);
    if (sums_unordered(name_, given)) count_unordered_sum();
    if (learns_size(name_, given)) count_wait(&DeviceCounts::sizes, name_);
  }

  void call() const {
    try {
      const at::AutoDispatchBelowADInplaceOrView below;
      op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack_);
    } catch (const c10::Error& error) {
      const std::string what = error.what_without_backtrace();
      if (!is_met_by_kernel(what)) throw;
      lose_device();
      TORCH_CHECK(false, "CUDA error: device-side assert triggered (", name_,
                  ": ", what, ")");
    }
  }

  void resize_written() const {
    for (const auto& [host, device] : seen_) {
      const bool is_moved =
          device.numel() > 0 &&
          host.const_data_ptr() != kernel_address(device.const_data_ptr());
      if (host.sizes() == device.sizes() && !is_moved) continue;
      resize_on_device(device, host.sizes(), host.strides());
      if (host.numel() > 0) kernel_view(device).copy_(host);
    }
  }

  Tensor result(const Tensor& host) const {
    if (!host.defined()) return host;
    for (const auto& [alias, device] : seen_) {
      if (alias.is_same(host)) return device;
    }
    for (const auto& [alias, device] : seen_) {
      if (host.has_storage() && host.numel() > 0 &&
          host.storage().is_alias_of(alias.storage())) {
        return at::as_strided(device, host.sizes(), host.strides(),
                              device.storage_offset() + host.storage_offset());
      }
    }
    return device_ ? copy_to_device(host, *device_) : host;
  }

  void from_kernel(IValue& place) const {
    if (place.isTensor()) {
      place = result(place.toTensor());
    } else if (place.isTensorList()) {
      c10::List<Tensor> list;
      for (const Tensor& one : place.toTensorVector()) {
        list.push_back(result(one));
      }
      place = list;
    }
  }

  const c10::OperatorHandle& op_;
  const std::string name_;
  Stack* const stack_;
  std::optional<c10::Device> device_;
  std::vector<std::pair<Tensor, Tensor>> seen_;  // as kernels see it, itself
};

}  // namespace

void run_pretend_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet,
                        Stack* stack) {
  Kernel(op, stack).run();
}

}  // namespace tally::testkit::internal
