#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace tally::sync {

/// What a communicator has been asked to do: calls, bytes and time, by
/// operation and by who asked.
///
/// Who asked is the metric ("MulticlassAccuracy", or the names in a
/// collection), the loss ("ClipLoss"), or the function of sync/ ("all_reduce",
/// "backward of all_gather", "average_gradients") that the program called; ""
/// for calls of the communicator itself. The second round of a sync in the
/// background stands with the call at which it was started.
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
    std::int64_t bytes = 0;              ///< that this rank handed over
    std::chrono::nanoseconds waited{0};  ///< inside the calls
  };

  /// In the order of their first calls.
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  /// The sum of all of them.
  Entry total() const;

  void add(const char* operation, const std::string& asker, std::int64_t calls,
           std::int64_t bytes, std::chrono::nanoseconds waited);

 private:
  std::vector<Entry> entries_;
};

/// A table, in the order of time waited.
std::ostream& operator<<(std::ostream& stream,
                         const CommunicationAccount& account);

/// Names who asks for the collectives of the calling thread, for as long as it
/// lives, in accounts and in LibTorch's profiler. The outermost one counts.
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

  /// Of the calling thread; "" if there is none.
  static const std::string& current();

 private:
  bool outermost_;
};

}  // namespace tally::sync
