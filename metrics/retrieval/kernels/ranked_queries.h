#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "tally/metrics/common/scratch.h"
#include "tally/metrics/retrieval/kernels/query_index.h"
#include "tally/metrics/retrieval/kernels/rank_documents.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"

namespace tally::internal::retrieval {

/// The grade of documents that are not judged; those of others are 0 or more.
inline constexpr double kUnjudged = -1;

/// So many queries are worth another thread.
inline constexpr std::int64_t kQueryGrain = 256;

/// Documents of any queries in any order, one in each row, or several alike.
struct DocumentRows {
  at::Tensor indexes;  // int64
  at::Tensor preds;    // float32 or float64; -infinity: not retrieved
  at::Tensor target;   // float32 or float64 grades, or kUnjudged
  at::Tensor doc_ids;  // int64, or undefined
  at::Tensor counts;   // int64, or undefined: 1 each
};

/// A query's documents from the best to the worst, as one order of ties has
/// them, in runs of documents of one grade.
struct QueryView {
  const double* grades;
  const std::int64_t* counts;  // documents in a run; null: 1 each
  const std::uint8_t* tied;    // whether the next run ties; null: none do
  std::int64_t runs;           // retrieved
  std::int64_t all_runs;       // and behind them those that are not
  std::int64_t listed;         // documents that are retrieved
  std::int64_t relevant;       // documents of a grade above 0, of all
  std::int64_t nonrelevant;    // of grade 0, of all
  std::int64_t id;

  std::int64_t count(std::int64_t run) const {
    return counts == nullptr ? 1 : counts[run];
  }
  /// Whether each run is one document with a rank of its own.
  bool is_strict() const { return tied == nullptr && counts == nullptr; }
};

/// All queries with their documents in order: made once, and read by every
/// metric.
class RankedQueries {
 public:
  /// c10::ValueError for a document that a query has twice (by its id), and if
  /// some documents have an id and others do not.
  explicit RankedQueries(DocumentRows rows);

  /// Whether these rows are the same memory, not written to since.
  bool is_of(const DocumentRows& rows) const;
  std::int64_t queries() const {
    return static_cast<std::int64_t>(queries_.size());
  }
  std::int64_t id(std::int64_t query) const { return queries_[query].id; }
  bool has_ids() const { return rows_.doc_ids.defined(); }
  /// The most documents that a query has retrieved.
  std::int64_t most_listed() const;
  /// The same of those it has retrieved, or that are relevant.
  std::int64_t most_documents() const;
  double most_grade() const;

  /// Memory that the views of one thread lie in, one at a time.
  struct Buffers {
    std::vector<double> grades;
    std::vector<std::int64_t> counts;
    std::vector<std::uint8_t> tied;
  };
  QueryView view(std::int64_t query, TieOrder ties, Buffers& buffers) const;

  /// The same documents, with those of one query, score and grade in one row,
  /// and without the scores of those that are not among the best k.
  DocumentRows best(std::int64_t k) const;

 private:
  template <class Score>
  using Document = ScoredDocument<Score>;
  template <class Score>
  using Documents = classification::Scratch<Document<Score>>;
  struct Query {
    std::int64_t id;
    std::int64_t begin, runs, all_runs;
    std::int64_t listed, relevant, nonrelevant;
    bool has_ties;
  };

  template <class Score>
  Documents<Score> rank(const DocumentRows& rows);
  template <class Score>
  void rank_plain(const QueryIndex& index, const DocumentRows& rows,
                  Document<Score>* documents);
  template <class Score>
  void rank_any(const QueryIndex& index, const DocumentRows& rows,
                Document<Score>* documents);
  template <class Score>
  void sum_up(const Document<Score>* documents, Query& query) const;
  template <class Score>
  DocumentRows best_of(const Documents<Score>& documents, std::int64_t k) const;

  DocumentRows rows_;
  std::vector<std::int64_t> versions_;
  std::vector<Query> queries_;
  std::variant<Documents<float>, Documents<double>> documents_;
  std::vector<std::int64_t> counts_;  // of the ranked runs; empty: 1 each
};

/// Ranks rows once for all who read the same.
class RankedOnce {
 public:
  RankedOnce() = default;
  // A copy of the state goes on to other rows.
  RankedOnce(const RankedOnce&) {}
  RankedOnce& operator=(const RankedOnce&) {
    forget();
    return *this;
  }
  RankedOnce(RankedOnce&& other) noexcept : kept_(std::move(other.kept_)) {}
  RankedOnce& operator=(RankedOnce&& other) noexcept {
    kept_ = std::move(other.kept_);
    return *this;
  }

  /// Thread-safe.
  std::shared_ptr<const RankedQueries> of(DocumentRows rows) const;
  void forget() { kept_ = nullptr; }

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const RankedQueries> kept_;
};

}  // namespace tally::internal::retrieval
