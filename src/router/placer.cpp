// SPDX-License-Identifier: BSD-3-Clause
// The ways of an arriving piece: placed at once; accepted by placement, with a record until it
// settles; kept in the parked work of the process; or refused.
#include "router/placer.hpp"

#include <cstring>
#include <new>

namespace acp::router {

using base::Code;

namespace {

void describe(OperationRecord& operation, const PutFrame& frame, NodeId from) noexcept {
    operation.token = frame.token;
    operation.initiator = frame.initiator;
    operation.target = frame.target;
    operation.bytes = frame.bytes;
    operation.total = frame.total;
    operation.lane = from;
    operation.is_value = frame.is_value != 0;
}

}  // namespace

Placer::Placer(Nodes& nodes,
               OwnCommands& own,
               PartialCopies& partials,
               Operations& operations,
               Backlog& backlog,
               Ends& ends,
               Placement& placement,
               Activity& activity)
    : nodes_(nodes),
      own_(own),
      partials_(partials),
      operations_(operations),
      backlog_(backlog),
      ends_(ends),
      placement_(placement),
      activity_(activity) {}

// Checks a piece of a get, whose initiator is on this node: the copy must be outstanding, and the
// piece inside its target.
//   is_late  set if the copy has ended
Fault Placer::check_get(const PutFrame& frame, bool& is_late) {
    const std::uint32_t index = own_.find(frame.initiator, frame.token);
    is_late = index == no_index;
    if (is_late) {
        ++activity_.counters().late_puts;
        return Fault::none;
    }
    const Outstanding& record = own_[index];
    if (record.operation != 0 || frame.is_value != 0) return Fault::forged;
    if (frame.total != record.bytes) return Fault::contradiction;
    const std::uint64_t offset = frame.target - record.target;
    const bool is_inside = offset <= record.bytes && frame.bytes <= record.bytes - offset;
    return is_inside ? Fault::none : Fault::overrun;
}

Fault Placer::on_put(const RouterPeer& from, const PutFrame& frame, Bytes bytes) {
    const std::uint64_t process = nodes_.where(frame.target);
    if (!nodes_.is_mine(process)) return Fault::misdirected;
    if (nodes_.is_mine(frame.initiator)) {
        bool is_late = false;
        const Fault fault = check_get(frame, is_late);
        if (fault != Fault::none || is_late) return fault;
    } else if (nodes_.is_work_of_the_lost(frame.initiator)) {
        ++activity_.counters().late_puts;
        return Fault::none;
    }
    if (frame.bytes != frame.total) {
        bool is_full = false;
        const Fault fault = partials_.arrive(from.node, frame, is_full);
        if (fault != Fault::none) return fault;
        if (is_full) {
            refuse(frame);
            return Fault::none;
        }
    }
    place(frame, bytes, from.node);
    return Fault::none;
}

Fault Placer::on_put_after(const RouterPeer& from,
                           const ShortFrame& after,
                           const PutFrame& frame,
                           Bytes bytes) {
    // Only the initiator's node sends ordered copies.
    if (!from.has(frame.initiator) || after.initiator != frame.initiator) return Fault::forged;
    if (frame.is_value != 0 || frame.bytes != frame.total) return Fault::bad_length;
    if (ends_.has_finished(after)) return on_put(from, frame, bytes);
    if (!nodes_.is_mine(nodes_.where(frame.target))) return Fault::misdirected;
    refuse(frame);
    return Fault::none;
}

Fault Placer::on_puts(const RouterPeer& from, const PutsFrame& frame, Bytes puts) {
    PutFrame each;
    each.bytes = frame.bytes;
    each.total = frame.bytes;
    each.initiator = frame.initiator;
    each.token = frame.token;
    for (std::uint32_t i = 0; i < frame.count; ++i, each.token += 2) {
        std::memcpy(&each.target, puts.data(), sizeof each.target);
        const Fault fault = on_put(from, each, puts.subspan(sizeof each.target, frame.bytes));
        if (fault != Fault::none) return fault;
        puts = puts.subspan(sizeof each.target + frame.bytes);
    }
    return Fault::none;
}

void Placer::place_value(const Outstanding& command, std::uint64_t value) {
    PutFrame frame;
    frame.is_value = 1;
    frame.bytes = command.width;
    frame.initiator = command.initiator;
    frame.token = command.token;
    frame.target = command.target;
    frame.total = command.width;
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    place(frame, {first, command.width}, nodes_.self());
}

void Placer::place(const PutFrame& frame, Bytes bytes, NodeId from) {
    const std::uint32_t spare = operations_.spare();
    Settlement put{SettlementState::refused, Code::ok};
    if (spare != no_index) {
        put = placement_.put(frame.target, bytes, operations_.ticket_of(spare));
    }
    if (put.progress == SettlementState::settled) {
        settle(frame, put.code);
    } else if (put.progress == SettlementState::accepted) {
        OperationRecord& operation = operations_.use_spare();
        describe(operation, frame, from);
        operation.is_with_placement = true;
        activity_.note_move();
    } else {
        keep(frame, bytes, from);
    }
}

// ORD-40: the process has no room, so the piece is kept here, within a limit, and placement is
// asked again.
void Placer::keep(const PutFrame& frame, Bytes bytes, NodeId from) {
    const std::uint64_t process = nodes_.where(frame.target);
    const std::uint64_t cost = bytes.size() + kept_overhead_bytes;
    std::uint32_t index = no_index;
    std::byte* kept = nullptr;
    // An old value cannot be read again like a piece, so it is kept even beyond the limit.
    if (frame.is_value != 0 || backlog_.may_keep(process, cost)) {
        kept = new (std::nothrow) std::byte[bytes.size() + 1];
        const Share share = frame.is_value != 0 ? Share::value : Share::inner;
        if (kept != nullptr) index = operations_.take(share, Work::place);
    }
    if (index == no_index) {
        delete[] kept;
        if (frame.is_value != 0) {
            return_value(frame, bytes);
        } else {
            refuse(frame);
        }
        return;
    }
    if (!bytes.empty()) std::memcpy(kept, bytes.data(), bytes.size());
    OperationRecord& operation = operations_[index];
    describe(operation, frame, from);
    operation.kept = kept;
    backlog_.count_kept(process, cost);
    ++activity_.counters().puts_kept;
    backlog_.park(index, process);
}

bool Placer::place_again(std::uint32_t index) {
    OperationRecord& operation = operations_[index];
    const std::uint64_t process = nodes_.where(operation.target);
    const std::uint64_t cost = operation.bytes + kept_overhead_bytes;
    if (!operation.is_cancelled) {
        const Settlement put = placement_.put(operation.target, {operation.kept, operation.bytes},
                                              operations_.ticket_of(index));
        if (put.progress == SettlementState::refused) return false;
        if (put.progress == SettlementState::accepted) {
            backlog_.count_given_up(process, cost);
            operation.is_with_placement = true;
            return true;
        }
        settle(operation, put.code);
    }
    backlog_.count_given_up(process, cost);
    operations_.release(index);
    return true;
}

// WIRE-114. Returns an old value for which there is no room to the initiator's node, which sends it
// again.
void Placer::return_value(const PutFrame& frame, Bytes bytes) {
    ++activity_.counters().puts_refused;
    if (nodes_.is_mine(frame.initiator)) {
        // This happens only without memory: there are records for the values of all its commands.
        settle(frame, Code::limit);
        return;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    ends_.send_value(nodes_.peer_of(frame.initiator), frame.initiator, frame.token, value);
}

// Refuses a piece, which will be sent again.
void Placer::refuse(const PutFrame& frame) {
    ++activity_.counters().puts_refused;
    if (frame.bytes != frame.total) partials_.take_back(frame);
    ends_.refuse_piece(frame);
}

void Placer::settle(const PutFrame& frame, Code code) {
    if (frame.bytes == frame.total && code == Code::ok) {
        ++activity_.counters().puts;
        activity_.counters().bytes_placed += frame.bytes;
        ends_.finish(frame.initiator, frame.token);
        return;
    }
    settle_other(frame, code);
}

// Kept out of settle(), so that its frequent case needs no stack for a record.
void Placer::settle_other(const PutFrame& frame, Code code) {
    OperationRecord piece;
    describe(piece, frame, 0);
    settle(piece, code);
}

void Placer::settle(const OperationRecord& piece, Code code) {
    activity_.note_move();
    ++activity_.counters().puts;
    const bool is_ok = code == Code::ok;
    if (is_ok) activity_.counters().bytes_placed += piece.bytes;
    PartialCopies::SettledPiece copy;
    if (piece.bytes == piece.total) {
        copy.is_in_place = is_ok;
        copy.is_new_failure = !is_ok;
    } else {
        copy = partials_.settle(piece, is_ok);
    }
    if (copy.is_new_failure) {
        const std::uint32_t target = nodes_.named(nodes_.where(piece.target));
        ends_.fail(piece.initiator, piece.token, {code, BlamedAddress::target, target});
    }
    if (copy.is_in_place) ends_.finish(piece.initiator, piece.token);
}

void Placer::end_copies_of(const RouterPeer& gone) {
    partials_.for_each([&](const Partial& shown) {
        // drop() releases the record.
        const Partial copy = shown;
        // The rest of the copy would have come from the severed node.
        const bool is_half = copy.from == gone.node && copy.arrived < copy.total;
        const bool is_wanted = !gone.has(copy.initiator);
        if (is_wanted && !is_half) return;
        partials_.drop(copy.initiator, copy.token);
        if (!is_wanted || copy.is_failed) return;
        ends_.fail(copy.initiator, copy.token,
                   {Code::peer, BlamedAddress::source, nodes_.named(gone.first)});
    });
}

void Placer::drop_copies_of(std::uint32_t initiator) {
    partials_.for_each([&](const Partial& copy) {
        if (copy.initiator == initiator) partials_.drop(copy.initiator, copy.token);
    });
}

void Placer::ask_about_quiet() {
    partials_.for_each([&](Partial& copy) {
        if (++copy.quiet_scans <= quiet_scans_max) return;
        copy.quiet_scans = 0;
        if (ends_.is_over_or_ask(copy.initiator, copy.token)) {
            partials_.drop(copy.initiator, copy.token);
        }
    });
}

}  // namespace acp::router
