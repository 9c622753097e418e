#pragma once

#include <cstdint>
#include <memory>
#include <vector>

/// Tables of how many negatives and positives have each score: sorted, as
/// differences of a byte or more each.
namespace tally::internal::classification {

/// Some entries of a table, one for each distinct score, highest first. A key
/// is the complement of the score's ordered_bits(), so that keys ascend.
struct ScoreEntries {
  static constexpr std::int64_t kMost = 256;

  std::uint32_t keys[kMost];
  std::int64_t negatives[kMost];
  std::int64_t positives[kMost];
  std::int64_t size = 0;
};

/// The entries of a table, block by block.
class EntrySource {
 public:
  virtual ~EntrySource() = default;
  /// Replaces the block by the next entries; none at the end.
  virtual void read(ScoreEntries& block) = 0;
};

/// Of all entries of a table. No state has more than kMostSamples.
struct TableTotals {
  static constexpr std::int64_t kMostSamples = (std::int64_t{1} << 62) - 1;

  std::int64_t negatives = 0;
  std::int64_t positives = 0;

  /// Throws c10::ValueError beyond kMostSamples.
  void add(const TableTotals& more);
};

/// The bytes of a table, which must outlive it. One with a NaN has no entries.
struct ScoreTable {
  const std::uint8_t* data = nullptr;
  std::int64_t bytes = 0;
  TableTotals totals = {};
  bool has_nan = false;
};

/// Bytes from anywhere are safe to read: those that are no table with these
/// totals are a c10::ValueError, at the latest at the end.
class TableReader final : public EntrySource {
 public:
  explicit TableReader(const ScoreTable& table)
      : begin_(table.data),
        next_(table.data),
        end_(table.data + table.bytes),
        expected_(table.totals) {}
  void read(ScoreEntries& block) override;

 private:
  std::uint64_t number();
  void read_counts(std::int64_t& negatives, std::int64_t& positives);
  void check(bool fits, const char* expected) const;

  const std::uint8_t* begin_;
  const std::uint8_t* next_;
  const std::uint8_t* end_;
  TableTotals expected_;
  TableTotals seen_;
  std::uint64_t lowest_ = 0;  // key that may follow
};

/// Writes a table.
class TableWriter {
 public:
  /// Bytes that one entry takes at most.
  static constexpr std::int64_t kMostBytes = 32;

  /// Appends the entries, which follow those before; returns the end. REQUIRES:
  /// room for kMostBytes each.
  std::uint8_t* write(const ScoreEntries& block, std::uint8_t* to);
  const TableTotals& totals() const { return totals_; }

 private:
  std::uint64_t lowest_ = 0;
  TableTotals totals_;
};

/// The entries of all tables, and of another source of about so many entries;
/// the counts of equal keys are added up. Null if there are none.
std::unique_ptr<EntrySource> merged(const std::vector<ScoreTable>& tables,
                                    std::unique_ptr<EntrySource> more = {},
                                    std::int64_t entries = 0);

/// use(block) for each block of entries. A null source has none.
template <class Use>
void for_each_block(std::unique_ptr<EntrySource> source, const Use& use) {
  if (!source) return;
  ScoreEntries block;
  for (source->read(block); block.size > 0; source->read(block)) use(block);
}

}  // namespace tally::internal::classification
