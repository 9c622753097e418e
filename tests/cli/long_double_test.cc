#include "tally/files/long_double.h"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tally/files/npy.h"
#include "tally/tests/cli/files.h"
#include "tally/tests/testing/refusal.h"

namespace tally::cli {
namespace {

using files::LongDouble;
using ::tally::testkit::refusal_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Item = std::array<char, 16>;
using Items = std::vector<Item>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kLeast = std::numeric_limits<double>::denorm_min();
constexpr double kMost = std::numeric_limits<double>::max();
constexpr std::uint64_t kTop = std::uint64_t{1} << 63;

Item item(std::uint64_t low, std::uint64_t high) {
  Item bytes;
  std::memcpy(bytes.data(), &low, 8);
  std::memcpy(bytes.data() + 8, &high, 8);
  return bytes;
}

/// What x86 writes of a significand and the bits of sign and exponent, with 6
/// bytes of something else behind.
Item x86(std::uint64_t significand, std::uint64_t head,
         std::uint64_t rest = 0) {
  return item(significand, head | rest << 16);
}

/// The same of IEEE's quad: 48 bits of the fraction, and 64.
Item quad(std::uint64_t head, std::uint64_t fraction, std::uint64_t low = 0) {
  return item(low, head << 48 | fraction);
}

/// A finite double, exactly: as x86 writes it, and as quad.
Item x86_of(double value, std::uint64_t rest = 0) {
  int exponent = 0;
  const double part = std::frexp(std::abs(value), &exponent);
  const std::uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  if (part == 0) return x86(0, sign, rest);
  return x86(static_cast<std::uint64_t>(std::ldexp(part, 64)),
             sign | (exponent + 0x3FFE), rest);
}
Item quad_of(double value) {
  int exponent = 0;
  const double part = std::frexp(std::abs(value), &exponent);
  const std::uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  if (part == 0) return quad(sign, 0);
  const auto fraction = static_cast<std::uint64_t>(std::ldexp(part, 53));
  return quad(sign | (exponent + 0x3FFE), fraction >> 4 & 0xFFFFFFFFFFFF,
              fraction << 60);
}
/// Two doubles, as POWER writes them.
Item pair(double first, double second) {
  Item bytes;
  std::memcpy(bytes.data(), &first, 8);
  std::memcpy(bytes.data() + 8, &second, 8);
  return bytes;
}

double decoded(LongDouble kind, const Item& bytes) {
  double value = 0;
  files::to_doubles(kind, bytes.data(), 1, &value);
  return value;
}

std::optional<LongDouble> kind_of(const Items& items) {
  files::LongDoubleEvidence evidence;
  for (const Item& each : items) evidence.add(each.data(), 1);
  return evidence.kind();
}

bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

TEST(LongDoubleTest, BytesOfX86AreTheNearestDoubles) {
  const std::pair<Item, double> kCases[] = {
      {{0, 0, 0, 0, 0, 0, 0, '\x80', '\xff', '\x3f'}, 1},
      {{'\xcd', '\xcc', '\xcc', '\xcc', '\xcc', '\xcc', '\xcc', '\xcc', '\xfb',
        '\xbf'},
       -0.1},
      {x86(0, 0x8000, 0x7FFF12345678), -0.0},
      {x86(kTop, 0x7FFF), kInf},
      {x86(kTop, 0xFFFF), -kInf},
      {x86(1, 0), 0},                    // the least that x86 has
      {x86(kTop | 1 << 10, 0x3FFF), 1},  // a tie, to even
      {x86(kTop | 3 << 10, 0x3FFF), 1 + 4 * DBL_EPSILON / 2},
      {x86(kTop | 1 << 10 | 1, 0x3FFF), 1 + DBL_EPSILON},
      {x86(~std::uint64_t{0}, 0x3FFF), 2},
      {x86(~std::uint64_t{0}, 0x43FE), kInf},  // rounds up beyond the largest
      {x86(~std::uint64_t{0} << 11, 0x43FE), kMost},
      {x86(kTop, 0x43FF), kInf},
      {x86(kTop, 0x3FFF - 1074), kLeast},
      {x86(kTop, 0x3FFF - 1075), 0},  // a tie, to even
      {x86(kTop | 1, 0x3FFF - 1075), kLeast},
      {x86(3 * (kTop / 2), 0x3FFF - 1074), 2 * kLeast},
      {x86(~std::uint64_t{0}, 0xBFFF - 1076), -0.0},
      {x86(~std::uint64_t{0}, 0x3FFF - 1023), DBL_MIN},
  };
  for (const auto& [bytes, value] : kCases) {
    const double got = decoded(LongDouble::kX86, bytes);
    EXPECT_TRUE(same_bits(got, value)) << got << " for " << value;
  }
  EXPECT_TRUE(std::isnan(decoded(LongDouble::kX86, x86(kTop | 1, 0x7FFF))));
}

TEST(LongDoubleTest, BytesOfQuadsAreTheNearestDoubles) {
  Item tenth{};
  std::fill(tenth.begin(), tenth.end(), '\x99');
  tenth[0] = '\x9a';
  tenth[14] = '\xfb';
  tenth[15] = '\x3f';
  const std::uint64_t kFraction = 0xFFFFFFFFFFFF, kLow = ~std::uint64_t{0};
  const std::pair<Item, double> kCases[] = {
      {tenth, 0.1},
      {quad(0x3FFF, 0), 1},
      {quad(0x8000, 0), -0.0},
      {quad(0x7FFF, 0), kInf},
      {quad(0xFFFF, 0), -kInf},
      {quad(0, 0, 1), 0},               // the least that quads have
      {quad(0x3FFF, 0, kTop >> 4), 1},  // a tie, to even
      {quad(0x3FFF, 0, 3 * (kTop >> 4)), 1 + 2 * DBL_EPSILON},
      {quad(0x3FFF, 0, kTop >> 4 | 1), 1 + DBL_EPSILON},
      {quad(0x3FFF, kFraction, kLow), 2},
      {quad(0x43FE, kFraction, kLow), kInf},
      {quad(0x43FE, kFraction, kLow << 60), kMost},
      {quad(0x43FF, 0), kInf},
      {quad(0x3FFF - 1074, 0), kLeast},
      {quad(0x3FFF - 1075, 0), 0},
      {quad(0x3FFF - 1075, 0, 1), kLeast},
      {quad(0xBFFF - 1075, 1), -kLeast},
      {quad(0xBFFF - 1076, kFraction, kLow), -0.0},
  };
  for (const auto& [bytes, value] : kCases) {
    const double got = decoded(LongDouble::kQuad, bytes);
    EXPECT_TRUE(same_bits(got, value)) << got << " for " << value;
  }
  EXPECT_TRUE(std::isnan(decoded(LongDouble::kQuad, quad(0x7FFF, 0, 1))));
  EXPECT_TRUE(std::isnan(decoded(LongDouble::kQuad, quad(0xFFFF, 1))));
}

/// What the processor or its compiler makes of random bytes.
template <class Number>
void compare_with_machine(LongDouble kind) {
  std::mt19937_64 bits(7);
  for (int i = 0; i < 20000; ++i) {
    // From 2^-1090 to 2^1030, where all kinds of rounding are.
    const std::uint64_t exponent = 0x3FFF - 1090 + bits() % 2120;
    const std::uint64_t head = exponent | (bits() % 2 << 15);
    std::uint64_t low = bits();
    if (i % 3 == 0) low &= ~std::uint64_t{0} << bits() % 64;  // ties
    const Item bytes = kind == LongDouble::kX86
                           ? x86(kTop | low, head, bits() & 0xFFFFFFFFFFFF)
                           : quad(head, bits() & 0xFFFFFFFFFFFF, low);
    Number number;
    std::memcpy(&number, bytes.data(), 16);
    const auto expected = static_cast<double>(number);
    const double got = decoded(kind, bytes);
    ASSERT_TRUE(same_bits(got, expected)) << got << " for " << expected;
  }
}

#if LDBL_MANT_DIG == 64
TEST(LongDoubleTest, BytesOfX86AreAsItReadsThem) {
  compare_with_machine<long double>(LongDouble::kX86);
}
#ifdef __SIZEOF_FLOAT128__
TEST(LongDoubleTest, BytesOfQuadsAreAsTheCompilerReadsThem) {
  compare_with_machine<__float128>(LongDouble::kQuad);
}
#endif
#elif LDBL_MANT_DIG == 113
TEST(LongDoubleTest, BytesOfQuadsAreAsTheMachineReadsThem) {
  compare_with_machine<long double>(LongDouble::kQuad);
}
#endif

// The double 0.79, as NumPy leaves it behind numbers of 10 bytes.
constexpr std::uint64_t kOldDouble = 0x3FE9656BF178;
constexpr std::uint64_t kOldPointer = 0x00007F9E99E9;

TEST(LongDoubleKindTest, X86IsToldByItsNumbersWhateverIsBehindThem) {
  for (const std::uint64_t rest :
       {std::uint64_t{0}, kOldPointer, kOldDouble, ~std::uint64_t{0} >> 16}) {
    SCOPED_TRACE(rest);
    Items items{x86_of(0, rest), x86_of(1, rest), x86_of(-0.1, rest),
                x86_of(0.3, rest), x86(kTop, 0x7FFF, rest)};
    EXPECT_EQ(kind_of(items), LongDouble::kX86);
    // Beyond what float64 holds.
    items.push_back(x86(kTop, 1, rest));
    items.push_back(x86(1, 0, rest));
    EXPECT_EQ(kind_of(items), LongDouble::kX86);
  }
  EXPECT_EQ(kind_of({}), LongDouble::kX86);
  EXPECT_EQ(kind_of({x86_of(0, kOldPointer)}), LongDouble::kX86);
  EXPECT_EQ(kind_of({x86_of(1), x86_of(1), x86_of(0)}), LongDouble::kX86);
  EXPECT_EQ(kind_of({x86_of(1, kOldPointer), x86_of(1, kOldDouble)}),
            LongDouble::kX86);
}

TEST(LongDoubleKindTest, QuadsAreToldByANumberThatX86DoesNotWrite) {
  EXPECT_EQ(kind_of({quad_of(0), quad_of(0.3), quad_of(1)}), LongDouble::kQuad);
  EXPECT_EQ(kind_of({quad(0x3FFD, 0x555555555555, 0x5555555555555555)}),
            LongDouble::kQuad);
  EXPECT_EQ(kind_of({quad(0x7FFF, 1), quad_of(1), quad_of(0.3)}),
            LongDouble::kQuad);
  std::mt19937_64 bits(3);
  for (int i = 0; i < 1000; ++i) {
    Items items;
    for (int k = 0; k < 40; ++k) {
      items.push_back(quad_of(static_cast<double>(bits() >> 11) * 0x1p-53));
    }
    ASSERT_EQ(kind_of(items), LongDouble::kQuad) << i;
  }
}

TEST(LongDoubleKindTest, NothingIsGuessed) {
  // As x86's, zeros with old doubles behind them.
  EXPECT_EQ(kind_of({quad_of(0), quad_of(1), quad_of(0.5)}), std::nullopt);
  EXPECT_EQ(kind_of({x86_of(0, kOldDouble), x86_of(0)}), std::nullopt);
  EXPECT_EQ(kind_of({quad_of(1), quad(0x3FFF - 2000, 0)}), std::nullopt);
  // Two numbers of x86, or quads by chance.
  EXPECT_EQ(kind_of({x86_of(0.1, kOldDouble), x86_of(0.2, kOldDouble),
                     x86_of(0.1, kOldDouble)}),
            std::nullopt);
  // No leading bit, and no number that float64 could hold.
  EXPECT_EQ(kind_of({quad_of(0.3), quad(0x3FFF - 2000, 0)}), std::nullopt);
  EXPECT_EQ(kind_of({x86(1, 0x3FFF)}), std::nullopt);
  // POWER's.
  EXPECT_EQ(kind_of({pair(1, 0), pair(-0.5, 0)}), std::nullopt);
  EXPECT_EQ(kind_of({pair(0.1, 5e-18), pair(0, 0)}), std::nullopt);
}

std::string file_of(const std::string& dtype, const Items& items) {
  return npy<Item>(dtype, items);
}

TEST(LongDoubleFileTest, IsReadAlikeFromBothKinds) {
  const Folder folder;
  const std::vector<double> numbers = {0.1, -2.5, 0, 0.7, 1, 1e-300};
  for (const bool swapped : {false, true}) {
    Items of_x86, of_quad;
    for (const double number : numbers) {
      of_x86.push_back(x86_of(number, kOldPointer));
      of_quad.push_back(quad_of(number));
      if (!swapped) continue;
      for (Items* items : {&of_x86, &of_quad}) {
        std::reverse(items->back().begin(), items->back().end());
      }
    }
    for (const Items& items : {of_x86, of_quad}) {
      const files::NpyFile file(
          folder.write("x.npy", file_of(swapped ? ">f16" : "<f16", items)));
      EXPECT_EQ(file.header().dtype(), "longdouble");
      EXPECT_TRUE(file.read(0, 6).equal(at::tensor(numbers, at::kDouble)));
      // Rows that alone could be of either kind, too.
      EXPECT_EQ(file.read(4, 5).item<double>(), 1);
    }
  }
}

TEST(LongDoubleFileTest, HoldsComplexNumbersOfBothKinds) {
  const Folder folder;
  for (const auto& make : {+[](double x) { return x86_of(x); }, &quad_of}) {
    std::string file = file_of("<f16", {make(0.3), make(-1)});
    file.replace(file.find("<f16"), 4, "<c32");
    file.replace(file.find("(2,)"), 4, "(1,)");
    const at::Tensor read =
        files::NpyFile(folder.write("x.npy", file)).read(0, 1);
    EXPECT_EQ(read.item<c10::complex<double>>(), c10::complex<double>(0.3, -1));
  }
}

TEST(LongDoubleFileTest, RefusesWhatCouldBeOfSeveralKinds) {
  const Folder folder;
  const std::string path =
      folder.write("x.npy", file_of("<f16", {quad_of(0), quad_of(1)}));
  EXPECT_THAT(
      refusal_of([&] { const files::NpyFile file(path); }),
      AllOf(HasSubstr("x.npy: expected longdouble that only x86-64 writes (80 "
                      "bits of 16 bytes) or only ARM64"),
            HasSubstr("got numbers that could be of several kinds of "
                      "processors; where they were written, save "
                      "array.astype('float64')")));
}

}  // namespace
}  // namespace tally::cli
