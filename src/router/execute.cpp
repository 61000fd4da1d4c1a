// SPDX-License-Identifier: BSD-3-Clause
// Work at the node that holds a command's source, for whomever: reads and sends pieces, runs atomics and local
// copies, runs operations. Short work is done on arrival, the rest step by step in turns with other work.
#include <algorithm>
#include <cstring>
#include <new>

#include "base/assert.hpp"
#include "router/state.hpp"

namespace acp::router {

using base::Code;

std::uint32_t Router::State::take_operation(Share share, Work work) {
    std::uint32_t& used = shares[static_cast<std::size_t>(share)];
    if (used >= shares_max[static_cast<std::size_t>(share)]) return no_index;
    const std::uint32_t index = operations.take();
    ACP_ASSERT(index != no_index);  // the pool holds all shares
    ++used;
    Operation& operation = operations[index];
    const std::uint32_t generation = operation.generation;
    operation = Operation{};
    operation.generation = generation;
    operation.is_taken = true;
    operation.work = work;
    operation.share = share;
    return index;
}

std::uint32_t Router::State::take_task(const Task& task, Work work, NodeId node) {
    const std::uint32_t index = take_operation(task.share, work);
    if (index == no_index) return no_index;
    Operation& operation = operations[index];
    operation.token = task.token;
    operation.initiator = task.initiator;
    operation.target = task.command.target_or_word();
    operation.is_value_dropped = !task.command.has_target();
    operation.source = task.command.source;
    operation.bytes = task.command.bytes;
    operation.total = task.total;
    operation.operand = task.command.operand;
    operation.expected = task.command.expected;
    operation.operation = static_cast<std::uint8_t>(task.command.operation);
    operation.width = task.command.width;
    operation.node = node;
    return index;
}

void Router::State::release(std::uint32_t index) {
    Operation& operation = operations[index];
    delete[] operation.kept;
    operation.kept = nullptr;
    if (operation.buffer != no_index) {
        if (operation.work == Work::staged) {
            staging_free.push_back(operation.buffer);
        } else {
            foreign_arguments.give(operation.buffer);
        }
    }
    if (++operation.generation == 0) operation.generation = 1;
    --shares[static_cast<std::size_t>(operation.share)];
    operations.give(index);
}

bool Router::State::begin(const Task& task) {
    const auto target = static_cast<std::uint32_t>(where(task.command.target_or_word()));
    if (!task.command.is_copy() || is_mine(target)) return begin_run(task);
    return begin_pieces(task, peer_of(target));
}

bool Router::State::begin_pieces(const Task& task, Peer& to) {
    if (to.is_severed) {
        fail(task.initiator, task.token,
             {Code::peer, End::target, named(where(task.command.target))});
        return true;
    }
    const std::uint64_t bytes = task.command.bytes;
    if (to.flows.is_empty() && !to.is_blocked && bytes + sizeof(PutFrame) <= to.frame_bytes) {
        const Piece piece{task.command.source, task.command.target,
                          task.total,          task.token,
                          task.initiator,      static_cast<std::uint32_t>(bytes)};
        const Sent sent = send_piece(to, piece);
        if (sent == Sent::sent || sent == Sent::failed) return true;
    }
    const std::uint32_t index = take_task(task, Work::pieces, to.node);
    if (index == no_index) return false;
    enqueue(index);
    return true;
}

bool Router::State::begin_run(const Task& task) {
    const auto target = static_cast<std::uint32_t>(where(task.command.target_or_word()));
    // An atomic whose value could not be delivered any more does not run.
    if (!is_mine(target) && peer_of(target).is_severed) {
        fail(task.initiator, task.token, {Code::peer, End::target, target});
        return true;
    }
    const std::uint32_t index = take_task(task, Work::run, settings.node);
    if (index == no_index) return false;
    go_on(index, step_run(index));
    return true;
}

// What a step outside a flow leaves to be done.
void Router::State::go_on(std::uint32_t index, Step step) {
    if (step == Step::done) release(index);
    if (step == Step::again || step == Step::blocked) enqueue(index);
}

// WIRE-110. One piece from memory of this node straight into the datagram, or to be fetched when that is sealed.
Sent Router::State::send_piece(Peer& to, const Piece& piece) {
    std::byte* room = reserve(to, sizeof(PutFrame) + piece.bytes);
    if (room == nullptr) return Sent::no_room;
    const std::byte* const lasting = piece.bytes >= lasting_bytes_min
                                         ? placement.find_lasting(piece.source, piece.bytes)
                                         : nullptr;
    if (lasting == nullptr) {
        const Settlement got =
            placement.get_now(piece.source, {room + sizeof(PutFrame), piece.bytes});
        if (got.progress != Progress::settled) return Sent::not_now;
        if (got.code != Code::ok) {
            fail(piece.initiator, piece.token, {got.code, End::source, named(where(piece.source))});
            return Sent::failed;
        }
    }
    PutFrame frame;
    frame.bytes = static_cast<std::uint16_t>(piece.bytes);
    frame.initiator = piece.initiator;
    frame.token = piece.token;
    frame.target = piece.target;
    frame.total = piece.total;
    write(room, frame);
    if (lasting == nullptr) {
        commit(to, sizeof frame + piece.bytes);
    } else {
        // The source keeps its bytes until the copy has ended, and then the target has all of them: what is sent
        // again later is not looked at.
        endpoint->commit_with_tail(to.node, sizeof frame, {lasting, piece.bytes});
        ++moves;
    }
    ++counters.puts_sent;
    counters.bytes_sent += piece.bytes;
    return Sent::sent;
}

Step Router::State::step(std::uint32_t index, Peer& to) {
    Operation& operation = operations[index];
    if (operation.is_cancelled) return Step::done;
    if (operation.share == Share::own &&
        book.find(operation.initiator, operation.token) == no_index) {
        return Step::done;  // it ended meanwhile
    }
    switch (operation.work) {
        case Work::request:
            return step_request(operation, to);
        case Work::pieces:
            return step_pieces(index, to);
        case Work::staged:
            return step_staged(operation, to);
        case Work::value:
            return step_value(operation, to);
        case Work::run:
            return step_run(index);
        case Work::invoke:
            return to.node == settings.node ? step_local_invoke(index) : step_invoke(index, to);
        case Work::place:
            break;
    }
    return Step::done;
}

Step Router::State::step_request(Operation& operation, Peer& to) {
    const Outstanding& record = commands[book.find(operation.initiator, operation.token)];
    return write_request(to, record, operation.offset, operation.bytes) ? Step::done
                                                                        : Step::blocked;
}

Step Router::State::step_pieces(std::uint32_t index, Peer& to) {
    Operation& operation = operations[index];
    const std::uint64_t left = operation.bytes - operation.offset;
    auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, piece_bytes(to)));
    if (!operation.is_staged) {
        const Piece piece{operation.source + operation.offset,
                          operation.target + operation.offset,
                          operation.total,
                          operation.token,
                          operation.initiator,
                          bytes};
        switch (send_piece(to, piece)) {
            case Sent::sent:
                operation.offset += bytes;
                return operation.offset == operation.bytes ? Step::done : Step::again;
            case Sent::failed:
                return Step::done;
            case Sent::no_room:
                return Step::blocked;
            case Sent::not_now:
                operation.is_staged = true;
                break;
        }
    }
    bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, staging_bytes_max));
    return stage(index, bytes);
}

std::byte* Router::State::staging_room(std::uint32_t buffer) const noexcept {
    return staging.get() + std::size_t{buffer} * staging_bytes_max;
}

// Lets placement read a piece in its own time; it is sent when it is there.
Step Router::State::stage(std::uint32_t index, std::uint32_t bytes) {
    Operation& operation = operations[index];
    const std::uint64_t process = where(operation.source);
    const std::uint32_t taken =
        staging_free.empty() ? no_index : take_operation(Share::inner, Work::staged);
    if (taken == no_index) {
        park(index, process);
        return Step::parked;
    }
    Operation& piece = operations[taken];
    piece.token = operation.token;
    piece.initiator = operation.initiator;
    piece.source = operation.source + operation.offset;
    piece.target = operation.target + operation.offset;
    piece.bytes = bytes;
    piece.total = operation.total;
    piece.node = operation.node;
    piece.parent = index;
    piece.parent_generation = operation.generation;
    piece.buffer = staging_free.back();
    staging_free.pop_back();
    const Settlement got =
        placement.get(piece.source, {staging_room(piece.buffer), bytes}, ticket_of(taken, piece));
    if (got.progress == Progress::refused) {
        release(taken);
        park(index, process);
        return Step::parked;
    }
    operation.offset += bytes;
    if (got.progress == Progress::taken) {
        piece.is_with_placement = true;
    } else if (got.code != Code::ok) {
        fail(operation.initiator, operation.token, {got.code, End::source, named(process)});
        release(taken);
        return Step::done;
    } else {
        enqueue(taken, true);
    }
    return operation.offset == operation.bytes ? Step::done : Step::again;
}

Step Router::State::step_staged(Operation& operation, Peer& to) {
    std::byte* room = reserve(to, sizeof(PutFrame) + operation.bytes);
    if (room == nullptr) return Step::blocked;
    PutFrame frame;
    frame.bytes = static_cast<std::uint16_t>(operation.bytes);
    frame.initiator = operation.initiator;
    frame.token = operation.token;
    frame.target = operation.target;
    frame.total = operation.total;
    write(room, frame);
    std::memcpy(room + sizeof frame, staging_room(operation.buffer), operation.bytes);
    commit(to, sizeof frame + operation.bytes);
    ++counters.puts_sent;
    counters.bytes_sent += operation.bytes;
    return Step::done;
}

Step Router::State::step_value(Operation& operation, Peer& to) {
    std::byte* room = reserve(to, sizeof(PutFrame) + operation.width);
    if (room == nullptr) return Step::blocked;
    PutFrame frame;
    frame.is_value = 1;
    frame.bytes = operation.width;
    frame.initiator = operation.initiator;
    frame.token = operation.token;
    frame.target = operation.target;
    frame.total = operation.width;
    write(room, frame);
    std::memcpy(room + sizeof frame, &operation.operand, operation.width);
    commit(to, sizeof frame + operation.width);
    return Step::done;
}

Step Router::State::step_run(std::uint32_t index) {
    Operation& operation = operations[index];
    memory::Command command;
    command.operation = static_cast<memory::Operation>(operation.operation);
    command.width = operation.width;
    command.target = operation.is_value_dropped ? 0 : operation.target + operation.offset;
    command.source = operation.source + operation.offset;
    command.bytes = std::min(run_bytes_max, operation.bytes - operation.offset);
    command.operand = operation.operand;
    command.expected = operation.expected;
    if (!command.is_copy()) command.bytes = operation.width;
    const bool is_value_wanted = !is_mine(where(operation.target));
    std::uint64_t old = 0;
    const Settlement ran =
        placement.run(command, is_value_wanted, old, ticket_of(index, operation));
    if (ran.progress == Progress::refused) {
        park(index, where(operation.source));
        return Step::parked;
    }
    if (ran.progress == Progress::taken) {
        operation.is_with_placement = true;
        return Step::parked;
    }
    return after_run(index, ran.code, old);
}

// Part of a copy, or an atomic, has run.
Step Router::State::after_run(std::uint32_t index, Code code, std::uint64_t old) {
    Operation& operation = operations[index];
    const bool is_copy = operation.operation == 0;
    ++counters.runs;
    ++moves;
    if (code != Code::ok) {
        fail(operation.initiator, operation.token,
             {code, is_copy ? End::none : End::source, named(where(operation.source))});
        return Step::done;
    }
    if (!is_copy) return after_atomic(index, old);
    operation.offset += std::min(run_bytes_max, operation.bytes - operation.offset);
    if (operation.offset < operation.bytes) return Step::again;
    finish(operation.initiator, operation.token);
    return Step::done;
}

// Sees to the old value: written already, unwanted, told to the initiator, or sent to a third node. ORD-62
Step Router::State::after_atomic(std::uint32_t index, std::uint64_t old) {
    Operation& operation = operations[index];
    const auto target = static_cast<std::uint32_t>(where(operation.target));
    if (is_mine(target)) {
        finish(operation.initiator, operation.token);
        return Step::done;
    }
    Peer& to = peer_of(target);
    if (to.has(operation.initiator)) {
        Note note;
        note.type = FrameType::value;
        note.initiator = operation.initiator;
        note.token = operation.token;
        note.detail = old;
        post(to, note);
        return Step::done;
    }
    operation.work = Work::value;
    operation.node = to.node;
    operation.operand = old;
    enqueue(index);
    return Step::parked;
}

Fault Router::State::on_command(Peer& from, const CommandFrame& frame) {
    if (!from.has(frame.initiator)) return Fault::forged;
    if (!is_mine(where(frame.source))) return Fault::misdirected;
    Task task;
    task.command.operation = frame.operation;
    task.command.width = frame.width;
    task.command.target = frame.target;
    task.command.source = frame.source;
    const std::uint64_t target = where(task.command.target_or_word());
    if (target >= settings.procs) return Fault::bad_process;
    const bool is_copy = frame.operation == memory::Operation::copy;
    task.command.bytes = is_copy ? frame.operand : frame.width;
    task.total = is_copy ? frame.expected : frame.width;
    task.command.operand = is_copy ? 0 : frame.operand;
    task.command.expected = is_copy ? 0 : frame.expected;
    task.token = frame.token;
    task.initiator = frame.initiator;
    task.share = Share::foreign;
    if (is_any_lost) {
        if (is_dead(where(frame.source)) || is_dead(target)) {
            const bool is_source = is_dead(where(frame.source));
            fail(frame.initiator, frame.token,
                 {Code::peer, is_source ? End::source : End::target,
                  named(is_source ? where(frame.source) : target)});
            return Fault::none;
        }
    }
    if (!begin(task)) refuse_command(from, task);
    return Fault::none;
}

// WIRE-116
void Router::State::refuse_command(Peer& to, const Task& task) {
    ++counters.commands_refused;
    Note note;
    note.type = FrameType::refused;
    note.code_and_end = 1;
    note.initiator = task.initiator;
    note.token = task.token;
    note.detail = task.command.target;
    note.bytes = task.command.bytes;
    post(to, note);
}

void Router::State::on_settled(Ticket ticket, Code code, std::uint64_t value) {
    const auto index = static_cast<std::uint32_t>(ticket) - 1;
    const bool is_known = index < operations.touched() && operations[index].is_taken &&
                          operations[index].is_with_placement &&
                          operations[index].generation == ticket >> 32U;
    if (!is_known) {
        ++counters.bad_tickets;
        return;
    }
    Operation& operation = operations[index];
    operation.is_with_placement = false;
    ++moves;
    if (operation.is_cancelled) {
        release(index);
        return;
    }
    if (operation.work == Work::run) {
        go_on(index, after_run(index, code, value));
    } else if (operation.work == Work::place) {
        settle_piece(operation, code);
        release(index);
    } else if (code == Code::ok) {
        enqueue(index, true);
    } else {
        Operation& parent = operations[operation.parent];
        if (parent.is_taken && parent.generation == operation.parent_generation) {
            parent.is_cancelled = true;
        }
        fail(operation.initiator, operation.token,
             {code, End::source, named(where(operation.source))});
        release(index);
    }
}

}  // namespace acp::router
