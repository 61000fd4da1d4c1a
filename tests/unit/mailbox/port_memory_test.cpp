// SPDX-License-Identifier: BSD-3-Clause
// The pages that opening and closing a port in shared memory make resident; and cells that are
// still in flight when a port is closed return to the next port of the same process. One thread.
#include <gtest/gtest.h>
#include <memory>
#include <sys/stat.h>

#include "mailbox/port.hpp"

#include "unit/local/test_node.hpp"

namespace acp::mailbox::test {
namespace {

using local::test::Kind;
using local::test::make_segment;

constexpr Kind mpsc{"mpsc", base::IntraNode::mailbox, base::MailboxKind::mpsc};
constexpr Kind bitmap{"bitmap", base::IntraNode::mailbox, base::MailboxKind::bitmap};

std::uint64_t resident_bytes(const node::Segment& segment) {
    struct stat status {};

    EXPECT_EQ(::fstat(segment.file(), &status), 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

std::unique_ptr<Port> open_port(const node::Segment& segment, std::uint32_t slot) {
    auto port = Port::open(segment, slot);
    EXPECT_TRUE(port.is_ok()) << port.failure().message();
    return std::move(port).value();
}

// Sends until there is no room. Returns how many were sent.
std::uint32_t fill(Port& from, std::uint32_t receiver) {
    std::uint32_t sent = 0;
    while (from.send(receiver, {}, {})) ++sent;
    return sent;
}

std::uint32_t receive_all(Port& port) {
    return port.receive([](std::uint32_t, const MessageHead&, std::span<const char>) {}, ~0U);
}

TEST(PortMemoryTest, opening_and_closing_takes_no_memory_before_anything_is_sent) {
    for (const Kind& kind : {mpsc, bitmap}) {
        const node::Segment segment = make_segment(kind, 4, 1408);
        const std::uint64_t before = resident_bytes(segment);
        for (std::uint32_t slot = 0; slot < 4; ++slot) {
            (void)open_port(segment, slot);
            (void)open_port(segment, slot);
        }
        EXPECT_EQ(resident_bytes(segment), before) << kind.name;
    }
}

TEST(PortMemoryTest, what_an_earlier_port_sent_still_counts_against_its_receiver) {
    const node::Segment segment = make_segment(mpsc, 2, 1408);
    const auto to = open_port(segment, 1);
    const std::uint32_t room = fill(*open_port(segment, 0), 1);
    ASSERT_GT(room, 0U);
    const auto again = open_port(segment, 0);
    EXPECT_EQ(fill(*again, 1), 0U);
    EXPECT_EQ(receive_all(*to), room);
    EXPECT_EQ(fill(*again, 1), room);
}

// namespace acp::mailbox::test
}  // namespace
}  // namespace acp::mailbox::test
