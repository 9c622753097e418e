#include "tally/testing/rank.h"

#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "tally/testing/internal/rank_state.h"

namespace tally::testkit {

Rank::Rank(std::shared_ptr<internal::RankState> state)
    : state_(std::move(state)) {}

int Rank::rank() const noexcept { return state_->rank(); }
int Rank::size() const noexcept { return state_->size(); }

const std::shared_ptr<sync::Communicator>& Rank::group() const {
  return state_->group();
}

c10::intrusive_ptr<c10d::ProcessGroup> Rank::process_group() const {
  return state_->process_group();
}

c10::intrusive_ptr<c10d::Store> Rank::store() const {
  return state_->host().store();
}

std::string Rank::folder() const { return state_->host().folder(); }

void Rank::barrier() const { state_->host().barrier(); }

void Rank::inject(const Fault& fault, int rank, std::int64_t call) const {
  state_->check_rank("inject", rank);
  if (rank == state_->rank()) state_->inject(fault, call);
}

void Rank::die(int signal) const {
  state_->host().die(signal);
  std::abort();  // GCC does not take a virtual function's [[noreturn]]
}

void Rank::exit(int code) const {
  state_->host().exit(code);
  std::abort();
}

void Rank::stop() const { state_->host().stop(); }

void Rank::resume(int rank) const {
  state_->check_rank("resume", rank);
  state_->host().resume(rank);
}

void Rank::wait_for_end(int rank) const {
  state_->check_rank("wait_for_end", rank);
  state_->host().wait_for_end(rank);
}

void Rank::wait_for_stop(int rank) const {
  state_->check_rank("wait_for_stop", rank);
  state_->host().wait_for_stop(rank);
}

}  // namespace tally::testkit
