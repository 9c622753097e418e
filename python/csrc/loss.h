#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/nn/module.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tally/metrics/options.h"
#include "tally/python/csrc/groups.h"

namespace tally::python {

/// A loss of any kind.
class Loss {
 public:
  virtual ~Loss() = default;

  /// What its forward() takes, in that order, undefined where left out; and its
  /// result or results. Throws c10::ValueError for another number of tensors.
  virtual c10::IValue forward(const std::vector<at::Tensor>& inputs) = 0;
  /// Of ClipLoss; others throw.
  virtual c10::IValue logits(const std::vector<at::Tensor>& inputs);
  /// Of LFQ and VectorQuantize; others throw.
  virtual at::Tensor indices_to_codes(const at::Tensor& indices,
                                      bool project_out);
  /// In place of the module's own of these names.
  virtual void set_buffers(const std::map<std::string, at::Tensor>&) {}

  virtual torch::nn::Module& module() = 0;
};

/// What is known of a loss by name.
struct LossEntry {
  const char* what;
  /// Options without a default.
  std::vector<std::string> required;
  std::vector<OptionInfo> options;
  /// Of forward(); those that may be left out end in "?".
  std::vector<std::string> inputs;
  /// Of forward(); empty: one tensor.
  std::vector<std::string> results;
  std::unique_ptr<Loss> (*make)(const std::string& name,
                                const std::map<std::string, std::string>& texts,
                                const Group& group,
                                const std::optional<double>& timeout);
};

const std::map<std::string, LossEntry>& losses_by_name();

}  // namespace tally::python
