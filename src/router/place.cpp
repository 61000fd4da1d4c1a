// SPDX-License-Identifier: BSD-3-Clause
// Pieces of copies arrive at the node of their target: placed at once, or by placement in its time, or kept while
// the process has no room, or refused. When all bytes of a copy are in place, and not before, it ends (ORD-60).
#include <cstring>
#include <new>

#include "router/state.hpp"

namespace acp::router {

using base::Code;

// A piece for an initiator of this node: of a copy that is outstanding, and inside its target.
Fault Router::State::check_get(const PutFrame& frame, bool& is_late) {
    const std::uint32_t index = book.find(frame.initiator, frame.token);
    is_late = index == no_index;
    if (is_late) {
        ++counters.late_puts;
        return Fault::none;
    }
    const Outstanding& record = commands[index];
    if (record.operation != 0 || frame.is_value != 0) return Fault::forged;
    if (frame.total != record.bytes) return Fault::contradiction;
    const std::uint64_t offset = frame.target - record.target;
    const bool is_inside = offset <= record.bytes && frame.bytes <= record.bytes - offset;
    return is_inside ? Fault::none : Fault::overrun;
}

// Counts a piece in.   is_full  no room to count another copy: refuse it
Fault Router::State::arrive(const Peer& from, const PutFrame& frame, bool& is_full) {
    std::uint32_t index = partial_index.find(frame.initiator, frame.token);
    if (index == no_index) {
        index = partials.take();
        is_full = index == no_index;
        if (is_full) return Fault::none;
        Partial& partial = partials[index];
        partial = Partial{};
        partial.is_taken = true;
        partial.token = frame.token;
        partial.total = frame.total;
        partial.initiator = frame.initiator;
        partial_index.insert(index);
        arm();
    }
    Partial& partial = partials[index];
    if (partial.total != frame.total) return Fault::contradiction;
    if (frame.bytes > partial.total - partial.arrived) return Fault::overrun;
    partial.arrived += frame.bytes;
    partial.from = from.node;
    partial.quiet_scans = 0;
    return Fault::none;
}

Fault Router::State::on_put(Peer& from, const PutFrame& frame, Bytes bytes) {
    const std::uint64_t process = where(frame.target);
    if (!is_mine(process)) return Fault::misdirected;
    if (is_mine(frame.initiator)) {
        bool is_late = false;
        const Fault fault = check_get(frame, is_late);
        if (fault != Fault::none || is_late) return fault;
    } else if (is_any_lost && is_gone(frame.initiator)) {
        ++counters.late_puts;  // nobody waits for it, and nobody would say when to forget it
        return Fault::none;
    }
    if (frame.bytes != frame.total) {
        bool is_full = false;
        const Fault fault = arrive(from, frame, is_full);
        if (fault != Fault::none) return fault;
        if (is_full) {
            refuse_piece(frame);
            return Fault::none;
        }
    }
    if (is_any_lost && local(process).is_dead) {
        settle(frame, Code::peer);
        return Fault::none;
    }
    place(frame, bytes, from.node);
    return Fault::none;
}

// WIRE-120. Each as if it had come alone.
Fault Router::State::on_puts(Peer& from, const PutsFrame& frame, Bytes puts) {
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

// The old value of an atomic has come to its initiator, which holds the target.
void Router::State::place_value(const Outstanding& command, std::uint64_t value) {
    PutFrame frame;
    frame.is_value = 1;
    frame.bytes = command.width;
    frame.initiator = command.initiator;
    frame.token = command.token;
    frame.target = command.target;
    frame.total = command.width;
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    const Bytes bytes(first, command.width);
    place(frame, bytes, settings.node);
}

void Router::State::place(const PutFrame& frame, Bytes bytes, NodeId from) {
    if (spare == no_index) spare = take_operation(Share::inner, Work::place);
    Settlement put{Progress::refused, Code::ok};
    if (spare != no_index) {
        put = placement.put(frame.target, bytes, ticket_of(spare, operations[spare]));
    }
    if (put.progress == Progress::settled) {
        settle(frame, put.code);
    } else if (put.progress == Progress::taken) {
        use_spare(frame, from);
    } else {
        keep(frame, bytes, from);
    }
}

namespace {

void describe(Operation& operation, const PutFrame& frame, NodeId from) {
    operation.token = frame.token;
    operation.initiator = frame.initiator;
    operation.target = frame.target;
    operation.bytes = frame.bytes;
    operation.total = frame.total;
    operation.node = from;
    operation.is_value = frame.is_value != 0;
}

}  // namespace

void Router::State::use_spare(const PutFrame& frame, NodeId from) {
    Operation& operation = operations[spare];
    describe(operation, frame, from);
    operation.is_with_placement = true;
    spare = no_index;
    ++moves;
}

// The process has no room: kept here, within a limit, and tried again. ORD-40
void Router::State::keep(const PutFrame& frame, Bytes bytes, NodeId from) {
    const std::uint64_t process = where(frame.target);
    LocalProcess& owner = local(process);
    const std::uint64_t cost = bytes.size() + kept_overhead_bytes;
    std::uint32_t index = no_index;
    std::byte* kept = nullptr;
    // An atomic's value cannot be sent again, so it is kept beyond the limit.
    if (frame.is_value != 0 || owner.kept_bytes + cost <= settings.undelivered_bytes_max) {
        kept = new (std::nothrow) std::byte[bytes.size() + 1];
        const Share share = frame.is_value != 0 ? Share::value : Share::inner;
        if (kept != nullptr) index = take_operation(share, Work::place);
    }
    if (index == no_index) {
        delete[] kept;
        if (frame.is_value != 0) {
            return_value(frame, bytes);
        } else {
            refuse_piece(frame);
        }
        return;
    }
    if (!bytes.empty()) std::memcpy(kept, bytes.data(), bytes.size());
    Operation& operation = operations[index];
    describe(operation, frame, from);
    operation.kept = kept;
    owner.kept_bytes += cost;
    ++counters.puts_kept;
    park(index, process);
}

// WIRE-114. Sends a value back that has no room here; the initiator's node sends it again.
void Router::State::return_value(const PutFrame& frame, Bytes bytes) {
    ++counters.puts_refused;
    if (is_mine(frame.initiator)) {
        settle(frame,
               Code::limit);  // out of memory: there is room for each of its commands' values
        return;
    }
    Note note;
    note.type = FrameType::value;
    note.initiator = frame.initiator;
    note.token = frame.token;
    std::memcpy(&note.detail, bytes.data(), bytes.size());
    post(peer_of(frame.initiator), note);
}

// WIRE-116. The piece will come again.
void Router::State::refuse_piece(const PutFrame& frame) {
    ++counters.puts_refused;
    if (frame.bytes != frame.total) {
        const std::uint32_t index = partial_index.find(frame.initiator, frame.token);
        if (index != no_index) {
            Partial& partial = partials[index];
            partial.arrived -= frame.bytes;
            if (partial.arrived == 0) {
                partial_index.erase(index);
                partials.give(index);
            }
        }
    }
    if (is_mine(frame.initiator)) {
        const std::uint32_t index = book.find(frame.initiator, frame.token);
        if (index != no_index)
            send_again(index, frame.target - commands[index].target, frame.bytes);
        return;
    }
    Note note;
    note.type = FrameType::refused;
    note.initiator = frame.initiator;
    note.token = frame.token;
    note.detail = frame.target;
    note.bytes = frame.bytes;
    post(peer_of(frame.initiator), note);
}

void Router::State::settle(const PutFrame& frame, Code code) {
    if (frame.bytes == frame.total && code == Code::ok) {
        ++counters.puts;
        counters.bytes_placed += frame.bytes;
        finish(frame.initiator, frame.token);
        return;
    }
    Operation piece;
    describe(piece, frame, 0);
    settle_piece(piece, code);
}

// A piece is in place, or failed.
void Router::State::settle_piece(const Operation& piece, Code code) {
    ++moves;
    ++counters.puts;
    if (code == Code::ok) counters.bytes_placed += piece.bytes;
    const Failure failure{code, End::target, named(where(piece.target))};
    if (piece.bytes == piece.total) {
        if (code == Code::ok) {
            finish(piece.initiator, piece.token);
        } else {
            fail(piece.initiator, piece.token, failure);
        }
        return;
    }
    const std::uint32_t index = partial_index.find(piece.initiator, piece.token);
    if (index == no_index) return;  // given up
    Partial& partial = partials[index];
    partial.settled += piece.bytes;
    const bool is_new_failure = code != Code::ok && !partial.is_failed;
    partial.is_failed = partial.is_failed || is_new_failure;
    const bool is_whole = partial.settled == partial.total;
    const bool is_ok = !partial.is_failed;
    if (is_whole) {
        partial_index.erase(index);
        partials.give(index);
    }
    if (is_new_failure) fail(piece.initiator, piece.token, failure);
    if (is_whole && is_ok) finish(piece.initiator, piece.token);
}

void Router::State::drop_partial(std::uint32_t index) {
    ++counters.forgotten;
    partial_index.erase(index);
    partials.give(index);
}

}  // namespace acp::router
