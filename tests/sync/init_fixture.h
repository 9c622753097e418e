#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
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
  static std::string agreed_port(const Rank& self) {
    if (self.rank() == 0) self.store()->set("port", free_port());
    return self.store()->get_to_str("port");
  }
  /// Rank 0 gets what a launcher would host; all ranks get its port.
  static std::string host_store(const Rank& self,
                                c10::intrusive_ptr<c10d::TCPStore>& store) {
    if (self.rank() == 0) {
      c10d::TCPStoreOptions options;
      options.port = 0;
      options.isServer = true;
      options.waitWorkers = false;
      store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
      self.store()->set("port", std::to_string(store->getPort()));
    }
    return self.store()->get_to_str("port");
  }
};

}  // namespace tally::testkit
