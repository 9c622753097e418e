#include "tally/testing/internal/pretend_backend.h"

#include <ATen/Context.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/Stream.h>
#include <c10/util/Exception.h>

#include <atomic>

#include "tally/port/device_backend.h"
#include "tally/testing/internal/pretend_counts.h"
#include "tally/testing/internal/pretend_memory.h"
#include "tally/testing/internal/pretend_operators.h"
#include "tally/testing/pretend_device.h"

namespace tally::testkit::internal {
namespace {

constexpr c10::DeviceType kType = c10::DeviceType::CUDA;

thread_local c10::StreamId current_streams[kPretendDevices] = {};

// Work is done at once, so that streams and events are names alone.
class Guard final : public port::DeviceGuardImpl {
 public:
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device old = getDevice();
    setDevice(device);
    return old;
  }
  c10::Device getDevice() const override { return current_pretend_device(); }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.type() == kType && device.index() < kPretendDevices,
                "CUDA error: invalid device ordinal");
    uncheckedSetDevice(device);
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.has_index()) set_current_pretend_device(device.index());
  }
  c10::Stream getStream(c10::Device device) const override {
    const c10::DeviceIndex index =
        device.has_index() ? device.index() : getDevice().index();
    return c10::Stream(c10::Stream::UNSAFE, {kType, index},
                       current_streams[index]);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, 0);
  }
  c10::Stream getNewStream(c10::Device device, int) const override {
    static std::atomic<c10::StreamId> next{1};
    return c10::Stream(c10::Stream::UNSAFE, device, next++);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return getNewStream(device, 0);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream old = getStream(stream.device());
    current_streams[stream.device_index()] = stream.id();
    return old;
  }
  void record(void** event, const c10::Stream&, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    static char any;
    *event = &any;
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {
    count_wait(&DeviceCounts::items, "synchronize a stream");
  }
  void synchronizeEvent(void*) const override {
    count_wait(&DeviceCounts::items, "synchronize an event");
  }
  void synchronizeDevice(const c10::DeviceIndex) const override {
    count_wait(&DeviceCounts::items, "synchronize a device");
  }
  void recordDataPtrOnStream(const c10::DataPtr&,
                             const c10::Stream&) const override {}
  c10::DeviceIndex deviceCount() const noexcept override {
    return kPretendDevices;
  }
};

const Guard& guard() {
  static const Guard* const one = new Guard;
  return *one;
}

class Hooks final : public port::CudaHooks {
 public:
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasCUDA() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex current_device() const override {
    return guard().getDevice().index();
  }
  c10::DeviceIndex deviceCount() const override { return kPretendDevices; }
  c10::DeviceIndex getCurrentDevice() const override {
    return current_device();
  }
  void setCurrentDevice(c10::DeviceIndex index) const override {
    guard().setDevice({kType, index});
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    return guard().exchangeDevice({kType, index}).index();
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return exchangeDevice(index);
  }
  int getNumGPUs() const override { return kPretendDevices; }
  long versionCuDNN() const override { return 0; }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    return c10::GetCPUAllocator();
  }
  c10::Allocator* getCUDADeviceAllocator() const override {
    return &pretend_memory();
  }
  c10::Device getDeviceFromPtr(void*) const override { return {kType, 0}; }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return at::globalContext().defaultGenerator(at::kCPU);
  }
  at::Generator getNewGenerator(c10::DeviceIndex) const override {
    return at::globalContext().defaultGenerator(at::kCPU).clone();
  }
  void deviceSynchronize(c10::DeviceIndex index) const override {
    guard().synchronizeDevice(index);
  }
};

}  // namespace

bool register_pretend_device() {
  if (port::has_cuda_hooks()) return false;
  port::register_cuda_hooks<Hooks>();
  port::register_device_guard(kType, &guard());
  c10::SetAllocator(kType, &pretend_memory(), 1);
  at::globalContext().setUserEnabledCuDNN(false);
  register_pretend_operators();
  return true;
}

}  // namespace tally::testkit::internal
