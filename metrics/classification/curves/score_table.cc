#include "tally/metrics/classification/curves/score_table.h"

#include <c10/macros/Macros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace tally::internal::classification {
namespace {

// An entry is a token, which has the counts and how many keys were left out
// before this one. Where that is not all, there follow the rest of those left
// out, as a number, and the counts: a byte with four bits each, or 0 and two
// numbers. Numbers have 7 bits a byte, the lowest first.
struct Token {
  static constexpr std::uint8_t kSkipsMore = 1;
  static constexpr std::uint8_t kCountsFollow = 2;

  std::uint8_t skipped = 0;
  std::uint8_t negatives = 0;
  std::uint8_t positives = 0;
  std::uint8_t more = 0;
};

// The tokens of a pair of counts: one for each number of keys left out, the
// last for as many or more.
struct TokenRange {
  std::uint8_t first = 0;
  std::uint8_t size = 0;
};

// The more frequent, the more tokens. The last pair stands for all others.
struct PairTokens {
  std::uint8_t negatives;
  std::uint8_t positives;
  std::uint8_t size;
};
constexpr PairTokens kPairs[] = {{1, 0, 48}, {0, 1, 48}, {2, 0, 18}, {1, 1, 18},
                                 {0, 2, 18}, {3, 0, 10}, {2, 1, 10}, {1, 2, 10},
                                 {0, 3, 10}, {4, 0, 7},  {3, 1, 5},  {2, 2, 5},
                                 {1, 3, 5},  {0, 4, 7},  {0, 0, 37}};
constexpr std::size_t kTokens = 256;
// Counts below this have tokens, as far as there are.
constexpr std::int64_t kFewSamples = 8;

struct Code {
  std::array<Token, kTokens> tokens{};
  TokenRange ranges[kFewSamples][kFewSamples]{};
  TokenRange others{};
};

constexpr Code make_code() {
  Code code;
  std::size_t next = 0;
  for (const PairTokens& pair : kPairs) {
    const TokenRange range{static_cast<std::uint8_t>(next), pair.size};
    const bool is_other = pair.negatives + pair.positives == 0;
    if (is_other) {
      code.others = range;
    } else {
      code.ranges[pair.negatives][pair.positives] = range;
    }
    for (std::size_t i = 0; i < pair.size; ++i) {
      Token& token = code.tokens[next++];
      token.skipped = static_cast<std::uint8_t>(i);
      token.negatives = pair.negatives;
      token.positives = pair.positives;
      if (i + 1 == pair.size) token.more |= Token::kSkipsMore;
      if (is_other) token.more |= Token::kCountsFollow;
    }
  }
  for (auto& row : code.ranges) {
    for (TokenRange& range : row) {
      if (range.size == 0) range = code.others;
    }
  }
  return code;
}
constexpr Code kCode = make_code();

constexpr std::size_t count_tokens() {
  std::size_t sum = 0;
  for (const PairTokens& pair : kPairs) sum += pair.size;
  return sum;
}
static_assert(count_tokens() == kTokens);

std::uint8_t* put_number(std::uint64_t number, std::uint8_t* to) {
  for (; number >= 128; number >>= 7) {
    *to++ = static_cast<std::uint8_t>(number | 128);
  }
  *to++ = static_cast<std::uint8_t>(number);
  return to;
}

bool is_few(std::int64_t negatives, std::int64_t positives) {
  return static_cast<std::uint64_t>(negatives | positives) <
         static_cast<std::uint64_t>(kFewSamples);
}

// The entries of two sources, one block of each at hand.
class Merge final : public EntrySource {
 public:
  Merge(std::unique_ptr<EntrySource> a, std::unique_ptr<EntrySource> b)
      : a_(std::move(a)), b_(std::move(b)) {}

  void read(ScoreEntries& to) override {
    to.size = 0;
    while (to.size < ScoreEntries::kMost) {
      a_.fill();
      b_.fill();
      if (a_.is_at_end() && b_.is_at_end()) return;
      if (a_.is_at_end()) {
        b_.move_rest(to);
      } else if (b_.is_at_end()) {
        a_.move_rest(to);
      } else {
        merge_some(to);
      }
    }
  }

 private:
  struct Side {
    explicit Side(std::unique_ptr<EntrySource> from)
        : source(std::move(from)) {}

    bool is_at_end() const { return next == block.size; }
    void fill() {
      if (next < block.size || is_empty) return;
      source->read(block);
      next = 0;
      is_empty = block.size == 0;
    }
    void move_rest(ScoreEntries& to) {
      const std::int64_t count =
          std::min(block.size - next, ScoreEntries::kMost - to.size);
      std::copy_n(block.keys + next, count, to.keys + to.size);
      std::copy_n(block.negatives + next, count, to.negatives + to.size);
      std::copy_n(block.positives + next, count, to.positives + to.size);
      next += count;
      to.size += count;
    }

    std::unique_ptr<EntrySource> source;
    ScoreEntries block;
    std::int64_t next = 0;
    bool is_empty = false;
  };

  // Without branches on keys: they would be guessed wrong.
  void merge_some(ScoreEntries& to) {
    const ScoreEntries& a = a_.block;
    const ScoreEntries& b = b_.block;
    std::int64_t i = a_.next;
    std::int64_t k = b_.next;
    std::int64_t size = to.size;
    while (i < a.size && k < b.size && size < ScoreEntries::kMost) {
      const std::int64_t of_a = a.keys[i] <= b.keys[k];
      const std::int64_t of_b = b.keys[k] <= a.keys[i];
      to.keys[size] = std::min(a.keys[i], b.keys[k]);
      to.negatives[size] = (a.negatives[i] & -of_a) + (b.negatives[k] & -of_b);
      to.positives[size] = (a.positives[i] & -of_a) + (b.positives[k] & -of_b);
      i += of_a;
      k += of_b;
      ++size;
    }
    a_.next = i;
    b_.next = k;
    to.size = size;
  }

  Side a_;
  Side b_;
};

// A source, and about how many bytes it has: those with few are merged first.
struct Branch {
  std::unique_ptr<EntrySource> source;
  std::int64_t bytes;
};

}  // namespace

void TableTotals::add(const TableTotals& more) {
  TORCH_CHECK_VALUE(negatives <= kMostSamples - more.negatives &&
                        positives <= kMostSamples - more.positives,
                    "expected fewer than 2^62 samples in the state, got ",
                    negatives, " and ", more.negatives, " negatives, ",
                    positives, " and ", more.positives, " positives");
  negatives += more.negatives;
  positives += more.positives;
}

void TableReader::check(bool fits, const char* expected) const {
  TORCH_CHECK_VALUE(fits, "expected ", expected,
                    " in the state's table of scores, at byte ", next_ - begin_,
                    " of ", end_ - begin_);
}

std::uint64_t TableReader::number() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 63; shift += 7) {
    check(next_ != end_, "the end of a number");
    const std::uint8_t byte = *next_++;
    value |= static_cast<std::uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
  check(false, "a number of at most 63 bits");
  return value;
}

void TableReader::read_counts(std::int64_t& negatives,
                              std::int64_t& positives) {
  check(next_ != end_, "counts");
  if (const std::uint8_t byte = *next_++; byte != 0) {
    negatives = byte >> 4;
    positives = byte & 15;
    return;
  }
  negatives = static_cast<std::int64_t>(number());
  positives = static_cast<std::int64_t>(number());
  check(negatives <= expected_.negatives && positives <= expected_.positives &&
            (negatives | positives) != 0,
        "counts within the totals");
}

void TableReader::read(ScoreEntries& block) {
  std::int64_t size = 0;
  std::uint64_t key = lowest_;
  while (size < ScoreEntries::kMost && next_ != end_) {
    const Token token = kCode.tokens[*next_++];
    key += token.skipped;
    std::int64_t negatives = token.negatives;
    std::int64_t positives = token.positives;
    if (C10_UNLIKELY(token.more != 0)) {
      if (token.more & Token::kSkipsMore) {
        const std::uint64_t skipped = number();
        check(skipped <= std::numeric_limits<std::uint32_t>::max(),
              "ascending scores");
        key += skipped;
      }
      if (token.more & Token::kCountsFollow) read_counts(negatives, positives);
    }
    block.keys[size] = static_cast<std::uint32_t>(key++);
    block.negatives[size] = negatives;
    block.positives[size] = positives;
    ++size;
  }
  block.size = size;
  check(key <= std::uint64_t{1} << 32, "ascending scores");
  lowest_ = key;
  for (std::int64_t i = 0; i < size; ++i) {
    // No sum overflows: both are at most 2^62.
    seen_.negatives += block.negatives[i];
    seen_.positives += block.positives[i];
    if (C10_UNLIKELY(seen_.negatives > expected_.negatives ||
                     seen_.positives > expected_.positives)) {
      check(false, "counts within the totals");
    }
  }
  if (size == 0) {
    check(seen_.negatives == expected_.negatives &&
              seen_.positives == expected_.positives,
          "counts that add up to the totals");
  }
}

std::uint8_t* TableWriter::write(const ScoreEntries& block, std::uint8_t* to) {
  std::uint64_t lowest = lowest_;
  for (std::int64_t i = 0; i < block.size; ++i) {
    const std::int64_t negatives = block.negatives[i];
    const std::int64_t positives = block.positives[i];
    const std::uint64_t skipped = block.keys[i] - lowest;
    lowest = std::uint64_t{block.keys[i]} + 1;
    totals_.negatives += negatives;
    totals_.positives += positives;
    const TokenRange range = is_few(negatives, positives)
                                 ? kCode.ranges[negatives][positives]
                                 : kCode.others;
    const std::uint64_t last = range.size - 1u;
    *to++ = static_cast<std::uint8_t>(range.first + std::min(skipped, last));
    if (skipped >= last) to = put_number(skipped - last, to);
    if (C10_LIKELY(range.first != kCode.others.first)) continue;
    if (negatives < 16 && positives < 16) {
      *to++ = static_cast<std::uint8_t>(negatives << 4 | positives);
    } else {
      *to++ = 0;
      to = put_number(static_cast<std::uint64_t>(negatives), to);
      to = put_number(static_cast<std::uint64_t>(positives), to);
    }
  }
  lowest_ = lowest;
  return to;
}

std::unique_ptr<EntrySource> merged(const std::vector<ScoreTable>& tables,
                                    std::unique_ptr<EntrySource> more,
                                    std::int64_t entries) {
  const auto is_larger = [](const Branch& a, const Branch& b) {
    return a.bytes > b.bytes;
  };
  std::vector<Branch> heap;
  for (const ScoreTable& table : tables) {
    heap.push_back({std::make_unique<TableReader>(table), table.bytes});
  }
  if (more) heap.push_back({std::move(more), entries});
  std::make_heap(heap.begin(), heap.end(), is_larger);
  const auto take = [&] {
    std::pop_heap(heap.begin(), heap.end(), is_larger);
    Branch branch = std::move(heap.back());
    heap.pop_back();
    return branch;
  };
  while (heap.size() > 1) {
    Branch a = take();
    Branch b = take();
    heap.push_back(
        {std::make_unique<Merge>(std::move(a.source), std::move(b.source)),
         a.bytes + b.bytes});
    std::push_heap(heap.begin(), heap.end(), is_larger);
  }
  return heap.empty() ? nullptr : take().source;
}

}  // namespace tally::internal::classification
