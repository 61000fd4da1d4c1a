// SPDX-License-Identifier: BSD-3-Clause
// Events come by time, then in the order they were added. Main thread only.
#include "sim/agenda.hpp"

#include <gtest/gtest.h>

namespace acp::sim {
namespace {

TEST(Agenda, gives_events_by_time_and_those_of_one_time_in_the_order_they_were_added) {
    Agenda agenda;
    agenda.add(30, EventKind::wake, 0, 1);
    agenda.add(10, EventKind::wake, 0, 2);
    agenda.add(30, EventKind::arrive, 0, 3);
    agenda.add(20, EventKind::fault, 0, 4);
    agenda.add(30, EventKind::settle, 0, 5);
    std::vector<std::uint64_t> order;
    std::vector<Time> times;
    while (!agenda.is_empty()) {
        order.push_back(agenda.take().argument);
        times.push_back(agenda.now());
    }
    EXPECT_EQ(order, (std::vector<std::uint64_t>{2, 4, 1, 3, 5}));
    EXPECT_EQ(times, (std::vector<Time>{10, 20, 30, 30, 30}));
}

TEST(Agenda, puts_what_is_asked_for_too_late_at_the_present) {
    Agenda agenda;
    agenda.add(100, EventKind::wake, 0, 0);
    agenda.take();
    agenda.add(50, EventKind::wake, 0, 1);
    EXPECT_EQ(agenda.take().at, 100U);
    EXPECT_EQ(agenda.now(), 100U);
}

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
