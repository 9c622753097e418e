#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace tally::files {

/// What processors write as NumPy's longdouble of 16 bytes, whose dtype says
/// '<f16' for all of them.
enum class LongDouble {
  kX86,   ///< 10 bytes with a leading bit of their own, and 6 of any content
  kQuad,  ///< IEEE's binary128: ARM64, RISC-V and others
};

/// Tells the two apart by all items of an array: single ones may look like
/// either. Items have their least byte first.
///
/// An array is x86's only if each item has the leading bit that its exponent
/// asks for, as every second quad lacks it. It is read as quad only if an item
/// is not x86's, and all are 0, not finite, or numbers that float64 could
/// hold: the bytes that x86 leaves as they were make others. Where all items
/// could be either, three different numbers of x86 within 2^-64 to 2^64 decide:
/// quads look so once in 2^27 arrays. What is left is ambiguous, as 0 and 1 of
/// quads are zeros of x86.
class LongDoubleEvidence {
 public:
  void add(const char* items, std::int64_t count);
  /// Nothing if the items could be both, are neither, or could be two doubles
  /// each, as POWER writes them.
  std::optional<LongDouble> kind() const;

 private:
  using Number = std::array<char, 10>;

  bool x86_ = true;
  bool quad_ = true;
  bool pairs_ = true;
  bool any_x86_ = false;             // a number of x86 that is not 0
  bool any_quad_ = false;            // a quad that is not 0
  bool any_pair_ = false;            // a pair that is not 0
  std::vector<Number> x86_numbers_;  // different ones, up to those that decide
};

/// Converts to the nearest doubles, as processors do, with ties to even.
void to_doubles(LongDouble kind, const char* items, std::int64_t count,
                double* into);

}  // namespace tally::files
