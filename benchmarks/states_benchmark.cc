// The time of states as bytes beside that of copying as many: see README.md.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/measure.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/portable/any_metric.h"

namespace {

constexpr std::int64_t kRows = 5'000'000;  // 25 MB
constexpr int kRounds = 15;

// What nobody reads would not be written.
volatile char last;

/// Into memory that is new, as that of the others.
void copy(const std::string& bytes) {
  const std::unique_ptr<char[]> to(new char[bytes.size()]);
  std::memcpy(to.get(), bytes.data(), bytes.size());
  last = to[bytes.size() - 1];
}

}  // namespace

int main() {
  using tally::benchmarks::microseconds;
  using tally::benchmarks::quantile;
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(1);
  tally::BinaryAUROC metric;
  metric.update(at::rand({kRows}, generator),
                at::randint(0, 2, {kRows}, generator));
  const std::string bytes = metric.to_bytes();
  std::vector<double> copied, written, read, made;
  tally::BinaryAUROC other;
  for (int round = 0; round < kRounds; ++round) {
    copied.push_back(microseconds([&] { copy(bytes); }));
    written.push_back(microseconds([&] { metric.serialize(); }));
    read.push_back(microseconds([&] { (void)other.deserialize(bytes); }));
    made.push_back(microseconds([&] { (void)tally::from_bytes(bytes); }));
  }
  const double base = quantile(copied, 0.5);
  std::printf(
      "%.1f MB: copy %.0f us, serialize %.2f, deserialize %.2f, from_bytes "
      "%.2f times that\n",
      static_cast<double>(bytes.size()) / 1e6, base,
      quantile(written, 0.5) / base, quantile(read, 0.5) / base,
      quantile(made, 0.5) / base);
}
