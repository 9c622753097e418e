#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tally/losses/common/loss_summary.h"
#include "tally/metrics/options.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// A loss of any kind, made by name; see make_loss().
class Loss {
 public:
  virtual ~Loss() = default;

  /// What its module's forward() takes, as LossEntry::inputs lists it,
  /// undefined where omitted; and what it gives, as LossEntry::results lists
  /// it. Throws c10::ValueError for another number of tensors, and what
  /// forward() throws.
  virtual std::vector<at::Tensor> forward(
      const std::vector<at::Tensor>& inputs) = 0;
  /// Of ClipLoss: logits per image and per text. Others throw c10::Error.
  virtual std::vector<at::Tensor> logits(const std::vector<at::Tensor>& inputs);
  /// Of LFQ and VectorQuantize, as theirs. Others throw c10::Error.
  virtual at::Tensor indices_to_codes(const at::Tensor& indices,
                                      bool project_out = true);
  /// In place of the module's own buffers of these names.
  virtual void set_buffers(const std::map<std::string, at::Tensor>&) {}

  /// The module, such as a DiceLossImpl; it lives as long as this.
  virtual torch::nn::Module& module() = 0;
};

/// What make_loss() is told besides the text.
struct LossRanks {
  /// Null: sync::default_communicator().
  std::shared_ptr<sync::Communicator> communicator = nullptr;
  /// How long a step may wait for other ranks; none: the communicator's. Losses
  /// without such an option, LFQ and VectorQuantize, SoftRank and SoftSort,
  /// throw c10::ValueError if it is given.
  sync::Timeout timeout = {};
};

/// The description of a loss.
struct LossEntry {
  /// With values of the options that have no default:
  /// "VectorQuantize(dim=4, codebook_size=16)".
  std::string example() const { return name + "(" + summary.required + ")"; }

  std::string name;
  LossSummary summary;
  std::vector<OptionInfo> options;
  /// Of forward(); those that may be omitted end in "?".
  std::vector<std::string> inputs;
  /// Of forward(); empty: one tensor.
  std::vector<std::string> results;
  std::unique_ptr<Loss> (*make)(
      const std::map<std::string, std::string>& options,
      const LossRanks& ranks);
};

/// All losses by name, in alphabetical order.
const std::map<std::string, LossEntry>& loss_entries();

/// Throws c10::ValueError for an unknown name, suggesting the closest one.
const LossEntry& loss_entry(const std::string& name);

/// The loss that the text describes, as a metric's does (see MetricSpec).
/// Throws c10::ValueError that describes the error; for unknown names and
/// options it suggests the closest one.
///
///     auto loss = losses::make_loss("DiceLoss(mode=binary, smooth_nr=1)");
///     at::Tensor value = loss->forward({preds, target})[0];
std::unique_ptr<Loss> make_loss(std::string_view text,
                                const LossRanks& ranks = {});

}  // namespace tally::losses
