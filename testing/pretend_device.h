#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <string>

/// PyTorch's device `cuda` on a machine without one: finds out whether code is
/// right on a GPU, and how often it launches kernels and waits.
///
/// Tensors there carry addresses that the CPU cannot read, so that code that
/// reads `data_ptr()` dies where it would with a GPU. Kernels are the CPU's.
/// What CUDA refuses is refused: tensors on two devices, products of matrices
/// of integers, operators without a kernel. Programs that call it have the
/// device from the start. It needs a LibTorch for the CPU.
namespace tally::testkit {

constexpr int kPretendDevices = 2;

/// Throws a c10::ValueError if the index is not below kPretendDevices, and a
/// c10::Error with a LibTorch that has CUDA: the device's place is taken.
///
/// Example:
///     const c10::Device device = testkit::pretend_device();
///     MyMetric metric;
///     metric.update(preds.to(device), target.to(device));
c10::Device pretend_device(int index = 0);

/// Whether this LibTorch leaves room for the device.
bool has_pretend_device();

/// For tests that run with and without a GPU: the first real one with a
/// LibTorch that has CUDA, and otherwise pretend_device().
c10::Device first_gpu();

/// What devices were asked to do.
struct DeviceCounts {
  std::int64_t launches = 0;  ///< of operators that would launch kernels
  /// Launches of sums of floating point by atomic additions, whose order CUDA
  /// does not fix.
  std::int64_t unordered_sums = 0;
  std::int64_t items = 0;           ///< item() and synchronizations: wait
  std::int64_t copies_to_host = 0;  ///< wait
  /// Wait: memory cannot be pinned here, so copies that CUDA would only queue
  /// count, too.
  std::int64_t copies_to_device = 0;
  /// Operators with results whose size the host must learn: wait.
  std::int64_t sizes = 0;
  std::int64_t bytes_to_host = 0;
  std::int64_t bytes_to_device = 0;
  std::int64_t allocations = 0;

  std::int64_t waits() const {
    return items + copies_to_host + copies_to_device + sizes;
  }
};

/// Counts what all threads ask of all pretend devices from its construction on.
///
/// Example:
///     const testkit::DeviceRecord record;
///     metric.update(preds, target);
///     EXPECT_EQ(record.counts().waits(), 0);
class DeviceRecord {
 public:
  DeviceRecord();

  DeviceCounts counts() const;

  /// Launches by name of the operator, waits with "wait: " before their reason.
  std::map<std::string, std::int64_t> calls() const;

 private:
  DeviceCounts counts_;
  std::map<std::string, std::int64_t> calls_;
};

/// While it lives, whatever waits throws, as while CUDA captures a graph. One
/// at a time.
class DeviceCapture {
 public:
  DeviceCapture();
  ~DeviceCapture();
  DeviceCapture(const DeviceCapture&) = delete;
  DeviceCapture& operator=(const DeviceCapture&) = delete;
};

/// Whether a kernel met an index out of range. As on a GPU, every operator
/// throws from then on.
bool is_device_lost();

/// Makes a lost device usable again.
void restore_device();

}  // namespace tally::testkit
