#include "tally/sync/account.h"

#include <algorithm>
#include <cstdio>
#include <new>

namespace tally::sync {
namespace {

std::string& asker_of_thread() {
  thread_local std::string asker;
  return asker;
}

std::string shortened(const std::string& text, std::size_t length) {
  return text.size() <= length ? text : text.substr(0, length - 3) + "...";
}

void write_row(std::ostream& stream, const CommunicationAccount::Entry& entry) {
  char row[128];
  std::snprintf(row, sizeof row, "%-12s  %-36s %9lld %12.1f %12.3f\n",
                entry.operation.c_str(), shortened(entry.asker, 36).c_str(),
                static_cast<long long>(entry.calls),
                static_cast<double>(entry.bytes) / 1024,
                static_cast<double>(entry.waited.count()) / 1e6);
  stream << row;
}

}  // namespace

CommunicationAccount::Entry CommunicationAccount::total() const {
  Entry sum;
  sum.operation = "total";
  for (const Entry& entry : entries_) {
    sum.calls += entry.calls;
    sum.bytes += entry.bytes;
    sum.waited += entry.waited;
  }
  return sum;
}

void CommunicationAccount::add(const char* operation, const std::string& asker,
                               std::int64_t calls, std::int64_t bytes,
                               std::chrono::nanoseconds waited) {
  auto entry =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& other) {
        return other.operation == operation && other.asker == asker;
      });
  if (entry == entries_.end()) {
    entries_.push_back({operation, asker});
    entry = entries_.end() - 1;
  }
  entry->calls += calls;
  entry->bytes += bytes;
  entry->waited += waited;
}

std::ostream& operator<<(std::ostream& stream,
                         const CommunicationAccount& account) {
  std::vector<CommunicationAccount::Entry> rows = account.entries();
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.waited > b.waited;
  });
  rows.push_back(account.total());
  char head[128];
  std::snprintf(head, sizeof head, "%-12s  %-36s %9s %12s %12s\n", "operation",
                "asked by", "calls", "KB sent", "ms waited");
  stream << head;
  for (const auto& row : rows) write_row(stream, row);
  return stream;
}

AskedBy::AskedBy(const std::string& name)
    : outermost_(asker_of_thread().empty()) {
  if (!outermost_) return;
  try {
    asker_of_thread() = name;
  } catch (const std::bad_alloc&) {
    // A call without a name is better than one that ranks wait for.
  }
}

AskedBy::~AskedBy() {
  if (outermost_) asker_of_thread().clear();
}

const std::string& AskedBy::current() { return asker_of_thread(); }

}  // namespace tally::sync
