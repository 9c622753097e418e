#include "tally/testing/internal/pretend_memory.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tally/testing/internal/pretend_counts.h"

namespace tally::testkit::internal {
namespace {

constexpr std::size_t kCapacity = std::size_t{16} << 30;  // addresses only
constexpr std::size_t kRound = 512;  // as CUDA's caching allocator
constexpr std::size_t kMarked = std::size_t{1} << 20;
// Neither 0 nor a number in any floating dtype.
constexpr int kFresh = 0xff;
constexpr int kFreed = 0xfe;

thread_local c10::DeviceIndex current_index = 0;

char* reserve(int protection) {
  void* const place = mmap(nullptr, kCapacity, protection,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TORCH_CHECK(place != MAP_FAILED, "expected ", kCapacity,
              " bytes of addresses for the pretend device, got none");
  return static_cast<char*>(place);
}

// Two ranges of addresses of one size: tensors carry those of the first, which
// nobody can read, and kernels use those of the second.
class Memory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Device device = current_pretend_device();
    if (bytes == 0) return {nullptr, nullptr, &release, device};
    count_allocation();
    const std::size_t size = (bytes + kRound - 1) / kRound * kRound;
    char* place = nullptr;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      std::vector<char*>& free = free_[size];
      if (!free.empty()) {
        place = free.back();
        free.pop_back();
      } else {
        TORCH_CHECK_WITH(OutOfMemoryError, size <= kCapacity - used_,
                         "CUDA out of memory. Tried to allocate ", bytes,
                         " bytes on a pretend device of ", kCapacity);
        place = device_ + used_;
        used_ += size;
      }
      sizes_[place] = size;
    }
    std::memset(kernel_address(place), kFresh, std::min(size, kMarked));
    return {place, place, &release, device};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(kernel_address(to), kernel_address(from), bytes);
  }

  void* kernel_address(const void* address) const {
    if (!address) return nullptr;
    const char* const place = static_cast<const char*>(address);
    TORCH_CHECK(place >= device_ && place < device_ + kCapacity,
                "expected an address of the pretend device");
    return kernels_ + (place - device_);
  }

 private:
  static void release(void* place);

  char* const device_ = reserve(PROT_NONE);
  char* const kernels_ = reserve(PROT_READ | PROT_WRITE);
  std::mutex mutex_;
  std::size_t used_ = 0;
  std::unordered_map<std::size_t, std::vector<char*>> free_;
  std::unordered_map<char*, std::size_t> sizes_;
};

// Tensors may outlive static variables.
Memory& memory() {
  static Memory* const one = new Memory;
  return *one;
}

void Memory::release(void* address) {
  if (!address) return;
  Memory& self = memory();
  char* const place = static_cast<char*>(address);
  const std::lock_guard<std::mutex> lock(self.mutex_);
  const std::size_t size = self.sizes_.at(place);
  std::memset(self.kernel_address(place), kFreed, std::min(size, kMarked));
  self.free_[size].push_back(place);
}

}  // namespace

c10::Allocator& pretend_memory() { return memory(); }

c10::Device current_pretend_device() {
  return {c10::DeviceType::CUDA, current_index};
}

void set_current_pretend_device(c10::DeviceIndex index) noexcept {
  current_index = index;
}

bool is_pretend(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_cuda();
}

void* kernel_address(const void* device_address) {
  return memory().kernel_address(device_address);
}

at::Tensor kernel_view(const at::Tensor& tensor) {
  void* const address =
      tensor.numel() > 0 ? kernel_address(tensor.const_data_ptr()) : nullptr;
  at::Tensor view = at::from_blob(
      address, tensor.sizes(), tensor.strides(),
      at::TensorOptions().dtype(tensor.scalar_type()).device(at::kCPU));
  if (tensor.is_conj()) view._set_conj(true);
  if (tensor.is_neg()) view._set_neg(true);
  return view;
}

at::Tensor copy_to_device(const at::Tensor& host, c10::Device device) {
  const at::TensorOptions options =
      at::TensorOptions().dtype(host.scalar_type()).device(device);
  const at::Tensor copy =
      host.is_non_overlapping_and_dense()
          ? at::empty_strided(host.sizes(), host.strides(), options)
          : at::empty(host.sizes(), options);
  if (host.numel() > 0) kernel_view(copy).copy_(host);
  return copy;
}

void resize_on_device(const at::Tensor& tensor, at::IntArrayRef sizes,
                      at::IntArrayRef strides) {
  c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
  const std::size_t item = tensor.dtype().itemsize();
  const std::size_t bytes =
      at::detail::computeStorageNbytes(sizes, strides, item) +
      static_cast<std::size_t>(impl->storage_offset()) * item;
  const c10::Storage storage = tensor.storage();
  if (bytes > storage.nbytes()) {
    TORCH_CHECK(storage.resizable(),
                "Trying to resize storage that is not resizable");
    const c10::DeviceGuard guard(tensor.device());
    c10::DataPtr larger = memory().allocate(bytes);
    if (storage.nbytes() > 0) {
      memory().copy_data(larger.get(), storage.data(), storage.nbytes());
    }
    storage.set_data_ptr_noswap(std::move(larger));
    storage.set_nbytes(bytes);
  }
  impl->set_sizes_and_strides(sizes, strides);
}

}  // namespace tally::testkit::internal
