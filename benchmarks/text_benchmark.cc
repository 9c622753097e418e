// What metrics of texts cost for the sentences of two files: see README.md.
//
//   text_benchmark HYPOTHESES REFERENCES
//
// prints a line "METRIC MILLISECONDS VALUE" for each.

#include <ATen/Parallel.h>
#include <tally/metrics/text/text.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "benchmarks/measure.h"

namespace {

using Texts = std::vector<std::string>;

Texts lines_of(const char* path) {
  std::ifstream file(path);
  Texts lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// CPU time on one thread, which others disturb least, else wall-clock time.
template <class Work>
double milliseconds(const Work& work) {
  if (at::get_num_threads() > 1) {
    return tally::benchmarks::microseconds(work) / 1000;
  }
  const std::clock_t start = std::clock();
  work();
  return 1000 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// The shortest of several times.
template <class Work>
double least_milliseconds(const Work& work) {
  constexpr int kRounds = 15;
  double least = 0;
  for (int i = 0; i < kRounds; ++i) {
    const double time = milliseconds(work);
    least = i == 0 ? time : std::min(least, time);
  }
  return least;
}

template <class M>
void measure(const Texts& preds, const Texts& target,
             typename M::Options options = {}) {
  const M metric(options);
  double value = 0;
  const double time = least_milliseconds([&] {
    value =
        metric.evaluate(metric.observe(preds, target)).template item<double>();
  });
  std::printf("%s %.3f %.12f\n", M::kName, time, value);
}

// Every byte of both.
void measure_reading(const Texts& preds, const Texts& target) {
  unsigned sum = 0;
  const double time = least_milliseconds([&] {
    for (const Texts* texts : {&preds, &target}) {
      for (const std::string& text : *texts) {
        for (const char c : text) sum += static_cast<unsigned char>(c);
      }
    }
  });
  std::printf("read %.3f %u\n", time, sum);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: text_benchmark HYPOTHESES REFERENCES\n");
    return 2;
  }
  const Texts preds = lines_of(argv[1]);
  const Texts target = lines_of(argv[2]);
  std::printf("threads %d 0\n", at::get_num_threads());
  measure_reading(preds, target);
  measure<tally::WordErrorRate>(preds, target);
  measure<tally::MatchErrorRate>(preds, target);
  measure<tally::CharErrorRate>(preds, target);
  measure<tally::EditDistance>(preds, target);
  measure<tally::TranslationEditRate>(preds, target);
  return 0;
}
