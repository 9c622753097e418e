#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "tally/metrics/common/key_sort.h"
#include "tally/metrics/common/ordered_bits.h"
#include "tally/metrics/retrieval/kernels/count_higher.h"

/// How the documents of one query are brought in order.
namespace tally::internal::retrieval {

template <class Score>
struct ScoredDocument {
  Score score, grade;
};

/// With fewer, each is compared with all.
inline constexpr std::int64_t kComparedDocuments = 2 * kHigherBlock;

/// Sorts by score, the highest first, and equal ones by grade, the lowest
/// first. Whether there may be equal ones.
template <class Document>
bool rank_few(Document* documents, std::int64_t count) {
  using Score = decltype(documents->score);
  using Count =
      std::conditional_t<sizeof(Score) == 4, std::int32_t, std::int64_t>;
  Document copies[kComparedDocuments];
  alignas(64) Score scores[kComparedDocuments];
  alignas(64) Count higher[kComparedDocuments];
  for (std::int64_t i = 0; i < count; ++i) {
    copies[i] = documents[i];
    scores[i] = copies[i].score;
  }
  const std::int64_t blocks = (count + kHigherBlock - 1) / kHigherBlock;
  std::fill(scores + count, scores + blocks * kHigherBlock, Score{0});
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
      documents[i] = {
          from_ordered_bits(~static_cast<std::uint32_t>(keys[i] >> 32)),
          from_ordered_bits(static_cast<std::uint32_t>(keys[i]))};
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
