#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tally/sync/communicator.h"

/// What programs do together, each as one function: for tests that let ranks
/// fail anywhere.
namespace tally::storm {

struct Call {
  std::string name;
  /// Collective, over the thread's default communicator. What this rank got, as
  /// bytes: the same for a seed whatever carries it. Throws SyncError; and
  /// std::logic_error if the caller's own things are then not as they were.
  std::function<std::string(unsigned seed)> run;
  /// The first exchange that fails is the last: no other is left under way.
  bool ends_at_once = true;
};

/// Every public collective.
std::vector<Call> collective_calls();
/// Metrics of all kinds of states, in every way in which they meet other ranks.
std::vector<Call> metric_calls();
/// Losses, forward and backward.
std::vector<Call> loss_calls();
/// Of all three kinds.
const std::vector<Call>& all_calls();

/// Numbers that all ranks draw alike, and numbers of this rank's own. Values
/// are small integers: their sums are exact in any order.
class Draw {
 public:
  /// Seeds from here on draw no rows that are so many that they travel alone.
  static constexpr unsigned kFewRows = 1u << 30;

  explicit Draw(unsigned seed);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool draws_few_rows() const { return draws_few_rows_; }
  /// Below `limit`; the same on all ranks.
  std::int64_t shared(std::int64_t limit);
  std::int64_t own(std::int64_t limit);
  /// From -8 to 8, as float64.
  at::Tensor values(std::vector<std::int64_t> sizes);
  /// In [0, 1), of 1024 different ones.
  at::Tensor scores(std::vector<std::int64_t> sizes);
  at::Tensor labels(std::int64_t rows, std::int64_t classes);

 private:
  int rank_;
  int ranks_;
  bool draws_few_rows_;
  std::mt19937 shared_;
  std::mt19937 own_;
};

/// Throws std::logic_error unless it holds.
void require(bool holds, const char* what);

void append(std::string& bytes, const at::Tensor& tensor);

/// What `call` returns; if it throws a SyncError, `held()` has to be what it
/// was before.
template <class Held, class Function>
auto keeping(const Held& held, const Function& call) {
  const std::string before = held();
  try {
    return call();
  } catch (const sync::SyncError&) {
    require(held() == before, "a call that failed left things as they were");
    throw;
  }
}

}  // namespace tally::storm
