#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <random>

#include "tally/testing/compare.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using testkit::near;
using testkit::same_bits;
using testkit::SampleCat;
using testkit::SampleMeanSquaredError;

// What one rank's metrics should hold: every row that they have seen.
struct Model {
  std::vector<double> rows;
  std::int64_t updates = 0;
};

// A rank's metrics under random calls, beside models of all ranks: the calls
// and data of every rank come from seeds that all of them know.
class Storm {
 public:
  Storm(int rank, int ranks, unsigned seed)
      : rank_(rank), models_(ranks), calls_(seed) {
    for (int r = 0; r < ranks; ++r) data_.emplace_back(seed + 1 + r);
  }

  void step(int number) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                       "step " + std::to_string(number));
    const unsigned choice = calls_() % 100;
    if (merged().rows.size() > 600) {
      reset();
    } else if (choice < 35) {
      update();
    } else if (choice < 45) {
      forward();
    } else if (choice < 60) {
      compute();
    } else if (choice < 70) {
      sync();
    } else if (choice < 80) {
      unsync();
    } else if (choice < 87) {
      clone();
    } else if (choice < 94) {
      reload();
    } else if (choice < 98) {
      merge();
    } else {
      reset();
    }
    check_local();
  }

 private:
  // Every rank draws for every rank, so that all models agree.
  std::vector<std::vector<double>> draw() {
    std::vector<std::vector<double>> batches;
    for (std::mt19937& random : data_) {
      std::vector<double> batch(random() % 4);
      for (double& value : batch) value = random() % 1000 / 8.0;
      batches.push_back(std::move(batch));
    }
    return batches;
  }
  void absorb(const std::vector<std::vector<double>>& batches) {
    for (size_t r = 0; r < models_.size(); ++r) {
      models_[r].rows.insert(models_[r].rows.end(), batches[r].begin(),
                             batches[r].end());
      ++models_[r].updates;
    }
  }

  void update() {
    const auto batches = draw();
    const at::Tensor batch = at::tensor(batches[rank_]);
    if (synced_) {
      EXPECT_THROW(cat_->update(batch), c10::Error);
      EXPECT_THROW(error_->update(batch, batch), c10::Error);
      return;
    }
    cat_->update(batch);
    error_->update(batch, batch.mul(0));
    absorb(batches);
  }

  void forward() {
    if (synced_) return;
    const auto batches = draw();
    const at::Tensor batch = at::tensor(batches[rank_]);
    const Results value = cat_->forward_results(batch);
    EXPECT_TRUE(same_bits(value.at(""), batch));
    error_->forward_results(batch, batch.mul(0));
    absorb(batches);
  }

  void compute() {
    const Model expected = synced_ ? snapshot_ : merged();
    const at::Tensor rows = cat_->compute_results().at("");
    const at::Tensor error = error_->compute_results().at("");
    if (expected.updates == 0) {
      EXPECT_FALSE(rows.defined());
    } else {
      EXPECT_TRUE(same_bits(rows, at::tensor(expected.rows)));
    }
    double sum = 0;
    for (const double value : expected.rows) sum += value * value;
    EXPECT_TRUE(near(
        error, Number(sum / static_cast<double>(expected.rows.size())).tensor(),
        {1e-12, 0}));
    if (rows.defined()) rows.fill_(-1);
    error.fill_(-1);
  }

  void sync() {
    if (synced_) {
      EXPECT_THROW(cat_->sync(), c10::Error);
      return;
    }
    cat_->sync();
    error_->sync();
    snapshot_ = merged();
    synced_ = true;
    EXPECT_EQ(cat_->update_count(), snapshot_.updates);
  }

  void unsync() {
    if (!synced_) {
      EXPECT_THROW(cat_->unsync(), c10::Error);
      return;
    }
    cat_->unsync();
    error_->unsync();
    synced_ = false;
  }

  void clone() {
    cat_ = cat_->clone();
    error_ = error_->clone();
  }

  void reload() {
    auto cat = std::make_unique<SampleCat>();
    auto error = std::make_unique<SampleMeanSquaredError>();
    EXPECT_TRUE(cat->deserialize(cat_->serialize()).ok());
    EXPECT_TRUE(error->deserialize(error_->serialize()).ok());
    cat_ = std::move(cat);
    error_ = std::move(error);
    synced_ = false;
  }

  void merge() {
    if (synced_) return;
    cat_->merge_state(*cat_->clone());
    error_->merge_state(*error_->clone());
    for (Model& model : models_) {
      const std::vector<double> rows = model.rows;
      model.rows.insert(model.rows.end(), rows.begin(), rows.end());
      model.updates *= 2;
    }
  }

  void reset() {
    cat_->reset();
    error_->reset();
    for (Model& model : models_) model = Model();
    synced_ = false;
  }

  void check_local() {
    const bool empty = models_[rank_].updates == 0;
    const MetricStatus expected = synced_ ? MetricStatus::kSynced
                                  : empty ? MetricStatus::kEmpty
                                          : MetricStatus::kUpdated;
    EXPECT_EQ(cat_->status(), expected);
    if (!synced_) {
      EXPECT_EQ(cat_->update_count(), models_[rank_].updates);
      EXPECT_EQ(error_->update_count(), models_[rank_].updates);
    }
  }

  Model merged() const {
    Model all;
    for (const Model& model : models_) {
      all.rows.insert(all.rows.end(), model.rows.begin(), model.rows.end());
      all.updates += model.updates;
    }
    return all;
  }

  int rank_;
  std::unique_ptr<Metric> cat_ = std::make_unique<SampleCat>();
  std::unique_ptr<Metric> error_ = std::make_unique<SampleMeanSquaredError>();
  std::vector<Model> models_;
  Model snapshot_;
  bool synced_ = false;
  std::mt19937 calls_;
  std::vector<std::mt19937> data_;
};

TEST(StormTest, RandomCallsAgreeWithAModel) {
  Storm storm(0, 1, 1);
  for (int i = 0; i < 10000 && !HasFailure(); ++i) storm.step(i);
}

THREAD_RANKS_TEST(StormTest, RandomCallsOnRanksAgreeWithAModel, 3) {
  Storm storm(self.rank(), 3, 100);
  for (int i = 0; i < 3000; ++i) storm.step(i);
}

}  // namespace
}  // namespace tally
