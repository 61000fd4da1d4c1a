// SPDX-License-Identifier: BSD-3-Clause
// What goes to other nodes: short frames first, then the pieces and requests of each initiator in turn (ORD-50),
// as long as there is room; and a turn, which also sees to what waits for placement or for time to pass.
#include <algorithm>
#include <new>

#include "base/assert.hpp"
#include "router/state.hpp"

namespace acp::router {

using base::Code;

// nullptr: no room until the endpoint says so, or no memory for what it keeps of that node: then nobody says when there
// is, and offer_room_again() asks.
std::byte* Router::State::reserve(Peer& to, std::uint64_t bytes) noexcept {
    std::byte* room = nullptr;
    try {
        room = endpoint->reserve(to.node, static_cast<std::uint32_t>(bytes));
        to.refused_at = datagram::never;
    } catch (const std::bad_alloc&) {
        note_no_memory(to);
    }
    if (room == nullptr) {
        to.is_blocked = true;
        arm();
    }
    return room;
}

void Router::State::note_no_memory(Peer& to) noexcept {
    ++counters.no_memory;
    if (to.refused_at == datagram::never) to.refused_at = now;
}

// Likewise; empty.
std::span<std::byte> Router::State::reserve_rest(Peer& to, std::uint64_t bytes_min) noexcept {
    std::span<std::byte> room;
    try {
        room = endpoint->reserve_rest(to.node, static_cast<std::uint32_t>(bytes_min));
        to.refused_at = datagram::never;
    } catch (const std::bad_alloc&) {
        note_no_memory(to);
    }
    if (room.empty()) {
        to.is_blocked = true;
        arm();
    }
    return room;
}

void Router::State::commit(Peer& to, std::uint64_t bytes) {
    endpoint->commit(to.node, static_cast<std::uint32_t>(bytes));
    ++moves;
}

// The longest piece of a copy a datagram carries; whole words, so that the next starts aligned.
std::uint32_t Router::State::piece_bytes(Peer& to) const {
    to.frame_bytes = endpoint->frame_bytes_max(to.node);
    const std::uint64_t bytes = std::min<std::uint64_t>(to.frame_bytes - sizeof(PutFrame), 0xffffU);
    return static_cast<std::uint32_t>(bytes) & ~7U;
}

void Router::State::wake(Peer& to) {
    if (to.is_ready || to.is_blocked || to.is_severed) return;
    if (to.notes.is_empty() && to.flows.is_empty()) return;
    to.is_ready = true;
    to.next_ready = nullptr;
    (ready_head == nullptr ? ready_head : ready_tail->next_ready) = &to;
    ready_tail = &to;
}

void Router::State::enqueue(std::uint32_t index, bool is_first) {
    Operation& operation = operations[index];
    Peer& to = peer(operation.node);
    if (to.is_severed) {
        abandon(index);
        return;
    }
    std::uint32_t found = flow_index.find(operation.initiator, 2ULL * to.node);
    if (found == no_index) {
        found = flows.take();
        ACP_ASSERT(found != no_index);  // never more flows than operations
        Flow& flow = flows[found];
        flow.token = 2ULL * to.node;
        flow.initiator = operation.initiator;
        flow.work = Queue{};
        flow_index.insert(found);
        to.flows.push(flows, found);
    }
    Flow& flow = flows[found];
    if (is_first) {
        flow.work.push_front(operations, index);
    } else {
        flow.work.push(operations, index);
    }
    wake(to);
}

// Gives work for a severed node up, and says so.
void Router::State::abandon(std::uint32_t index) {
    const Operation& operation = operations[index];
    if (!operation.is_cancelled && operation.work == Work::request) {
        fail(operation.initiator, operation.token,
             {Code::peer, End::source, named(peer(operation.node).first)});
    } else if (!operation.is_cancelled && operation.work != Work::invoke) {
        fail(operation.initiator, operation.token,
             {Code::peer, End::target, named(where(operation.target))});
    }
    release(index);
}

// Placement has no room for work about a process: asked again later.
void Router::State::park(std::uint32_t index, std::uint64_t process) {
    LocalProcess& owner = local(process);
    owner.waiting.push(operations, index);
    if (!owner.is_waiting) {
        owner.is_waiting = true;
        waiting_processes.push_back(static_cast<std::uint32_t>(process) - first_process);
    }
    retry_at = std::min(retry_at, now + retry_wait);
}

bool Router::State::write_note(Peer& to, const Note& note) {
    const auto send = [&](const auto& frame) {
        std::byte* room = reserve(to, sizeof frame);
        if (room == nullptr) return false;
        write(room, frame);
        commit(to, sizeof frame);
        return true;
    };
    if (note.type == FrameType::value || note.type == FrameType::failed) {
        return send(
            LongFrame{note.type, note.code_and_end, 0, note.initiator, note.token, note.detail});
    }
    if (note.type == FrameType::refused) {
        return send(RefusedFrame{note.type, note.code_and_end, 0, note.initiator, note.token,
                                 note.detail, note.bytes});
    }
    return send(ShortFrame{note.type, 0, note.count, note.initiator, note.token});
}

void Router::State::post(Peer& to, const Note& note) {
    if (to.is_severed) return;  // it hears nothing any more
    if (to.notes.is_empty() && !to.is_blocked && write_note(to, note)) return;
    const std::uint32_t index = notes.take();
    if (index == no_index) {
        // It has let us send nothing while it had us do all this: ORD-51.
        ++counters.ends_overflows;
        sever_later(to.node);
        return;
    }
    const std::uint32_t next = notes[index].next;
    notes[index] = note;
    notes[index].next = next;
    notes[index].is_taken = true;
    to.notes.push(notes, index);
    wake(to);
}

void Router::State::flush_run(Run& run) {
    Note note;
    note.type = FrameType::end;
    note.count = static_cast<std::uint16_t>(run.count);
    note.initiator = run.initiator;
    note.token = run.token;
    run.count = 0;
    --runs_open;
    post(peer_of(note.initiator), note);
}

void Router::State::flush_runs() {
    if (runs_open == 0) return;
    for (Run& run : runs) {
        if (run.count != 0) flush_run(run);
    }
}

void Router::State::pump(Peer& to) {
    std::uint32_t budget = pieces_per_turn_max;
    while (!to.is_blocked && !to.is_severed) {
        if (!to.notes.is_empty()) {
            if (write_note(to, notes[to.notes.head])) notes.give(to.notes.pop(notes));
            continue;
        }
        if (to.flows.is_empty() || budget-- == 0) break;
        const std::uint32_t found = to.flows.pop(flows);
        const std::uint32_t index = flows[found].work.pop(operations);
        const Step result = step(index, to);
        Flow& flow = flows[found];
        if (result == Step::done) release(index);
        if (result == Step::again) flow.work.push(operations, index);
        if (result == Step::blocked) {
            flow.work.push_front(operations, index);
            to.flows.push_front(flows, found);
        } else if (flow.work.is_empty()) {
            flow_index.erase(found);
            flows.give(found);
        } else {
            to.flows.push(flows, found);
        }
    }
}

// Every node that was ready gets its turn once.
void Router::State::pump_all() {
    Peer* to = ready_head;
    ready_head = nullptr;
    ready_tail = nullptr;
    while (to != nullptr) {
        Peer* following = to->next_ready;
        to->is_ready = false;
        pump(*to);
        wake(*to);
        to = following;
    }
}

bool Router::State::place_again(std::uint32_t index) {
    Operation& operation = operations[index];
    const std::uint64_t cost = operation.bytes + kept_overhead_bytes;
    LocalProcess& owner = local(where(operation.target));
    if (!operation.is_cancelled) {
        const Settlement put = placement.put(operation.target, {operation.kept, operation.bytes},
                                             ticket_of(index, operation));
        if (put.progress == Progress::refused) return false;
        if (put.progress == Progress::taken) {
            owner.kept_bytes -= cost;
            operation.is_with_placement = true;
            return true;
        }
        settle_piece(operation, put.code);
    }
    owner.kept_bytes -= cost;
    release(index);
    return true;
}

void Router::State::retry(LocalProcess& process) {
    Queue todo = process.waiting;
    process.waiting = Queue{};
    for (std::uint32_t i = 0; i < retries_per_turn_max && !todo.is_empty(); ++i) {
        const std::uint32_t index = todo.pop(operations);
        if (operations[index].work == Work::place) {
            if (!place_again(index)) process.waiting.push(operations, index);
        } else if (operations[index].is_cancelled) {
            release(index);
        } else if (operations[index].work == Work::run) {
            go_on(index, step_run(index));
        } else {
            enqueue(index);
        }
    }
    // Those not asked come first next time.
    if (todo.is_empty()) return;
    operations[todo.tail].next = process.waiting.head;
    if (!process.waiting.is_empty()) todo.tail = process.waiting.tail;
    process.waiting = todo;
}

void Router::State::retry_waiting() {
    if (now < retry_at) return;
    retry_at = datagram::never;
    const std::uint64_t moves_before = moves;
    retried_processes.clear();
    retried_processes.swap(waiting_processes);
    for (std::uint32_t slot : retried_processes) {
        LocalProcess& process = locals[slot];
        process.is_waiting = false;
        retry(process);
        if (!process.waiting.is_empty() && !process.is_waiting) {
            process.is_waiting = true;
            waiting_processes.push_back(slot);
        }
    }
    retry_wait = moves != moves_before ? retry_ns_min : std::min(2 * retry_wait, retry_ns_max);
    if (!waiting_processes.empty()) retry_at = now + retry_wait;
}

// This node has come to one.
void Router::State::note_meeting() {
    is_meeting_ready = true;
    meeting_scans = 0;
    arm();
}

void Router::State::advance_meeting() {
    Meeting::Part part;
    std::uint32_t node = 0;
    while (meeting.next(0, node, part)) {
        Peer& to = peer(node);
        if (to.is_severed || to.is_blocked) break;
        const std::uint64_t room_bytes = std::min<std::uint64_t>(to.frame_bytes, 0xffffU);
        const std::uint64_t values_max = (room_bytes - sizeof(MeetFrame)) / 4;
        (void)meeting.next(static_cast<std::uint32_t>(values_max), node, part);
        const std::size_t bytes = sizeof(MeetFrame) + std::size_t{part.count} * 4;
        std::byte* room = reserve(to, bytes);
        if (room == nullptr) break;
        MeetFrame frame;
        frame.round = part.round;
        frame.count = static_cast<std::uint16_t>(part.count);
        frame.number = part.number;
        frame.offset = part.offset;
        frame.total = part.total;
        write(room, frame);
        meeting.copy_values(part, room + sizeof frame);
        commit(to, bytes);
        meeting.sent(part);
    }
    is_meeting_ready = false;
    std::uint32_t number = 0;
    std::span<const std::uint32_t> table;
    if (meeting.take_met(number, table)) {
        ++moves;
        completions.on_met(number, table);
    }
}

bool Router::State::turn() {
    const std::uint64_t moves_before = moves;
    placement.flush();  // what frames and submits brought together
    retry_waiting();
    resend_due();
    if (now >= scan_at) scan();
    flush_runs();
    if (is_meeting_ready) advance_meeting();
    pump_all();
    const std::uint64_t moves_sent = moves;
    placement.flush();  // what the pump asked to be read
    if (moves != moves_sent) {
        flush_runs();
        pump_all();
    }
    sever_now();
    return moves != moves_before;
}

Time Router::State::deadline() const noexcept {
    if (ready_head != nullptr || runs_open != 0 || is_meeting_ready || !to_sever.empty()) return 0;
    Time earliest = std::min(scan_at, retry_at);
    for (const Queue& queue : resend_queues) {
        if (!queue.is_empty()) earliest = std::min(earliest, resends[queue.head].due);
    }
    return earliest;
}

}  // namespace acp::router
