#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/testing/internal/rank_process.h"
#include "tally/testing/internal/runner.h"
#include "tally/testing/internal/thread_runner.h"
#include "tally/testing/rank.h"

// Implementation of the macros in ranks_test.h.

namespace tally::testkit::internal {

template <int... kRanks>
struct RankCounts {
  static_assert(sizeof...(kRanks) > 0,
                "expected the numbers of ranks after the name of the test");
  static_assert(((kRanks > 0) && ...),
                "expected numbers of ranks of 1 or more");
  static constexpr bool distinct() {
    const int counts[] = {kRanks..., 0};
    for (std::size_t i = 0; i < sizeof...(kRanks); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (counts[i] == counts[j]) return false;
      }
    }
    return true;
  }
  static_assert(distinct(), "expected each number of ranks once");
};

inline std::string name_with(const char* name, int ranks) {
  return std::string(name) + "/ranks" + std::to_string(ranks);
}

/// A body with its fixture's ranks_options(), which may be protected.
template <class Body>
class WithOptions : public Body {
 protected:
  static RanksOptions options() { return find<WithOptions>(0); }

 private:
  template <class Self>
  static auto find(int) -> decltype(Self::ranks_options()) {
    return Self::ranks_options();
  }
  template <class Self>
  static RanksOptions find(...) {
    return {};
  }
};

/// A body on processes: starts them in the runner, and runs as one of them in a
/// rank's process. `Body` has the fixture's members, kFile, kLine and
/// body(self).
template <class Body, int kRanks>
class ProcessCase : public WithOptions<Body> {
 protected:
  void SetUp() override {
    if (rank_process() == nullptr) return;
    enter_test(this->options());
    Body::SetUp();
  }
  void TearDown() override {
    if (rank_process() != nullptr) Body::TearDown();
  }

 private:
  void TestBody() override {
    if (rank_process() == nullptr) {
      run_ranks(kRanks, this->options(), {Body::kFile, Body::kLine});
    } else {
      run_in_process([this](Rank& self) { Body::body(self); });
    }
  }
};

/// A body on threads.
template <class Body, int kRanks>
class ThreadCase : public WithOptions<Body> {
 protected:
  void SetUp() override {}
  void TearDown() override {}

 private:
  class OneRank final : public Body {
   public:
    void set_up() { Body::SetUp(); }
    void tear_down() { Body::TearDown(); }

   private:
    void TestBody() override {}
  };

  void TestBody() override {
    std::vector<std::unique_ptr<OneRank>> objects;
    std::vector<ThreadBody> bodies;
    for (int rank = 0; rank < kRanks; ++rank) {
      objects.push_back(std::make_unique<OneRank>());
      OneRank* const object = objects.back().get();
      bodies.push_back({[object] { object->set_up(); },
                        [object](Rank& self) { object->body(self); },
                        [object] { object->tear_down(); }});
    }
    run_threads(bodies, this->options(), {Body::kFile, Body::kLine});
  }
};

template <template <class, int> class Case, class Fixture, class Body,
          int... kRanks>
bool register_tests(const char* suite, const char* name,
                    RankCounts<kRanks...>) {
  rank_process();
  (::testing::RegisterTest(suite, name_with(name, kRanks).c_str(), nullptr,
                           nullptr, Body::kFile, Body::kLine,
                           []() -> Fixture* { return new Case<Body, kRanks>; }),
   ...);
  return true;
}

template <template <class, int> class Case, class Fixture, class Body,
          int... kRanks>
bool register_tests_with_values(const char* suite, const char* name,
                                RankCounts<kRanks...>) {
  rank_process();
  const ::testing::internal::CodeLocation place(Body::kFile, Body::kLine);
  auto* const patterns = ::testing::UnitTest::GetInstance()
                             ->parameterized_test_registry()
                             .GetTestSuitePatternHolder<Fixture>(suite, place);
  (patterns->AddTestPattern(
       suite, name_with(name, kRanks).c_str(),
       new ::testing::internal::TestMetaFactory<Case<Body, kRanks>>(), place),
   ...);
  return true;
}

template <template <class, int> class Case, template <class> class Body,
          int kRanks>
struct Typed {
  template <class Type>
  class Test : public Case<Body<Type>, kRanks> {};
};

}  // namespace tally::testkit::internal

#define TALLY_TESTKIT_CLASS_(suite, name) suite##_##name##_RanksTest

// `registrar` is one of the functions above.
#define TALLY_TESTKIT_REGISTERED_(registrar, suite, name, fixture, kind, ...) \
  class TALLY_TESTKIT_CLASS_(suite, name) : public fixture {                  \
   public:                                                                    \
    static constexpr const char* kFile = __FILE__;                            \
    static constexpr int kLine = __LINE__;                                    \
    void body(::tally::testkit::Rank& self);                                  \
    static const bool kRegistered;                                            \
  };                                                                          \
  const bool TALLY_TESTKIT_CLASS_(suite, name)::kRegistered =                 \
      ::tally::testkit::internal::registrar<                                  \
          ::tally::testkit::internal::kind, fixture,                          \
          TALLY_TESTKIT_CLASS_(suite, name)>(                                 \
          #suite, #name,                                                      \
          ::tally::testkit::internal::RankCounts<__VA_ARGS__>());             \
  void TALLY_TESTKIT_CLASS_(                                                  \
      suite, name)::body([[maybe_unused]] ::tally::testkit::Rank& self)

#define TALLY_TESTKIT_RANKS_TEST_(suite, name, fixture, kind, ...)      \
  TALLY_TESTKIT_REGISTERED_(register_tests, suite, name, fixture, kind, \
                            __VA_ARGS__)

#define TALLY_TESTKIT_RANKS_TEST_P_(fixture, name, kind, ...)          \
  TALLY_TESTKIT_REGISTERED_(register_tests_with_values, fixture, name, \
                            fixture, kind, __VA_ARGS__)

#define TALLY_TESTKIT_TYPED_RANKS_TEST_(fixture, name, kind, ...)             \
  template <class TypeParameter>                                              \
  class TALLY_TESTKIT_CLASS_(fixture, name) : public fixture<TypeParameter> { \
   public:                                                                    \
    using TestFixture = fixture<TypeParameter>;                               \
    using TypeParam = TypeParameter;                                          \
    static constexpr const char* kFile = __FILE__;                            \
    static constexpr int kLine = __LINE__;                                    \
    void body(::tally::testkit::Rank& self);                                  \
  };                                                                          \
  template <int... kRanks>                                                    \
  static bool tally_register_##fixture##_##name(                              \
      ::tally::testkit::internal::RankCounts<kRanks...>) {                    \
    ::tally::testkit::internal::rank_process();                               \
    (::testing::internal::TypeParameterizedTest<                              \
         fixture,                                                             \
         ::testing::internal::TemplateSel<::tally::testkit::internal::Typed<  \
             ::tally::testkit::internal::kind,                                \
             TALLY_TESTKIT_CLASS_(fixture, name), kRanks>::template Test>,    \
         GTEST_TYPE_PARAMS_(fixture)>::                                       \
         Register(                                                            \
             "", ::testing::internal::CodeLocation(__FILE__, __LINE__),       \
             #fixture,                                                        \
             ::tally::testkit::internal::name_with(#name, kRanks).c_str(), 0, \
             ::testing::internal::GenerateNames<                              \
                 GTEST_NAME_GENERATOR_(fixture),                              \
                 GTEST_TYPE_PARAMS_(fixture)>()),                             \
     ...);                                                                    \
    return true;                                                              \
  }                                                                           \
  [[maybe_unused]] static const bool tally_registered_##fixture##_##name =    \
      tally_register_##fixture##_##name(                                      \
          ::tally::testkit::internal::RankCounts<__VA_ARGS__>());             \
  template <class TypeParameter>                                              \
  void TALLY_TESTKIT_CLASS_(fixture, name)<TypeParameter>::body(              \
      [[maybe_unused]] ::tally::testkit::Rank& self)
