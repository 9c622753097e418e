#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <unordered_map>
#include <vector>

namespace tally::sync::internal {

/// A store in a file that all ranks see, as c10d::FileStore is one. Unlike that
/// it refuses a file that is none of its own, takes no longer than its timeout
/// for anything, and goes on when the file has lost its name.
class FileStore final : public c10d::Store {
 public:
  /// Creates the file if there is none. c10::DistStoreError if its folder does
  /// not exist or something else is there already.
  FileStore(std::string path, std::chrono::milliseconds timeout);
  ~FileStore() override;

  /// Takes the name away, so that another group can use it: once all ranks have
  /// opened the file.
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
  using c10d::Store::compareSet;
  using c10d::Store::set;

 private:
  class Lock;
  using Value = std::vector<std::uint8_t>;

  [[noreturn]] void fail(const std::string& what) const;
  void open_file();
  /// Takes in what others have written; under a lock.
  void catch_up();
  /// At the end of what is known; under a lock.
  void append(const std::string& key, const Value& value, bool is_there);
  /// Whether that took all bytes.
  bool transfer(bool writes, void* bytes, std::size_t count,
                std::int64_t offset) const;

  std::string path_;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::int64_t known_ = 0;  // bytes of whole records
  std::unordered_map<std::string, Value> values_;
};

}  // namespace tally::sync::internal
