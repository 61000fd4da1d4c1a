// SPDX-License-Identifier: BSD-3-Clause
// The records a router keeps of what is under way: commands of this node's processes, work done here, copies that
// have arrived in part, short frames that wait for room, and nodes. Data only: the class that keeps a record has its rules.
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/command.hpp"
#include "router/frames.hpp"
#include "router/placement.hpp"
#include "router/pool.hpp"
#include "router/surroundings.hpp"

namespace acp::router {

// The one place that knows what a global address says about where it is.
[[nodiscard]] inline std::uint64_t process_of(const memory::GaLayout& layout,
                                              GlobalAddress address) noexcept {
    return layout.process(address);
}

// Beside those of memory::Operation, in records of this router only.
inline constexpr auto invoke_operation = static_cast<std::uint8_t>(memory::invoke_operation);
inline constexpr std::uint8_t bad_operation = 255;  // whatever a process may ask for instead
static_assert(invoke_operation != bad_operation);

// A command of a process of this node, until its completion: one cache line.
struct alignas(64) Outstanding {
    std::uint64_t token = 0;
    GlobalAddress target = 0;   // of an invoke: the process
    GlobalAddress source = 0;   // of an invoke: the operation
    std::uint64_t bytes = 0;    // of a copy, or of arguments
    std::uint64_t operand = 0;  // of an invoke: index of its arguments
    std::uint64_t expected = 0;
    std::uint32_t initiator = 0;
    std::uint32_t next = 0;
    std::uint32_t chain = 0;
    std::uint8_t operation = 0;
    std::uint8_t attempts = 0;  // sent again because refused
    std::uint8_t age = 0;       // the scan before which it came
    std::uint8_t width : 6 = 0;
    std::uint8_t is_value_dropped : 1 = 0;  // of an atomic without a target: target is its word
    std::uint8_t is_taken : 1 = 0;
};

static_assert(sizeof(Outstanding) == 64);

// A short frame that waits for room at its node's endpoint.
struct Note {
    std::uint64_t token = 0;
    std::uint64_t detail = 0;
    std::uint64_t bytes = 0;
    std::uint32_t initiator = 0;
    std::uint32_t next = 0;
    FrameType type = FrameType::end;
    std::uint8_t code_and_end = 0;  // of REFUSED: is_command
    std::uint16_t count = 0;
    bool is_taken = false;
};

// The kinds of work that a record stands for. All are done at the node of the command's source, but for `request` (at the
// initiator's node) and `place` (at the target's); the initiator may be a process of any node.
enum class Work : std::uint8_t {
    request,  // to be sent: a command or an invoke of a process of this node
    pieces,   // a copy to another node, being cut and sent
    staged,   // one piece of it that placement reads, or has read
    value,    // the old value of an atomic, to be sent to a third node
    run,      // a command whose ends, or whose word, are here
    invoke,   // an operation
    place,    // a piece that has come: placement is at it, or had no room
    spare     // nothing yet: the record is held ready for the next piece that comes
};

// Under which share the record is counted: none of them may take the room of the others.
enum class Share : std::uint8_t { own, foreign, inner, value };
inline constexpr std::size_t share_count = 4;

struct OperationRecord {
    std::uint64_t token = 0;
    GlobalAddress target = 0;  // of an invoke: the process
    GlobalAddress source = 0;  // of an invoke: the operation
    std::uint64_t bytes = 0;   // to be done here
    std::uint64_t total = 0;   // of the whole copy
    std::uint64_t offset = 0;  // done
    std::uint64_t operand = 0;
    std::uint64_t expected = 0;
    std::byte* kept = nullptr;  // of place: what had no room; owned
    std::uint32_t initiator = 0;
    NodeId node = 0;  // in whose flow it waits; of place: whence it came
    std::uint32_t next = 0;
    std::uint32_t generation = 1;  // so that a ticket names one use of this record
    std::uint32_t buffer = no_index;
    std::uint32_t parent = no_index;  // of staged: whose piece it is
    std::uint32_t parent_generation = 0;
    Work work = Work::request;
    Share share = Share::own;
    std::uint8_t operation = 0;
    std::uint8_t width = 0;
    bool is_taken = false;
    bool is_with_placement = false;  // on_settled will tell
    bool is_cancelled = false;       // nobody wants it any more; told already
    bool is_staged = false;          // of pieces: placement cannot read them at once
    bool is_value = false;           // of place
    bool is_value_dropped = false;   // of run: an atomic without a target, which is its word here
};

// What one initiator wants sent to one node, in turns with others. Exists while there is something.
struct Flow {
    std::uint64_t token = 0;  // 2 * node
    std::uint32_t initiator = 0;
    std::uint32_t next = 0;
    std::uint32_t chain = 0;
    Queue work;
    bool is_taken = false;
};

// A copy of which a part has come.
struct Partial {
    std::uint64_t token = 0;
    std::uint64_t total = 0;
    std::uint64_t arrived = 0;  // bytes taken in, refused ones not counted
    std::uint64_t settled = 0;  // bytes in place or failed
    std::uint32_t initiator = 0;
    std::uint32_t next = 0;
    std::uint32_t chain = 0;
    NodeId from = 0;
    std::uint32_t quiet_scans = 0;
    bool is_failed = false;
    bool is_taken = false;
};

// A part of a command that was refused and is to be sent again.
struct Resend {
    std::uint64_t token = 0;
    std::uint64_t offset = 0;  // or the old value of an atomic
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

// A node something was sent to or heard from. Each group of fields has the class that writes it before it.
struct RouterPeer {
    // Nodes.
    NodeId node = 0;
    std::uint32_t first = 0;  // process
    std::uint32_t count = 0;
    bool is_severed = false;
    bool is_to_sever = false;  // noted, to be severed later

    // Outbox.
    bool is_blocked = false;                      // no room at the endpoint; on_room ends it
    bool is_ready = false;                        // in the queue of those that are ready
    std::uint32_t frame_bytes = 0;                // longest frame, when last asked
    datagram::Time refused_at = datagram::never;  // since then there is no memory at the endpoint
    Queue notes;
    RouterPeer* next_ready = nullptr;

    // Backlog.
    Queue flows;

    // WatchList.
    bool is_watched = false;
    std::uint32_t watch_scan = 0;  // the last scan that wanted it watched
    std::uint32_t asked_scan = 0;  // the last scan that asked it to watch another,
    NodeId asked_node = 0;         // and which

    [[nodiscard]] bool has(std::uint64_t process) const noexcept { return process - first < count; }
};

// A command to be begun at the node of its source: the part of it that starts at its addresses.
struct Task {
    memory::Command command;
    std::uint64_t total = 0;  // of the whole copy
    std::uint64_t token = 0;
    std::uint32_t initiator = 0;
    Share share = Share::own;
};

// How a command failed.
struct CommandFailure {
    base::Code code = base::Code::peer;
    BlamedAddress end = BlamedAddress::none;
    std::uint32_t process = 0;
};

}  // namespace acp::router
