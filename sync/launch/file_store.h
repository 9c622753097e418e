#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <unordered_map>
#include <vector>

namespace tally::sync::internal {

/// A store in a file shared by all ranks, like c10d::FileStore. Unlike that, it
/// rejects foreign files, never exceeds its timeout, and continues to work
/// after the file has been unlinked.
class FileStore final : public c10d::Store {
 public:
  /// Creates the file if necessary. Throws c10::DistStoreError if its folder
  /// does not exist, or the path is something else.
  FileStore(std::string path, std::chrono::milliseconds timeout);
  ~FileStore() override;

  /// Unlinks the file, so that another group can use the name; to be called
  /// after all ranks have opened it.
  void remove_name();

  c10::intrusive_ptr<c10d::Store> clone() override;
  void set(const std::string& key,
           const std::vector<std::uint8_t>& value) override;
  std::vector<std::uint8_t> compareSet(
      const std::string& key, const std::vector<std::uint8_t>& expected,
      const std::vector<std::uint8_t>& desired) override;
  std::vector<std::uint8_t> get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  std::int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;
  using c10d::Store::append;
  using c10d::Store::compareSet;
  using c10d::Store::set;

 private:
  class Lock;
  using Value = std::vector<std::uint8_t>;

  [[noreturn]] void fail(const std::string& what) const;
  void open_file();
  /// Reads records written by others; requires the lock.
  void catch_up();
  /// Appends at the end of the known records; requires the lock.
  void append(const std::string& key, const Value& value, bool is_there);
  /// Returns whether all bytes were transferred.
  bool transfer(bool writes, void* bytes, std::size_t count,
                std::int64_t offset) const;

  std::string path_;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::int64_t known_ = 0;  // bytes of whole records
  std::unordered_map<std::string, Value> values_;
};

}  // namespace tally::sync::internal
