// SPDX-License-Identifier: BSD-3-Clause
// The virtual clock and what is to happen when: events come out by time, those of one time in the order they
// were added. Knows no meaning of an event. One thread. Tests: tests/unit/sim/agenda_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/assert.hpp"
#include "sim/judge.hpp"

namespace acp::sim {

enum class EventKind : std::uint8_t { wake, port, arrive, settle, fault, forge };

struct AgendaEntry {
    Time at = 0;
    std::uint64_t order = 0;
    std::uint64_t argument = 0;
    NodeId node = 0;
    EventKind kind = EventKind::wake;
};

class Agenda {
public:
    //   at  not before now()
    void add(Time at, EventKind kind, NodeId node, std::uint64_t argument) {
        events_.push_back({std::max(at, now_), ++added_, argument, node, kind});
        std::push_heap(events_.begin(), events_.end(), is_later);
    }

    [[nodiscard]] bool is_empty() const noexcept { return events_.empty(); }

    // The next event; the clock moves to it.   not is_empty()
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
    std::uint64_t added_ = 0;
};

}  // namespace acp::sim
