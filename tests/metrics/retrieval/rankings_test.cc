#include <ATen/ops/randint.h>
#include <ATen/ops/randperm.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tally/metrics/retrieval/kernels/query_index.h"
#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/ranked_queries.h"

namespace tally {

namespace retrieval = internal::retrieval;
namespace {

// In order, close together, and far apart.
TEST(QueryIndexTest, RowsOfQueriesStayInTheirOrder) {
  std::mt19937_64 random(1);
  for (const std::int64_t rows : {0, 1, 2, 100, 5000}) {
    for (const std::int64_t step :
         {std::int64_t{1}, std::int64_t{7}, std::int64_t{1} << 20,
          std::int64_t{1} << 57}) {
      for (const bool sorted : {false, true}) {
        std::vector<std::int64_t> indexes(rows);
        for (auto& index : indexes) {
          index = (static_cast<std::int64_t>(random() % 100) - 50) * step;
        }
        if (sorted) std::sort(indexes.begin(), indexes.end());
        std::map<std::int64_t, std::vector<std::int64_t>> expected;
        for (std::int64_t i = 0; i < rows; ++i) {
          expected[indexes[i]].push_back(i);
        }
        const retrieval::QueryIndex index(indexes.data(), rows);
        std::vector<std::int64_t> row_of(rows, -1);
        index.for_each_place(
            [&](std::int64_t row, std::int64_t place) { row_of[place] = row; });
        ASSERT_EQ(index.queries(), expected.size());
        std::int64_t q = 0;
        for (const auto& [id, own] : expected) {
          EXPECT_EQ(index.ids()[q], id);
          const auto begin = row_of.begin() + index.begins()[q];
          EXPECT_TRUE(std::equal(own.begin(), own.end(), begin,
                                 row_of.begin() + index.begins()[q + 1]));
          ++q;
        }
      }
    }
  }
}

template <class Score>
void check_ranking(std::int64_t count, std::int64_t levels) {
  std::mt19937_64 random(count + levels);
  using Document = retrieval::ScoredDocument<Score>;
  std::vector<Document> documents(count);
  for (Document& document : documents) {
    const auto score = static_cast<std::int64_t>(random() % levels);
    document.score = static_cast<Score>(score) / 8 - 3;
    if (random() % 10 == 0) {
      document.score = -std::numeric_limits<Score>::infinity();
    }
    document.grade = static_cast<Score>(random() % 4) - 1;
  }
  std::vector<Document> expected = documents;
  std::sort(expected.begin(), expected.end(),
            [](const Document& a, const Document& b) {
              return a.score != b.score ? a.score > b.score : a.grade < b.grade;
            });
  retrieval::rank_documents(documents.data(), count);
  for (std::int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(documents[i].score, expected[i].score) << i << " of " << count;
    ASSERT_EQ(documents[i].grade, expected[i].grade) << i << " of " << count;
  }
}

// Below, at and beyond what is compared with all others.
TEST(RankDocumentsTest, ByScoreThenByGrade) {
  for (const std::int64_t count :
       {0, 1, 2, 3, 7, 8, 15, 16, 17, 50, 127, 128, 129, 1000, 5000}) {
    for (const std::int64_t levels : {1, 5, 1'000'000}) {
      check_ranking<float>(count, levels);
      check_ranking<double>(count, levels);
    }
  }
}

TEST(RankDocumentsTest, ZerosAreEqual) {
  retrieval::ScoredDocument<float> few[] = {{-0.0F, 1}, {0.0F, 0}, {-0.0F, 0}};
  retrieval::rank_documents(few, 3);
  EXPECT_EQ(few[2].grade, 1);
  std::vector<retrieval::ScoredDocument<float>> many(200, {0.0F, 0});
  many[3] = {-0.0F, 1};
  many[5] = {-0.0F, 2};
  retrieval::rank_documents(many.data(), 200);
  EXPECT_EQ(many[198].grade, 1);
  EXPECT_EQ(many[199].grade, 2);
}

TEST(MarkedDrawsTest, AreHypergeometric) {
  for (const std::int64_t all : {1, 2, 5, 12}) {
    for (std::int64_t marked = 0; marked <= all; ++marked) {
      for (std::int64_t drawn = 0; drawn <= all; ++drawn) {
        const retrieval::MarkedDraws draws(all, marked, drawn);
        double sum = 0;
        double mean = 0;
        for (std::int64_t i = draws.least(); i <= draws.most(); ++i) {
          const auto choose = [](std::int64_t n, std::int64_t k) {
            double ways = 1;
            for (std::int64_t j = 0; j < k; ++j) {
              ways = ways * static_cast<double>(n - j) /
                     static_cast<double>(j + 1);
            }
            return ways;
          };
          EXPECT_NEAR(draws.probability(i),
                      choose(marked, i) * choose(all - marked, drawn - i) /
                          choose(all, drawn),
                      1e-14);
          sum += draws.probability(i);
          mean += static_cast<double>(i) * draws.probability(i);
        }
        EXPECT_NEAR(sum, 1, 1e-14);
        EXPECT_NEAR(mean, static_cast<double>(drawn * marked) / all, 1e-12);
      }
    }
  }
}

TEST(MarkedDrawsTest, OfManyDoNotOverflow) {
  const retrieval::MarkedDraws draws(1'000'000, 400'000, 500'000);
  double mean = 0;
  for (std::int64_t i = draws.least(); i <= draws.most(); ++i) {
    mean += static_cast<double>(i) * draws.probability(i);
  }
  EXPECT_NEAR(mean, 200'000, 1e-6);
}

}  // namespace
}  // namespace tally
