// SPDX-License-Identifier: BSD-3-Clause
// How a death is published, who is woken by it, and how a fate is told. Processes of the node are this one, or
// children that are gone.
#include "node/death.hpp"

#include <gtest/gtest.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/wait.hpp"
#include "os/process.hpp"
#include "os/udp_socket.hpp"

namespace acp::node {
namespace {

constexpr std::uint32_t killed_status = 9;
constexpr std::uint32_t exit_3_status = 3U << 8U;
constexpr std::int64_t long_ns = 60'000'000'000;

Segment make_segment(std::uint32_t procs, base::IntraNode path = base::IntraNode::automatic) {
    Shape shape;
    shape.procs = shape.local_procs = shape.machine_procs = procs;
    shape.starter_bytes = 4096;
    shape.datagram_bytes = 1408;
    shape.intranode = static_cast<std::uint32_t>(path);
    auto made = Segment::create(shape);
    EXPECT_TRUE(made.is_ok()) << made.failure().message();
    return std::move(made).value();
}

void set_state(const Segment& segment, std::uint32_t slot, SlotState state, int pid) {
    segment.slot(slot).pid.store(static_cast<std::uint32_t>(pid), std::memory_order_relaxed);
    segment.slot(slot).start_time.store(os::start_time(pid), std::memory_order_relaxed);
    segment.slot(slot).state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

// The number of a process that has ended and is not reaped.
int ended_process() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    siginfo_t information{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(child), &information, WEXITED | WNOWAIT), 0);
    return child;
}

TEST(DeathTest, the_first_one_is_kept_and_each_counts_once) {
    const Segment segment = make_segment(3);
    EXPECT_FALSE(first_dead(segment).has_value());
    mark_dead(segment, 2, killed_status);
    mark_dead(segment, 2, exit_3_status);
    mark_dead(segment, 0, exit_3_status);
    EXPECT_EQ(first_dead(segment), 2U);
    EXPECT_TRUE(is_dead(segment, 0) && is_dead(segment, 2) && !is_dead(segment, 1));
    EXPECT_EQ(segment.control().deaths.load(std::memory_order_relaxed), 2U);
    EXPECT_NE(fate(segment, 2).find("signal 9"), std::string::npos) << fate(segment, 2);
}

TEST(DeathTest, a_fate_says_how_far_the_rank_had_come) {
    const Segment segment = make_segment(4);
    set_state(segment, 1, SlotState::joined, ::getpid());
    set_state(segment, 2, SlotState::left, ::getpid());
    for (std::uint32_t slot = 0; slot < 3; ++slot) mark_dead(segment, slot, exit_3_status);
    const char* expected[] = {"rank 0 .* exited with code 3 without acp_init",
                              "rank 1 .* exited with code 3 without acp_finalize",
                              "rank 2 .* exited with code 3 after acp_finalize"};
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
        std::string pattern = expected[slot];
        const std::size_t gap = pattern.find(" .* ");
        const std::string told = fate(segment, slot);
        EXPECT_EQ(told.find(pattern.substr(0, gap)), 0U) << told;
        EXPECT_NE(told.find(pattern.substr(gap + 4)), std::string::npos) << told;
    }
    EXPECT_NE(fate(segment, 3).find("is gone"), std::string::npos) << "nobody knows how it ended";
}

TEST(DeathTest, the_dead_are_found_and_the_living_are_not) {
    const Segment segment = make_segment(2);
    const int gone = ended_process();
    set_state(segment, 0, SlotState::joined, ::getpid());
    set_state(segment, 1, SlotState::joined, gone);
    find_the_dead(segment);
    EXPECT_FALSE(is_dead(segment, 0));
    EXPECT_TRUE(is_dead(segment, 1));
    ::waitpid(gone, nullptr, 0);
}

TEST(DeathTest, a_number_that_belongs_to_another_process_now_is_a_death) {
    const Segment segment = make_segment(1);
    set_state(segment, 0, SlotState::joined, ::getppid());
    segment.slot(0).start_time.fetch_add(1, std::memory_order_relaxed);
    find_the_dead(segment);
    EXPECT_TRUE(is_dead(segment, 0));
}

TEST(DeathTest, who_has_no_descriptor_left_to_look_takes_nobody_for_dead) {
    const Segment segment = make_segment(1);
    set_state(segment, 0, SlotState::joined, ::getppid());
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    find_the_dead(segment);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_FALSE(is_dead(segment, 0));
}

TEST(DeathTest, a_look_right_after_another_one_is_left_out) {
    const Segment segment = make_segment(1);
    const int gone = ended_process();
    set_state(segment, 0, SlotState::joined, gone);
    const std::uint64_t looked = os::now_ns();
    segment.control().looked_ns.store(looked, std::memory_order_relaxed);
    while (!is_dead(segment, 0)) find_the_dead(segment);
    EXPECT_GE(os::now_ns() - looked, look_again_ns);
    ::waitpid(gone, nullptr, 0);
}

TEST(DeathTest, wakes_who_sleeps_on_a_bell) {
    const Segment segment = make_segment(2);
    sync::Bell<>& bell = segment.slot(1).door.service_bell;
    const std::uint32_t value = bell.announce();
    mark_dead(segment, 0, killed_status);
    EXPECT_EQ(os::futex_wait(bell.word(), value, long_ns), os::Wake::changed);
}

TEST(DeathTest, wakes_who_sleeps_on_a_datagram_socket) {
    const Segment segment = make_segment(2, base::IntraNode::udp);
    auto socket = os::UdpSocket::open_loopback(65536);
    ASSERT_TRUE(socket.is_ok());
    set_state(segment, 1, SlotState::joined, ::getpid());
    segment.slot(1).udp_port.store(socket.value().port(), std::memory_order_release);
    mark_dead(segment, 0, killed_status);
    EXPECT_TRUE(socket.value().wait_readable(-1, long_ns));
}

}  // namespace
}  // namespace acp::node
