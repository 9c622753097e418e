#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tally/sync/errors.h"
#include "tally/testing/compare.h"
#include "tally/testing/internal/drive.h"
#include "tally/testing/internal/findings.h"
#include "tally/testing/internal/splits.h"
#include "tally/testing/metric_laws.h"

namespace tally::testkit::internal {

/// The subject of a check of laws.
struct LawSubject {
  MetricMaker make;
  MetricLawOptions options;
  std::vector<Batch> batches;
  bool cut_rows = true;  ///< whether batches may be joined and cut
  bool with_files = true;
  bool compare_gradients = true;  ///< or only check for graphs
  std::uint64_t seed = 0;
};

/// All laws, in order.
const std::vector<MetricLaw>& all_laws();
bool is_over_ranks(MetricLaw law);

class LawCheck {
 public:
  explicit LawCheck(LawSubject subject);

  /// The violations of a law; exceptions are also violations.
  std::vector<Finding> check(MetricLaw law);
  /// The value of all batches in one process.
  const Results& whole();
  std::unique_ptr<Metric> made_of(const std::vector<Batch>& batches) const;

 private:
  std::unique_ptr<Metric> make(const MetricOptions& options) const {
    return subject_.make(options);
  }
  std::unique_ptr<Metric> make() const { return make(metric_options()); }
  const MetricLawOptions& options() const { return subject_.options; }
  const MetricOptions& metric_options() const {
    return subject_.options.metric_options();
  }
  const std::vector<Batch>& batches() const { return subject_.batches; }
  bool obeys(MetricLaw law) const;
  Tolerance tolerance(double rtol) const {
    return {rtol, 1e-2 * rtol * largest_};
  }
  std::vector<Split> splits(int ranks) const;
  /// At most two of the numbers of ranks above 1.
  std::vector<int> few_ranks() const;

  void check_identity();
  void check_associativity();
  void check_forward();
  void check_save_and_load();
  void check_file();
  void check_clone();
  void check_reset();
  void check_aliases();
  void check_layout();
  void check_best();
  void check_bad_input();
  void check_bad_input_over_ranks(const Batch& bad, int ranks);
  void check_splits();
  void check_split(const Split& split);
  void check_synced_forward();
  void check_mixed_ranks();
  void check_inference();
  void check_inference_gradients();
  void check_threads();
  void check_gradients();
  void check_device();
  void check_step_on_device(const Results& actual, const Results& expected,
                            const char* step);
  void check_load_on_device(const std::vector<Batch>& moved);
  void check_refusal_on_device(Metric& metric);
  void check_given_device(const std::vector<Batch>& moved);
  void check_ranks_on_device(const std::vector<Batch>& moved);

  LawSubject subject_;
  const std::vector<Batch> pristine_;
  /// The largest input, at least 1.
  double largest_ = 1;
  Tolerance near_;
  std::optional<Results> whole_;
  Findings findings_;
};

}  // namespace tally::testkit::internal
