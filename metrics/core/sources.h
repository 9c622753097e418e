#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace tally {

class Decoder;
class Encoder;

/// Which of several parts of one whole an object has accumulated: the shard of
/// a data set, the task of a job array.
struct StatePart {
  std::int64_t index = 0;  ///< from 0
  std::int64_t count = 0;  ///< of all parts; 0: not said
};

namespace internal {

/// Identifies what one object accumulates between its construction, or a reset,
/// and the next one. Random bits of the system: two processes never draw the
/// same, forked or not, whatever the seeds of their generators.
struct SourceId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// Thirty-two hexadecimal digits.
  std::string text() const;

  friend bool operator==(const SourceId& a, const SourceId& b) {
    return a.high == b.high && a.low == b.low;
  }
  friend bool operator<(const SourceId& a, const SourceId& b) {
    return std::tie(a.high, a.low) < std::tie(b.high, b.low);
  }
};

/// Those of so many that are not among `parts`, which are in their order.
std::vector<std::int64_t> missing_parts(const std::vector<std::int64_t>& parts,
                                        std::int64_t count);

/// What went into the states of an Accumulation, as files record it, so that
/// nothing is merged twice. States merged in memory are not checked.
class Sources {
 public:
  /// Before the states change: an object that has merged or read other states
  /// is a further source.
  void note_update() {
    if (!has_own_) add_own();
  }
  void clear();
  /// Those of a copy, which goes on as a source of its own.
  Sources of_copy() const;
  /// Together with others. Parts of wholes that are divided differently are
  /// forgotten.
  Sources merged(const Sources& other) const;
  /// Throws c10::ValueError for a part that is none.
  void set_part(const StatePart& part);

  /// In their order.
  const std::vector<SourceId>& ids() const { return ids_; }
  /// Of how many parts these are; 0 if it was not said.
  std::int64_t part_count() const { return part_count_; }
  const std::vector<std::int64_t>& parts() const { return parts_; }

  void write(Encoder& encoder) const;
  /// Throws c10::ValueError for malformed bytes.
  static Sources read(Decoder& decoder);

 private:
  void add_own();

  std::vector<SourceId> ids_;
  std::int64_t part_count_ = 0;
  std::vector<std::int64_t> parts_;
  bool has_own_ = false;
};

}  // namespace internal
}  // namespace tally
