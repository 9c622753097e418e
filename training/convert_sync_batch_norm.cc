#include <torch/nn/modules/container/any.h>
#include <torch/nn/modules/container/sequential.h>

#include <unordered_map>
#include <utility>
#include <vector>

#include "tally/training/sync_batch_norm.h"

namespace tally::training {
namespace {

using torch::nn::AnyModule;
using torch::nn::Module;
using torch::nn::SequentialImpl;

std::string describe(const std::shared_ptr<sync::Communicator>& communicator) {
  return communicator ? communicator->describe() : "the default communicator";
}

// Finds all that has to be exchanged before anything is.
class Conversion {
 public:
  explicit Conversion(std::shared_ptr<sync::Communicator> communicator)
      : communicator_(std::move(communicator)) {}

  // `path` is empty or ends in a dot.
  void collect(Module& module, const std::string& path) {
    auto* const sequential = module.as<SequentialImpl>();
    std::ptrdiff_t index = -1;
    for (const auto& child : module.named_children()) {
      ++index;
      const std::string name = path + child.key();
      require_same_ranks<SyncBatchNorm1dImpl>(*child.value(), name);
      require_same_ranks<SyncBatchNorm2dImpl>(*child.value(), name);
      require_same_ranks<SyncBatchNorm3dImpl>(*child.value(), name);
      if (!replace<torch::nn::BatchNorm1d, SyncBatchNorm1d>(child.value(),
                                                            name) &&
          !replace<torch::nn::BatchNorm2d, SyncBatchNorm2d>(child.value(),
                                                            name) &&
          !replace<torch::nn::BatchNorm3d, SyncBatchNorm3d>(child.value(),
                                                            name)) {
        collect(*child.value(), name + ".");
        continue;
      }
      TORCH_CHECK_VALUE(
          sequential != nullptr,
          "convert_sync_batch_norm: expected batch norms in Sequentials, got ",
          name, " in ", module.name(),
          ", whose forward() calls a member of type BatchNorm; declare it as "
          "SyncBatchNorm, made of options or of a BatchNorm");
      places_.push_back({sequential, index, child.key(), child.value().get()});
    }
  }

  std::size_t carry_out() {
    for (const Place& place : places_) {
      const AnyModule& module = made_.at(place.held);
      place.holder->replace_module(place.key, module.ptr());
      *(place.holder->begin() + place.index) = module;
    }
    return places_.size();
  }

 private:
  struct Place {
    SequentialImpl* holder;
    std::ptrdiff_t index;
    std::string key;
    const Module* held;
  };

  template <class Impl>
  void require_same_ranks(const Module& module, const std::string& name) const {
    const auto* const norm = module.as<Impl>();
    TORCH_CHECK_VALUE(
        norm == nullptr || norm->options.communicator() == communicator_,
        "convert_sync_batch_norm: expected ", name, " to have ",
        describe(communicator_), ", got a SyncBatchNorm of ",
        describe(norm->options.communicator()));
  }

  // One for all places that hold the same batch norm.
  template <class From, class To>
  bool replace(const std::shared_ptr<Module>& module, const std::string& name) {
    using Impl = typename From::ContainedType;
    auto norm = std::dynamic_pointer_cast<Impl>(module);
    if (!norm) return false;
    if (made_.count(module.get()) == 0) {
      To made(From(std::move(norm)), communicator_);
      made->options.name(name);
      made_.emplace(module.get(), AnyModule(made));
    }
    return true;
  }

  std::shared_ptr<sync::Communicator> communicator_;
  std::vector<Place> places_;
  std::unordered_map<const Module*, AnyModule> made_;
};

}  // namespace

std::size_t convert_sync_batch_norm(
    Module& module, std::shared_ptr<sync::Communicator> communicator) {
  TORCH_CHECK_VALUE(module.as<torch::nn::BatchNorm1d>() == nullptr &&
                        module.as<torch::nn::BatchNorm2d>() == nullptr &&
                        module.as<torch::nn::BatchNorm3d>() == nullptr,
                    "convert_sync_batch_norm: expected a module that holds "
                    "batch norms, got ",
                    module.name(), "; make a SyncBatchNorm of it");
  Conversion conversion(std::move(communicator));
  conversion.collect(module, "");
  return conversion.carry_out();
}

}  // namespace tally::training
