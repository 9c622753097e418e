#include "tally/sync/launch/file_store.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "tally/sync/base/deadline.h"

namespace tally::sync::internal {
namespace {

using std::chrono::milliseconds;

// The file is this mark and then records, of which the last of a key holds.
constexpr char kMark[] = "Tally store 1\n";
constexpr std::int64_t kMarkSize = sizeof(kMark) - 1;
constexpr std::uint32_t kNoValue = 0xffffffff;
constexpr milliseconds kBetweenReads{5};

struct RecordHeader {
  std::uint32_t key_size;
  std::uint32_t value_size;  // kNoValue: the key is gone
};

Deadline end_of(milliseconds timeout) {
  return Deadline(timeout == c10d::Store::kNoTimeout ? kLongestTimeout
                                                     : timeout);
}

}  // namespace

/// The file's lock and this object's, for as long as it lives.
class FileStore::Lock {
 public:
  explicit Lock(FileStore& store) : store_(store), lock_(store.mutex_) {
    const Deadline deadline = end_of(store.timeout_);
    while (flock(store.descriptor_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) store.fail("cannot lock it");
      if (deadline.passed()) {
        C10_THROW_ERROR(DistStoreError, "timed out waiting for its lock");
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
    try {
      store.catch_up();
    } catch (...) {
      flock(store.descriptor_, LOCK_UN);
      throw;
    }
  }
  ~Lock() { flock(store_.descriptor_, LOCK_UN); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  FileStore& store_;
  std::lock_guard<std::mutex> lock_;
};

FileStore::FileStore(std::string path, milliseconds timeout)
    : c10d::Store(timeout), path_(std::move(path)) {
  open_file();
  try {
    Lock lock(*this);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

FileStore::~FileStore() { close(descriptor_); }

void FileStore::fail(const std::string& what) const {
  C10_THROW_ERROR(DistStoreError, what + ": " + std::strerror(errno));
}

void FileStore::open_file() {
  // Without O_NONBLOCK, opening a pipe would wait for someone to read from it.
  descriptor_ =
      open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
  if (descriptor_ < 0) fail("cannot be opened");
  struct stat status {};
  if (fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) return;
  close(descriptor_);
  C10_THROW_ERROR(DistStoreError, "expected a file");
}

void FileStore::remove_name() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

bool FileStore::transfer(bool writes, void* bytes, std::size_t count,
                         std::int64_t offset) const {
  auto* next = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t done = writes ? pwrite(descriptor_, next, count, offset)
                                : pread(descriptor_, next, count, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(writes ? "cannot be written" : "cannot be read");
    if (done == 0) return false;
    next += done;
    offset += done;
    count -= static_cast<std::size_t>(done);
  }
  return true;
}

void FileStore::catch_up() {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) fail("cannot be read");
  const std::int64_t size = status.st_size;
  if (known_ == 0) {
    char mark[kMarkSize] = {};
    const std::int64_t present = std::min(size, kMarkSize);
    transfer(false, mark, static_cast<std::size_t>(present), 0);
    if (std::memcmp(mark, kMark, static_cast<std::size_t>(present)) != 0) {
      C10_THROW_ERROR(DistStoreError,
                      "expected a new file, or one that the other "
                      "ranks' stores are in");
    }
    std::memcpy(mark, kMark, kMarkSize);
    if (present < kMarkSize) transfer(true, mark, kMarkSize, 0);
    known_ = kMarkSize;
  }
  // What a process that was killed has left half written is written over.
  RecordHeader header{};
  for (const std::int64_t header_size = sizeof header;
       size - known_ >= header_size;) {
    if (!transfer(false, &header, sizeof header, known_)) return;
    const bool is_there = header.value_size != kNoValue;
    const std::int64_t value_size = is_there ? header.value_size : 0;
    const std::int64_t end =
        known_ + header_size + header.key_size + value_size;
    if (end > size) return;
    std::string key(header.key_size, '\0');
    Value value(static_cast<std::size_t>(value_size));
    transfer(false, key.data(), key.size(), known_ + header_size);
    transfer(false, value.data(), value.size(),
             known_ + header_size + header.key_size);
    if (is_there) {
      values_[std::move(key)] = std::move(value);
    } else {
      values_.erase(key);
    }
    known_ = end;
  }
}

void FileStore::append(const std::string& key, const Value& value,
                       bool is_there) {
  const RecordHeader header{
      static_cast<std::uint32_t>(key.size()),
      is_there ? static_cast<std::uint32_t>(value.size()) : kNoValue};
  std::string record(reinterpret_cast<const char*>(&header), sizeof header);
  record += key;
  record.append(value.begin(), value.end());
  if (ftruncate(descriptor_, known_) != 0) fail("cannot be written");
  transfer(true, record.data(), record.size(), known_);
  catch_up();
}

c10::intrusive_ptr<c10d::Store> FileStore::clone() {
  return c10::make_intrusive<FileStore>(path_, timeout_);
}

void FileStore::set(const std::string& key, const Value& value) {
  const Lock lock(*this);
  append(key, value, true);
}

std::vector<std::uint8_t> FileStore::compareSet(const std::string& key,
                                                const Value& expected,
                                                const Value& desired) {
  const Lock lock(*this);
  const auto found = values_.find(key);
  const bool was_there = found != values_.end();
  if (was_there ? found->second != expected : !expected.empty()) {
    return was_there ? found->second : expected;
  }
  append(key, desired, true);
  return desired;
}

std::vector<std::uint8_t> FileStore::get(const std::string& key) {
  wait({key});
  const Lock lock(*this);
  return values_[key];
}

std::int64_t FileStore::add(const std::string& key, std::int64_t value) {
  const Lock lock(*this);
  const Value& old = values_[key];
  std::int64_t number = 0;
  const char* text = reinterpret_cast<const char*>(old.data());
  std::from_chars(text, text + old.size(), number);
  number += value;
  const std::string sum = std::to_string(number);
  append(key, Value(sum.begin(), sum.end()), true);
  return number;
}

bool FileStore::deleteKey(const std::string& key) {
  const Lock lock(*this);
  if (values_.count(key) == 0) return false;
  append(key, {}, false);
  return true;
}

bool FileStore::check(const std::vector<std::string>& keys) {
  const Lock lock(*this);
  return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
    return values_.count(key) > 0;
  });
}

std::int64_t FileStore::getNumKeys() {
  const Lock lock(*this);
  return static_cast<std::int64_t>(values_.size());
}

void FileStore::wait(const std::vector<std::string>& keys) {
  wait(keys, timeout_);
}

void FileStore::wait(const std::vector<std::string>& keys,
                     const milliseconds& timeout) {
  const Deadline deadline = end_of(timeout);
  while (!check(keys)) {
    if (deadline.passed()) {
      C10_THROW_ERROR(DistStoreError, "timed out waiting for " + keys.front());
    }
    std::this_thread::sleep_for(kBetweenReads);
  }
}

}  // namespace tally::sync::internal
