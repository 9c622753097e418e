#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "tally/testing/ranks_test.h"
#include "tally/tests/testing/free_port.h"

namespace tally::testkit {

/// Ranks that connect by their environment.
class InitFixture : public ::testing::Test {
 protected:
  static RanksOptions ranks_options() {
    RanksOptions options;
    options.connect = false;
    return options;
  }
  /// "NAME=value" sets, "NAME" removes.
  static void change_environment(const std::vector<std::string>& changes) {
    for (const std::string& change : changes) {
      const auto end = change.find('=');
      if (end == std::string::npos) {
        unsetenv(change.c_str());
      } else {
        setenv(change.substr(0, end).c_str(), change.c_str() + end + 1, 1);
      }
    }
  }
  /// Of the FileStore that the environment names.
  static std::string store_path() { return std::getenv("TALLY_STORE"); }
  /// What `make()` gives rank 0, on every rank.
  template <class Make>
  static std::string from_rank_zero(const Rank& self, const Make& make) {
    if (self.rank() == 0) self.store()->set("from rank 0", make());
    return self.store()->get_to_str("from rank 0");
  }
  static std::string agreed_port(const Rank& self) {
    return from_rank_zero(self, free_port);
  }
};

}  // namespace tally::testkit
