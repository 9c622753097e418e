#pragma once

#include <c10/util/StringUtil.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tally::testkit::internal {

/// A violation of a law.
struct Finding {
  std::string what;     ///< the same for runs that fail in the same way
  std::string details;  ///< location and values
  std::string text() const { return details.empty() ? what : what + details; }
};

/// The violations found while checking a law.
class Findings {
 public:
  void add(std::string what, const std::string& details = "") {
    std::string text;
    for (const std::string& place : places_) text += "\n  " + place;
    if (!details.empty()) text += "\n  " + details;
    list_.push_back({std::move(what), std::move(text)});
  }
  void expect(bool holds, const std::string& what) {
    if (!holds) add(what);
  }
  void expect(const ::testing::AssertionResult& result,
              const std::string& what) {
    if (!result) add(what, result.message());
  }
  template <class A, class B>
  void expect_equal(const A& actual, const B& expected,
                    const std::string& what) {
    if (actual != expected) {
      add(what, c10::str("got ", actual, ", expected ", expected));
    }
  }

  bool empty() const { return list_.empty(); }
  const std::vector<Finding>& list() const { return list_; }

  /// Sets the location of findings during its lifetime.
  class Within {
   public:
    Within(Findings& findings, std::string place) : places_(findings.places_) {
      places_.push_back(std::move(place));
    }
    ~Within() { places_.pop_back(); }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    std::vector<std::string>& places_;
  };

 private:
  std::vector<Finding> list_;
  std::vector<std::string> places_;
};

}  // namespace tally::testkit::internal
