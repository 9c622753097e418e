#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

/// Sorting scores with several threads, in parts separated by cuts. For sources
/// compiled with -fopenmp.
namespace tally::internal::classification {

/// Number of samples worth a thread.
inline constexpr std::int64_t kSamplesPerThread = std::int64_t{1} << 16;

inline std::int64_t threads_for(std::int64_t count) {
  if (count < 2 * kSamplesPerThread || at::in_parallel_region()) return 1;
  return std::min<std::int64_t>(at::get_num_threads(),
                                count / kSamplesPerThread);
}

/// Calls work(i) for each i below `count`, on the next free thread.
template <class Work>
void for_each_task(std::int64_t count, std::int64_t threads, const Work& work) {
  if (threads == 1) {
    for (std::int64_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::atomic<std::int64_t> next{0};
  at::parallel_for(0, threads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t thread = begin; thread < end; ++thread) {
      for (std::int64_t i = next++; i < count; i = next++) work(i);
    }
  });
}

/// Ascending scores that split all into parts of about the same size: more
/// parts than threads, to balance the load. None for one thread, or if all are
/// NaN.
template <class Score>
std::vector<Score> part_cuts(const Score* scores, std::int64_t count,
                             std::int64_t threads) {
  constexpr std::int64_t kPartsPerThread = 2;
  constexpr std::int64_t kMaxParts = 64;
  // Scores sampled for each cut.
  constexpr std::int64_t kSamplesPerPart = 128;
  std::vector<Score> cuts;
  if (threads == 1) return cuts;
  const std::int64_t parts = std::min(kPartsPerThread * threads, kMaxParts);
  const std::int64_t size = parts * kSamplesPerPart;
  std::vector<Score> samples;
  for (std::int64_t i = 0; i < size; ++i) {
    const Score score = scores[i * (count / size)];
    if (score == score) samples.push_back(score);
  }
  std::sort(samples.begin(), samples.end());
  const auto found = static_cast<std::int64_t>(samples.size());
  for (std::int64_t k = 1; k < parts && found > 0; ++k) {
    cuts.push_back(samples[k * found / parts]);
  }
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

}  // namespace tally::internal::classification
