#include "tally/metrics/checkpoint/rank_checkpoint.h"

#include <unistd.h>

#include <exception>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "tally/metrics/checkpoint/checkpoint.h"
#include "tally/metrics/checkpoint/file.h"
#include "tally/metrics/checkpoint/rank_places.h"
#include "tally/metrics/common/status_text.h"
#include "tally/state/codec.h"
#include "tally/sync/agree.h"
#include "tally/sync/exchange/state_sync.h"

namespace tally::internal {
namespace {

using Kind = CheckpointOrigin::Kind;

std::string schema_of(const CheckpointRows& rows) {
  std::string text = rows.rules != nullptr ? rows.rules->owner : "";
  for (const StateColumn& column : rows.columns) {
    text += column.label + " = " + column.key.text() + " {" +
            column.identity.fields().schema() + "}\n";
  }
  return text;
}

sync::Call call_of(const char* verb, const Accumulation& accumulation,
                   CheckpointRanks ranks) {
  const char* mode =
      ranks == CheckpointRanks::kOneFile ? "kOneFile" : "kFilePerRank";
  return sync::Call(c10::str(verb, "(path, CheckpointRanks::", mode, ") of ",
                             accumulation.label()),
                    accumulation.communicator(),
                    accumulation.options().timeout());
}

/// What all ranks know of a step that each of them has taken.
struct Outcome {
  absl::Status status;             // that of the first rank which failed
  std::vector<std::string> notes;  // by rank
};

/// `work(note)` on every rank. Collective.
Outcome all_do(const sync::Call& call, const std::string& schema,
               c10::function_ref<absl::Status(std::string& note)> work) {
  const sync::AskedBy asked = call.asked();
  const sync::Agreement all = sync::agree(call, [&] {
    std::string note;
    const absl::Status status = work(note);
    sync::Offer offer;
    offer.schema = schema;
    Encoder encoder(offer.payload);
    encoder.integer(status.raw_code());
    encoder.text(message_of(status));
    encoder.text(note);
    return offer;
  });
  Outcome outcome;
  for (int r = 0; r < call.size(); ++r) {
    Decoder decoder(all.payloads[static_cast<std::size_t>(r)]);
    const auto code = static_cast<absl::StatusCode>(decoder.integer());
    std::string text = decoder.text();
    outcome.notes.push_back(decoder.text());
    if (code == absl::StatusCode::kOk || !outcome.status.ok()) continue;
    if (call.size() > 1) text = c10::str("rank ", r, ": ", text);
    outcome.status = absl::Status(code, text.c_str());
  }
  return outcome;
}

/// The same on rank 0 alone.
Outcome first_does(const sync::Call& call, const std::string& schema,
                   c10::function_ref<absl::Status(std::string& note)> work) {
  return all_do(call, schema, [&](std::string& note) {
    return call.rank() == 0 ? work(note) : absl::OkStatus();
  });
}

absl::Status read_rows_file(const std::string& path, CheckpointRows& rows,
                            CheckOrigin check) {
  std::string bytes;
  const absl::Status status = read_file(path, bytes, check_checkpoint);
  return status.ok() ? read_checkpoint(bytes, rows, check) : status;
}

// --- One file

/// Replaces what this rank has by what all have. Rows of which only the value
/// is left are the same on all ranks.
void take_merged(Accumulation& accumulation,
                 const std::shared_ptr<sync::Communicator>& ranks,
                 CheckpointRows& rows) {
  StoredRows all = *accumulation.merge_ranks(sync::internal::MetricCall::kSave,
                                             ranks, /*cached=*/false);
  for (std::size_t r = 0; r < rows.keys.size(); ++r) {
    if (rows.values[r].empty()) continue;
    all.add_row(rows.keys[r], rows.columns.size());
    all.values.back() = rows.values[r];
  }
  all.sort();
  static_cast<StoredRows&>(rows) = std::move(all);
}

absl::Status save_one_file(const sync::Call& call, Accumulation& accumulation,
                           const std::string& spec, const std::string& path,
                           StatePart part) {
  CheckpointRows rows = accumulation.checkpoint();
  const std::string schema = schema_of(rows);
  Outcome begun = all_do(call, schema, [&](std::string& note) {
    Encoder encoder(note);
    rows.sources.write(encoder);
    note += encode_place(rows);
    try {
      Sources().set_part(part);
    } catch (const c10::ValueError& error) {
      return invalid_argument(error.what_without_backtrace());
    }
    return absl::OkStatus();
  });
  if (!begun.status.ok()) return begun.status;
  try {
    if (call.size() > 1) take_merged(accumulation, call.communicator, rows);
  } catch (const c10::ValueError& error) {
    // All ranks' keys together are too many: on every rank.
    return precondition(error.what_without_backtrace());
  }
  for (std::string& note : begun.notes) {
    Decoder decoder(note);
    rows.sources = rows.sources.merged(Sources::read(decoder));
    note.erase(0, note.size() - decoder.remaining());
  }
  rows.sources.set_part(part);
  const absl::Status same = go_on_after(begun.notes, rows);
  if (!same.ok()) return same;
  CheckpointOrigin origin;
  origin.kind = Kind::kAllRanks;
  origin.ranks = call.size();
  return first_does(call, schema,
                    [&](std::string&) {
                      return write_file(path,
                                        write_checkpoint(rows, origin, &spec));
                    })
      .status;
}

absl::Status check_one_file(const CheckpointOrigin& origin) {
  switch (origin.kind) {
    case Kind::kUnknown:
    case Kind::kAllRanks:
      return absl::OkStatus();
    case Kind::kOneRank:
      return precondition(
          c10::str("the checkpoint holds only the state of rank ", origin.rank,
                   " of ", origin.ranks, "; expected that of all ranks"));
    case Kind::kFiles:
      break;
  }
  return check_own(origin, {});
}

absl::Status load_one_file(const sync::Call& call, Accumulation& accumulation,
                           const std::string& path) {
  CheckpointRows rows = accumulation.empty_rows();
  const Outcome read =
      first_does(call, schema_of(rows), [&](std::string& note) {
        const absl::Status status = read_rows_file(path, rows, check_one_file);
        note = encode_place(rows);
        return status;
      });
  if (!read.status.ok()) return read.status;
  const absl::Status same = go_on_after(read.notes, rows);
  if (!same.ok()) return same;
  accumulation.take(std::move(rows));
  return absl::OkStatus();
}

// --- A file for each rank
//
// The file of the name that is given says which the others are. It is written
// last: until then, that name stands for the files of the save before. Saves
// take turns at two names.

std::string file_of(const std::string& path, const CheckpointOrigin& files,
                    std::int64_t rank) {
  return c10::str(path, files.turn == 0 ? ".a.rank" : ".b.rank", rank);
}

absl::Status read_files(const std::string& path, CheckpointOrigin& files) {
  CheckpointRows none;
  return read_rows_file(path, none, [&](const CheckpointOrigin& origin) {
    if (origin.kind != Kind::kFiles) {
      return precondition(
          origin.kind == Kind::kAllRanks
              ? "the checkpoint is a single file for all ranks; use load with "
                "CheckpointRanks::kOneFile"
              : "the checkpoint does not consist of one file per rank");
    }
    files = origin;
    return absl::OkStatus();
  });
}

std::string encode_files(const CheckpointOrigin& files) {
  std::string note;
  Encoder encoder(note);
  encoder.integer(files.ranks);
  encoder.integer(files.set);
  encoder.integer(files.turn);
  return note;
}

CheckpointOrigin decode_files(Decoder& decoder) {
  CheckpointOrigin files;
  files.kind = Kind::kFiles;
  files.ranks = decoder.integer();
  files.set = decoder.integer();
  files.turn = decoder.integer();
  return files;
}

absl::Status save_files(const sync::Call& call,
                        const Accumulation& accumulation,
                        const std::string& spec, const std::string& path,
                        StatePart part) {
  const CheckpointRows rows = accumulation.checkpoint();
  const std::string schema = schema_of(rows);
  const Outcome begun = first_does(call, schema, [&](std::string& note) {
    if (part.count != 0) {
      return invalid_argument(
          c10::str("expected no part with a file for each rank, got "
                   "part ",
                   part.index, " of ", part.count));
    }
    CheckpointOrigin before, now;
    const bool replaces = read_files(path, before).ok();
    if (!replaces) before.ranks = 0;
    now.ranks = call.size();
    now.set = static_cast<std::int64_t>(std::random_device()());
    now.turn = replaces ? 1 - before.turn : 0;
    note = encode_files(now) + encode_files(before);
    return absl::OkStatus();
  });
  if (!begun.status.ok()) return begun.status;
  Decoder decoder(begun.notes[0]);
  CheckpointOrigin files = decode_files(decoder);
  const CheckpointOrigin before = decode_files(decoder);
  CheckpointOrigin own = files;
  own.kind = Kind::kOneRank;
  own.rank = call.rank();
  const std::string file = file_of(path, files, call.rank());
  Outcome written = all_do(call, schema, [&](std::string&) {
    return write_file(file, write_checkpoint(rows, own, &spec));
  });
  if (written.status.ok()) {
    written = first_does(call, schema, [&](std::string&) {
      return write_file(path, write_checkpoint({}, files));
    });
  }
  if (!written.status.ok()) {
    ::unlink(file.c_str());
    return written.status;
  }
  for (std::int64_t r = call.rank(); r < before.ranks; r += call.size()) {
    ::unlink(file_of(path, before, r).c_str());
  }
  return written.status;
}

/// Adds what rank `r` had.
absl::Status merge_file(const std::string& path, const CheckpointOrigin& files,
                        std::int64_t r, const CheckpointRows& empty,
                        std::optional<CheckpointRows>& rows) {
  CheckpointRows more = empty;
  const std::string file = file_of(path, files, r);
  const absl::Status status =
      read_rows_file(file, more, [&](const CheckpointOrigin& origin) {
        if (origin.kind == Kind::kOneRank && origin.rank == r &&
            origin.ranks == files.ranks && origin.set == files.set) {
          return absl::OkStatus();
        }
        return precondition(file + " belongs to another save than " + path);
      });
  if (!status.ok()) return status;
  if (!rows) {
    rows = std::move(more);
    return status;
  }
  try {
    merge_rows(rows->columns, rows->rules, std::move(more), *rows);
  } catch (const c10::ValueError& error) {
    return precondition(file +
                        " does not fit the others: " + sync::describe(error));
  }
  return status;
}

absl::Status load_files(const sync::Call& call, Accumulation& accumulation,
                        const std::string& path) {
  const CheckpointRows empty = accumulation.empty_rows();
  const std::string schema = schema_of(empty);
  const Outcome begun = first_does(call, schema, [&](std::string& note) {
    CheckpointOrigin files;
    const absl::Status status = read_files(path, files);
    note = encode_files(files);
    return status;
  });
  if (!begun.status.ok()) return begun.status;
  Decoder decoder(begun.notes[0]);
  const CheckpointOrigin files = decode_files(decoder);
  std::optional<CheckpointRows> rows;
  const Outcome read = all_do(call, schema, [&](std::string& note) {
    const std::int64_t first = files.ranks * call.rank() / call.size();
    const std::int64_t last = files.ranks * (call.rank() + 1) / call.size();
    for (std::int64_t r = first; r < last; ++r) {
      const absl::Status status = merge_file(path, files, r, empty, rows);
      if (!status.ok()) return status;
    }
    if (!rows) rows = empty;
    note = encode_place(*rows);
    return absl::OkStatus();
  });
  if (!read.status.ok()) return read.status;
  if (files.ranks != call.size()) {
    const absl::Status same = go_on_after(read.notes, *rows);
    if (!same.ok()) return same;
  }
  accumulation.take(std::move(*rows));
  return absl::OkStatus();
}

}  // namespace

absl::Status save_over_ranks(Accumulation& accumulation,
                             const std::string& spec, const std::string& path,
                             CheckpointRanks ranks, StatePart part) {
  const sync::Call call = call_of("save", accumulation, ranks);
  return ranks == CheckpointRanks::kOneFile
             ? save_one_file(call, accumulation, spec, path, part)
             : save_files(call, accumulation, spec, path, part);
}

absl::Status load_over_ranks(Accumulation& accumulation,
                             const std::string& path, CheckpointRanks ranks) {
  const sync::Call call = call_of("load", accumulation, ranks);
  return ranks == CheckpointRanks::kOneFile
             ? load_one_file(call, accumulation, path)
             : load_files(call, accumulation, path);
}

}  // namespace tally::internal
