#include "tally/metrics/warnings.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "tally/metrics/core/accumulation.h"
#include "tally/sync/communicator.h"

namespace tally {
namespace {

thread_local WarningGuard::Handler* handler = nullptr;

void give(const MetricWarning& warning) {
  if (handler != nullptr) {
    (*handler)(warning);
  } else {
    TORCH_WARN(warning.message());
  }
}

}  // namespace

std::string MetricWarning::message(const std::string& first_place) const {
  std::string sentence = metric + ": " + text;
  if (count > 0) {
    sentence += " in " + std::to_string(count) + " of " + std::to_string(rows) +
                (rows == 1 ? " row" : " rows");
  }
  if (!first_place.empty()) {
    sentence += ", first " + first_place;
  } else if (first >= 0) {
    sentence += ", first row " + std::to_string(first);
  }
  if (!advice.empty()) sentence += "; " + advice;
  return sentence;
}

WarningGuard::WarningGuard(Handler own)
    : handler_(std::move(own)), outer_(std::exchange(handler, &handler_)) {}

WarningGuard::~WarningGuard() { handler = outer_; }

namespace internal {

std::vector<KindOfNotes> notes_of(c10::ArrayRef<const AnyState*> states,
                                  RowParts parts) {
  std::vector<KindOfNotes> kinds;
  const auto add = [&](const Note& note) {
    const auto same =
        std::find_if(kinds.begin(), kinds.end(), [&](const KindOfNotes& each) {
          return &each.note.kind() == &note.kind();
        });
    if (same == kinds.end()) {
      kinds.push_back({note, parts != RowParts::kResampled});
    } else if (parts != RowParts::kDisjoint) {
      if (same->note.count() < note.count()) same->note = note;
    } else {
      same->knows_first =
          same->knows_first && (same->note.rows() == 0 || note.rows() == 0);
      same->note.append(note);
    }
  };
  for (const AnyState* state : states) {
    for (const Field& field : state->fields()) {
      if (field.kind == Field::Kind::kNote) add(field.as_note());
    }
  }
  return kinds;
}

GivenWarnings::GivenWarnings(const GivenWarnings& other)
    : parts_(other.parts_) {
  const std::lock_guard<std::mutex> lock(other.mutex_);
  kinds_ = other.kinds_;
  names_ = other.names_;
  remarked_ = other.remarked_;
}

void GivenWarnings::give(const std::string& metric,
                         c10::ArrayRef<const AnyState*> states,
                         c10::ArrayRef<std::string> remarks, bool speaks) {
  std::vector<MetricWarning> fresh;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [note, knows_first] : notes_of(states, parts_)) {
      const NoteKind& kind = note.kind();
      if (note.count() == 0 ||
          std::find(kinds_.begin(), kinds_.end(), &kind) != kinds_.end()) {
        continue;
      }
      kinds_.push_back(&kind);
      fresh.push_back({metric, kind.name, note.count(), note.rows(),
                       knows_first ? note.first() : -1, kind.text,
                       kind.advice});
    }
    if (!std::exchange(remarked_, true)) {
      for (const std::string& remark : remarks) {
        fresh.push_back({metric, "", 0, 0, -1, remark, ""});
      }
    }
  }
  if (!speaks) return;
  for (const MetricWarning& warning : fresh) tally::give(warning);
}

void GivenWarnings::give(const MetricWarning& warning, bool speaks) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::find(names_.begin(), names_.end(), warning.name) != names_.end()) {
      return;
    }
    names_.push_back(warning.name);
  }
  if (speaks) tally::give(warning);
}

void Accumulation::add_remarks(std::size_t column,
                               const std::vector<std::string>& remarks) {
  auto& own = columns_[column].remarks;
  own.insert(own.end(), remarks.begin(), remarks.end());
  may_warn_ = may_warn_ || !own.empty();
}

namespace {

bool may_warn(const StateColumn& column) {
  return column.has_notes || !column.remarks.empty();
}

void warn_of(const std::string& label, const std::vector<std::string>& remarks,
             GivenWarnings& given, const StateRows& rows, std::size_t column,
             bool speaks) {
  std::vector<const AnyState*> states;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    states.push_back(&rows.state(r, column));
  }
  given.give(label, states, remarks, speaks);
}

}  // namespace

void Accumulation::warn(
    const StateRows& rows,
    const std::shared_ptr<sync::Communicator>& ranks) const {
  const bool speaks =
      ranks ? ranks->rank() == 0 : !synced_ || communicator()->rank() == 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const StateColumn& column = columns_[c];
    if (!may_warn(column)) continue;
    warn_of(column.label, column.remarks, *column.given, rows, c, speaks);
  }
}

std::function<void(const StateRows&)> Accumulation::warn_later() const {
  if (!may_warn_) return [](const StateRows&) {};
  // Even when this object is gone.
  struct Warner {
    std::string label;
    std::vector<std::string> remarks;
    std::shared_ptr<GivenWarnings> given;
    std::size_t column;
  };
  std::vector<Warner> warners;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const StateColumn& column = columns_[c];
    if (!may_warn(column)) continue;
    warners.push_back({column.label, column.remarks, column.given, c});
  }
  return [warners = std::move(warners),
          speaks = communicator()->rank() == 0](const StateRows& rows) {
    for (const Warner& each : warners) {
      warn_of(each.label, each.remarks, *each.given, rows, each.column, speaks);
    }
  };
}

void Accumulation::warn_of_own_rows() const {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const StateColumn& column = columns_[c];
    if (!column.has_notes) continue;
    const AnyState& local = cell(last_row(), c).local;
    const Fields fields = local.fields();
    const bool any =
        std::any_of(fields.begin(), fields.end(), [](const Field& field) {
          return field.kind == Field::Kind::kNote &&
                 field.as_note().count() > 0;
        });
    if (any && communicator()->rank() == 0) {
      column.given->give(column.label, &local, {}, /*speaks=*/true);
    }
  }
}

}  // namespace internal
}  // namespace tally
