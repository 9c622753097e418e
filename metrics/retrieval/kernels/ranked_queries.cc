#include "tally/metrics/retrieval/kernels/ranked_queries.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "tally/metrics/common/ordered_bits.h"
#include "tally/metrics/common/tensor_of.h"

namespace tally::internal::retrieval {
namespace {

std::array<at::Tensor, 5> tensors_of(const DocumentRows& rows) {
  return {rows.indexes, rows.preds, rows.target, rows.doc_ids, rows.counts};
}

// -1 where nobody counts.
std::int64_t version_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return 0;
  return tensor.is_inference() ? -1
                               : static_cast<std::int64_t>(tensor._version());
}

void check_rows(bool is_good) {
  TORCH_CHECK_VALUE(is_good,
                    "expected as many scores, targets and indexes of "
                    "documents as there are documents, and doc_ids "
                    "for all of them or for none");
}

at::Tensor as_dtype(const at::Tensor& tensor, at::ScalarType dtype) {
  return tensor.to(at::kCPU, dtype).contiguous();
}

// Calls use(begin, end) for the groups of equal scores.
template <class Document, class Use>
void for_each_tie(const Document* documents, std::int64_t count,
                  const Use& use) {
  for (std::int64_t begin = 0, end; begin < count; begin = end) {
    end = begin + 1;
    while (end < count && documents[end].score == documents[begin].score) ++end;
    use(begin, end);
  }
}

}  // namespace

RankedQueries::RankedQueries(DocumentRows rows) : rows_(std::move(rows)) {
  DocumentRows own = rows_;
  for (const at::Tensor& tensor : tensors_of(rows_)) {
    versions_.push_back(version_of(tensor));
    check_rows(!tensor.defined() ||
               (tensor.dim() == 1 && tensor.size(0) == rows_.indexes.size(0)));
  }
  const bool wide = own.preds.scalar_type() != at::kFloat ||
                    own.target.scalar_type() != at::kFloat;
  const at::ScalarType dtype = wide ? at::kDouble : at::kFloat;
  own.preds = as_dtype(own.preds, dtype);
  own.target = as_dtype(own.target, dtype);
  own.indexes = as_dtype(own.indexes, at::kLong);
  if (own.doc_ids.defined()) own.doc_ids = as_dtype(own.doc_ids, at::kLong);
  if (own.counts.defined()) own.counts = as_dtype(own.counts, at::kLong);
  if (wide) {
    documents_ = rank<double>(own);
  } else {
    documents_ = rank<float>(own);
  }
}

bool RankedQueries::is_of(const DocumentRows& rows) const {
  const auto own = tensors_of(rows_);
  const auto others = tensors_of(rows);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].defined() != others[i].defined()) return false;
    if (!own[i].defined()) continue;
    if (own[i].const_data_ptr() != others[i].const_data_ptr() ||
        own[i].numel() != others[i].numel() || versions_[i] < 0 ||
        versions_[i] != version_of(others[i])) {
      return false;
    }
  }
  return true;
}

std::int64_t RankedQueries::most_listed() const {
  std::int64_t most = 0;
  for (const Query& query : queries_) most = std::max(most, query.listed);
  return most;
}

std::int64_t RankedQueries::most_documents() const {
  std::int64_t most = 0;
  for (const Query& query : queries_) {
    most = std::max({most, query.listed, query.relevant});
  }
  return most;
}

double RankedQueries::most_grade() const {
  return std::visit(
      [&](const auto& documents) {
        double most = kUnjudged;
        for (const Query& query : queries_) {
          for (std::int64_t i = 0; i < query.all_runs; ++i) {
            most = std::max<double>(most, documents[query.begin + i].grade);
          }
        }
        return most;
      },
      documents_);
}

template <class Score>
RankedQueries::Documents<Score> RankedQueries::rank(const DocumentRows& rows) {
  const std::int64_t count = rows.indexes.size(0);
  const QueryIndex index(rows.indexes.const_data_ptr<std::int64_t>(), count);
  queries_.resize(index.queries());
  for (std::int64_t q = 0; q < index.queries(); ++q) {
    Query& query = queries_[q];
    query.id = index.ids()[q];
    query.begin = index.begins()[q];
    query.all_runs = index.begins()[q + 1] - query.begin;
  }
  Documents<Score> documents(count);
  if (rows.counts.defined() || rows.doc_ids.defined()) {
    rank_any(index, rows, documents.data());
  } else {
    rank_plain(index, rows, documents.data());
  }
  return documents;
}

template <class Score>
void RankedQueries::rank_plain(const QueryIndex& index,
                               const DocumentRows& rows,
                               Document<Score>* documents) {
  const Score* const scores = rows.preds.const_data_ptr<Score>();
  const Score* const grades = rows.target.const_data_ptr<Score>();
  index.for_each_place([&](std::int64_t row, std::int64_t place) {
    documents[place] = {scores[row], grades[row]};
  });
  at::parallel_for(0, queries(), kQueryGrain,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t q = begin; q < end; ++q) {
                       Query& query = queries_[q];
                       Document<Score>* const own = documents + query.begin;
                       query.has_ties = rank_documents(own, query.all_runs);
                       sum_up(own, query);
                     }
                   });
}

// With ids or counts, which have to come along.
template <class Score>
void RankedQueries::rank_any(const QueryIndex& index, const DocumentRows& rows,
                             Document<Score>* documents) {
  const Score* const scores = rows.preds.const_data_ptr<Score>();
  const Score* const grades = rows.target.const_data_ptr<Score>();
  const std::int64_t* const ids =
      rows.doc_ids.defined() ? rows.doc_ids.const_data_ptr<std::int64_t>()
                             : nullptr;
  const std::int64_t* const counts =
      rows.counts.defined() ? rows.counts.const_data_ptr<std::int64_t>()
                            : nullptr;
  std::vector<std::int64_t> order(rows.indexes.size(0));
  index.for_each_place(
      [&](std::int64_t row, std::int64_t place) { order[place] = row; });
  if (counts != nullptr) counts_.resize(order.size());
  const auto comes_before = [=](std::int64_t a, std::int64_t b) {
    const auto x = ordered_bits(scores[a]);
    const auto y = ordered_bits(scores[b]);
    if (x != y) return x > y;
    if (ids != nullptr) return ids[a] > ids[b];
    return ordered_bits(grades[a]) < ordered_bits(grades[b]);
  };
  at::parallel_for(0, queries(), kQueryGrain,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t q = begin; q < end; ++q) {
                       Query& query = queries_[q];
                       const auto first = order.begin() + query.begin;
                       std::sort(first, first + query.all_runs, comes_before);
                       for (std::int64_t i = query.begin;
                            i < query.begin + query.all_runs; ++i) {
                         documents[i] = {scores[order[i]], grades[order[i]]};
                         if (counts != nullptr) counts_[i] = counts[order[i]];
                       }
                       query.has_ties = true;
                       sum_up(documents + query.begin, query);
                     }
                   });
  if (ids == nullptr) return;
  std::vector<std::int64_t> own;
  for (const Query& query : queries_) {
    own.clear();
    for (std::int64_t i = 0; i < query.all_runs; ++i) {
      own.push_back(ids[order[query.begin + i]]);
    }
    std::sort(own.begin(), own.end());
    const auto twice = std::adjacent_find(own.begin(), own.end());
    TORCH_CHECK_VALUE(twice == own.end(),
                      "expected each document of a query once, got doc_id ",
                      *twice, " of query ", query.id, " twice");
  }
}

// Of documents in order.
template <class Score>
void RankedQueries::sum_up(const Document<Score>* documents,
                           Query& query) const {
  constexpr Score kUnlisted = -std::numeric_limits<Score>::infinity();
  const std::int64_t* const counts =
      counts_.empty() ? nullptr : counts_.data() + query.begin;
  query.runs = query.all_runs;
  while (query.runs > 0 && documents[query.runs - 1].score == kUnlisted) {
    --query.runs;
  }
  query.listed = query.runs;
  query.relevant = query.nonrelevant = 0;
  if (query.has_ties) {
    // There are perhaps some.
    query.has_ties = false;
    for (std::int64_t i = 1; i < query.runs; ++i) {
      query.has_ties |= documents[i - 1].score == documents[i].score;
    }
  }
  if (counts == nullptr) {
    for (std::int64_t i = 0; i < query.all_runs; ++i) {
      query.relevant += documents[i].grade > 0;
      query.nonrelevant += documents[i].grade == 0;
    }
    return;
  }
  query.listed = 0;
  for (std::int64_t i = 0; i < query.all_runs; ++i) {
    if (i < query.runs) query.listed += counts[i];
    if (documents[i].grade > 0) query.relevant += counts[i];
    if (documents[i].grade == 0) query.nonrelevant += counts[i];
  }
}

QueryView RankedQueries::view(std::int64_t q, TieOrder ties,
                              Buffers& buffers) const {
  const Query& query = queries_[q];
  QueryView result;
  result.counts = counts_.empty() ? nullptr : counts_.data() + query.begin;
  result.tied = nullptr;
  result.runs = query.runs;
  result.all_runs = query.all_runs;
  result.listed = query.listed;
  result.relevant = query.relevant;
  result.nonrelevant = query.nonrelevant;
  result.id = query.id;
  const auto size = static_cast<std::size_t>(query.all_runs);
  if (buffers.grades.size() < size) buffers.grades.resize(size);
  double* const grades = buffers.grades.data();
  result.grades = grades;
  std::visit(
      [&](const auto& all) {
        const auto* const documents = all.data() + query.begin;
        for (std::int64_t i = 0; i < query.all_runs; ++i) {
          grades[i] = documents[i].grade;
        }
        if (!query.has_ties || ties == TieOrder::kIds) return;
        if (ties == TieOrder::kExpected) {
          if (buffers.tied.size() < size) buffers.tied.resize(size);
          result.tied = buffers.tied.data();
          for (std::int64_t i = 0; i < query.runs; ++i) {
            buffers.tied[i] = i + 1 < query.runs &&
                              documents[i].score == documents[i + 1].score;
          }
          return;
        }
        const bool reversed = ties == TieOrder::kOptimistic;
        if (reversed && result.counts != nullptr) {
          buffers.counts.assign(result.counts, result.counts + query.all_runs);
          result.counts = buffers.counts.data();
        }
        for_each_tie(documents, query.runs,
                     [&](std::int64_t begin, std::int64_t end) {
                       if (has_ids()) std::sort(grades + begin, grades + end);
                       if (!reversed) return;
                       std::reverse(grades + begin, grades + end);
                       if (result.counts != nullptr) {
                         std::reverse(buffers.counts.begin() + begin,
                                      buffers.counts.begin() + end);
                       }
                     });
      },
      documents_);
  return result;
}

DocumentRows RankedQueries::best(std::int64_t k) const {
  DocumentRows kept = std::visit(
      [&](const auto& documents) { return best_of(documents, k); }, documents_);
  // As they were, so that others can be appended.
  kept.indexes = kept.indexes.to(rows_.indexes.options());
  kept.preds = kept.preds.to(rows_.preds.options());
  kept.target = kept.target.to(rows_.target.options());
  kept.counts = kept.counts.to(rows_.indexes.options());
  return kept;
}

template <class Score>
DocumentRows RankedQueries::best_of(const Documents<Score>& all,
                                    std::int64_t k) const {
  std::vector<std::int64_t> indexes, counts;
  std::vector<Score> scores, grades;
  const auto add = [&](const Query& query, Score score, Score grade,
                       std::int64_t count) {
    indexes.push_back(query.id);
    scores.push_back(score);
    grades.push_back(grade);
    counts.push_back(count);
  };
  for (const Query& query : queries_) {
    const Document<Score>* const documents = all.data() + query.begin;
    std::map<Score, std::int64_t> others;
    const auto count_of = [&](std::int64_t i) {
      return counts_.empty() ? 1 : counts_[query.begin + i];
    };
    std::int64_t above = 0;
    for_each_tie(documents, query.runs,
                 [&](std::int64_t begin, std::int64_t end) {
                   std::map<Score, std::int64_t> tied;
                   auto& to = above < k ? tied : others;
                   for (std::int64_t i = begin; i < end; ++i) {
                     to[documents[i].grade] += count_of(i);
                   }
                   for (const auto& [grade, count] : tied) {
                     add(query, documents[begin].score, grade, count);
                     above += count;
                   }
                 });
    for (std::int64_t i = query.runs; i < query.all_runs; ++i) {
      others[documents[i].grade] += count_of(i);
    }
    for (const auto& [grade, count] : others) {
      // Those that are not judged matter for their ranks alone.
      if (grade != Score{kUnjudged} || above == 0) {
        add(query, -std::numeric_limits<Score>::infinity(), grade, count);
      }
    }
  }
  DocumentRows kept;
  kept.indexes = tensor_of(indexes);
  kept.preds = tensor_of(scores);
  kept.target = tensor_of(grades);
  kept.counts = tensor_of(counts);
  return kept;
}

std::shared_ptr<const RankedQueries> RankedOnce::of(DocumentRows rows) const {
  std::shared_ptr<const RankedQueries> kept;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    kept = kept_;
  }
  if (kept && kept->is_of(rows)) return kept;
  kept = std::make_shared<const RankedQueries>(std::move(rows));
  const std::lock_guard<std::mutex> lock(mutex_);
  kept_ = kept;
  return kept;
}

}  // namespace tally::internal::retrieval
