// SPDX-License-Identifier: BSD-3-Clause
// Where work of this node waits: in the flow of its initiator for its turn to be sent to a node (ORD-50), or at a process
// of this node for room that placement did not have (ORD-41). Says what comes next, and not what is then done with it:
// scheduler.hpp does that. Work for a node that is severed is given up at once. One thread.
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

inline constexpr std::uint32_t retries_per_turn_max = 64;  // of one process's waiting work
inline constexpr Time retry_ns_min = 10'000;               // placement had no room
inline constexpr Time retry_ns_max = 1'000'000;

// What a step of some work leaves: nothing, more to be sent at once, work that waits elsewhere, or no room to send.
enum class StepOutcome : std::uint8_t { done, again, parked, blocked };

class Backlog {
public:
    // Work that has its turn, and the flow it comes from.
    struct Turn {
        std::uint32_t flow = no_index;
        std::uint32_t operation = no_index;
    };

    // All must outlive this. Throws std::bad_alloc; later calls take no memory but for the index to grow.
    Backlog(Nodes& nodes,
            Operations& operations,
            Outbox& outbox,
            Ends& ends,
            Activity& activity,
            std::uint64_t kept_bytes_max);

    // Work waits for its turn to be sent to its node, behind the other work of its initiator or before it.
    void enqueue(std::uint32_t index, bool is_first = false);

    // What a step outside a turn leaves to be done.
    void go_on(std::uint32_t index, StepOutcome step);

    // Placement has no room for work about a process of this node: it is asked again later.
    void park(std::uint32_t index, std::uint64_t process);

    // Takes the work whose turn it is at a node.   !to.flows.is_empty()
    [[nodiscard]] Turn take_turn(RouterPeer& to) noexcept;

    // After the step of that work.
    void end_turn(RouterPeer& to, Turn turn, StepOutcome step) noexcept;

    // Gives all work up that waits for a severed node, and tells those who wait for it.
    void abandon_all(RouterPeer& gone);

    // Whether a piece may be kept for a process within kept_bytes_max, and the count of what is.
    [[nodiscard]] bool may_keep(std::uint64_t process, std::uint64_t bytes) const noexcept {
        return waiting_[nodes_.local_index(process)].kept_bytes + bytes <= kept_bytes_max_;
    }

    void count_kept(std::uint64_t process, std::uint64_t bytes) noexcept {
        waiting_[nodes_.local_index(process)].kept_bytes += bytes;
    }

    void count_given_up(std::uint64_t process, std::uint64_t bytes) noexcept {
        waiting_[nodes_.local_index(process)].kept_bytes -= bytes;
    }

    // When it is time, calls ask(operation) for work that was parked, up to retries_per_turn_max for each process. It
    // returns false when there is no room still: the work stays parked.
    template <typename Ask>
    void retry_due(Ask ask);

    // There may be room for a process of this node, earlier than it would be asked.
    void retry_soon(std::uint64_t process) noexcept {
        if (waiting_[nodes_.local_index(process)].is_listed) retry_at_ = 0;
    }

    // When parked work is asked again; datagram::never: there is none.
    [[nodiscard]] Time retry_at() const noexcept { return retry_at_; }

private:
    // Work that placement had no room for, of one process.
    struct Waiting {
        Queue work;
        std::uint64_t kept_bytes = 0;
        bool is_listed = false;
    };

    void abandon(std::uint32_t index);
    template <typename Ask>
    void retry(Waiting& process, Ask& ask);

    Nodes& nodes_;
    Operations& operations_;
    Outbox& outbox_;
    Ends& ends_;
    Activity& activity_;
    Pool<Flow> flows_;
    Index<Flow> flow_index_;
    std::uint64_t kept_bytes_max_;
    std::vector<Waiting> waiting_;        // by process of this node
    std::vector<std::uint32_t> listed_;   // those with waiting work
    std::vector<std::uint32_t> retried_;  // those being asked again; both have room for all
    Time retry_at_ = datagram::never;
    Time retry_wait_ = retry_ns_min;
};

template <typename Ask>
void Backlog::retry(Waiting& process, Ask& ask) {
    Queue todo = process.work;
    process.work = Queue{};
    Pool<OperationRecord>& pool = operations_.pool();
    for (std::uint32_t i = 0; i < retries_per_turn_max && !todo.is_empty(); ++i) {
        const std::uint32_t index = todo.pop(pool);
        if (!ask(index)) process.work.push(pool, index);
    }
    // Those not asked come first next time.
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
