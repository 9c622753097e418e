#pragma once

#include <ATen/Parallel.h>

#include <cstdint>
#include <exception>
#include <mutex>

/// For sources that are compiled with -fopenmp.
namespace tally::internal::text {

/// Calls work(begin, end) for ranges of sentences, in parallel. If several of
/// them throw, the exception of the first sentence is thrown on, whatever the
/// number of threads.
template <class Work>
void for_each_sentence(std::size_t count, const Work& work) {
  // So many sentences are worth another thread.
  constexpr std::int64_t kGrain = 64;
  std::mutex mutex;
  std::exception_ptr error;
  std::int64_t error_begin = 0;
  at::parallel_for(0, static_cast<std::int64_t>(count), kGrain,
                   [&](std::int64_t begin, std::int64_t end) {
                     try {
                       work(static_cast<std::size_t>(begin),
                            static_cast<std::size_t>(end));
                     } catch (...) {
                       const std::lock_guard<std::mutex> lock(mutex);
                       if (error && error_begin < begin) return;
                       error = std::current_exception();
                       error_begin = begin;
                     }
                   });
  if (error) std::rethrow_exception(error);
}

}  // namespace tally::internal::text
