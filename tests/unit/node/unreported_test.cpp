// SPDX-License-Identifier: BSD-3-Clause
// A process records failures that no call has reported, and other processes read them; also after
// the death of a writer in the middle.
#include "node/unreported.hpp"

#include <gtest/gtest.h>
#include <string>

namespace acp::node {
namespace {

Segment made() {
    base::Config config;
    config.starter_bytes = 4096;
    auto segment = Segment::create(shape_for(config, 2));
    EXPECT_TRUE(segment.is_ok());
    return std::move(segment).value();
}

TEST(UnreportedTest, what_was_written_is_read) {
    const Segment segment = made();
    UnreportedPlace place(segment, 1);
    EXPECT_EQ(place.read(), Unreported{});
    place.write(3, "acp_copy by rank 0 on here: no such memory");
    EXPECT_EQ(place.read(), (Unreported{3, "acp_copy by rank 0 on here: no such memory"}));
    place.write_count(2);
    EXPECT_EQ(place.read().count, 2U);
    place.clear();
    EXPECT_EQ(place.read(), Unreported{});
}

TEST(UnreportedTest, a_message_is_cut_where_the_entry_ends) {
    const Segment segment = made();
    UnreportedPlace place(segment, 1);
    place.write(1, std::string(unreported_bytes_max, 'x'));
    EXPECT_EQ(place.read().first, std::string(unreported_bytes_max, 'x'));
    place.write(1, std::string(unreported_bytes_max + 1, 'y'));
    EXPECT_EQ(place.read().first, std::string(unreported_bytes_max, 'y'));
}

TEST(UnreportedTest, nothing_is_read_where_a_writer_died_on_the_way) {
    const Segment segment = made();
    UnreportedPlace place(segment, 1);
    place.write(1, "one");
    segment.unreported(1).turn.fetch_add(1, std::memory_order_relaxed);
    EXPECT_EQ(place.read(), Unreported{});
}

TEST(UnreportedTest, one_failure_and_several_are_described) {
    EXPECT_EQ(describe(Unreported{1, "bad"}),
              "1 command failed that no acp_complete or acp_wait has reported: bad");
    EXPECT_EQ(describe(Unreported{2, "bad"}),
              "2 commands failed that no acp_complete or acp_wait has reported; the first: bad");
}

}  // namespace
}  // namespace acp::node
