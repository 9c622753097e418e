#pragma once

#include <c10/util/intrusive_ptr.h>

#include <string>

namespace c10d {
class Store;
}  // namespace c10d

namespace tally::testkit::internal {

/// A rank's requests to the test's runner; see Rank.
class Host {
 public:
  virtual ~Host() = default;

  virtual c10::intrusive_ptr<c10d::Store> store() = 0;
  virtual std::string folder() = 0;
  virtual void barrier() = 0;
  [[noreturn]] virtual void die(int signal) = 0;
  [[noreturn]] virtual void exit(int code) = 0;
  virtual void stop() = 0;
  virtual void resume(int rank) = 0;
  virtual void wait_for_end(int rank) = 0;
  virtual void wait_for_stop(int rank) = 0;
};

}  // namespace tally::testkit::internal
