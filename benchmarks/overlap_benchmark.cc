// Metrics of translations, summaries and tags: see README.md.

#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <c10/util/StringUtil.h>
#include <tally/metrics/text/text.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "benchmarks/gain.h"
#include "benchmarks/target.h"

namespace {

using namespace tally;
using Texts = std::vector<std::string>;
using TextRows = std::vector<Texts>;

constexpr std::size_t kPairs = 10'000;
constexpr std::size_t kWords = 20;

struct Corpus {
  Texts preds, target;
  TextRows pred_tags, target_tags;
};

// The same on every machine: distributions of the library may differ.
class Draw {
 public:
  std::size_t below(std::size_t count) { return random_() % count; }
  bool chance(double of) { return below(1'000'000) < of * 1'000'000; }

 private:
  std::mt19937 random_{7};
};

Texts vocabulary(Draw& draw) {
  constexpr std::string_view kLetters = "eeeettaaooiinnsshhrrddlcumwfgypbvk";
  constexpr const char* kEndings[] = {"", "", "s", "ed", "ing", "ation", "ly"};
  Texts words(5000);
  for (std::string& word : words) {
    for (std::size_t i = 2 + draw.below(7); i > 0; --i) {
      word += kLetters[draw.below(kLetters.size())];
    }
    word += kEndings[draw.below(std::size(kEndings))];
  }
  return words;
}

std::string sentence(const Texts& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : " ") + words[i] + (i == kWords / 2 ? "," : "");
  }
  return text + ".";
}

Texts tags(Draw& draw) {
  constexpr const char* kTypes[] = {"PER", "LOC", "ORG", "MISC"};
  Texts made;
  while (made.size() < kWords) {
    if (draw.chance(0.7)) {
      made.push_back("O");
      continue;
    }
    const std::string type = kTypes[draw.below(std::size(kTypes))];
    made.push_back("B-" + type);
    while (draw.chance(0.4)) made.push_back("I-" + type);
  }
  made.resize(kWords);
  return made;
}

const Corpus& corpus() {
  static const Corpus made = [] {
    Draw draw;
    const Texts words = vocabulary(draw);
    // Frequent words first, about as frequent as their places say.
    const auto word = [&] {
      const double u = (1.0 + draw.below(1'000'000)) / 1'000'000;
      return words[static_cast<std::size_t>(std::pow(words.size(), u)) - 1];
    };
    Corpus corpus;
    for (std::size_t i = 0; i < kPairs; ++i) {
      Texts target, preds;
      for (std::size_t j = 0; j < kWords; ++j) {
        target.push_back(word());
        if (!draw.chance(0.05)) {
          preds.push_back(draw.chance(0.12) ? word() : target.back());
        }
        if (draw.chance(0.05)) preds.push_back(word());
      }
      corpus.preds.push_back(sentence(preds));
      corpus.target.push_back(sentence(target));
      corpus.target_tags.push_back(tags(draw));
      corpus.pred_tags.push_back(corpus.target_tags.back());
      for (std::string& tag : corpus.pred_tags.back()) {
        if (draw.chance(0.1)) tag = draw.chance(0.5) ? "O" : "B-PER";
      }
    }
    return corpus;
  }();
  return made;
}

// For peers: a sentence in a line, its tags with blanks between them.
bool write(const std::string& folder) {
  std::ofstream preds(folder + "/preds.txt"), target(folder + "/target.txt");
  std::ofstream pred_tags(folder + "/pred_tags.txt");
  std::ofstream target_tags(folder + "/target_tags.txt");
  const auto line = [](const Texts& tags) {
    return c10::Join(" ", tags) + "\n";
  };
  for (std::size_t i = 0; i < kPairs; ++i) {
    preds << corpus().preds[i] << "\n";
    target << corpus().target[i] << "\n";
    pred_tags << line(corpus().pred_tags[i]);
    target_tags << line(corpus().target_tags[i]);
  }
  return preds && target && pred_tags && target_tags;
}

// Every byte of both sides.
void read() {
  const auto sum_of = [](const Texts& texts) {
    return at::parallel_reduce(
        0, static_cast<std::int64_t>(texts.size()), 64, std::int64_t{0},
        [&](std::int64_t begin, std::int64_t end, std::int64_t sum) {
          for (std::int64_t i = begin; i < end; ++i) {
            for (const char c : texts[static_cast<std::size_t>(i)]) sum += c;
          }
          return sum;
        },
        [](std::int64_t a, std::int64_t b) { return a + b; });
  };
  benchmark::DoNotOptimize(sum_of(corpus().preds) + sum_of(corpus().target));
}

template <class Metric>
void evaluate(const typename Metric::Options& options) {
  constexpr bool kTags =
      std::is_same_v<typename Metric::Options, EntityScoreOptions>;
  Metric metric(options);
  if constexpr (kTags) {
    metric.update(corpus().pred_tags, corpus().target_tags);
  } else {
    metric.update(corpus().preds, corpus().target);
  }
  benchmark::DoNotOptimize(metric.compute());
}

template <class Metric>
void add(const std::string& name, typename Metric::Options options = {}) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [options](benchmark::State& state) {
                                 corpus();
                                 for (auto _ : state) {
                                   evaluate<Metric>(options);
                                 }
                               })
      ->Unit(benchmark::kMillisecond)
      ->MeasureProcessCPUTime();
  if (at::get_num_threads() == 1) return;
  constexpr int kRounds = 100;
  benchmark::RegisterBenchmark(("gain/" + name).c_str(),
                               [options](benchmark::State& state) {
                                 corpus();
                                 tally::benchmarks::compare_threads(
                                     state, [&] { evaluate<Metric>(options); },
                                     {{"reading", read}});
                               })
      ->Iterations(kRounds);
}

void add_all() {
  for (const auto tokenizer :
       {BleuTokenizer::k13a, BleuTokenizer::kIntl, BleuTokenizer::kZh,
        BleuTokenizer::kChar, BleuTokenizer::kNone}) {
    add<SacreBLEUScore>(
        std::string("SacreBLEUScore/") +
            EnumNames<BleuTokenizer>::kNames[static_cast<int>(tokenizer)],
        SacreBLEUScoreOptions().tokenize(tokenizer));
  }
  add<CHRFScore>("CHRFScore/chrF", CHRFScoreOptions().n_word_order(0));
  add<CHRFScore>("CHRFScore/chrF++");
  add<ROUGEScore>("ROUGEScore/plain");
  add<ROUGEScore>("ROUGEScore/stemmed", ROUGEScoreOptions().use_stemmer(true));
  add<EntityF1Score>("EntityF1Score/default");
  add<EntityF1Score>(
      "EntityF1Score/strict",
      EntityScoreOptions().mode(TagMode::kStrict).scheme(TagScheme::kIOB2));
  add<WordErrorRate>("WordErrorRate");
  add<MatchErrorRate>("MatchErrorRate");
  add<CharErrorRate>("CharErrorRate");
  add<TranslationEditRate>("TranslationEditRate");
  add<ExtendedEditDistance>("ExtendedEditDistance");
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view kWrite = "--write=";
  if (argc == 2 && std::string_view(argv[1]).substr(0, 8) == kWrite) {
    if (write(argv[1] + kWrite.size())) return 0;
    std::cerr << "cannot write to " << argv[1] + kWrite.size() << "\n";
    return 1;
  }
  tally::benchmarks::take_target(&argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
