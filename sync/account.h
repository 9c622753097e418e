#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace tally::sync {

/// An account of a communicator's use: calls, bytes and time, by operation and
/// caller.
///
/// The caller is the metric ("MulticlassAccuracy", or the names in a
/// collection), the loss ("ClipLoss"), or the function of sync/ ("all_reduce",
/// "backward of all_gather", "average_gradients") that the program called; ""
/// for direct calls of the communicator. The second round of a background sync
/// is attributed to the call that started it.
///
/// Example:
///     auto ranks = sync::init_from_env();
///     sync::average_gradients(model->parameters());
///     std::cout << ranks->account();
class CommunicationAccount {
 public:
  struct Entry {
    std::string operation;  ///< of the communicator, such as "all_gather"
    std::string asker;
    std::int64_t calls = 0;
    std::int64_t bytes = 0;              ///< sent by this rank
    std::chrono::nanoseconds waited{0};  ///< inside the calls
  };

  /// In the order of their first calls.
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  /// The sum of all entries.
  Entry total() const;

  void add(const char* operation, const std::string& asker, std::int64_t calls,
           std::int64_t bytes, std::chrono::nanoseconds waited);

 private:
  std::vector<Entry> entries_;
};

/// Prints a table, longest wait first.
std::ostream& operator<<(std::ostream& stream,
                         const CommunicationAccount& account);

/// Names the caller of the calling thread's collectives during its lifetime, in
/// accounts and in LibTorch's profiler. The outermost one applies.
///
/// Example:
///     const sync::AskedBy asked("validation");
///     metric.compute();
class AskedBy {
 public:
  explicit AskedBy(const std::string& name);
  ~AskedBy();
  AskedBy(const AskedBy&) = delete;
  AskedBy& operator=(const AskedBy&) = delete;

  /// The name for the calling thread; "" if there is none.
  static const std::string& current();

 private:
  bool outermost_;
};

}  // namespace tally::sync
