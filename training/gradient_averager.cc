#include "tally/training/gradient_averager.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/div.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "tally/port/autograd.h"
#include "tally/sync/agree.h"
#include "tally/sync/base/condition.h"
#include "tally/sync/duplicate.h"
#include "tally/sync/exchange/gradient_layout.h"
#include "tally/sync/exchange/parameter_list.h"
#include "tally/training/gradient_buckets.h"
#include "tally/training/scale_gradients.h"

namespace tally::training {
namespace {

namespace si = sync::internal;

constexpr const char* kName = "GradientAverager";

std::vector<at::Tensor> trained(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> list;
  for (const at::Tensor& parameter : parameters) {
    TORCH_CHECK_VALUE(parameter.defined(), kName, ": expected parameters, got ",
                      "an undefined tensor");
    if (!parameter.requires_grad()) continue;
    TORCH_CHECK_VALUE(parameter.is_leaf(), kName,
                      ": expected parameters that are leaves, got a tensor of "
                      "sizes ",
                      parameter.sizes(), " that was computed");
    list.push_back(parameter);
  }
  return list;
}

using internal::GradientBucket;

/// Sums buckets one after the other, on a thread of its own.
class Summing {
 public:
  Summing(std::vector<GradientBucket>& buckets,
          sync::Communicator& communicator)
      : buckets_(buckets),
        communicator_(communicator),
        thread_([this] { run(); }) {}
  ~Summing() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  /// So many of the buckets are filled.
  void start_up_to(std::size_t buckets) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      filled_ = buckets;
    }
    changed_.notify_all();
  }
  /// Returns when all of them are summed, or throws why they will not be.
  void finish() {
    std::unique_lock<std::mutex> lock(mutex_);
    sync::internal::wait_until_done(
        changed_, lock, [&] { return error_ || summed_ == buckets_.size(); });
    filled_ = summed_ = 0;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void run() {
    const sync::AskedBy asked(kName);
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      sync::internal::wait_until_done(changed_, lock, [&] {
        return ended_ || (!error_ && summed_ < filled_);
      });
      if (ended_) return;
      GradientBucket& bucket = buckets_[summed_];
      lock.unlock();
      std::exception_ptr error;
      try {
        sync::or_give_up(communicator_, [&] { bucket.sum(communicator_); });
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      error_ = error;
      ++summed_;
      changed_.notify_all();
    }
  }

  std::vector<GradientBucket>& buckets_;
  sync::Communicator& communicator_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t filled_ = 0;
  std::size_t summed_ = 0;
  bool ended_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace

class GradientAverager::Averaging {
 public:
  Averaging(const std::vector<at::Tensor>& parameters,
            GradientAveragerOptions options)
      : communicator_(options.communicator() ? options.communicator()
                                             : sync::duplicate()) {
    const sync::Call call = this->call();
    const auto prepare = [&] {
      TORCH_CHECK_VALUE(options.bucket_bytes() > 0, kName,
                        ": expected bucket_bytes to be positive, got ",
                        options.bucket_bytes());
      parameters_ = trained(parameters);
      buckets_ = internal::make_gradient_buckets(
          kName, parameters_, options.bucket_bytes(), *communicator_);
      sync::Offer offer;
      offer.schema = c10::str("bucket_bytes ", options.bucket_bytes(), ", ",
                              internal::transport_of(buckets_, *communicator_),
                              si::list_of(parameters_));
      return offer;
    };
    if (communicator_->size() == 1) {
      prepare();
      return;
    }
    const sync::AskedBy asked = call.asked();
    sync::agree(call, prepare);
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      for (std::size_t k = 0; k < buckets_[b].parameters.size(); ++k) {
        watch(b, k);
      }
    }
    summing_ = std::make_unique<Summing>(buckets_, *communicator_);
  }

  Averaging(const Averaging&) = delete;
  Averaging& operator=(const Averaging&) = delete;

  void backward(const at::Tensor& loss, const at::Tensor& gradient) {
    if (!summing_) return loss.backward(gradient);
    begin();
    try {
      loss.backward(gradient);
    } catch (...) {
      fail(std::current_exception());
    }
    end();
  }

  double clip_grad_norm(const ClipGradientsOptions& options) const {
    internal::check(options);
    return internal::scale_gradients(parameters_, options);
  }

  std::int64_t buckets() const {
    return static_cast<std::int64_t>(buckets_.size());
  }

 private:
  sync::Call call() const { return sync::Call(kName, communicator_); }

  /// Fills a place whenever a backward pass is through with the parameter.
  void watch(std::size_t bucket, std::size_t k) {
    hooks_.emplace_back(parameters_[buckets_[bucket].parameters[k]],
                        [this, bucket, k] { arrive(bucket, k); });
  }

  void begin() {
    const std::lock_guard<std::mutex> lock(mutex_);
    arrived_.assign(parameters_.size(), false);
    waiting_.clear();
    for (const GradientBucket& bucket : buckets_) {
      waiting_.push_back(bucket.parameters.size());
    }
    bits_ = si::no_bits(parameters_.size());
    filled_ = 0;
    failure_ = nullptr;
    is_active_ = true;
  }

  void fail(std::exception_ptr error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) failure_ = std::move(error);
  }

  // The engine may call it from several threads.
  void arrive(std::size_t bucket, std::size_t k) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_active_ || failure_) return;
    const std::size_t parameter = buckets_[bucket].parameters[k];
    try {
      TORCH_CHECK(!arrived_[parameter], kName, ": parameter ", parameter,
                  " got its gradient twice in one backward pass");
      arrived_[parameter] = true;
      fill(buckets_[bucket], k);
    } catch (...) {
      failure_ = std::current_exception();
      return;
    }
    if (--waiting_[bucket] > 0) return;
    const std::size_t before = filled_;
    while (filled_ < waiting_.size() && waiting_[filled_] == 0) ++filled_;
    if (filled_ > before) summing_->start_up_to(filled_);
  }

  void fill(GradientBucket& bucket, std::size_t k) {
    const at::NoGradGuard no_grad;
    const std::size_t parameter = bucket.parameters[k];
    at::Tensor place = bucket.places[k];
    const at::Tensor& gradient = parameters_[parameter].grad();
    si::check_gradient(kName, parameter, gradient);
    if (gradient.defined()) {
      si::set_bit(bits_, parameter);
      place.copy_(si::reals(gradient));
    } else {
      place.zero_();
    }
    bucket.record_filled(k);
  }

  // What the backward pass has not come to; then all ranks know how it went.
  void end() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_active_ = false;
      for (GradientBucket& bucket : buckets_) {
        for (std::size_t k = 0; k < bucket.parameters.size() && !failure_;
             ++k) {
          if (arrived_[bucket.parameters[k]]) continue;
          try {
            fill(bucket, k);
          } catch (...) {
            failure_ = std::current_exception();
          }
        }
      }
    }
    // The others count on all sums, a failure or not.
    summing_->start_up_to(buckets_.size());
    try {
      summing_->finish();
    } catch (...) {
      if (!failure_) throw;
      std::rethrow_exception(failure_);
    }
    const sync::Call call = this->call();
    const sync::AskedBy asked = call.asked();
    const sync::Agreement all = sync::agree(call, [&] {
      if (failure_) std::rethrow_exception(failure_);
      sync::Offer offer;
      offer.payload = bits_;
      return offer;
    });
    for (const std::string_view bits : all.payloads) {
      si::add_bits(kName, bits_, bits);
    }
    write_back();
  }

  void write_back() const {
    const at::NoGradGuard no_grad;
    const at::Tensor ranks =
        at::scalar_tensor(communicator_->size(), at::kDouble);
    for (const GradientBucket& bucket : buckets_) {
      bucket.wait_until_summed();
      for (std::size_t k = 0; k < bucket.parameters.size(); ++k) {
        const std::size_t i = bucket.parameters[k];
        if (!si::has_bit(bits_, i)) continue;
        at::Tensor gradient = si::reals(si::ensure_gradient(parameters_[i]));
        if (gradient.device() == bucket.flat.device()) {
          at::div_out(gradient, bucket.places[k], ranks);
        } else {
          gradient.copy_(bucket.places[k].div(ranks));
        }
      }
    }
  }

  std::shared_ptr<sync::Communicator> communicator_;
  std::vector<at::Tensor> parameters_;
  std::vector<GradientBucket> buckets_;
  std::mutex mutex_;
  bool is_active_ = false;
  std::vector<bool> arrived_;
  std::vector<std::size_t> waiting_;  // parameters, by bucket
  std::size_t filled_ = 0;            // buckets, from the first on
  std::string bits_;                  // parameters that have a gradient
  std::exception_ptr failure_;
  std::unique_ptr<Summing> summing_;
  std::vector<port::AccumulatedHook> hooks_;  // destroyed first
};

GradientAverager::GradientAverager(const std::vector<at::Tensor>& parameters,
                                   GradientAveragerOptions options)
    : averaging_(std::make_unique<Averaging>(parameters, std::move(options))) {}

GradientAverager::GradientAverager(const torch::nn::Module& module,
                                   GradientAveragerOptions options)
    : GradientAverager(module.parameters(), std::move(options)) {}

GradientAverager::~GradientAverager() = default;

void GradientAverager::backward(const at::Tensor& loss,
                                const at::Tensor& gradient) {
  averaging_->backward(loss, gradient);
}

double GradientAverager::clip_grad_norm(
    const ClipGradientsOptions& options) const {
  return averaging_->clip_grad_norm(options);
}

std::int64_t GradientAverager::buckets() const { return averaging_->buckets(); }

}  // namespace tally::training
