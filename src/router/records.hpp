// SPDX-License-Identifier: BSD-3-Clause
// The records that a router keeps: commands of this node's processes, work done here, copies that
// have arrived in part, short frames that wait for room, and nodes. Data only; their rules are in
// the classes that keep them. One thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "memory/command.hpp"
#include "router/frames.hpp"
#include "router/placement.hpp"
#include "router/pool.hpp"
#include "router/surroundings.hpp"

namespace acp::router {

// The process that a global address belongs to. Only this function interprets addresses.
[[nodiscard]] inline std::uint64_t process_of(const memory::GaLayout& layout,
                                              GlobalAddress address) noexcept {
    return layout.process(address);
}

// Values besides those of memory::Operation, used in this router's records only.
inline constexpr auto invoke_operation = static_cast<std::uint8_t>(memory::invoke_operation);
// Stands for any invalid operation of a submitted command.
inline constexpr std::uint8_t bad_operation = 255;
static_assert(invoke_operation != bad_operation);

// The process on whose memory an invoke runs, and the number of its operation.
struct CalledOperation {
    std::uint32_t process = 0;
    std::uint32_t number = 0;
};

// A command of a process of this node, until its completion. It fits a cache line.
struct alignas(64) Outstanding {
    std::uint64_t token = 0;
    GlobalAddress target = 0;  // invoke: process and operation (CalledOperation)
    GlobalAddress source = 0;  // invoke: token of the first command that it is ordered after
    std::uint64_t bytes = 0;   // length of a copy, or of arguments
    // invoke: where its arguments lie; copy: token of the first command that it is ordered after
    std::uint64_t operand = 0;
    // copy: number of consecutive commands that it is ordered after; invoke: this number in the upper
    // half, and InvokeRequest::place in the lower one
    std::uint64_t expected = 0;
    std::uint32_t initiator = 0;
    std::uint32_t next = 0;
    std::uint32_t chain = 0;
    std::uint8_t operation = 0;
    std::uint8_t attempts = 0;  // number of times it was sent again after a refusal
    std::uint8_t age = 0;       // number of the first scan after it began, modulo 256
    std::uint8_t width : 4 = 0;
    std::uint8_t is_followed : 1 = 0;       // an outstanding copy is ordered after it
    std::uint8_t is_value_dropped : 1 = 0;  // atomic without a target: target is its word
    std::uint8_t is_taken : 1 = 0;

    [[nodiscard]] bool is_invoke() const noexcept { return operation == invoke_operation; }

    [[nodiscard]] CalledOperation called() const noexcept {
        return {static_cast<std::uint32_t>(target), static_cast<std::uint32_t>(target >> 32U)};
    }

    [[nodiscard]] std::uint32_t place() const noexcept {
        return static_cast<std::uint32_t>(expected);
    }

    void call(const InvokeRequest& request) noexcept {
        operation = invoke_operation;
        target = request.process | std::uint64_t{request.operation} << 32U;
        source = request.before;
        expected = request.place | std::uint64_t{request.before_count} << 32U;
    }

    // Whether it was submitted before the copies had completed that it is ordered after (ORD-66).
    [[nodiscard]] bool is_ordered() const noexcept { return before_count() != 0; }

    [[nodiscard]] std::uint64_t before() const noexcept { return is_invoke() ? source : operand; }

    [[nodiscard]] std::uint64_t before_count() const noexcept {
        if (is_invoke()) return expected >> 32U;
        return operation == 0 ? expected : 0;
    }

    // Returns the arguments of an invoke, which the caller keeps until its completion.
    [[nodiscard]] Bytes arguments() const noexcept {
        return {std::bit_cast<const std::byte*>(operand), bytes};
    }
};

static_assert(sizeof(Outstanding) == 64);

// A short frame that waits for room at the endpoint.
struct Note {
    std::uint64_t token = 0;
    std::uint64_t detail = 0;
    std::uint64_t bytes = 0;
    std::uint32_t initiator = 0;
    std::uint32_t next = 0;
    FrameType type = FrameType::end;
    std::uint8_t code_and_end = 0;  // REFUSED: is_command; DEAD: state
    std::uint16_t count = 0;
    bool is_taken = false;
};

// The kinds of work that a record stands for. All are done at the node of the command's source,
// except `request` (at the initiator's node) and `place` (at the target's). The initiator may be a
// process of any node.
enum class Work : std::uint8_t {
    request,  // a command or invoke of this node's process, to be sent to another node
    pieces,   // a copy to another node, being cut and sent
    staged,   // one piece of such a copy, which placement reads or has read
    value,    // the old value of an atomic, to be sent to a third node
    run,      // a copy with both ends here, or an atomic whose word is here
    invoke,   // a numbered operation
    place,    // a piece that arrived: placement works on it, or had no room
    spare     // no work: the record is reserved for the next piece
};

// The share in which a record is counted, so that no kind of work can take the records of another.
// own: for commands of this node's processes; foreign: for commands of other nodes' processes;
// inner: pieces staged or placed; value: old values of atomics.
enum class Share : std::uint8_t { own, foreign, inner, value };
inline constexpr std::size_t share_count = 4;

struct OperationRecord {
    std::uint64_t token = 0;
    GlobalAddress target = 0;  // invoke: the process
    GlobalAddress source = 0;  // invoke: the operation, at the node that runs it
    std::uint64_t bytes = 0;   // bytes to be done here
    std::uint64_t total = 0;   // bytes of the whole copy
    std::uint64_t offset = 0;  // bytes done
    std::uint64_t operand = 0;
    std::uint64_t expected = 0;
    std::byte* kept = nullptr;  // place: the bytes for which placement had no room; owned
    std::uint32_t initiator = 0;
    // The lane on which it waits to be sent; place: the node that sent it.
    std::uint32_t lane = 0;
    std::uint32_t next = 0;
    std::uint32_t generation = 1;  // number of this use of the record, part of its ticket
    std::uint32_t buffer = no_index;
    std::uint32_t parent = no_index;  // staged: the copy that it is a piece of
    std::uint32_t parent_generation = 0;
    Work work = Work::request;
    Share share = Share::own;
    std::uint8_t operation = 0;
    std::uint8_t width = 0;
    bool is_taken = false;
    bool is_with_placement = false;  // on_settled() will follow
    bool is_cancelled = false;       // its command has failed or its initiator is lost: drop it
    bool is_staged = false;          // pieces: placement reads them into staging buffers
    bool is_value = false;           // place: an old value
    bool is_value_dropped = false;   // run: an atomic without a target; target is its word
};

// The work of one initiator that waits for one lane; the flows of a lane take turns. Exists only
// while it has work.
struct Flow {
    std::uint64_t token = 0;  // 2 * lane
    std::uint32_t initiator = 0;
    std::uint32_t next = 0;
    std::uint32_t chain = 0;
    Queue work;
    bool is_taken = false;
};

// A copy that has arrived in part.
struct Partial {
    std::uint64_t token = 0;
    std::uint64_t total = 0;
    std::uint64_t arrived = 0;  // bytes arrived, without refused ones
    std::uint64_t settled = 0;  // the part of `arrived` that is in place or has failed
    std::uint32_t initiator = 0;
    std::uint32_t next = 0;
    std::uint32_t chain = 0;
    NodeId from = 0;
    std::uint32_t quiet_scans = 0;  // scans since bytes last arrived or settled
    bool is_failed = false;
    bool is_taken = false;
};

// A part of a command that another node refused, until it is sent again.
struct Resend {
    std::uint64_t token = 0;
    std::uint64_t offset = 0;  // offset of the part; or the old value of an atomic
    std::uint64_t bytes = 0;
    Time due = 0;
    std::uint32_t initiator = 0;
    std::uint32_t next = 0;
    bool is_value = false;
    bool is_taken = false;
};

struct
    Arguments {  // NOLINT(cppcoreguidelines-pro-type-member-init): bytes are the taker's to write
    std::uint32_t next = 0;
    bool is_taken = false;
    std::byte bytes[invoke_bytes_max];
};

// A lane: a node to which a frame was sent or from which one was received, on one rail. The lane of
// rail 0 stands for the node as a whole. The comment before each group of fields names the class
// that writes it.
struct RouterPeer {
    // Nodes.
    NodeId node = 0;
    std::uint32_t lane = 0;                  // rail * nodes + node: on rail 0 the node's number
    datagram::Endpoint* endpoint = nullptr;  // the endpoint of its rail
    std::uint32_t first = 0;                 // the node's first process
    std::uint32_t count = 0;
    bool is_severed = false;
    bool is_to_sever = false;  // passed to Nodes::sever_later()

    // Outbox.
    bool is_blocked = false;                      // the endpoint has no room, until on_room()
    bool is_ready = false;                        // true: queued in Outbox's queue of ready nodes
    datagram::Time refused_at = datagram::never;  // since when the endpoint has no memory for it
    Queue notes;                                  // short frames that wait for room
    RouterPeer* next_ready = nullptr;

    // Backlog.
    Queue flows;

    // WatchList, of the lane of rail 0.
    bool is_watched = false;
    std::uint32_t watch_scan = 0;  // the last scan that keeps it watched
    std::uint32_t asked_scan = 0;  // the last scan in which this node sent it a WATCH
    NodeId asked_node = 0;         // the node that this WATCH named

    [[nodiscard]] bool has(std::uint64_t process) const noexcept { return process - first < count; }
};

// A command, or a part of a copy, to be begun at the node of its source. The addresses are those of
// the part.
struct Task {
    memory::Command command;
    std::uint64_t total = 0;  // bytes of the whole copy
    std::uint64_t token = 0;
    std::uint32_t initiator = 0;
    Share share = Share::own;
};

// Why a command failed.
struct CommandFailure {
    base::Code code = base::Code::peer;
    BlamedAddress blamed = BlamedAddress::none;
    std::uint32_t process = 0;
};

}  // namespace acp::router
