// SPDX-License-Identifier: BSD-3-Clause
// A death is published, wakes all sleepers, and is described by its fate's text. Processes of the
// node are this one, or children that have ended.
#include "node/death.hpp"

#include <climits>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "node/member.hpp"
#include "node/wait.hpp"
#include "os/life_lock.hpp"
#include "os/memory_file.hpp"
#include "os/pipe.hpp"
#include "os/udp_socket.hpp"

#include "support/child_process.hpp"

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
    segment.slot(slot).state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

// A process that has joined with a life lock, as acp_init does, and has then ended.
void join_and_end(const Segment& segment, std::uint32_t slot) {
    test::ChildProcess child([&] {
        const auto life = os::LifeLock::take(segment.file(), slot);
        segment.slot(slot).has_life_lock.store(life.is_ok() ? 1 : 0, std::memory_order_relaxed);
        set_state(segment, slot, SlotState::joined, ::getpid());
        return 0;
    });
    ASSERT_EQ(child.exit_code(), 0);
}

TEST(DeathTest, a_watcher_adds_how_one_ended_that_others_found_gone) {
    const Segment segment = make_segment(2);
    set_state(segment, 1, SlotState::joined, ::getpid());
    mark_dead(segment, 1, unseen_status);
    EXPECT_FALSE(is_end_awaited(segment, 1)) << "no watcher exists that could publish the cause";
    EXPECT_NE(fate(segment, 1).find("is gone"), std::string::npos);
    segment.control().watcher_pid.store(static_cast<std::uint64_t>(::getpid()));
    EXPECT_TRUE(is_end_awaited(segment, 1));
    std::string told;
    std::thread asker([&] { told = fate(segment, 1); });
    mark_dead(segment, 1, killed_status);
    asker.join();
    EXPECT_NE(told.find("was killed by signal 9"), std::string::npos) << told;
    EXPECT_FALSE(is_end_awaited(segment, 1));
    EXPECT_EQ(segment.control().deaths.load(), 2U)
        << "the late cause increments the count, so that waiting threads check again";
    mark_dead(segment, 1, exit_3_status);
    EXPECT_NE(fate(segment, 1).find("was killed by signal 9"), std::string::npos);
    EXPECT_EQ(segment.control().deaths.load(), 2U);
}

// For example, its agent is stopped. A thread that fails many commands asks for the status for each
// of them.
TEST(DeathTest, an_end_that_the_watcher_does_not_report_is_awaited_once) {
    const Segment segment = make_segment(2);
    set_state(segment, 1, SlotState::joined, ::getpid());
    segment.control().watcher_pid.store(static_cast<std::uint64_t>(::getpid()));
    mark_dead(segment, 1, unseen_status);
    ASSERT_TRUE(is_end_awaited(segment, 1));
    EXPECT_NE(fate(segment, 1).find("is gone"), std::string::npos);
    EXPECT_FALSE(is_end_awaited(segment, 1)) << "no other thread waits for it";
    EXPECT_NE(fate(segment, 1).find("is gone"), std::string::npos);
    mark_dead(segment, 1, killed_status);
    EXPECT_NE(fate(segment, 1).find("was killed by signal 9"), std::string::npos)
        << "a cause that the watcher publishes late replaces \"is gone\"";
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

TEST(DeathTest, a_fate_contains_the_stage_that_the_rank_had_reached) {
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
    EXPECT_NE(fate(segment, 3).find("is gone"), std::string::npos)
        << "no process has published the cause of its end";
}

TEST(DeathTest, the_fate_of_one_that_left_after_a_death_names_that_death) {
    const Segment segment = make_segment(4);
    for (std::uint32_t slot = 0; slot < 4; ++slot)
        set_state(segment, slot, SlotState::joined, ::getpid());
    segment.control().watcher_pid.store(1, std::memory_order_relaxed);  // that is not waited for
    mark_dead(segment, 1, exit_3_status);
    EXPECT_FALSE(has_left(segment, 1));
    const Member leaving(segment.share(), 2);
    EXPECT_FALSE(has_left(segment, 2));
    leaving.begin_to_depart();
    EXPECT_TRUE(has_left(segment, 2));
    const std::string before = fate(segment, 2);
    leaving.depart();
    EXPECT_TRUE(has_left(segment, 2));
    EXPECT_EQ(fate(segment, 2), before);
    EXPECT_NE(before.find("has left the job, whose ranks could not meet any more: "),
              std::string::npos)
        << before;
    EXPECT_NE(before.find("exited with code 3 without acp_finalize"), std::string::npos) << before;
    const Member over(segment.share(), 3);
    over.leave();
    EXPECT_TRUE(has_left(segment, 3));
    EXPECT_NE(fate(segment, 3).find("has left the job by acp_finalize"), std::string::npos);
}

TEST(DeathTest, the_dead_are_found_and_the_living_are_not) {
    const Segment segment = make_segment(2);
    const auto life = os::LifeLock::take(segment.file(), 0);
    ASSERT_TRUE(life.is_ok()) << life.failure().message();
    segment.slot(0).has_life_lock.store(1, std::memory_order_relaxed);
    set_state(segment, 0, SlotState::joined, ::getpid());
    join_and_end(segment, 1);
    find_the_dead(segment);
    EXPECT_FALSE(is_dead(segment, 0));
    EXPECT_TRUE(is_dead(segment, 1));
}

// A rank's process number belongs to another namespace: here no process has it, or a stranger has.
TEST(DeathTest, a_rank_of_another_pid_namespace_lives) {
    const Segment segment = make_segment(2);
    auto told = os::make_pipe().value();
    auto going = os::make_pipe().value();  // closed when the test ends
    test::ChildProcess apart([&] {
        if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return 77;
        test::ChildProcess inside([&] {
            Member member(Segment::open(os::FileDescriptor(::dup(segment.file()))).value(), 1);
            char byte = member.take_slot().is_ok() ? 'j' : 'f';
            going.writing.close();
            static_cast<void>(!::write(told.writing.get(), &byte, 1));
            return static_cast<int>(::read(going.reading.get(), &byte, 1));
        });
        return inside.exit_code();
    });
    told.writing.close();
    char byte = 0;
    if (::read(told.reading.get(), &byte, 1) != 1) {
        ASSERT_EQ(apart.exit_code(), 77);
        GTEST_SKIP() << "this system refuses pid namespaces";
    }
    ASSERT_EQ(byte, 'j');
    EXPECT_EQ(segment.slot(1).pid.load(std::memory_order_relaxed), 1U) << "as it counts";
    segment.slot(1).pid.store(INT_MAX, std::memory_order_relaxed);  // no process here has that
    find_the_dead(segment);
    EXPECT_FALSE(is_dead(segment, 1));
}

TEST(DeathTest, a_rank_without_a_life_lock_is_left_to_its_watcher) {
    const Segment segment = make_segment(1);
    set_state(segment, 0, SlotState::joined, INT_MAX);
    find_the_dead(segment);
    EXPECT_FALSE(is_dead(segment, 0));
}

TEST(DeathTest, another_file_under_the_segments_descriptor_proves_nothing) {
    const Segment segment = make_segment(1);
    join_and_end(segment, 0);
    const os::FileDescriptor kept(::dup(segment.file()));
    const os::FileDescriptor other = os::create_memory_file("other", 4096).value();
    ASSERT_EQ(::dup2(other.get(), segment.file()), segment.file());
    find_the_dead(segment);
    EXPECT_FALSE(is_dead(segment, 0));
    ASSERT_EQ(::dup2(kept.get(), segment.file()), segment.file());
    segment.control().looked_ns.store(0, std::memory_order_relaxed);
    find_the_dead(segment);
    EXPECT_TRUE(is_dead(segment, 0));
}

TEST(DeathTest, a_process_without_descriptors_still_detects_deaths) {
    const Segment segment = make_segment(1);
    join_and_end(segment, 0);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    find_the_dead(segment);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(is_dead(segment, 0));
}

TEST(DeathTest, a_look_right_after_another_one_is_left_out) {
    const Segment segment = make_segment(1);
    join_and_end(segment, 0);
    const std::uint64_t looked = os::now_ns();
    segment.control().looked_ns.store(looked, std::memory_order_relaxed);
    while (!is_dead(segment, 0)) find_the_dead(segment);
    EXPECT_GE(os::now_ns() - looked, look_again_ns);
}

TEST(DeathTest, wakes_a_sleeper_on_a_bell) {
    const Segment segment = make_segment(2);
    sync::Bell<>& bell = segment.slot(1).door.service_bell;
    const std::uint32_t value = bell.announce();
    mark_dead(segment, 0, killed_status);
    EXPECT_EQ(os::futex_wait(bell.word(), value, long_ns), os::Wake::changed);
}

TEST(DeathTest, wakes_a_sleeper_on_a_datagram_socket) {
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
