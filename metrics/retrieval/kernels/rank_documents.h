#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "tally/metrics/classification/kernels/key_sort.h"

/// How the documents of one query are brought in order.
namespace tally::internal::retrieval {

template <class Score>
struct ScoredDocument {
  Score score, grade;
};

/// Ascending as the values are; -0 and 0 are one.
template <class Value>
auto ordered_bits(Value value) {
  using Bits =
      std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  value += Value{0};
  Bits bits;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits & kSign) != 0 ? Bits(~bits) : Bits(bits | kSign);
}
inline float value_of_bits(std::uint32_t bits) {
  constexpr std::uint32_t kSign = std::uint32_t{1} << 31;
  bits = (bits & kSign) != 0 ? bits & ~kSign : ~bits;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// With fewer, each is compared with all.
inline constexpr std::int64_t kComparedDocuments = 128;

// 16 bytes are what every processor compares at once.
template <class Score>
struct ScoreVector;
template <>
struct ScoreVector<float> {
  typedef float Scores __attribute__((vector_size(16)));
  typedef std::int32_t Counts __attribute__((vector_size(16)));
  using Count = std::int32_t;
  static Scores all(float x) { return Scores{x, x, x, x}; }
};
template <>
struct ScoreVector<double> {
  typedef double Scores __attribute__((vector_size(16)));
  typedef std::int64_t Counts __attribute__((vector_size(16)));
  using Count = std::int64_t;
  static Scores all(double x) { return Scores{x, x}; }
};

/// For each score how many others are higher; returns the sum of that.
/// REQUIRES: count is at most kComparedDocuments, room for so many.
template <class Score>
std::int64_t count_higher(const Score* scores, std::int64_t count,
                          typename ScoreVector<Score>::Count* higher) {
  using Vector = ScoreVector<Score>;
  using Scores = typename Vector::Scores;
  using Counts = typename Vector::Counts;
  constexpr std::int64_t kLanes = 16 / sizeof(Score);
  for (std::int64_t i = 0; i < count; i += 4 * kLanes) {
    Scores a, b, c, d;
    std::memcpy(&a, scores + i, 16);
    std::memcpy(&b, scores + i + kLanes, 16);
    std::memcpy(&c, scores + i + 2 * kLanes, 16);
    std::memcpy(&d, scores + i + 3 * kLanes, 16);
    Counts above[4] = {};
    for (std::int64_t k = 0; k < count; ++k) {
      const Scores other = Vector::all(scores[k]);
      above[0] -= other > a;
      above[1] -= other > b;
      above[2] -= other > c;
      above[3] -= other > d;
    }
    std::memcpy(higher + i, above, sizeof above);
  }
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += higher[i];
  return sum;
}

/// Sorts by score, the highest first, and equal ones by grade, the lowest
/// first. Whether there may be equal ones.
template <class Document>
bool rank_few(Document* documents, std::int64_t count) {
  using Score = decltype(documents->score);
  using Count = typename ScoreVector<Score>::Count;
  Document copies[kComparedDocuments];
  alignas(16) Score scores[kComparedDocuments + 16];
  alignas(16) Count higher[kComparedDocuments + 16];
  for (std::int64_t i = 0; i < count; ++i) {
    copies[i] = documents[i];
    scores[i] = copies[i].score;
  }
  std::fill_n(scores + count, 16, Score{0});
  if (2 * count_higher(scores, count, higher) == count * (count - 1)) {
    for (std::int64_t i = 0; i < count; ++i) documents[higher[i]] = copies[i];
    return false;
  }
  std::uint8_t taken[kComparedDocuments] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    documents[higher[i] + taken[higher[i]]++] = copies[i];
  }
  for (std::int64_t i = 1; i < count; ++i) {
    for (std::int64_t k = i; k > 0; --k) {
      Document& before = documents[k - 1];
      if (before.score != documents[k].score ||
          before.grade <= documents[k].grade) {
        break;
      }
      std::swap(before, documents[k]);
    }
  }
  return true;
}

// The same for any number of them.
template <class Document>
void rank_many(Document* documents, std::int64_t count) {
  using Score = decltype(documents->score);
  if constexpr (std::is_same_v<Score, float>) {
    std::vector<std::uint64_t> keys(count);
    for (std::int64_t i = 0; i < count; ++i) {
      keys[i] = std::uint64_t{~ordered_bits(documents[i].score)} << 32 |
                ordered_bits(documents[i].grade);
    }
    classification::sort_keys(keys.data(), count);
    for (std::int64_t i = 0; i < count; ++i) {
      documents[i] = {value_of_bits(~static_cast<std::uint32_t>(keys[i] >> 32)),
                      value_of_bits(static_cast<std::uint32_t>(keys[i]))};
    }
  } else {
    std::sort(
        documents, documents + count, [](const Document& a, const Document& b) {
          const auto x = ordered_bits(a.score);
          const auto y = ordered_bits(b.score);
          return x != y ? x > y : ordered_bits(a.grade) < ordered_bits(b.grade);
        });
  }
}

/// Sorts any number of them in the same way.
template <class Document>
bool rank_documents(Document* documents, std::int64_t count) {
  if (count <= kComparedDocuments) return rank_few(documents, count);
  rank_many(documents, count);
  return true;
}

}  // namespace tally::internal::retrieval
