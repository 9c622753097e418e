#include "tally/cli/output.h"

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <iostream>
#include <limits>

#include "tally/cli/render.h"
#include "tally/tests/cli/files.h"
#include "tally/tests/testing/refusal.h"

namespace tally::cli {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::EndsWith;
using ::testing::HasSubstr;

Report sample_report() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Report report{2, 18, {}, "", "", {}, {}, {}, {}, {}};
  report.results.add("mean", at::scalar_tensor(0.1, at::kDouble));
  report.results.add("float", at::scalar_tensor(0.1, at::kFloat));
  report.results.add("count", at::scalar_tensor(9007199254740993, at::kLong));
  report.results.add("flag", at::scalar_tensor(true, at::kBool));
  report.results.add("none", at::Tensor());
  report.results.add(
      "odd \"name\", this",
      at::tensor({std::nan(""), kInfinity, -kInfinity, -0.0}, at::kDouble));
  report.results.add("matrix", at::tensor({1, 2, 3, 4}).view({2, 2}).t());
  return report;
}

TEST(OutputTest, JsonKeepsFullPrecision) {
  EXPECT_EQ(render(sample_report(), Format::kJson),
            "{\"ranks\":2,\"rows\":18,\"metrics\":{\"mean\":0.1,\"float\":"
            "0.10000000149011612,\"count\":9007199254740993,\"flag\":true,"
            "\"none\":null,\"odd \\\"name\\\", this\":[\"NaN\",\"Infinity\","
            "\"-Infinity\",-0.0],\"matrix\":[[1,3],[2,4]]}}\n");
  Report report;
  report.results.add("\xFF", at::tensor(1));
  EXPECT_THAT(render(report, Format::kJson), HasSubstr("\xEF\xBF\xBD"));
}

TEST(OutputTest, CsvHasALineForEachNumber) {
  EXPECT_EQ(render(sample_report(), Format::kCsv),
            "metric,index,value\n"
            "mean,,0.1\n"
            "float,,0.10000000149011612\n"
            "count,,9007199254740993\n"
            "flag,,true\n"
            "none,,null\n"
            "\"odd \"\"name\"\", this\",0,NaN\n"
            "\"odd \"\"name\"\", this\",1,Infinity\n"
            "\"odd \"\"name\"\", this\",2,-Infinity\n"
            "\"odd \"\"name\"\", this\",3,-0.0\n"
            "matrix,0 0,1\n"
            "matrix,0 1,3\n"
            "matrix,1 0,2\n"
            "matrix,1 1,4\n");
}

Report sliced_report() {
  Report report{1, 9, {}, "", "", {"site", "a,b"}, {}, {}, {}, {}};
  report.results.add("mean", at::scalar_tensor(0.5, at::kDouble));
  const std::vector<std::vector<SliceValue>> keys = {
      {{}, std::string("x")}, {std::string("n,1"), std::string("y")}, {}};
  for (const auto& key : keys) {
    SliceResult slice{key, 3, {}};
    slice.results.add("mean", at::scalar_tensor(0.25, at::kDouble));
    slice.results.add("each", at::tensor({1, 2}));
    report.slices.push_back(std::move(slice));
  }
  return report;
}

TEST(OutputTest, SlicesFollowTheWhole) {
  EXPECT_EQ(render(sliced_report(), Format::kTable),
            "mean  0.5\n\n"
            "              rows  mean\n"
            "(missing), x     3  0.25\n"
            "n,1, y           3  0.25\n"
            "(other)          3  0.25\n");
  EXPECT_EQ(render(sliced_report(), Format::kCsv),
            "site,\"a,b\",rows,metric,index,value\n"
            "(all),(all),9,mean,,0.5\n"
            ",x,3,mean,,0.25\n"
            ",x,3,each,0,1\n"
            ",x,3,each,1,2\n"
            "\"n,1\",y,3,mean,,0.25\n"
            "\"n,1\",y,3,each,0,1\n"
            "\"n,1\",y,3,each,1,2\n"
            "(other),(other),3,mean,,0.25\n"
            "(other),(other),3,each,0,1\n"
            "(other),(other),3,each,1,2\n");
  EXPECT_EQ(render(sliced_report(), Format::kJson),
            "{\"ranks\":1,\"rows\":9,\"metrics\":{\"mean\":0.5},\"slices\":["
            "{\"key\":{\"site\":null,\"a,b\":\"x\"},\"rows\":3,\"metrics\":{"
            "\"mean\":0.25,\"each\":[1,2]}},"
            "{\"key\":{\"site\":\"n,1\",\"a,b\":\"y\"},\"rows\":3,\"metrics\":{"
            "\"mean\":0.25,\"each\":[1,2]}},"
            "{\"key\":null,\"rows\":3,\"metrics\":{\"mean\":0.25,\"each\":[1,2]"
            "}}]}\n");
}

TEST(OutputTest, TablesShowMatricesThatFit) {
  const std::string table = render(sample_report(), Format::kTable);
  EXPECT_THAT(table, HasSubstr("mean              0.1\n"));
  EXPECT_THAT(table, EndsWith("\nmatrix  0  1\n0       1  3\n1       2  4\n"));
  // Names are those of classes, which this matrix does not claim to have.
  EXPECT_EQ(render(sample_report(), Format::kTable, {"cat", "dog"}), table);
  Report report;
  report.results.add("matrix", at::tensor({1, 2, 3, 4}).view({2, 2}).t(),
                     {Dimension::kClass, Dimension::kClass});
  EXPECT_EQ(render(report, Format::kTable, {"cat", "dog"}),
            "matrix  cat  dog\ncat       1    3\ndog       2    4\n");
}

TEST(OutputTest, FilesAreReplacedAsAWhole) {
  const Folder folder;
  const std::string file = folder.write("out", "before");
  ASSERT_EQ(chmod(file.c_str(), 0640), 0);
  check_output(file);
  write_output(file, "after");
  EXPECT_EQ(read_file(file), "after");
  struct stat status {};
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);

  const std::string link = folder.path("link");
  std::filesystem::create_symlink(file, link);
  write_output(link, "linked");
  EXPECT_EQ(read_file(file), "linked");
  EXPECT_TRUE(std::filesystem::is_symlink(link));

  write_output(folder.path("new"), "new");
  EXPECT_EQ(read_file(folder.path("new")), "new");
  EXPECT_EQ(folder.size(), 3u);
}

TEST(OutputTest, DevicesAreWrittenTo) {
  check_output("/dev/null");
  write_output("/dev/null", "text");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(refusal_of([] { write_output("/dev/full", "text"); }),
            "/dev/full: cannot be written: No space left on device");
}

TEST(OutputTest, SaysWhatCannotBeWritten) {
  const Folder folder;
  EXPECT_THAT(refusal_of([&] { check_output(folder.path("")); }),
              EndsWith("expected a file, got a folder"));
  for (auto* call : {check_output, +[](const std::string& path) {
                       write_output(path, "text");
                     }}) {
    EXPECT_THAT(refusal_of([&] { call(folder.path("none/out")); }),
                EndsWith("cannot be written: No such file or directory"));
  }
  EXPECT_EQ(folder.size(), 0u);
}

TEST(OutputTest, LinesOfLibrariesAreLeftOut) {
  ::testing::internal::CaptureStdout();
  std::cout << "before\n";
  {
    const SilentOutput silent;
    std::cout << "of a library" << std::endl;
    std::printf("another\n");
  }
  std::cout << "after\n" << std::flush;
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "before\nafter\n");
}

}  // namespace
}  // namespace tally::cli
