#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tally::internal {

/// What several metrics find out about the same batch, found out once: while an
/// object of this class lives, on its thread. A collection has one around what
/// its members observe; one inside another does nothing. Nobody may change the
/// batch meanwhile.
class SharedWork {
 public:
  SharedWork();
  ~SharedWork();
  SharedWork(const SharedWork&) = delete;
  SharedWork& operator=(const SharedWork&) = delete;

  /// What make() returned for these inputs before, or returns now. `key` says
  /// what is made, of which type, and all that it depends on besides.
  template <class T>
  static std::shared_ptr<const T> of(const std::string& key,
                                     const std::vector<at::Tensor>& inputs,
                                     const std::function<T()>& make) {
    return std::static_pointer_cast<const T>(
        find(key, inputs, [&] { return std::make_shared<const T>(make()); }));
  }

 private:
  struct Entry {
    std::string key;
    std::vector<at::Tensor> inputs;  // kept, so that no other has their address
    std::shared_ptr<const void> work;
  };
  static std::shared_ptr<const void> find(
      const std::string& key, const std::vector<at::Tensor>& inputs,
      const std::function<std::shared_ptr<const void>()>& make);

  bool is_outer_;
  std::vector<Entry> entries_;
};

}  // namespace tally::internal
