// SPDX-License-Identifier: BSD-3-Clause
// Where work of this node waits: in a flow for its turn to be sent to a node (ORD-50), or parked at
// a process of this node until placement has room (ORD-41). A flow holds the work of one initiator
// for one node; the flows of a node take turns, so that no initiator delays the others. Says which
// work is next, not how it is done (scheduler.hpp). Work for a severed node is dropped at once. One
// thread.
// Tests: tests/unit/router/backlog_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "router/activity.hpp"
#include "router/ends.hpp"
#include "router/nodes.hpp"
#include "router/operations.hpp"
#include "router/outbox.hpp"

namespace acp::router {

// Parked work of one process that is tried in one poll.
inline constexpr std::uint32_t retries_per_poll_max = 64;
inline constexpr Time retry_ns_min = 10'000;  // pause after a refusal by placement
inline constexpr Time retry_ns_max = 1'000'000;

// What a step of work results in: the work is done; it has more to send at once; it waits
// elsewhere; or the endpoint has no room.
enum class StepOutcome : std::uint8_t { done, again, parked, blocked };

class Backlog {
public:
    // The work whose turn it is, and its flow.
    struct Turn {
        std::uint32_t flow = no_index;
        std::uint32_t operation = no_index;
    };

    // All arguments must outlive this. Throws std::bad_alloc; later calls allocate only when the
    // index grows.
    //   kept_bytes_max  bytes of pieces that may be kept for each process
    Backlog(Nodes& nodes,
            Operations& operations,
            Outbox& outbox,
            Ends& ends,
            Activity& activity,
            std::uint64_t kept_bytes_max);

    // Appends work to the flow of its initiator to its node, or puts it first there.
    void enqueue(std::uint32_t index, bool is_first = false);

    // Acts on the outcome of a step that was made outside a turn.
    void go_on(std::uint32_t index, StepOutcome step);

    // Parks work that placement has no room for at a process of this node; it is tried again later.
    void park(std::uint32_t index, std::uint64_t process);

    // Whether work of `count` commands of an initiator, with tokens `first`, first + 2, ..., waits for a
    // turn at a lane.
    [[nodiscard]] bool has_work_of(const RouterPeer& to,
                                   std::uint32_t initiator,
                                   std::uint64_t first,
                                   std::uint64_t count) noexcept;

    // Takes the work whose turn it is at a node. Only if !to.flows.is_empty().
    [[nodiscard]] Turn take_turn(RouterPeer& to) noexcept;

    // Ends that turn according to the outcome of the step.
    void end_turn(RouterPeer& to, Turn turn, StepOutcome step) noexcept;

    // Drops all work that waits for a severed node, and fails its commands.
    void abandon_all(RouterPeer& gone);

    // The bytes of pieces kept for a process: may_keep() returns whether another piece fits into
    // kept_bytes_max, count_kept() adds a piece, count_given_up() subtracts one.
    [[nodiscard]] bool may_keep(std::uint64_t process, std::uint64_t bytes) const noexcept {
        return waiting_[nodes_.local_index(process)].kept_bytes + bytes <= kept_bytes_max_;
    }

    void count_kept(std::uint64_t process, std::uint64_t bytes) noexcept {
        waiting_[nodes_.local_index(process)].kept_bytes += bytes;
    }

    void count_given_up(std::uint64_t process, std::uint64_t bytes) noexcept {
        waiting_[nodes_.local_index(process)].kept_bytes -= bytes;
    }

    // If it is time, calls ask(operation) for parked work, up to retries_per_poll_max times per
    // process. ask() returns false if there is still no room: the work stays parked.
    template <typename Ask>
    void retry_due(Ask ask);

    // Notes that there may be room at a process of this node, so that its parked work is tried at
    // the next poll.
    void retry_soon(std::uint64_t process) noexcept {
        if (waiting_[nodes_.local_index(process)].is_listed) retry_at_ = 0;
    }

    // When parked work is tried again; datagram::never: there is none.
    [[nodiscard]] Time retry_at() const noexcept { return retry_at_; }

private:
    // The parked work of one process.
    struct Waiting {
        Queue work;
        std::uint64_t kept_bytes = 0;
        bool is_listed = false;  // it is in listed_
    };

    void abandon(std::uint32_t index);
    template <typename Ask>
    void retry(Waiting& process, Ask& ask);

    Nodes& nodes_;
    Operations& operations_;
    Outbox& outbox_;
    Ends& ends_;
    Activity& activity_;
    Pool<Flow> flows_;  // only flows with work exist
    Index<Flow> flow_index_;
    std::uint64_t kept_bytes_max_;
    std::vector<Waiting> waiting_;       // one per process of this node
    std::vector<std::uint32_t> listed_;  // processes with parked work
    // Processes being tried now; both vectors have capacity for all.
    std::vector<std::uint32_t> retried_;
    Time retry_at_ = datagram::never;
    Time retry_wait_ = retry_ns_min;  // present pause between tries
};

template <typename Ask>
void Backlog::retry(Waiting& process, Ask& ask) {
    Queue todo = process.work;
    process.work = Queue{};
    Pool<OperationRecord>& pool = operations_.pool();
    for (std::uint32_t i = 0; i < retries_per_poll_max && !todo.is_empty(); ++i) {
        const std::uint32_t index = todo.pop(pool);
        if (!ask(index)) process.work.push(pool, index);
    }
    // Work that was not tried this time comes first the next time.
    if (todo.is_empty()) return;
    pool[todo.tail].next = process.work.head;
    if (!process.work.is_empty()) todo.tail = process.work.tail;
    process.work = todo;
}

template <typename Ask>
void Backlog::retry_due(Ask ask) {
    if (activity_.now() < retry_at_) return;
    retry_at_ = datagram::never;
    const std::uint64_t moves_before = activity_.moves();
    retried_.clear();
    retried_.swap(listed_);
    for (const std::uint32_t slot : retried_) {
        Waiting& process = waiting_[slot];
        process.is_listed = false;
        retry(process, ask);
        if (!process.work.is_empty() && !process.is_listed) {
            process.is_listed = true;
            listed_.push_back(slot);
        }
    }
    const bool has_moved = activity_.moves() != moves_before;
    retry_wait_ = has_moved ? retry_ns_min : std::min(2 * retry_wait_, retry_ns_max);
    if (!listed_.empty()) retry_at_ = activity_.now() + retry_wait_;
}

}  // namespace acp::router
