#include "tally/tests/testing/vector_limit.h"

#include <hwy/highway.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace tally::testkit {
namespace {

// What is compiled without any option.
constexpr std::int64_t kPlain = HWY_EMU128 | HWY_SCALAR;

std::string name_of(std::int64_t target) {
#if HWY_ARCH_X86 && !defined(HWY_SSE2)
  if ((target & kPlain) != 0) return "SSE2";
#endif
  return hwy::TargetName(target);
}

[[maybe_unused]] const bool kIsLimited = [] {
  const char* const name = std::getenv("TALLY_HWY_TARGET");
  if (name == nullptr || *name == '\0') return false;
  try {
    limit_vectors(name);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "TALLY_HWY_TARGET: %s\n", error.what());
    std::exit(1);
  }
  return true;
}();

}  // namespace

void limit_vectors(const std::string& name) {
  std::string names;
  // The best come first.
  for (std::int64_t rest = hwy::SupportedTargets(); rest != 0;
       rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    if (name == name_of(target)) {
      // Not DisableTargets: the next SupportedTargets() would choose among all.
      hwy::SetSupportedTargetsForTest(rest);
      return;
    }
    names += " " + name_of(target);
    if ((target & kPlain) != 0) break;
  }
  throw std::invalid_argument("expected one of" + names + ", got " + name);
}

}  // namespace tally::testkit
