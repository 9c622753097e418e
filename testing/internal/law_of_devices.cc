#include <c10/util/StringUtil.h>

#include <exception>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tally/testing/internal/law_check.h"

namespace tally::testkit::internal {
namespace {

constexpr int kRanks = 2;

// Whether it has tensors with a device: numbers of the CPU have none.
bool has_device(const Batch& batch) {
  bool any = false;
  for (const BatchInput& input : batch) {
    input.with_tensors([&](const at::Tensor& tensor) {
      any = any || (tensor.defined() && tensor.dim() > 0);
      return tensor;
    });
  }
  return any;
}

Results on_cpu(const Results& results) {
  Results moved;
  for (const auto& [name, value] : results) {
    moved.add(name, value.defined() ? value.detach().cpu() : value);
  }
  return moved;
}

}  // namespace

void LawCheck::check_step_on_device(const Results& actual,
                                    const Results& expected, const char* step) {
  const Findings::Within within(findings_, step);
  findings_.expect(near(on_cpu(actual), expected, near_),
                   "on the device is another value than on the CPU");
  for (const auto& [name, value] : actual) {
    if (!value.defined()) continue;
    findings_.expect_equal(value.device(), *options().device(),
                           "the device of the result");
  }
}

void LawCheck::check_device() {
  std::vector<Batch> moved;
  for (const Batch& batch : batches()) {
    moved.push_back(moved_to(*options().device(), batch));
  }
  const auto host = make();
  const auto metric = make();
  for (std::size_t i = 0; i + 1 < moved.size(); ++i) {
    update(*host, batches()[i]);
    update(*metric, moved[i]);
  }
  const Results expected = forward(*host, batches().back());
  check_step_on_device(forward(*metric, moved.back()), expected, "forward()");
  check_step_on_device(metric->compute_results(), whole(), "compute()");
  check_step_on_device(metric->clone()->compute_results(), whole(), "clone()");
  check_load_on_device(moved);
  check_refusal_on_device(*metric);
  metric->to(at::kCPU);
  const Results back = metric->compute_results();
  findings_.expect(near(back, whole(), near_),
                   "to(cpu) has another value than the CPU");
  for (const auto& [name, value] : back) {
    if (!value.defined()) continue;
    findings_.expect(value.is_cpu(), "a result after to(cpu) is not there");
  }
  metric->reset();
  update(*metric, moved);
  check_step_on_device(metric->compute_results(), whole(), "reset()");
  check_given_device(moved);
  check_ranks_on_device(moved);
}

// Of all batches but the last one, from bytes that were saved on the device.
void LawCheck::check_load_on_device(const std::vector<Batch>& moved) {
  const c10::Device device = *options().device();
  const auto most =
      made_of(std::vector<Batch>(moved.begin(), std::prev(moved.end())));
  const std::string saved = most->serialize();
  const auto loaded = [&](bool moves_before, bool moves_after) {
    auto metric = make();
    if (moves_before) metric->to(device);
    const absl::Status status = metric->deserialize(saved);
    findings_.expect(status.ok(), "bytes of the device are rejected");
    if (moves_after) metric->to(device);
    return metric;
  };
  for (const bool before : {false, true}) {
    for (const bool after : {false, true}) {
      const auto metric = loaded(before, after);
      update(*metric, moved.back());
      check_step_on_device(metric->compute_results(), whole(),
                           "update() after deserialize()");
    }
  }
  const auto last = made_of({moved.back()});
  const auto onto_loaded = loaded(false, false);
  onto_loaded->merge_state(*last);
  check_step_on_device(onto_loaded->compute_results(), whole(),
                       "merge_state() into what was loaded");
  most->merge_state(*last);
  check_step_on_device(most->compute_results(), whole(), "merge_state()");
  const auto first = made_of({moved.front()});
  const auto rest = make();
  const std::string bytes =
      made_of(std::vector<Batch>(std::next(moved.begin()), moved.end()))
          ->serialize();
  findings_.expect(rest->deserialize(bytes).ok(),
                   "bytes of the device are rejected");
  first->merge_state(*rest);
  check_step_on_device(first->compute_results(), whole(),
                       "merge_state() of what was loaded");
}

void LawCheck::check_refusal_on_device(Metric& metric) {
  if (!has_device(batches().back())) return;
  const std::string before = metric.serialize();
  const std::string words = c10::str(
      ": expected inputs on ", *options().device(),
      ", where its state is, got them on cpu; to(device) moves the state");
  try {
    update(metric, batches().back());
    findings_.add("a batch on the CPU is taken after those on the device");
  } catch (const c10::ValueError& error) {
    const std::string text = error.what_without_backtrace();
    findings_.expect(text.find(words) != std::string::npos,
                     "a batch on the CPU is refused in other words: " + text);
  }
  findings_.expect(metric.serialize() == before,
                   "a refused batch on the CPU changed the state");
}

// What to() has moved stays there: nothing, after a reset and a load.
void LawCheck::check_given_device(const std::vector<Batch>& moved) {
  const Results nothing = make()->compute_results();
  const auto metric = make();
  metric->to(*options().device());
  check_step_on_device(metric->compute_results(), nothing, "to(device)");
  update(*metric, moved);
  const std::string saved = metric->serialize();
  metric->reset();
  check_step_on_device(metric->compute_results(), nothing,
                       "to(device), reset()");
  findings_.expect(metric->deserialize(saved).ok(),
                   "bytes of the device are rejected");
  check_step_on_device(metric->compute_results(), whole(),
                       "to(device), deserialize()");
}

void LawCheck::check_ranks_on_device(const std::vector<Batch>& moved) {
  const auto check = [&](const char* who, auto&& has) {
    const Findings::Within within(findings_, who);
    std::vector<Results> values = on_ranks<Results>(
        kRanks, findings_, [&](sync::Communicator& communicator) {
          const auto metric = make();
          for (std::size_t i = 0; i < moved.size(); ++i) {
            if (has(communicator.rank(), i)) update(*metric, moved[i]);
          }
          return metric->compute_results();
        });
    for (const Results& each : values) {
      check_step_on_device(each, whole(), "compute() over two ranks");
    }
    if (values.empty()) return;
    findings_.expect(same_bits(on_cpu(values[1]), on_cpu(values[0])),
                     "ranks have other bits");
  };
  check("rank 0 has no data", [](int rank, std::size_t) { return rank == 1; });
  check("rank 1 has no data", [](int rank, std::size_t) { return rank == 0; });
  check("both have data",
        [](int rank, std::size_t i) { return (i > 0) == (rank > 0); });
}

}  // namespace tally::testkit::internal
