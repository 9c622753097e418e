#include "tally/metrics/classification/curves/score_runs.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "tally/metrics/classification/curves/exact_samples.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::classification {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kWord = sizeof(std::int64_t);
// Words of a header, and for each curve.
constexpr std::int64_t kHeaderWords = 3;
constexpr std::int64_t kCurveWords = 4;
// More are merged to one.
constexpr std::size_t kMostRuns = 64;
// Of the rows that become runs at once: each part reads the headers of all
// runs.
constexpr std::int64_t kMostParts = 256;
constexpr std::int64_t kBlockBytes =
    ScoreEntries::kMost * TableWriter::kMostBytes;
// What the entry of one sample takes at most.
constexpr std::int64_t kSampleBytes = 6;

std::int64_t header_bytes(std::int64_t curves) {
  return (kHeaderWords + kCurveWords * curves) * kWord;
}

// What a run of others and of some scores takes at most, and a block. Pages
// that are not written to cost nothing.
std::int64_t run_bound(c10::ArrayRef<ScoreRun> runs, std::int64_t curves,
                       std::int64_t scores) {
  std::int64_t most =
      header_bytes(curves) + kBlockBytes + kSampleBytes * scores;
  for (const ScoreRun& run : runs) most += run.size();
  return most;
}

RunLimits& limits() {
  static RunLimits own;
  return own;
}

// The groups of equal scores among sorted keys.
class RankedEntries final : public EntrySource {
 public:
  explicit RankedEntries(const RankedScores<std::uint32_t>& scores)
      : keys_(scores.keys()), next_(scores.count()), below_(scores.below()) {}

  void read(ScoreEntries& block) override {
    block.size = 0;
    std::int64_t size = 0;
    std::uint32_t last = 0;
    while (next_ > 0) {
      const std::int64_t begin = next_ > below_ ? below_ : 0;
      const std::uint32_t sign = next_ > below_ ? 1u << 31 : 0;
      for (; next_ > begin; --next_) {
        const std::uint32_t packed = keys_[next_ - 1];
        const std::uint32_t key = ~(packed >> 1 | sign);
        const std::int64_t positive = packed & 1;
        const bool is_new = key != last || size == 0;
        if (is_new && size == ScoreEntries::kMost) {
          block.size = size;
          return;
        }
        size += is_new;
        last = key;
        const std::int64_t kept = -static_cast<std::int64_t>(!is_new);
        block.keys[size - 1] = key;
        block.positives[size - 1] =
            (block.positives[size - 1] & kept) + positive;
        block.negatives[size - 1] =
            (block.negatives[size - 1] & kept) + 1 - positive;
      }
    }
    block.size = size;
  }

 private:
  const std::uint32_t* keys_;
  std::int64_t next_;  // the number left
  std::int64_t below_;
};

void check_run(bool fits, const char* expected, std::int64_t begin) {
  TORCH_CHECK_VALUE(fits, "expected ", expected,
                    " in the state's runs of scores, at byte ", begin);
}

// The next run, whose bytes begin there.
ScoreRun read_run(const std::uint8_t* bytes, std::int64_t size,
                  std::int64_t begin) {
  const std::int64_t rest = size - begin;
  const auto word = [&](std::int64_t i) {
    std::int64_t value;
    std::memcpy(&value, bytes + begin + i * kWord, kWord);
    return value;
  };
  check_run(rest >= kHeaderWords * kWord, "a header", begin);
  check_run(word(0) == kVersion, "version 1", begin);
  const std::int64_t curves = word(1);
  check_run(curves > 0 && curves <= (rest / kWord - kHeaderWords) / kCurveWords,
            "the sizes of its curves", begin);
  ScoreRun run;
  run.begin = begin;
  run.end = begin + header_bytes(curves);
  run.rows = word(2);
  const auto is_count = [](std::int64_t count) {
    return count >= 0 && count <= TableTotals::kMostSamples;
  };
  check_run(is_count(run.rows), "a number of rows", begin);
  run.curves.resize(static_cast<std::size_t>(curves));
  std::int64_t next = kHeaderWords;
  for (ScoreTable& table : run.curves) {
    table.data = bytes + run.end;
    table.bytes = word(next);
    table.totals = {word(next + 1), word(next + 2)};
    const std::int64_t nan = word(next + 3);
    next += kCurveWords;
    const auto& [negatives, positives] = table.totals;
    check_run(table.bytes >= 0 && table.bytes <= size - run.end,
              "the bytes of its tables", begin);
    check_run(is_count(negatives) && is_count(positives) &&
                  negatives + positives <= run.rows,
              "at most as many samples as rows", begin);
    check_run(nan == 0 || (nan == 1 && table.bytes == 0 && negatives == 0 &&
                           positives == 0),
              "whether there is a NaN", begin);
    table.has_nan = nan == 1;
    run.end += table.bytes;
  }
  return run;
}

}  // namespace

const RunLimits& run_limits() { return limits(); }

RunLimits set_run_limits(const RunLimits& given) {
  return std::exchange(limits(), given);
}

std::vector<ScoreRun> read_runs(const at::Tensor& bytes) {
  std::vector<ScoreRun> runs;
  if (!bytes.defined()) return runs;
  check_state(bytes.dim() == 1 && bytes.scalar_type() == at::kByte &&
              bytes.is_contiguous());
  const auto* const data = bytes.const_data_ptr<std::uint8_t>();
  for (std::int64_t begin = 0; begin < bytes.numel(); begin = runs.back().end) {
    runs.push_back(read_run(data, bytes.numel(), begin));
    check_state(runs.back().curves.size() == runs.front().curves.size());
  }
  return runs;
}

TableBuffer::TableBuffer(const at::Tensor& first, std::int64_t more) {
  reserve(first.numel() + more);
  if (first.numel() == 0) return;
  std::memcpy(buffer_.mutable_data_ptr(), first.const_data_ptr(),
              first.nbytes());
  size_ = first.numel();
}

void TableBuffer::reserve(std::int64_t more) {
  const std::int64_t capacity = buffer_.defined() ? buffer_.numel() : 0;
  if (size_ + more <= capacity) return;
  const at::Tensor larger = fresh_tensor(
      {std::max(size_ + more, capacity + capacity / 2)}, at::kByte);
  if (size_ > 0) {
    std::memcpy(larger.mutable_data_ptr(), buffer_.const_data_ptr(), size_);
  }
  buffer_ = larger;
}

at::Tensor TableBuffer::bytes() const {
  return buffer_.defined() ? buffer_.narrow(0, 0, size_)
                           : fresh_tensor({0}, at::kByte);
}

TableTotals TableBuffer::append(const std::vector<ScoreTable>& tables,
                                const RankedScores<std::uint32_t>* scores) {
  std::unique_ptr<EntrySource> entries;
  if (scores != nullptr) entries = std::make_unique<RankedEntries>(*scores);
  std::int64_t most = kBlockBytes;
  for (const ScoreTable& table : tables) most += table.bytes;
  const std::int64_t own = scores != nullptr ? scores->count() : 0;
  reserve(most + kSampleBytes * own);
  TableWriter writer;
  for_each_block(merged(tables, std::move(entries), own),
                 [&](const ScoreEntries& block) {
                   reserve(kBlockBytes);
                   auto* const begin = buffer_.mutable_data_ptr<std::uint8_t>();
                   size_ = writer.write(block, begin + size_) - begin;
                 });
  return writer.totals();
}

void TableBuffer::append_run(c10::ArrayRef<ScoreRun> runs,
                             const ExactScores* rows) {
  const std::size_t curves = rows != nullptr
                                 ? static_cast<std::size_t>(rows->shape.curves)
                                 : runs.front().curves.size();
  TableTotals all{rows != nullptr ? rows->rows() : 0, 0};
  for (const ScoreRun& run : runs) {
    check_state(run.curves.size() == curves);
    all.add({run.rows, 0});
  }
  std::vector<std::int64_t> header = {
      kVersion, static_cast<std::int64_t>(curves), all.negatives};
  const std::int64_t begin = size_;
  const std::int64_t bytes = header_bytes(static_cast<std::int64_t>(curves));
  reserve(run_bound(runs, static_cast<std::int64_t>(curves),
                    rows != nullptr ? rows->preds.numel() : 0));
  size_ += bytes;

  const auto add = [&](std::size_t c, bool has_nan,
                       const RankedScores<std::uint32_t>* scores) {
    std::vector<ScoreTable> tables;
    TableTotals expected;
    for (const ScoreRun& run : runs) {
      has_nan = has_nan || run.curves[c].has_nan;
      expected.add(run.curves[c].totals);
      tables.push_back(run.curves[c]);
    }
    const std::int64_t before = size_;
    const TableTotals totals = has_nan ? TableTotals() : append(tables, scores);
    header.insert(header.end(), {size_ - before, totals.negatives,
                                 totals.positives, has_nan ? 1 : 0});
  };
  if (rows == nullptr) {
    for (std::size_t c = 0; c < curves; ++c) add(c, false, nullptr);
  } else {
    ExactSamples<float, false>(*rows).visit_ranked(
        [&](std::int64_t c,
            const std::optional<RankedScores<std::uint32_t>>& scores) {
          add(static_cast<std::size_t>(c), !scores,
              scores ? &*scores : nullptr);
        });
  }
  std::memcpy(buffer_.mutable_data_ptr<std::uint8_t>() + begin, header.data(),
              bytes);
}

at::Tensor with_rows(const at::Tensor& bytes, const ExactScores& rows) {
  at::Tensor all = bytes.defined() ? bytes : TableBuffer().bytes();
  const std::int64_t count = rows.rows();
  const std::int64_t parts =
      std::clamp<std::int64_t>(count / run_limits().run_rows, 1, kMostParts);
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t begin = count * part / parts;
    const std::int64_t size = count * (part + 1) / parts - begin;
    const ExactScores own(rows.preds.narrow(0, begin, size),
                          rows.target.narrow(0, begin, size), rows.shape,
                          rows.input);
    const std::vector<ScoreRun> runs = read_runs(all);
    // Of at most twice as many rows or, where scores are few, as many bytes. A
    // score is about a byte.
    std::int64_t merged_rows = size;
    std::int64_t merged_size =
        header_bytes(rows.shape.curves) + size * rows.shape.curves;
    std::size_t kept = runs.size();
    while (kept > 0 && (runs[kept - 1].rows <= 2 * merged_rows ||
                        runs[kept - 1].size() <= 2 * merged_size)) {
      --kept;
      merged_rows += runs[kept].rows;
      merged_size += runs[kept].size();
    }
    const auto behind = c10::ArrayRef<ScoreRun>(runs).slice(kept);
    const std::int64_t most =
        run_bound(behind, rows.shape.curves, own.preds.numel());
    TableBuffer buffer =
        behind.empty()
            ? TableBuffer(all, most)
            : TableBuffer(all.narrow(0, 0, behind.front().begin), most);
    buffer.append_run(behind, &own);
    all = buffer.bytes();
  }
  return all;
}

at::Tensor with_few_runs(const at::Tensor& bytes) {
  const std::vector<ScoreRun> runs = read_runs(bytes);
  if (runs.size() <= kMostRuns) return bytes;
  TableBuffer buffer;
  buffer.append_run(runs, nullptr);
  return buffer.bytes();
}

}  // namespace tally::internal::classification
