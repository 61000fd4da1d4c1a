// SPDX-License-Identifier: BSD-3-Clause
// The virtual clock and the queue of events: events come out ordered by time, and those of equal
// time in the order they were added, so that a run is deterministic. Does not know what an event
// means. One thread. Tests: tests/unit/sim/agenda_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/assert.hpp"
#include "sim/judge.hpp"

namespace acp::sim {

// What happens at an event's time. wake: a node runs; port: a datagram reaches a node's switch
// port; arrive: it reaches the socket; settle: a placement settles; fault: a fault begins or ends;
// forge: the attacker sends.
enum class EventKind : std::uint8_t { wake, port, arrive, settle, fault, forge };

struct AgendaEntry {
    Time at = 0;
    std::uint64_t order = 0;     // number in order of addition
    std::uint64_t argument = 0;  // depends on the kind
    NodeId node = 0;
    EventKind kind = EventKind::wake;
};

class Agenda {
public:
    // Adds an event.
    //   at  not before now()
    void add(Time at, EventKind kind, NodeId node, std::uint64_t argument) {
        events_.push_back({std::max(at, now_), ++added_, argument, node, kind});
        std::push_heap(events_.begin(), events_.end(), is_later);
    }

    [[nodiscard]] bool is_empty() const noexcept { return events_.empty(); }

    // Removes and returns the next event, and moves the clock to it. Only if not is_empty().
    AgendaEntry take() {
        ACP_ASSERT(!events_.empty());
        std::pop_heap(events_.begin(), events_.end(), is_later);
        const AgendaEntry event = events_.back();
        events_.pop_back();
        now_ = event.at;
        return event;
    }

    [[nodiscard]] Time now() const noexcept { return now_; }

    [[nodiscard]] std::uint64_t added() const noexcept { return added_; }

private:
    static bool is_later(const AgendaEntry& a, const AgendaEntry& b) noexcept {
        return a.at != b.at ? a.at > b.at : a.order > b.order;
    }

    std::vector<AgendaEntry> events_;
    Time now_ = 0;
    std::uint64_t added_ = 0;  // events added so far
};

}  // namespace acp::sim
