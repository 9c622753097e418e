#include "tally/tests/cli/files.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tally/cli/source.h"
#include "tally/files/csv.h"
#include "tally/files/npy.h"
#include "tally/metrics/collection.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally::cli {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Dtype {
  const char* file;
  const char* name;
  at::ScalarType dtype;
};

class NpyDtypeTest : public ::testing::TestWithParam<Dtype> {
 protected:
  /// As tests/cli/data/generate.py has it.
  static at::Tensor expected() {
    const at::Tensor values = at::arange(-3, 9).view({3, 2, 2});
    const char kind = GetParam().file[0];
    at::Tensor array = kind == 'b'   ? values.remainder(2).eq(0)
                       : kind == 'u' ? values.abs()
                                     : values;
    if (kind == 'f' || kind == 'c') array = array.to(at::kDouble).div(2);
    if (kind == 'c') array = at::complex(array, at::full_like(array, -0.25));
    return array.to(GetParam().dtype);
  }
};

TEST_P(NpyDtypeTest, IsReadInEitherOrder) {
  for (const char* variant : {"", "_swapped_fortran"}) {
    SCOPED_TRACE(variant);
    const files::NpyFile file(
        data_file(std::string(GetParam().file) + variant + ".npy"));
    EXPECT_EQ(file.header().dtype(), GetParam().name);
    EXPECT_EQ(file.rows(), 3);
    EXPECT_EQ(file.bytes_per_row(), 4 * file.header().item_size);
    for (std::int64_t begin = 0; begin <= 3; ++begin) {
      for (std::int64_t end = begin; end <= 3; ++end) {
        const at::Tensor rows = file.read(begin, end);
        EXPECT_TRUE(rows.is_contiguous());
        EXPECT_EQ(rows.scalar_type(), GetParam().dtype);
        EXPECT_TRUE(rows.equal(expected().slice(0, begin, end)))
            << begin << " " << end;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, NpyDtypeTest,
    ::testing::Values(
        Dtype{"b1", "bool", at::kBool}, Dtype{"i1", "int8", at::kChar},
        Dtype{"i2", "int16", at::kShort}, Dtype{"i4", "int32", at::kInt},
        Dtype{"i8", "int64", at::kLong}, Dtype{"u1", "uint8", at::kByte},
        Dtype{"u2", "uint16", at::kInt}, Dtype{"u4", "uint32", at::kLong},
        Dtype{"u8", "uint64", at::kLong}, Dtype{"f2", "float16", at::kHalf},
        Dtype{"f4", "float32", at::kFloat}, Dtype{"f8", "float64", at::kDouble},
        Dtype{"f16", "longdouble", at::kDouble},
        Dtype{"c8", "complex64", at::kComplexFloat},
        Dtype{"c16", "complex128", at::kComplexDouble},
        Dtype{"c32", "clongdouble", at::kComplexDouble}),
    [](const auto& test) { return test.param.name; });

TEST(NpyTest, ReadsAllVersionsOfTheFormat) {
  for (const char* name : {"version_2.npy", "version_3.npy"}) {
    EXPECT_TRUE(files::NpyFile(data_file(name))
                    .read(0, 3)
                    .equal(at::arange(-3, 9).view({3, 2, 2})));
  }
}

TEST(NpyTest, TakesFilesWithoutRows) {
  const files::NpyFile file(data_file("no_rows.npy"));
  EXPECT_EQ(file.rows(), 0);
  EXPECT_EQ(file.read(0, 0).sizes(), at::IntArrayRef({0, 3}));
}

std::string npy_error(const std::string& path) {
  return refusal_of([&] {
    const files::NpyFile file(path);
    file.read(0, file.rows());
  });
}

TEST(NpyTest, RefusesWhatIsNoArrayOfRows) {
  const auto error = [](const char* name) {
    return npy_error(data_file(std::string(name) + ".npy"));
  };
  EXPECT_THAT(error("zero_dim"),
              EndsWith("zero_dim.npy: expected an array with rows, got a "
                       "single number"));
  EXPECT_THAT(error("empty_rows"),
              HasSubstr("expected rows that are not empty, got the shape [3, "
                        "0]"));
  EXPECT_THAT(error("text"), HasSubstr("expected an array of numbers, got "
                                       "NumPy's dtype '<U1'"));
  EXPECT_THAT(error("time"), HasSubstr("NumPy's dtype '<M8[D]'"));
  EXPECT_THAT(error("structure"), HasSubstr("got one of structures"));
  EXPECT_THAT(error("uint64_large"),
              HasSubstr("uint64_large.npy, row 1: expected integers up to "
                        "9223372036854775807, got 9223372036854775808; where "
                        "they only tell things apart, save "
                        "array.astype('int64')"));
}

TEST(NpyTest, RefusesWhatIsNoSuchFile) {
  const Folder folder;
  EXPECT_THAT(npy_error(folder.path("none")),
              EndsWith("none: cannot be opened: No such file or directory"));
  EXPECT_THAT(npy_error(folder.path("")), EndsWith("expected a file"));
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(npy_error(folder.path("pipe")), EndsWith("expected a file"));
  const std::pair<std::string, const char*> kOthers[] = {
      {"", "an empty file"},
      {"a text of some length",
       "text; CSV is passed with --csv, JSON lines with --jsonl"},
      {"{\"preds\": 0.5}\n",
       "text that begins with {; JSON lines are passed with --jsonl"},
      {std::string("some\0bytes", 10), "other bytes"},
      {"PK\x03\x04 and some more", "a zip archive; unpack it first"},
      {"PK\x03\x04 preds.npy",
       "an archive of NumPy arrays (.npz); pass it alone with --inputs, named "
       ".npz"}};
  for (const auto& [bytes, words] : kOthers) {
    EXPECT_THAT(npy_error(folder.write("x", bytes)),
                EndsWith(std::string("x: expected a .npy file, got ") + words));
  }
  EXPECT_THAT(npy_error(folder.write("x", "\x93NUMPY")),
              HasSubstr("x: expected a .npy file, got "));
}

/// A file of format 1.0 with such a header.
std::string with_header(const std::string& header, const std::string& data) {
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) +
         '\0' + header + data;
}

TEST(NpyTest, BelievesNoSizeThatTheFileDoesNotHave) {
  const Folder folder;
  const std::string whole = read_file(data_file("f4.npy"));
  for (const std::string& text :
       {whole.substr(0, whole.size() - 1), whole + "x", whole.substr(0, 128)}) {
    EXPECT_THAT(npy_error(folder.write("x", text)),
                HasSubstr("expected the data of float32 [3, 2, 2], got "));
  }
  for (const char* shape :
       {"(1000000000000000000,)", "(4611686018427387905, 2)",
        "(3, 3037000500, 3037000500, 2)", "(9223372036854775807, 1)"}) {
    const std::string header =
        "{'descr': '<f8', 'fortran_order': False, 'shape': " +
        std::string(shape) + "}";
    EXPECT_THAT(npy_error(folder.write("x", with_header(header, "12345678"))),
                HasSubstr("expected the data of float64 ["));
  }
  std::string long_header = whole;
  long_header[9] = '\x7f';
  EXPECT_THAT(npy_error(folder.write("x", long_header)),
              HasSubstr("expected a header within the file and of at most "
                        "65536 bytes, got one of 32630"));
  std::string version = whole;
  version[6] = 4;
  EXPECT_THAT(npy_error(folder.write("x", version)),
              HasSubstr("expected version 1.0, 2.0 or 3.0 of the format, got "
                        "4.0"));
}

TEST(NpyTest, HeadersAreDictionaries) {
  const files::NpyHeader header = files::parse_npy_header(
      " {\"shape\": (3L, 5 ), 'descr':'=i4', 'fortran_order' : True , }\n");
  EXPECT_EQ(header.dtype(), "int32");
  EXPECT_TRUE(header.fortran_order);
  EXPECT_FALSE(header.swapped);
  EXPECT_THAT(header.shape, ElementsAre(3, 5));
  EXPECT_THAT(files::parse_npy_header(
                  "{'descr':'|u1','fortran_order':False,'shape':()}")
                  .shape,
              ElementsAre());

  const std::string descr = "'descr': '<f4'";
  const std::string order = "'fortran_order': False";
  const std::string shape = "'shape': (3,)";
  for (const std::string& text :
       {std::string(), std::string("{"), "{" + descr + "}",
        "{" + descr + ", " + order + "}", "{" + order + ", " + shape + "}",
        "{" + descr + ", " + order + ", " + shape,
        "{" + descr + ", " + order + ", " + shape + "} x",
        "{" + descr + ", " + descr + ", " + order + ", " + shape + "}",
        "{" + descr + ", 'x': 1, " + order + ", " + shape + "}",
        "{" + descr + " " + order + ", " + shape + "}",
        "{" + descr + ", 'fortran_order': false, " + shape + "}",
        "{" + descr + ", " + order + ", 'shape': 3}",
        "{" + descr + ", " + order + ", 'shape': (3}",
        "{" + descr + ", " + order + ", 'shape': (-3,)}",
        "{" + descr + ", " + order + ", 'shape': (9223372036854775808,)}",
        "{'descr: '<f4', " + order + ", " + shape + "}",
        "{descr: '<f4', " + order + ", " + shape + "}"}) {
    EXPECT_THAT(refusal_of([&] { files::parse_npy_header(text); }),
                StartsWith("expected a header with "))
        << text;
  }
  for (const char* dtype :
       {"", "<", "<f", "f4", "<f3", "<f99999999999999999999", "<f4 ", "<x8",
        "|O", "<V2"}) {
    EXPECT_THAT(refusal_of([&] {
                  files::parse_npy_header("{'descr': '" + std::string(dtype) +
                                          "', " + order + ", " + shape + "}");
                }),
                StartsWith("expected an array of numbers"))
        << dtype;
  }
}

std::vector<at::Tensor> read_csv(const std::string& path,
                                 const std::string& columns,
                                 const std::vector<files::CsvKind>& numbers) {
  files::CsvFile file(path, columns);
  file.scan(numbers);
  return file.read(0, file.rows());
}

std::string csv_error(const std::string& text, const std::string& columns = "",
                      std::vector<files::CsvKind> numbers = {}) {
  const Folder folder;
  return refusal_of([&] {
    files::CsvFile file(folder.write("x.csv", text), columns);
    numbers.resize(file.inputs().size(), files::CsvKind::kEither);
    file.scan(numbers);
  });
}

TEST(CsvTest, ReadsColumnsByName) {
  const Folder folder;
  const std::string path = folder.write("x.csv",
                                        "\xEF\xBB\xBF"
                                        "a, b ,c:d,\"e\r\nf\"\r\n"
                                        "1,+2.5,\"x, \"\"y\"\"\n\",-inf\r\n"
                                        "\r\n"
                                        "True,1e-3,,NaN\n"
                                        "-9223372036854775808,7,z, 4 ");
  const auto values =
      read_csv(path, "b,a,a:b,a",
               {files::CsvKind::kEither, files::CsvKind::kIntegers,
                files::CsvKind::kEither, files::CsvKind::kFloats});
  ASSERT_EQ(values.size(), 4u);
  EXPECT_TRUE(values[0].equal(at::tensor({2.5, 1e-3, 7.0}, at::kDouble)));
  EXPECT_EQ(values[1].scalar_type(), at::kLong);
  EXPECT_EQ(values[1][2].item<std::int64_t>(),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(values[2].sizes(), at::IntArrayRef({3, 2}));
  EXPECT_EQ(values[2].scalar_type(), at::kDouble);
  EXPECT_EQ(values[2][1][0].item<double>(), 1);
  EXPECT_EQ(values[2][0][1].item<double>(), 2.5);
  EXPECT_EQ(values[3].scalar_type(), at::kDouble);
  const auto last = read_csv(path, "e\r\nf", {files::CsvKind::kEither}).front();
  EXPECT_TRUE(last[0].isneginf().item<bool>());
  EXPECT_TRUE(last[1].isnan().item<bool>());
  EXPECT_EQ(last[2].item<double>(), 4);
}

TEST(CsvTest, ReadsTexts) {
  const Folder folder;
  const std::string path = folder.write(
      "x.csv", "p,r0,r1,n\n\"a, b\",x,\"y \"\"z\"\"\",1\n2,3,,4\n");
  files::CsvFile file(path, "preds=p,target=r0:r1,value=n");
  EXPECT_THAT(file.names(), ElementsAre("preds", "target", "value"));
  file.scan({files::CsvKind::kTexts, files::CsvKind::kTexts,
             files::CsvKind::kEither});
  EXPECT_EQ(file.rows(), 2);
  for (int i = 0; i < 2; ++i) {
    const auto tensors = file.read(0, 2);
    EXPECT_FALSE(tensors[0].defined());
    EXPECT_TRUE(tensors[2].equal(at::tensor({1, 4})));
    EXPECT_THAT(file.take_texts(0),
                ElementsAre(ElementsAre("a, b"), ElementsAre("2")));
    EXPECT_THAT(file.take_texts(1),
                ElementsAre(ElementsAre("x", "y \"z\""), ElementsAre("3", "")));
  }
  file.read(1, 2);
  EXPECT_THAT(file.take_texts(0), ElementsAre(ElementsAre("2")));
}

TEST(CsvTest, SourcesHoldWhatMetricsTake) {
  const Folder folder;
  Arguments arguments;
  arguments.csv = {folder.write("x.csv", "p,r0,r1\na,a,b\nc,d,e\n")};
  arguments.columns = "target=r0:r1,preds=p";
  const std::vector<MetricInputs> metrics = {
      {"rate",
       {{"preds", InputKind::kText, "texts [N]"},
        {"target", InputKind::kTextLists, "references"}}}};
  const auto source = open_source(arguments, metrics);
  MetricCollection rates;
  rates.add("rate", tally::testkit::SampleMatchRate());
  const std::vector<InputValue> values = source->read(0, 2);
  rates.update({{source->names()[0], values[0].ref()},
                {source->names()[1], values[1].ref()}});
  EXPECT_EQ(rates.compute().value().item<double>(), 0.5);
  arguments.columns = "preds=p:r0,target=r1";
  EXPECT_EQ(refusal_of([&] { open_source(arguments, metrics); }),
            "rate: expected preds to be texts [N], got 2 columns");
  const std::vector<MetricInputs> mixed = {
      metrics[0], {"mean", {{"preds", InputKind::kReal, "real [N]"}}}};
  arguments.columns = "preds=p,target=r1";
  EXPECT_EQ(refusal_of([&] { open_source(arguments, mixed); }),
            "no column satisfies all metrics: rate: expected preds to "
            "be texts [N]; mean: expected preds to be real [N]");
}

TEST(CsvTest, TextsCanStandForClasses) {
  const Folder folder;
  const std::string path =
      folder.write("x.csv", "preds,label\n0.5,dog\n0.1, cat \n0.9,1\n");
  files::CsvFile file(path, "label,preds",
                      {0, {"cat", "dog"}, files::Missing::kError});
  file.scan({files::CsvKind::kEither, files::CsvKind::kFloats});
  const auto values = file.read(0, 3);
  EXPECT_TRUE(values[0].equal(at::tensor({1, 0, 1}, at::kLong)));
  EXPECT_THAT(refusal_of([&] {
                files::CsvFile other(path, "label",
                                     {0, {"cat"}, files::Missing::kError});
                other.scan({files::CsvKind::kIntegers});
              }),
              EndsWith(", line 2: column 'label': expected an integer or one "
                       "of --labels, got 'dog'"));
}

TEST(CsvTest, EmptyFieldsAreWhatTheyAreSaidToBe) {
  const Folder folder;
  std::string text = "a,b,unused\n";
  for (int i = 0; i < 3000; ++i) {
    const std::string number = std::to_string(i);
    text += (i % 3 == 1 ? "" : number) + "," + number + ",\n";
  }
  const std::string path = folder.write("x.csv", text);
  files::CsvFile skipping(path, "a,b", {0, {}, files::Missing::kSkip});
  skipping.scan({files::CsvKind::kEither, files::CsvKind::kEither});
  EXPECT_EQ(skipping.rows(), 2000);
  EXPECT_EQ(skipping.skipped(), 1000);
  // 0, 2, 3, 5, 6, 8, ...
  EXPECT_TRUE(skipping.read(1502, 1505)[0].equal(
      at::tensor({2253, 2255, 2256}, at::kLong)));
  EXPECT_TRUE(skipping.read(0, 3)[1].equal(at::tensor({0, 2, 3}, at::kLong)));

  files::CsvFile filling(path, "a,b", {0, {}, files::Missing::kNan});
  filling.scan({files::CsvKind::kEither, files::CsvKind::kEither});
  EXPECT_EQ(filling.rows(), 3000);
  const auto values = filling.read(0, 3);
  EXPECT_TRUE(values[0][1].isnan().item<bool>());
  EXPECT_EQ(values[0][2].item<double>(), 2);
  EXPECT_EQ(values[1].scalar_type(), at::kLong);
  files::CsvFile labels(path, "a", {0, {}, files::Missing::kNan});
  EXPECT_THAT(refusal_of([&] { labels.scan({files::CsvKind::kIntegers}); }),
              HasSubstr("line 3: column 'a': expected an integer, got ''"));
}

TEST(CsvTest, DelimitersAreSaidNotGuessed) {
  const Folder folder;
  const std::string path = folder.write("x.csv", "a;b\n1,5;\"2;\"\n3;4\n");
  EXPECT_THAT(refusal_of([&] { const files::CsvFile file(path, "a"); }),
              EndsWith("x.csv: expected commas between fields, got ';'; if "
                       "that is the delimiter, use --delimiter ';'"));
  files::CsvFile file(path, "a,b", {';', {}, files::Missing::kError});
  file.scan({files::CsvKind::kTexts, files::CsvKind::kTexts});
  file.read(0, 2);
  EXPECT_THAT(file.take_texts(1),
              ElementsAre(ElementsAre("2;"), ElementsAre("4")));
  const std::string tabs = folder.write("t.csv", "a\tb\n1\t2\n");
  EXPECT_THAT(
      refusal_of([&] { const files::CsvFile other(tabs, "a"); }),
      EndsWith("got tab; if that is the delimiter, use --delimiter tab"));
}

TEST(CsvTest, ReadsColumnsByNumber) {
  const Folder folder;
  const std::string path = folder.write("x.csv", "1,2,3\n4,5,6\n");
  const std::vector<files::CsvKind> either(2, files::CsvKind::kEither);
  const auto values = read_csv(path, "@2:@3,@1", either);
  EXPECT_TRUE(
      values[0].equal(at::tensor({2, 3, 5, 6}, at::kLong).view({2, 2})));
  EXPECT_TRUE(values[1].equal(at::tensor({1, 4}, at::kLong)));
  files::CsvFile all(path, "");
  EXPECT_THAT(all.inputs(), ElementsAre("1", "2", "3"));
}

TEST(CsvTest, ReadsAnyRows) {
  const Folder folder;
  std::string text = "a,b\n";
  for (int i = 0; i < 5000; ++i) {
    text += std::to_string(i) + ",\"\n" + std::to_string(i) + ".5\"\n";
  }
  // The line end before the number makes it no number.
  EXPECT_THAT(csv_error(text, "b"),
              HasSubstr("line 2: column 'b': expected a number, got ' 0.5'"));
  files::CsvFile file(folder.write("x.csv", text), "a");
  file.scan({files::CsvKind::kEither});
  ASSERT_EQ(file.rows(), 5000);
  EXPECT_EQ(file.bytes_per_row(), 8);
  for (const auto& [begin, end] : std::vector<std::pair<int, int>>{
           {4000, 4010}, {4010, 5000}, {0, 3}, {1023, 1025}, {2048, 2048}}) {
    EXPECT_TRUE(file.read(begin, end).front().equal(at::arange(begin, end)));
  }
}

TEST(CsvTest, SaysWhatIsWrongWhere) {
  EXPECT_THAT(csv_error(""), EndsWith("x.csv: expected lines, got an empty "
                                      "file"));
  EXPECT_THAT(csv_error("\n\n"), HasSubstr("got an empty file"));
  EXPECT_THAT(csv_error("a,b\n1,2\n\n1,x\n"),
              HasSubstr("x.csv, line 4: column 'b': expected a number, got "
                        "'x'; if the value is missing there, --missing "
                        "skip:x drops such rows"));
  EXPECT_THAT(csv_error("a\n1\n1.5\n", "a", {files::CsvKind::kIntegers}),
              EndsWith("line 3: column 'a': expected an integer, got '1.5'"));
  EXPECT_THAT(csv_error("1,2\n,3", "@1"),
              HasSubstr("line 2: column @1: expected a number, got ''; "
                        "--missing skip drops rows with fields that"));
  EXPECT_THAT(csv_error("a,b\n1,2,3\n", "a"),
              EndsWith("line 2: expected 2 fields, got 3; a field with a "
                       "comma in it is written in quotes, \"0,9\""));
  EXPECT_THAT(csv_error("a,b\n1\n", "a"),
              EndsWith("line 2: expected 2 fields, got 1"));
  EXPECT_THAT(csv_error("a,b\n1,\"2\n3"),
              EndsWith("line 2: expected a closing \""));
  EXPECT_THAT(csv_error("a,b\n1,\"2\"3\n"),
              EndsWith("line 2: expected a comma after \"2\""));
  EXPECT_THAT(csv_error("a\n" + std::string(1000, 'x')),
              HasSubstr("'" + std::string(40, 'x') + "'"));
  for (const char* text : {"1e999", "+-1", "1,", "0x1"}) {
    EXPECT_THAT(csv_error("a\n" + std::string(text)), HasSubstr("line 2"));
  }
}

TEST(CsvTest, SaysWhatIsWrongWithColumns) {
  const std::string text = "pred,target,weight,weight\n1,2,3,4\n";
  EXPECT_THAT(csv_error(text, "pred,tarket"),
              EndsWith("no column 'tarket'; did you mean 'target'?"));
  EXPECT_THAT(csv_error(text, "xyz"), EndsWith("no column 'xyz'"));
  EXPECT_THAT(csv_error(text, "weight"),
              EndsWith("more than one column 'weight'"));
  EXPECT_THAT(csv_error(text, "target:pred"),
              EndsWith("columns target:pred: expected the first before the "
                       "last"));
  for (const char* columns : {"@0", "@5", "@x", "@", "@1,pred", "@1:5"}) {
    EXPECT_THAT(csv_error(text, columns),
                HasSubstr("expected columns from @1 to @4, got"))
        << columns;
  }
  EXPECT_THAT(csv_error(std::string(100'000, ','), "@1"),
              HasSubstr("expected at most 100000 columns, got 100001"));
}

}  // namespace
}  // namespace tally::cli
