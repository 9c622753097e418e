#include "tally/metrics/retrieval/states/judged_documents.h"

#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/plain_values.h"

namespace tally {

namespace retrieval = internal::retrieval;

namespace {

// Below this many rows it is not worth looking which of them to keep.
constexpr std::int64_t kFewRows = 1024;
// Integers beyond it are rounded in float32.
constexpr double kMostInteger = (1 << 24) - 1;

at::Tensor flat(const at::Tensor& input) {
  const at::Tensor plain = input.requires_grad() ? input.detach() : input;
  return plain.dim() == 1 ? plain.contiguous() : plain.reshape(-1);
}

at::Tensor scores_of(const at::Tensor& preds) {
  return preds.scalar_type() == at::kDouble ? preds : preds.to(at::kFloat);
}

at::Tensor joined(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() ? a.logical_or(b) : b;
}

void check_integers(const char* input, const at::Tensor& tensor) {
  internal::check_real(input, tensor);
  TORCH_CHECK_TYPE(
      at::isIntegralType(tensor.scalar_type(), /*includeBool=*/false),
      "expected ", input, " of an integer dtype, got ", tensor.scalar_type());
}

double most_grade(const at::Tensor& target) {
  if (at::isIntegralType(target.scalar_type(), /*includeBool=*/true)) {
    return kMostInteger;
  }
  return target.scalar_type() == at::kDouble
             ? std::numeric_limits<double>::max()
             : double{std::numeric_limits<float>::max()};
}

}  // namespace

void JudgedDocuments::check(const at::Tensor& preds, const at::Tensor& target,
                            const at::Tensor& indexes,
                            const at::Tensor& doc_ids) const {
  internal::check_real("preds", preds);
  internal::check_floating("preds", preds);
  internal::check_real("target", target);
  check_integers("indexes", indexes);
  internal::check_same_shape("preds", preds, "target", target);
  internal::check_same_shape("preds", preds, "indexes", indexes);
  if (doc_ids.defined()) {
    check_integers("doc_ids", doc_ids);
    internal::check_same_shape("preds", preds, "doc_ids", doc_ids);
  } else {
    TORCH_CHECK_VALUE(!needs_ids_, "expected doc_ids with ties=ids, got none");
  }
}

// Which documents do not count; undefined if all do.
at::Tensor JudgedDocuments::left_out(const at::Tensor& preds,
                                     const at::Tensor& target) const {
  at::Tensor out;
  if (ignore_index_) out = target.eq(*ignore_index_);
  if (condensed_) out = joined(out, target.eq(*unjudged_));
  if (nan_policy_ == NanPolicy::kIgnore) {
    for (const at::Tensor& input : {preds, target}) {
      // Elsewhere than on the CPU has_nan() would wait for the device, too.
      if (!input.is_cpu() || internal::has_nan(input)) {
        out = joined(out, input.isnan());
      }
    }
  }
  return out;
}

at::Tensor JudgedDocuments::grades_of(const at::Tensor& target) const {
  const at::Tensor grades =
      target.scalar_type() == at::kDouble ? target : target.to(at::kFloat);
  if (!unjudged_ || condensed_) return grades;
  return grades.masked_fill(target.eq(*unjudged_), retrieval::kUnjudged);
}

void JudgedDocuments::check_values(const at::Tensor& preds,
                                   const at::Tensor& target,
                                   const at::Tensor& grades) const {
  const double most = most_grade(target);
  const bool has_unjudged = unjudged_ && !condensed_;
  if (!preds.is_cpu()) {
    at::Tensor bad = grades.ge(0).logical_and(grades.le(most)).logical_not();
    if (has_unjudged) bad = bad.logical_and(target.ne(*unjudged_));
    TORCH_CHECK_VALUE(!internal::has_nan(preds),
                      "expected preds without NaN, got some");
    TORCH_CHECK_VALUE(!bad.any().item().toBool(),
                      "expected target to be finite and 0 or more, got other "
                      "values");
    return;
  }
  if (internal::has_nan(preds)) {
    internal::visit_values(preds, [&](const auto* scores) {
      std::int64_t i = 0;
      while (scores[i] == scores[i]) ++i;
      TORCH_CHECK_VALUE(false,
                        "expected preds without NaN, got one at "
                        "position ",
                        i);
    });
  }
  internal::visit_values(grades, [&](const auto* values) {
    const auto is_good = [=](double grade) {
      return grade >= 0 && grade <= most;
    };
    bool all = true;
    for (std::int64_t i = 0; i < grades.numel(); ++i) all &= is_good(values[i]);
    if (all) return;
    const at::Tensor exact = target.to(at::kDouble);
    const double* const targets = exact.const_data_ptr<double>();
    for (std::int64_t i = 0; i < grades.numel(); ++i) {
      if (has_unjudged && targets[i] == static_cast<double>(*unjudged_)) {
        continue;
      }
      TORCH_CHECK_VALUE(is_good(targets[i]), "expected target from 0 to ", most,
                        has_unjudged ? ", or unjudged" : "", ", got ",
                        targets[i], " at position ", i);
    }
  });
}

DocumentState JudgedDocuments::observe(const at::Tensor& preds,
                                       const at::Tensor& target,
                                       const Keys& indexes,
                                       const Keys& doc_ids) const {
  at::Tensor queries = indexes.beside(preds);
  at::Tensor ids = doc_ids.beside(preds);
  check(preds, target, queries, ids);
  at::Tensor scores = flat(preds);
  at::Tensor targets = flat(target);
  queries = flat(queries);
  ids = ids.defined() && !keep_top_k_ ? flat(ids) : at::Tensor();
  const at::Tensor out = left_out(scores, targets);
  if (out.defined()) {
    const at::Tensor kept = out.logical_not().nonzero().squeeze(1);
    scores = scores.index_select(0, kept);
    targets = targets.index_select(0, kept);
    queries = queries.index_select(0, kept);
    if (ids.defined()) ids = ids.index_select(0, kept);
  }
  const at::Tensor grades = grades_of(targets);
  if (validate_) check_values(scores, targets, grades);
  State state;
  state.indexes = Rows(queries.to(at::kLong));
  state.preds = Rows(scores_of(scores));
  state.target = Rows(grades);
  if (ids.defined()) state.doc_ids = Rows(ids.to(at::kLong));
  if (keep_top_k_) {
    state.counts =
        Rows(at::ones({queries.size(0)}, queries.options().dtype(at::kLong)));
    state.keep_top_k = *keep_top_k_;
  }
  return state;
}

retrieval::DocumentRows DocumentState::rows() const {
  retrieval::DocumentRows all;
  all.indexes = indexes.tensor();
  all.preds = preds.tensor();
  all.target = target.tensor();
  if (doc_ids.size() > 0) all.doc_ids = doc_ids.tensor();
  if (counts.size() > 0) all.counts = counts.tensor();
  return all;
}

std::shared_ptr<const retrieval::RankedQueries> DocumentState::ranked() const {
  if (indexes.size() == 0) return nullptr;
  TORCH_CHECK_VALUE(preds.defined() && target.defined(),
                    "expected scores and targets of documents, got none");
  return ranked_.of(rows());
}

void DocumentState::compact() {
  if (keep_top_k > 0 && indexes.size() >= std::max(2 * least_rows_, kFewRows)) {
    const auto best = ranked()->best(keep_top_k);
    indexes = Rows(best.indexes);
    preds = Rows(best.preds);
    target = Rows(best.target);
    counts = Rows(best.counts);
    least_rows_ = indexes.size();
  }
  ranked_.forget();
}

}  // namespace tally
