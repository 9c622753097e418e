#include "tally/losses/check_distributed_gradients.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "tally/losses/gradient_comparison.h"
#include "tally/losses/gradient_reference.h"
#include "tally/state/codec.h"
#include "tally/sync/agree.h"
#include "tally/sync/fingerprint.h"

namespace tally::losses {
namespace {

using sync::Agreement;
using sync::Call;
using sync::Offer;
using TensorVector = std::vector<at::Tensor>;
using Loss = std::function<at::Tensor(const TensorVector&)>;
using Parameters = std::vector<std::pair<std::string, at::Tensor>>;
using Options = CheckDistributedGradientsOptions;

std::int64_t checked_rows(const TensorVector& batch) {
  TORCH_CHECK_VALUE(!batch.empty(), "expected a batch of at least one tensor");
  for (std::size_t i = 0; i < batch.size(); ++i) {
    TORCH_CHECK_VALUE(batch[i].defined() && batch[i].dim() > 0,
                      "expected rows in every tensor of the batch, got none in "
                      "input ",
                      i);
    TORCH_CHECK_VALUE(batch[i].size(0) == batch[0].size(0), "expected ",
                      batch[0].size(0), " rows in input ", i, ", got ",
                      batch[i].size(0));
  }
  return batch[0].size(0);
}

void check_parameters(const Parameters& parameters) {
  for (const auto& [name, parameter] : parameters) {
    TORCH_CHECK_VALUE(
        parameter.defined() && parameter.is_leaf() && parameter.requires_grad(),
        "expected parameter '", name,
        "' to be a leaf that requires a gradient");
  }
}

std::vector<std::int64_t> deal(std::int64_t rows, int ranks,
                               const Options& options) {
  if (!options.rows().empty()) {
    std::int64_t sum = 0;
    bool valid = options.rows().size() == static_cast<std::size_t>(ranks);
    for (std::int64_t count : options.rows()) {
      valid = valid && count >= 0;
      sum += count;
    }
    TORCH_CHECK_VALUE(valid && sum == rows, "expected ", ranks,
                      " numbers of rows that add up to ", rows, ", got ",
                      c10::IntArrayRef(options.rows()));
    return options.rows();
  }
  const bool idle = options.shards() == ShardSizes::kIdle && ranks > 1;
  const int busy = idle ? ranks - 1 : ranks;
  std::vector<std::int64_t> shares(static_cast<std::size_t>(ranks));
  std::int64_t left = rows;
  for (int r = busy - 1; r >= 0; --r) {
    // Of what is left, a part by weight r + 1 among the ranks up to here, such
    // that one row remains for each of the others.
    const std::int64_t by_weight = options.shards() == ShardSizes::kEven
                                       ? (left + r) / (r + 1)
                                       : (2 * left + r + 1) / (r + 2);
    shares[r] = std::max<std::int64_t>(std::min(by_weight, left - r),
                                       std::min<std::int64_t>(left, 1));
    left -= shares[r];
  }
  return shares;
}

// The narrowest dtype that gradients pass through.
at::ScalarType narrowest(const TensorVector& batch,
                         const Parameters& parameters) {
  at::ScalarType result = at::kDouble;
  const auto see = [&](const at::Tensor& tensor) {
    const at::ScalarType dtype = c10::toRealValueType(tensor.scalar_type());
    if (at::isFloatingType(dtype) &&
        c10::elementSize(dtype) < c10::elementSize(result)) {
      result = dtype;
    }
  };
  for (const at::Tensor& tensor : batch) see(tensor);
  for (const auto& [name, parameter] : parameters) see(parameter);
  return result;
}

double tolerance_of(at::ScalarType dtype) {
  if (dtype == at::kDouble) return 1e-9;
  return dtype == at::kFloat ? 1e-4 : 0.05;
}

bool differentiable(const at::Tensor& tensor) {
  return tensor.is_floating_point() || tensor.is_complex();
}

std::string input_name(std::size_t i) { return c10::str("input ", i); }

// What all ranks must have in common, one line per item.
std::string schema_of(const TensorVector& batch, const Parameters& parameters,
                      const Options& options,
                      const std::vector<std::int64_t>& rows) {
  std::string text = c10::str(
      "rows ", c10::IntArrayRef(rows), ", tolerance ", options.tolerance(),
      ", gradients ",
      options.gradients() == GradientReduction::kMean ? "averaged" : "summed",
      ", seed ", options.seed(), '\n');
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    std::string bytes;
    Encoder(bytes).tensor(tensor);
    text += c10::str(name, ": ", tensor.scalar_type(), ' ', tensor.sizes(),
                     ", values with checksum ", sync::fingerprint(bytes), '\n');
  };
  for (std::size_t i = 0; i < batch.size(); ++i) {
    add(input_name(i), batch[i]);
  }
  for (const auto& [name, parameter] : parameters) {
    add("parameter " + name, parameter);
  }
  return text;
}

struct Run {
  double loss = 0;
  TensorVector
      parameters;  ///< gradients, float64 on the CPU; undefined for none
  TensorVector inputs;
};

at::Tensor as_double(const at::Tensor& gradient) {
  if (!gradient.defined()) return gradient;
  const at::Tensor plain = gradient.detach().cpu();
  return plain.to(plain.is_complex() ? at::kComplexDouble : at::kDouble);
}

// Puts parameters' gradients aside for as long as it lives.
class GradientsAside {
 public:
  explicit GradientsAside(const Parameters& parameters)
      : parameters_(parameters) {
    for (const auto& [name, parameter] : parameters_) {
      aside_.push_back(std::exchange(parameter.mutable_grad(), at::Tensor()));
    }
  }
  ~GradientsAside() {
    for (std::size_t i = 0; i < aside_.size(); ++i) {
      parameters_[i].second.mutable_grad() = aside_[i];
    }
  }
  GradientsAside(const GradientsAside&) = delete;
  GradientsAside& operator=(const GradientsAside&) = delete;

 private:
  const Parameters& parameters_;
  TensorVector aside_;
};

// A parameter with other values for as long as it lives.
class Moved {
 public:
  Moved(const at::Tensor& parameter, const at::Tensor& values)
      : memory_(parameter.detach()), before_(memory_.clone()) {
    memory_.copy_(values);
  }
  ~Moved() { memory_.copy_(before_); }
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;

 private:
  at::Tensor memory_, before_;
};

// With every source of randomness as in the last call.
at::Tensor evaluate(const Loss& loss, const TensorVector& batch,
                    const Options& options) {
  at::manual_seed(options.seed());
  const at::Tensor value = loss(batch);
  TORCH_CHECK_VALUE(value.defined() && value.numel() == 1 &&
                        value.is_floating_point() && value.requires_grad(),
                    "expected the loss to be one number with a graph, got ",
                    value.defined()
                        ? c10::str(value.toString(), ' ', value.sizes())
                        : "nothing");
  return value.sum();
}

TensorVector rows_of(const TensorVector& batch, std::int64_t first,
                     std::int64_t rows) {
  TensorVector shard;
  for (const at::Tensor& tensor : batch) {
    shard.push_back(tensor.detach().narrow(0, first, rows).clone());
    if (differentiable(tensor)) shard.back().set_requires_grad(true);
  }
  return shard;
}

Run run(const Loss& loss, const TensorVector& shard,
        const Parameters& parameters, const Options& options,
        std::shared_ptr<sync::Communicator> communicator) {
  const sync::CommunicatorGuard ranks(std::move(communicator));
  const at::AutoGradMode record(true);
  const GradientsAside aside(parameters);
  const at::Tensor value = evaluate(loss, shard, options);
  value.backward();
  Run result;
  result.loss = value.item<double>();
  for (const auto& [name, parameter] : parameters) {
    result.parameters.push_back(as_double(parameter.grad()));
  }
  for (const at::Tensor& tensor : shard) {
    result.inputs.push_back(as_double(tensor.grad()));
  }
  return result;
}

// Holds what `run` says against differences of the loss in one process.
internal::ReferenceCheck check_derivatives(const Loss& loss,
                                           const TensorVector& batch,
                                           const Parameters& parameters,
                                           const Run& run,
                                           const Options& options) {
  const sync::CommunicatorGuard alone(sync::single_process_communicator());
  const at::AutoGradMode record(true);
  const auto loss_of = [&](const TensorVector& rows) {
    return evaluate(loss, rows_of(rows, 0, rows[0].size(0)), options)
        .item<double>();
  };
  std::vector<internal::ReferenceGradient> gradients;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!differentiable(batch[i])) continue;
    gradients.push_back({input_name(i), run.inputs[i], batch[i],
                         [&, i](const at::Tensor& point) {
                           TensorVector moved = batch;
                           moved[i] = point;
                           return loss_of(moved);
                         }});
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, parameter] = parameters[i];
    gradients.push_back({name, run.parameters[i], parameter,
                         [&, value = parameter](const at::Tensor& point) {
                           const Moved there(value, point);
                           return loss_of(batch);
                         }});
  }
  return internal::check_reference(gradients, run.loss);
}

std::string encode(const Run& run) {
  std::string bytes;
  Encoder encoder(bytes);
  encoder.real(run.loss);
  for (const at::Tensor& gradient : run.parameters) encoder.tensor(gradient);
  for (const at::Tensor& gradient : run.inputs) encoder.tensor(gradient);
  return bytes;
}

Run decode(std::string_view bytes, const Run& like) {
  Decoder decoder(bytes);
  Run run;
  run.loss = decoder.real();
  for (std::size_t i = 0; i < like.parameters.size(); ++i) {
    run.parameters.push_back(decoder.tensor());
  }
  for (std::size_t i = 0; i < like.inputs.size(); ++i) {
    run.inputs.push_back(decoder.tensor());
  }
  return run;
}

at::Tensor or_zeros(const at::Tensor& gradient, const at::Tensor& like) {
  if (gradient.defined()) return gradient;
  const at::Tensor plain = like.detach().cpu();
  return at::zeros_like(
      plain.to(plain.is_complex() ? at::kComplexDouble : at::kDouble));
}

bool exact_loss(const DistributedGradientReport& report, double rounding) {
  double sum = 0;
  for (double loss : report.rank_losses) sum += loss;
  const double size = std::abs(report.loss);
  const auto near = [&](double loss) {
    return std::abs(loss - report.loss) <=
           report.tolerance * size + rounding * std::max(1.0, size);
  };
  return near(sum / static_cast<double>(report.rank_losses.size())) ||
         (report.gradients == GradientReduction::kSum && near(sum));
}

}  // namespace

DistributedGradientReport check_distributed_gradients(
    const Loss& loss, const TensorVector& batch, const Parameters& parameters,
    const Options& options) {
  const Call call("check_distributed_gradients", options.communicator());
  DistributedGradientReport report;
  Run whole;
  // The ranks agree on what is checked, and that the loss works at all.
  sync::agree(call, [&] {
    TORCH_CHECK_VALUE(loss, "expected a loss, got none");
    TORCH_CHECK_VALUE(options.tolerance() >= 0,
                      "expected a tolerance of at least 0, got ",
                      options.tolerance());
    const std::int64_t rows = checked_rows(batch);
    check_parameters(parameters);
    report.rows = deal(rows, call.size(), options);
    report.gradients = options.gradients();
    report.dtype = narrowest(batch, parameters);
    report.tolerance = options.tolerance() > 0 ? options.tolerance()
                                               : tolerance_of(report.dtype);
    whole = run(loss, rows_of(batch, 0, rows), parameters, options,
                sync::single_process_communicator());
    if (options.check_reference()) {
      internal::ReferenceCheck reference =
          check_derivatives(loss, batch, parameters, whole, options);
      report.cut_in_reference = std::move(reference.cut);
      report.unchecked_in_reference = std::move(reference.unchecked);
    }
    Offer offer;
    offer.schema = schema_of(batch, parameters, options, report.rows);
    return offer;
  });

  std::int64_t first = 0;
  for (int r = 0; r < call.rank(); ++r) first += report.rows[r];
  Run own;
  std::exception_ptr failed;
  try {
    own = run(loss, rows_of(batch, first, report.rows[call.rank()]), parameters,
              options, call.communicator);
  } catch (const sync::SyncError&) {
    throw;  // as on every rank
  } catch (const std::exception&) {
    failed = std::current_exception();
  }
  const Agreement agreement = sync::agree(call, [&] {
    if (failed) std::rethrow_exception(failed);
    Offer offer;
    offer.payload = encode(own);
    return offer;
  });
  std::vector<Run> runs;
  for (const std::string_view payload : agreement.payloads) {
    runs.push_back(decode(payload, own));
    report.rank_losses.push_back(runs.back().loss);
  }

  report.loss = whole.loss;
  const double rounding = internal::rounding_of(report.dtype, report.tolerance);
  report.loss_exact = exact_loss(report, rounding);
  report.same_rows = internal::same_rows(batch, report.rows);
  const double divisor =
      options.gradients() == GradientReduction::kMean ? call.size() : 1;
  TensorVector all_of_whole = whole.parameters;
  all_of_whole.insert(all_of_whole.end(), whole.inputs.begin(),
                      whole.inputs.end());
  const internal::GradientComparison comparison(all_of_whole, report.tolerance,
                                                rounding);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, parameter] = parameters[i];
    const at::Tensor expected = or_zeros(whole.parameters[i], parameter);
    at::Tensor sum = at::zeros_like(expected);
    for (const Run& of_rank : runs) {
      sum = sum.add(or_zeros(of_rank.parameters[i], parameter));
    }
    report.parameters.push_back(
        comparison.compare(name, sum.div(divisor), expected));
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!differentiable(batch[i])) continue;
    TensorVector parts;
    std::int64_t begin = 0;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      parts.push_back(or_zeros(runs[r].inputs[i],
                               batch[i].narrow(0, begin, report.rows[r])));
      begin += report.rows[r];
    }
    report.inputs.push_back(comparison.compare_rows(
        input_name(i), at::cat(parts).div(divisor),
        or_zeros(whole.inputs[i], batch[i]), report.rows));
  }
  return report;
}

}  // namespace tally::losses
