#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tally/cli/arguments.h"
#include "tally/cli/source.h"
#include "tally/files/id_file.h"
#include "tally/tests/cli/files.h"
#include "tally/tests/testing/refusal.h"

namespace tally::cli {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class IdsTest : public ::testing::Test {
 protected:
  std::vector<std::string> ids_of(const std::string& path) {
    const files::IdFile file(path);
    return file.read(0, file.rows());
  }
  /// The ids of all rows, the last two of which are read first.
  static std::vector<std::string> keys_of(const Arguments& arguments) {
    const auto source = open_source(arguments, kMetrics);
    source->read(source->rows() - 2, source->rows());
    EXPECT_EQ(source->keys().at(0).size(), 2);
    source->read(0, source->rows());
    return source->keys().at(0);
  }
  static std::string refusal(const Arguments& arguments) {
    return refusal_of([&] { open_source(arguments, kMetrics); });
  }
  Arguments files(const std::string& ids) {
    Arguments arguments;
    arguments.inputs = {
        folder_.write("a.npy", npy<double>("<f8", {0.5, 1, 0})),
        folder_.write("b.npy", npy<std::int64_t>("<i8", {1, 1, 0}))};
    arguments.ids = ids;
    return arguments;
  }
  Arguments lines(const std::string& third, const std::string& ids = "id") {
    Arguments arguments;
    arguments.inputs = {
        folder_.write("x.jsonl",
                      "{\"id\": \"a\", \"preds\": 0.5, \"target\": 1}\n"
                      "{\"id\": -7, \"preds\": 1, \"target\": 1, \"more\": 2}\n"
                      "{" +
                          third + "\"preds\": 0, \"target\": 0}\n")};
    arguments.ids = ids;
    return arguments;
  }

  static inline const std::vector<MetricInputs> kMetrics = {
      {"m", builtin_registry().inputs("BinaryAccuracy"), "BinaryAccuracy"}};
  Folder folder_;
};

TEST_F(IdsTest, AreIntegersOrLinesOfAFile) {
  EXPECT_THAT(ids_of(folder_.write(
                  "a.npy", npy<std::int64_t>("<i8", {5, -3, 1L << 40}))),
              ElementsAre("5", "-3", "1099511627776"));
  EXPECT_THAT(ids_of(folder_.write("b", npy<std::uint8_t>("|u1", {200}))),
              ElementsAre("200"));
  EXPECT_THAT(ids_of(folder_.write("c.txt", "x y\n\nz")),
              ElementsAre("x y", "", "z"));
  EXPECT_THAT(ids_of(folder_.write("d.ids", "1\n")), ElementsAre("1"));
  EXPECT_THAT(refusal_of([&] {
                ids_of(folder_.write("e.npy", npy<double>("<f8", {1, 2})));
              }),
              EndsWith("e.npy: expected ids that are integers, got float64"));
  EXPECT_THAT(refusal_of([&] {
                ids_of(folder_.write("f.npy", npy<char>("|b1", {1, 0})));
              }),
              EndsWith("f.npy: expected ids that are integers, got bool"));
  EXPECT_THAT(refusal_of([&] { ids_of(data_file("preds.npy")); }),
              HasSubstr("expected ids that are integers, got float32"));
  std::string matrix = npy<std::int32_t>("<i4", {1, 2, 3, 4});
  matrix.replace(matrix.find("(4,)"), 8, "(2, 2)} ");
  EXPECT_THAT(refusal_of([&] { ids_of(folder_.write("g.npy", matrix)); }),
              EndsWith("g.npy: expected an id for each row, got sizes [2, 2]"));
  EXPECT_THAT(refusal_of([&] { ids_of(folder_.path("none.npy")); }),
              HasSubstr("none.npy: cannot be opened"));
}

TEST_F(IdsTest, GoWithTheRowsOfFiles) {
  EXPECT_THAT(keys_of(files(folder_.write("c.txt", "x\ny\nz\n"))),
              ElementsAre("x", "y", "z"));
  Arguments grouped = files("");
  EXPECT_THAT(open_source(grouped, kMetrics)->keys(), IsEmpty());
  grouped.groups = folder_.write("c.npy", npy<std::int64_t>("<i8", {2, 2, 9}));
  EXPECT_THAT(keys_of(grouped), ElementsAre("2", "2", "9"));
  const std::string few = folder_.write("d.txt", "x\ny\n");
  EXPECT_THAT(
      refusal(files(few)),
      HasSubstr("expected the same number of rows in " + few + " and "));
  EXPECT_THAT(refusal(files(few)), EndsWith("a.npy, got 2 and 3"));
}

TEST_F(IdsTest, AreAKeyOfJsonLines) {
  EXPECT_THAT(keys_of(lines("\"id\": 18446744073709551615, ")),
              ElementsAre("a", "-7", "18446744073709551615"));
  EXPECT_THAT(refusal(lines("")), EndsWith("x.jsonl, line 3: no key 'id'"));
  for (const std::string value : {"1.5", "true", "null", "[\"a\"]"}) {
    EXPECT_THAT(refusal(lines("\"id\": " + value + ", ")),
                EndsWith("x.jsonl, line 3: key 'id': expected an integer or a "
                         "text, got " +
                         value));
  }
  EXPECT_THAT(refusal(lines("", "ids")),
              AllOf(HasSubstr("x.jsonl, line 1: expected the key 'ids', got '"),
                    EndsWith("; did you mean 'id'?")));
}

}  // namespace
}  // namespace tally::cli
