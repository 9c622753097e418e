#include "tally/state/codec.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/quantize_per_tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <tuple>

namespace tally {
namespace {

std::string encode(const at::Tensor& tensor) {
  std::string bytes;
  Encoder(bytes).tensor(tensor);
  return bytes;
}

at::Tensor round_trip(const at::Tensor& tensor) {
  const std::string bytes = encode(tensor);
  Decoder decoder(bytes);
  const at::Tensor result = decoder.tensor();
  EXPECT_EQ(decoder.remaining(), 0);
  return result;
}

void expect_same(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_TRUE(actual.defined());
  ASSERT_EQ(actual.scalar_type(), expected.scalar_type());
  ASSERT_EQ(actual.sizes(), expected.sizes());
  const at::Tensor plain = expected.detach().resolve_conj().contiguous();
  EXPECT_EQ(actual.numel() == 0 ||
                std::memcmp(actual.const_data_ptr(), plain.const_data_ptr(),
                            plain.nbytes()) == 0,
            true)
      << expected.scalar_type() << ' ' << expected.sizes();
}

// Bytes count from 0; as bool they are 0 and 1.
at::Tensor counting(c10::IntArrayRef sizes, at::ScalarType dtype) {
  at::Tensor tensor = at::empty(sizes, dtype);
  auto* bytes = static_cast<unsigned char*>(tensor.mutable_data_ptr());
  for (size_t i = 0; i < tensor.nbytes(); ++i) {
    bytes[i] = static_cast<unsigned char>(dtype == at::kBool ? i % 2 : i);
  }
  return tensor;
}

TEST(CodecTest, KeepsEveryDtype) {
  using S = at::ScalarType;
  for (const S dtype : {S::Byte,
                        S::Char,
                        S::Short,
                        S::Int,
                        S::Long,
                        S::Half,
                        S::Float,
                        S::Double,
                        S::ComplexHalf,
                        S::ComplexFloat,
                        S::ComplexDouble,
                        S::Bool,
                        S::BFloat16,
                        S::Float8_e5m2,
                        S::Float8_e4m3fn,
                        S::Float8_e5m2fnuz,
                        S::Float8_e4m3fnuz,
                        S::UInt16,
                        S::UInt32,
                        S::UInt64}) {
    for (const auto& sizes : std::vector<std::vector<std::int64_t>>{
             {}, {0}, {5}, {2, 3}, {2, 0, 3}}) {
      const at::Tensor tensor = counting(sizes, dtype);
      expect_same(round_trip(tensor), tensor);
    }
  }
}

TEST(CodecTest, KeepsEveryLayout) {
  const at::Tensor base = at::arange(24, at::kDouble).reshape({2, 3, 4});
  for (const at::Tensor& tensor :
       {base.transpose(0, 2), base.slice(2, 0, 4, 2), base.select(1, 1),
        base.narrow(0, 1, 1), base.flip({0}), base.unsqueeze(0).unsqueeze(4),
        at::ones({1}).expand({3, 2}), base.clone().set_requires_grad(true)}) {
    expect_same(round_trip(tensor), tensor);
    EXPECT_FALSE(round_trip(tensor).requires_grad());
  }
  at::Tensor complex = at::empty({3, 2}, at::kComplexDouble);
  complex.zero_();
  complex.add_(c10::Scalar(c10::complex<double>(1, 2)));
  expect_same(round_trip(complex.conj()), complex.conj().resolve_conj());
  const at::Tensor negated = at::imag(complex.conj());
  ASSERT_TRUE(negated.is_neg());
  EXPECT_TRUE(round_trip(negated).equal(negated.resolve_neg()));
}

TEST(CodecTest, KeepsIntegersOfEverySize) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::vector<std::int64_t> values = {
      0,       1,          255,        256,           65535,         65536,
      1 << 30, 4294967295, 4294967296, Limits::max(), Limits::min(), -1};
  for (const std::int64_t size : {15, 16, 63, 64, 65, 200}) {
    for (const std::int64_t value : values) {
      at::Tensor tensor = at::zeros({size}, at::kLong);
      expect_same(round_trip(tensor), tensor);
      tensor.select(0, size / 2).fill_(value);
      expect_same(round_trip(tensor), tensor);
      expect_same(round_trip(tensor.fill_(value)), tensor);
    }
  }
}

TEST(CodecTest, CountsTakeFewBytes) {
  // Zeros a byte for 64, small counts a byte each, and 16 bytes of header.
  EXPECT_EQ(encode(at::zeros({640}, at::kLong)).size(), 16 + 10);
  EXPECT_EQ(encode(at::full({640}, 255, at::kLong)).size(), 16 + 10 + 640);
  EXPECT_EQ(encode(at::full({640}, 256, at::kLong)).size(), 16 + 10 + 1280);
}

// A string's bytes at a multiple of kAlignment, `shift` bytes behind it.
at::Tensor aligned(const std::string& bytes, std::int64_t shift = 0) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  const at::Tensor storage = at::empty({size + shift}, at::kByte);
  std::memcpy(static_cast<char*>(storage.mutable_data_ptr()) + shift,
              bytes.data(), bytes.size());
  return storage;
}

TEST(CodecTest, LargeTensorsAreViewsIntoAStorage) {
  const at::Tensor small = at::arange(8, at::kFloat);
  const at::Tensor large = at::arange(20000, at::kFloat).reshape({200, 100});
  std::string bytes;
  Encoder encoder(bytes);
  encoder.text("seven b");
  encoder.tensor(small);
  encoder.tensor(large);
  for (const std::int64_t shift : {0, 1, 8}) {
    at::Tensor storage = aligned(bytes, shift);
    const char* const data = static_cast<const char*>(storage.data_ptr());
    Decoder decoder({data + shift, bytes.size()}, storage);
    EXPECT_EQ(decoder.text(), "seven b");
    const at::Tensor first = decoder.tensor();
    const at::Tensor second = decoder.tensor();
    EXPECT_EQ(decoder.remaining(), 0);
    const auto is_inside = [&](const at::Tensor& tensor) {
      const auto* at = static_cast<const char*>(tensor.const_data_ptr());
      return at >= data && at < data + storage.numel();
    };
    EXPECT_FALSE(is_inside(first));
    EXPECT_EQ(is_inside(second), shift == 0);
    storage.reset();
    expect_same(first, small);
    expect_same(second, large);
  }
}

TEST(CodecTest, TellsOfLargeTensorsWhatIsWritten) {
  for (const at::Tensor& tensor :
       {at::arange(100'000, at::kFloat), at::arange(100'000, at::kLong),
        at::full({1'000'000}, 3, at::kLong)}) {
    std::string bytes, seen;
    std::size_t calls = 0;
    const auto see = [&](std::size_t end) {
      ASSERT_LE(end, bytes.size());
      seen += bytes.substr(seen.size(), end - seen.size());
      ++calls;
    };
    Encoder encoder(bytes, see);
    encoder.text("first");
    encoder.tensor(tensor);
    encoder.text("last");
    EXPECT_GE(calls, 4);
    see(bytes.size());
    EXPECT_EQ(seen, bytes);
  }
}

TEST(CodecTest, KeepsUndefinedTensors) {
  EXPECT_FALSE(round_trip(at::Tensor()).defined());
}

TEST(CodecTest, HandsOutMemoryOfItsOwn) {
  const std::string bytes = encode(at::arange(3, at::kDouble));
  const std::string before = bytes;
  Decoder(bytes).tensor().zero_();
  EXPECT_EQ(bytes, before);
}

TEST(CodecTest, KeepsNumbersAndTextsToTheBit) {
  const double nan = std::nan("17");
  std::string bytes;
  Encoder encoder(bytes);
  encoder.integer(std::numeric_limits<std::int64_t>::min());
  encoder.real(-0.0);
  encoder.real(nan);
  encoder.text(std::string("a\0b", 3));
  encoder.text("");
  Decoder decoder(bytes);
  EXPECT_EQ(decoder.integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(std::signbit(decoder.real()));
  const double read = decoder.real();
  EXPECT_EQ(std::memcmp(&read, &nan, sizeof(nan)), 0);
  EXPECT_EQ(decoder.text(), std::string("a\0b", 3));
  EXPECT_EQ(decoder.text(), "");
  EXPECT_EQ(decoder.remaining(), 0);
  EXPECT_THROW(decoder.integer(), c10::ValueError);
}

TEST(CodecTest, RefusesTensorsThatAreNotDense) {
  EXPECT_THROW(encode(at::ones({2, 2}).to_sparse()), c10::ValueError);
  EXPECT_THROW(encode(at::quantize_per_tensor(at::ones({2}), 0.1, 0,
                                              at::ScalarType::QInt8)),
               c10::ValueError);
}

std::string header(std::int64_t dtype, const std::vector<std::int64_t>& sizes) {
  std::string bytes;
  Encoder encoder(bytes);
  encoder.integer(static_cast<std::int64_t>(sizes.size()) << 32 | dtype);
  for (std::int64_t size : sizes) encoder.integer(size);
  return bytes;
}

TEST(CodecTest, RefusesWhatIsNoTensor) {
  const std::int64_t huge = std::int64_t{1} << 62;
  const auto kFloat = static_cast<std::int64_t>(at::kFloat);
  std::vector<std::string> wrong = {
      header(kFloat, {huge}),
      header(kFloat, {huge, 4}),
      header(kFloat, {huge, 4, 4}),
      header(kFloat, {huge, 4, 0}),
      header(kFloat, {0, huge, 4}),
      header(kFloat, {-1}),
      header(kFloat, {huge, -1, 0}),
      header(kFloat, std::vector<std::int64_t>(65, 1)),
      header(kFloat, {1}),
      header(1000, {}),
      header(static_cast<std::int64_t>(at::ScalarType::Undefined), {}),
      header(static_cast<std::int64_t>(at::ScalarType::QInt8), {}),
      header(static_cast<std::int64_t>(at::ScalarType::Bits8), {}),
      header(static_cast<std::int64_t>(at::ScalarType::NumOptions), {}),
      header(0xfffffffe, {}),
  };
  std::string text;
  Encoder(text).integer(-1);
  EXPECT_THROW(Decoder(text).text(), c10::ValueError);
  for (size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_THROW(Decoder(wrong[i]).tensor(), c10::ValueError) << i;
  }
}

TEST(CodecTest, RefusesIntegersOfAnotherSize) {
  const std::string bytes = encode(at::full({100}, 7, at::kLong));
  const std::size_t widths = bytes.size() - 100 - 2;
  for (const int width : {3, 9, 16, 255}) {
    for (const std::size_t block : {0, 1}) {
      std::string wrong = bytes;
      wrong[widths + block] = static_cast<char>(width);
      try {
        Decoder(wrong).tensor();
        ADD_FAILURE() << width;
      } catch (const c10::ValueError& error) {
        EXPECT_THAT(error.what_without_backtrace(),
                    testing::HasSubstr("integers of 0, 1, 2, 4 or 8 bytes"));
      }
    }
  }
}

TEST(CodecTest, RefusesEveryTruncation) {
  for (const at::Tensor& tensor :
       {at::arange(6, at::kDouble).reshape({2, 3}), at::ones({}),
        at::empty({0, 3}), at::arange(100, at::kLong),
        at::ones({9000}, at::kDouble)}) {
    const std::string bytes = encode(tensor);
    // Of long ones the header and the end.
    for (size_t size = 0; size < bytes.size(); ++size) {
      if (size == 500 && bytes.size() > 1000) size = bytes.size() - 500;
      const std::string_view part = std::string_view(bytes).substr(0, size);
      EXPECT_THROW(Decoder(part).tensor(), c10::ValueError) << size;
    }
  }
}

// `expansion` is how many bytes one may become.
void expect_mutations_are_safe(const std::string& bytes, size_t expansion) {
  std::mt19937 random(20240611);
  int decoded = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string mutated = bytes.substr(0, random() % (bytes.size() + 1));
    for (unsigned flips = random() % 4; flips > 0 && !mutated.empty();
         --flips) {
      // Mostly in the header, which decides about memory.
      const size_t at =
          random() % std::min<size_t>(mutated.size(), random() % 2 ? 32 : 300);
      mutated[at] = static_cast<char>(random());
    }
    try {
      const at::Tensor tensor = Decoder(mutated).tensor();
      ASSERT_LE(tensor.defined() ? tensor.nbytes() : 0,
                bytes.size() * expansion);
      ++decoded;
    } catch (const c10::ValueError&) {
    }
  }
  EXPECT_GT(decoded, 0);
}

TEST(CodecTest, NeverReadsBeyondMutatedBytes) {
  expect_mutations_are_safe(
      encode(at::arange(60, at::kFloat).reshape({3, 4, 5})), 1);
  expect_mutations_are_safe(
      encode(at::arange(240, at::kLong).reshape({3, 16, 5})), 512);
}

struct State {
  std::int64_t count = 3;
  Number number = 1.5;
  at::Tensor tensor = at::ones({2});
  Rows rows = Rows(at::ones({2, 3}));
  void fields(Fields& f) {
    f("count", count)("number", number)("tensor", tensor)("rows", rows);
  }
};

TEST(CodecTest, KeepsTheFieldsOfAState) {
  State state;
  state.number = Number(at::ones({}).set_requires_grad(true).mul(7));
  Fields fields;
  state.fields(fields);
  std::string bytes;
  Encoder(bytes).fields(fields);
  State read{0, 0, {}, {}};
  Fields read_fields;
  read.fields(read_fields);
  Decoder(bytes).fields(read_fields);
  EXPECT_EQ(read.count, 3);
  EXPECT_TRUE(read.number.is_plain());
  EXPECT_EQ(read.number.value(), 7);
  EXPECT_TRUE(read.tensor.equal(state.tensor));
  EXPECT_TRUE(read.rows.tensor().equal(state.rows.tensor()));
}

TEST(CodecTest, KeepsNotesAndRefusesOthers) {
  static constexpr NoteKind kKind{"noted", "something is odd", "do otherwise"};
  Note note(kKind), read(kKind);
  Fields from, into;
  from(note);
  into(read);
  note.add_rows(7);
  note.mark(5);
  note.mark(3);
  std::string bytes;
  Encoder(bytes).fields(from);
  Decoder skipping(bytes);
  skipping.skip_fields(from.schema());
  EXPECT_EQ(skipping.remaining(), 0);
  Decoder(bytes).fields(into);
  EXPECT_EQ(read.rows(), 7);
  EXPECT_EQ(read.count(), 2);
  EXPECT_EQ(read.first(), 3);
  // More marks than rows, or one behind them.
  for (const auto& [rows, count, first] :
       {std::tuple(1, 2, 0), std::tuple(3, 1, 3), std::tuple(3, -1, 0),
        std::tuple(3, 1, -1)}) {
    note.set(rows, count, first);
    bytes.clear();
    Encoder(bytes).fields(from);
    EXPECT_THROW(Decoder(bytes).fields(into), c10::ValueError);
  }
  EXPECT_EQ(read.rows(), 7);
}

TEST(CodecTest, RefusesRowsWithoutDimensions) {
  std::string bytes;
  Encoder(bytes).tensor(at::ones({}));
  Rows rows;
  Fields fields;
  fields("rows", rows);
  EXPECT_THROW(Decoder(bytes).fields(fields), c10::ValueError);
}

}  // namespace
}  // namespace tally
