// SPDX-License-Identifier: BSD-3-Clause
// The codec against hostile bytes: every field of every frame outside its range is refused with its
// own fault, and no byte after the end is read. A router that gets random frames counts them,
// severs the sender, and changes no memory.
#include "router/frames.hpp"

#include <gtest/gtest.h>

#include "support/effort.hpp"
#include "support/random.hpp"
#include "unit/router/fake_node.hpp"

namespace acp::router::test {
namespace {

constexpr JobShape shape{4, 10};

template <typename Frame>
std::vector<std::byte> bytes_of(const Frame& frame, std::size_t tail = 0) {
    std::vector<std::byte> bytes(sizeof frame + tail, std::byte{0x5a});
    write(bytes.data(), frame);
    return bytes;
}

template <typename Frame>
Fault fault_of(const Frame& frame, std::size_t tail = 0) {
    const std::vector<std::byte> bytes = bytes_of(frame, tail);
    Bytes rest(bytes);
    Frame again;
    Bytes following;
    return read(rest, shape, again, following);
}

PutFrame put(std::uint16_t bytes, std::uint64_t total) {
    PutFrame frame;
    frame.bytes = bytes;
    frame.total = total;
    frame.initiator = 9;
    return frame;
}

// WIRE-102
TEST(FramesTest, takes_a_frame_and_its_bytes_off_the_front) {
    PutFrame frame = put(3, 700);
    frame.token = 0x1122'3344'5566'7788;
    frame.target = 0x99aa'bbcc'ddee'ff00;
    std::vector<std::byte> bytes = bytes_of(frame, 3);
    bytes.push_back(std::byte{0x77});
    Bytes rest(bytes);
    PutFrame again;
    Bytes following;
    ASSERT_EQ(read(rest, shape, again, following), Fault::none);
    EXPECT_EQ(again.token, frame.token);
    EXPECT_EQ(again.target, frame.target);
    EXPECT_EQ(again.total, 700U);
    EXPECT_EQ(following.size(), 3U);
    ASSERT_EQ(rest.size(), 1U);
    EXPECT_EQ(rest[0], std::byte{0x77});
}

// WIRE-100: the bytes are where the table says.
TEST(FramesTest, lays_a_put_out_in_little_endian) {
    PutFrame frame = put(0x0201, 0x0807'0605'0403'0201);
    frame.is_value = 1;
    frame.initiator = 0x0403'0201;
    frame.token = 0x18;
    frame.target = 0x28;
    std::array<std::byte, sizeof frame> bytes{};
    write(bytes.data(), frame);
    constexpr std::array<int, 32> expected = {1,    1, 1, 2, 1, 2, 3, 4,  //
                                              0x18, 0, 0, 0, 0, 0, 0, 0,  //
                                              0x28, 0, 0, 0, 0, 0, 0, 0,  //
                                              1,    2, 3, 4, 5, 6, 7, 8};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        EXPECT_EQ(std::to_integer<int>(bytes[i]), expected[i]) << i;
    }
}

// WIRE-103
TEST(FramesTest, refuses_a_frame_cut_short_at_any_byte) {
    const std::vector<std::byte> bytes = bytes_of(put(20, 20), 20);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        Bytes rest(bytes.data(), size);
        PutFrame frame;
        Bytes following;
        EXPECT_EQ(read(rest, shape, frame, following), Fault::short_frame) << size;
    }
}

// WIRE-110
TEST(FramesTest, refuses_puts_out_of_range) {
    EXPECT_EQ(fault_of(put(8, 8), 8), Fault::none);
    EXPECT_EQ(fault_of(put(0, 0)), Fault::none);
    PutFrame stranger = put(8, 8);
    stranger.initiator = 10;
    EXPECT_EQ(fault_of(stranger, 8), Fault::bad_process);
    EXPECT_EQ(fault_of(put(9, 8), 9), Fault::bad_length);
    EXPECT_EQ(fault_of(put(0, 8)), Fault::bad_length);
    PutFrame value = put(8, 8);
    value.is_value = 1;
    EXPECT_EQ(fault_of(value, 8), Fault::none);
    value.is_value = 2;
    EXPECT_EQ(fault_of(value, 8), Fault::bad_reserved);
    value = put(5, 5);
    value.is_value = 1;
    EXPECT_EQ(fault_of(value, 5), Fault::bad_reserved);
}

// WIRE-121
TEST(FramesTest, refuses_orders_out_of_range) {
    ShortFrame frame;
    frame.type = FrameType::after;
    frame.initiator = 9;
    EXPECT_EQ(fault_of(frame), Fault::bad_count);
    frame.count = after_count_max;
    EXPECT_EQ(fault_of(frame), Fault::none);
    frame.count = after_count_max + 1;
    EXPECT_EQ(fault_of(frame), Fault::bad_count);
    frame.count = 1;
    frame.initiator = 10;
    EXPECT_EQ(fault_of(frame), Fault::bad_process);
}

// WIRE-120
TEST(FramesTest, refuses_runs_of_puts_out_of_range) {
    PutsFrame frame;
    frame.initiator = 9;
    frame.bytes = 8;
    EXPECT_EQ(fault_of(frame), Fault::bad_count);
    frame.count = 3;
    EXPECT_EQ(fault_of(frame, 48), Fault::none);
    EXPECT_EQ(fault_of(frame, 47), Fault::short_frame);
    frame.count = 255;
    frame.bytes = 0xffff;
    EXPECT_EQ(fault_of(frame, 60'000), Fault::short_frame);
    frame.bytes = 0;
    EXPECT_EQ(fault_of(frame, 255 * 8), Fault::none);
    frame.initiator = 10;
    EXPECT_EQ(fault_of(frame, 255 * 8), Fault::bad_process);
}

// WIRE-111
TEST(FramesTest, refuses_commands_out_of_range) {
    CommandFrame frame;
    frame.operand = 8;
    frame.expected = 8;
    EXPECT_EQ(fault_of(frame), Fault::none);
    frame.operand = 9;
    EXPECT_EQ(fault_of(frame), Fault::bad_length);
    frame.operand = 0;
    EXPECT_EQ(fault_of(frame), Fault::bad_length);
    frame.operand = 8;
    frame.width = 8;
    EXPECT_EQ(fault_of(frame), Fault::bad_operation);
    frame.operation = memory::Operation::max;
    EXPECT_EQ(fault_of(frame), Fault::none);
    frame.width = 2;
    EXPECT_EQ(fault_of(frame), Fault::bad_operation);
    frame.width = 4;
    frame.operation = static_cast<memory::Operation>(memory::operation_count);
    EXPECT_EQ(fault_of(frame), Fault::bad_operation);
    frame.operation = memory::Operation::add;
    frame.reserved = 1;
    EXPECT_EQ(fault_of(frame), Fault::bad_reserved);
    frame.reserved = 0;
    frame.initiator = 10;
    EXPECT_EQ(fault_of(frame), Fault::bad_process);
}

// WIRE-112, WIRE-113
TEST(FramesTest, refuses_short_frames_out_of_range) {
    ShortFrame frame;
    EXPECT_EQ(fault_of(frame), Fault::bad_count);
    frame.count = 1;
    EXPECT_EQ(fault_of(frame), Fault::none);
    frame.state = 1;
    EXPECT_EQ(fault_of(frame), Fault::bad_reserved);
    frame.state = 0;
    frame.initiator = 10;
    EXPECT_EQ(fault_of(frame), Fault::bad_process);
    for (const FrameType type : {FrameType::ask, FrameType::over, FrameType::dead}) {
        ShortFrame other;
        other.type = type;
        EXPECT_EQ(fault_of(other), Fault::none);
        other.count = 1;
        EXPECT_EQ(fault_of(other), Fault::bad_reserved);
    }
    ShortFrame dead;
    dead.type = FrameType::dead;
    constexpr std::uint64_t greatest_number = base::ProcessEnd::process_number_max;
    dead.token = greatest_number << 32U | 0xffffffffU;
    dead.state = base::ProcessEnd::states_at_end - 1;
    EXPECT_EQ(fault_of(dead), Fault::none);
    dead.token = (greatest_number + 1) << 32U;
    EXPECT_EQ(fault_of(dead), Fault::bad_code);
    dead.token = ~std::uint64_t{0};
    EXPECT_EQ(fault_of(dead), Fault::bad_code);
    dead.token = 9;
    dead.state = base::ProcessEnd::states_at_end;
    EXPECT_EQ(fault_of(dead), Fault::bad_code);
    for (const FrameType type : {FrameType::gone, FrameType::watch}) {
        ShortFrame of_node;
        of_node.type = type;
        of_node.initiator = 3;
        EXPECT_EQ(fault_of(of_node), Fault::none);
        of_node.initiator = 4;
        EXPECT_EQ(fault_of(of_node), Fault::bad_node);
        of_node.initiator = 3;
        of_node.token = 1;
        EXPECT_EQ(fault_of(of_node), Fault::bad_reserved);
    }
}

// WIRE-114, WIRE-115, WIRE-116
TEST(FramesTest, refuses_long_frames_out_of_range) {
    LongFrame value;
    value.detail = ~0ULL;
    EXPECT_EQ(fault_of(value), Fault::none);
    value.code_and_end = 1;
    EXPECT_EQ(fault_of(value), Fault::bad_reserved);
    LongFrame failed;
    failed.type = FrameType::failed;
    EXPECT_EQ(fault_of(failed), Fault::bad_code);
    failed.code_and_end = 2 + 64 * 2;
    EXPECT_EQ(fault_of(failed), Fault::none);
    failed.code_and_end = 2 + 64 * 3;
    EXPECT_EQ(fault_of(failed), Fault::bad_code);
    failed.code_and_end = base::code_count;
    EXPECT_EQ(fault_of(failed), Fault::bad_code);
    failed.code_and_end = 2;
    failed.detail = 10;
    EXPECT_EQ(fault_of(failed), Fault::bad_process);
    RefusedFrame refused;
    EXPECT_EQ(fault_of(refused), Fault::none);
    refused.is_command = 2;
    EXPECT_EQ(fault_of(refused), Fault::bad_reserved);
    refused.is_command = 0;
    refused.initiator = 10;
    EXPECT_EQ(fault_of(refused), Fault::bad_process);
}

// WIRE-117, WIRE-118, WIRE-119
TEST(FramesTest, refuses_operations_and_meetings_out_of_range) {
    InvokeFrame invoke;
    invoke.bytes = invoke_bytes_max;
    EXPECT_EQ(fault_of(invoke, invoke_bytes_max), Fault::none);
    invoke.bytes = invoke_bytes_max + 1;
    EXPECT_EQ(fault_of(invoke, invoke_bytes_max + 1), Fault::bad_length);
    invoke.bytes = 0;
    invoke.process = 10;
    EXPECT_EQ(fault_of(invoke), Fault::bad_process);
    ResultFrame result;
    result.bytes = invoke_bytes_max + 1;
    EXPECT_EQ(fault_of(result, invoke_bytes_max + 1), Fault::bad_length);
    result.bytes = 1;
    result.code = 1;
    EXPECT_EQ(fault_of(result, 1), Fault::bad_length);
    result.bytes = 0;
    result.code = base::code_count;
    EXPECT_EQ(fault_of(result), Fault::bad_code);
    MeetFrame meet;
    EXPECT_EQ(fault_of(meet), Fault::none);
    meet.total = 10;
    EXPECT_EQ(fault_of(meet), Fault::bad_count);
    meet.count = 4;
    meet.offset = 6;
    EXPECT_EQ(fault_of(meet, 16), Fault::none);
    meet.offset = 7;
    EXPECT_EQ(fault_of(meet, 16), Fault::bad_length);
    meet.offset = 0;
    meet.total = 11;
    EXPECT_EQ(fault_of(meet, 16), Fault::bad_length);
    meet.offset = Meeting::offset_of_least;
    meet.total = meet.count = Meeting::least_words;
    EXPECT_EQ(fault_of(meet, 12), Fault::none);
    meet.count = 2;
    EXPECT_EQ(fault_of(meet, 8), Fault::bad_length);
}

TEST(FramesTest, names_every_fault) {
    for (std::size_t fault = 0; fault < fault_count; ++fault) {
        EXPECT_NE(name_of(static_cast<Fault>(fault)), "?");
        EXPECT_FALSE(name_of(static_cast<Fault>(fault)).empty());
    }
    EXPECT_EQ(name_of(Fault::bad_meeting), "bad_meeting");
    EXPECT_EQ(name_of(static_cast<Fault>(fault_count)), "?");
}

// The fault with which node 1 refuses frames of node 0.
Fault refused(FakeJob& job, const std::vector<std::byte>& frames) {
    job.network.inject(0, 1, frames);
    const RouterCounters& counters = job.nodes[1]->router.counters();
    for (std::size_t fault = 1; fault < fault_count; ++fault) {
        if (counters.faults[fault] != 0) return static_cast<Fault>(fault);
    }
    return Fault::none;
}

// WIRE-104
// WIRE-101
TEST(HostileFramesTest, severs_a_node_that_sends_an_invalid_frame) {
    FakeJob job({1, 1});
    EXPECT_EQ(refused(job, {std::byte{0}}), Fault::unknown_type);
    EXPECT_TRUE(job.network.endpoint(1).is_severed(0));
    EXPECT_EQ(job.nodes[1]->ends.dead_nodes, std::vector<NodeId>{0});
}

TEST(HostileFramesTest, refuses_a_put_for_another_node) {
    FakeJob job({1, 1, 1});
    PutFrame frame = put(8, 8);
    frame.initiator = 0;
    frame.target = job.shared(2);
    EXPECT_EQ(refused(job, bytes_of(frame, 8)), Fault::misdirected);
}

// WIRE-120: the puts before it are placed, the puts after it are not.
TEST(HostileFramesTest, refuses_one_bad_put_of_a_run) {
    FakeJob job({1, 1, 1});
    PutsFrame frame;
    frame.count = 3;
    frame.bytes = 8;
    frame.initiator = 0;
    std::vector<std::byte> frames = bytes_of(frame, 48);
    const std::uint64_t targets[] = {job.shared(1, 8), job.shared(2), job.shared(1, 16)};
    for (std::size_t i = 0; i < 3; ++i) {
        std::memcpy(frames.data() + 16 + 16 * i, &targets[i], sizeof targets[i]);
    }
    EXPECT_EQ(refused(job, frames), Fault::misdirected);
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(1, 8)), 0x5a5a'5a5a'5a5a'5a5aU);
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(1, 16)), 0U);
}

// WIRE-121
TEST(HostileFramesTest, refuses_an_order_that_no_whole_put_or_invoke_of_the_initiator_follows) {
    const auto order = [](std::uint32_t initiator) {
        ShortFrame frame;
        frame.type = FrameType::after;
        frame.count = 1;
        frame.initiator = initiator;
        frame.token = 2;
        return bytes_of(frame);
    };
    const auto with = [](std::vector<std::byte> frames, const std::vector<std::byte>& more) {
        frames.insert(frames.end(), more.begin(), more.end());
        return frames;
    };
    const auto fault_behind = [&](std::uint32_t initiator, PutFrame frame) {
        FakeJob job({1, 1, 1});
        if (frame.target == 0) frame.target = job.shared(1);
        return refused(job, with(order(initiator), bytes_of(frame, frame.bytes)));
    };
    FakeJob job({1, 1, 1});
    PutFrame frame = put(8, 8);
    frame.initiator = 0;
    // refused, because the commands before it are not in place, but no fault
    EXPECT_EQ(fault_behind(0, frame), Fault::none);
    EXPECT_EQ(fault_behind(2, frame), Fault::forged);
    frame.target = job.shared(2);
    EXPECT_EQ(fault_behind(0, frame), Fault::misdirected);
    frame.target = 0;
    frame.total = 16;
    EXPECT_EQ(fault_behind(0, frame), Fault::bad_length);
    frame = put(8, 8);
    frame.initiator = 0;
    frame.is_value = 1;
    EXPECT_EQ(fault_behind(0, frame), Fault::bad_length);
    frame.is_value = 0;
    frame.initiator = 2;
    EXPECT_EQ(fault_behind(2, frame), Fault::forged);  // node 0 sends it
    EXPECT_EQ(refused(job, order(0)), Fault::short_frame);
    FakeJob other({1, 1, 1});
    EXPECT_EQ(refused(other, with(order(0), order(0))), Fault::unknown_type);
    const auto fault_of_invoke = [&](std::uint32_t in_order, std::uint32_t initiator,
                                     std::uint32_t process) {
        FakeJob asked({1, 1, 1});
        InvokeFrame invoke;
        invoke.initiator = initiator;
        invoke.token = 8;
        invoke.process = process;
        return refused(asked, with(order(in_order), bytes_of(invoke)));
    };
    EXPECT_EQ(fault_of_invoke(0, 0, 1), Fault::none);
    EXPECT_EQ(fault_of_invoke(0, 2, 1), Fault::forged);
    EXPECT_EQ(fault_of_invoke(2, 2, 1), Fault::forged);
    EXPECT_EQ(fault_of_invoke(0, 0, 2), Fault::misdirected);
}

TEST(HostileFramesTest, refuses_more_bytes_than_a_copy_has) {
    FakeJob job({1, 1});
    PutFrame frame = put(8, 12);
    frame.initiator = 0;
    frame.target = job.shared(1);
    EXPECT_EQ(refused(job, bytes_of(frame, 8)), Fault::none);
    EXPECT_EQ(refused(job, bytes_of(frame, 8)), Fault::overrun);
}

TEST(HostileFramesTest, refuses_two_totals_of_one_copy) {
    FakeJob job({1, 1});
    PutFrame frame = put(8, 12);
    frame.initiator = 0;
    frame.target = job.shared(1);
    EXPECT_EQ(refused(job, bytes_of(frame, 8)), Fault::none);
    frame.total = 20;
    EXPECT_EQ(refused(job, bytes_of(frame, 8)), Fault::contradiction);
}

TEST(HostileFramesTest, refuses_a_command_in_the_name_of_another_node) {
    FakeJob job({1, 1, 1});
    CommandFrame frame;
    frame.initiator = 2;
    frame.source = job.shared(1);
    frame.target = job.shared(0);
    EXPECT_EQ(refused(job, bytes_of(frame)), Fault::forged);
}

TEST(HostileFramesTest, refuses_a_piece_outside_what_was_asked_for) {
    FakeJob job({1, 1});
    ASSERT_TRUE(job.copy(1, 2, job.shared(1, 64), job.shared(0), 8));
    PutFrame frame = put(8, 8);
    frame.initiator = 1;
    frame.token = 2;
    frame.target = job.shared(1, 72);
    EXPECT_EQ(refused(job, bytes_of(frame, 8)), Fault::overrun);
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(1, 72)), 0U);
}

TEST(HostileFramesTest, ignores_completions_of_commands_that_are_not_outstanding) {
    FakeJob job({1, 1});
    ShortFrame end;
    end.count = 0xffff;
    end.initiator = 1;
    end.token = ~0ULL - 100;
    EXPECT_EQ(refused(job, bytes_of(end)), Fault::none);
    EXPECT_EQ(job.nodes[1]->router.counters().late_ends, 0xffffU);
    EXPECT_TRUE(job.nodes[1]->ends.ended.empty());
}

TEST(HostileFramesTest, ignores_completions_from_nodes_that_are_not_involved) {
    FakeJob job({1, 1, 1});
    ASSERT_TRUE(job.copy(1, 2, job.shared(2), job.shared(1), 8));
    ShortFrame end;
    end.count = 1;
    end.initiator = 1;
    end.token = 2;
    EXPECT_EQ(refused(job, bytes_of(end)), Fault::none);
    EXPECT_EQ(job.nodes[1]->router.counters().stranger_ends, 1U);
    EXPECT_EQ(job.nodes[1]->router.outstanding(), 1U);
}

// Random frames are counted and their sender is severed, or they have no effect. Half of their
// fields are valid, so that they pass the first checks.
TEST(HostileFramesTest, survives_random_frames) {
    const std::uint64_t seed = acp::test::fresh_seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    acp::test::Random random(seed);
    for (int round = 0; round < acp::test::effort(3000, 300); ++round) {
        FakeJob job({1, 2, 1}, seed + static_cast<std::uint64_t>(round));
        ASSERT_TRUE(job.copy(1, 2, job.shared(1), job.shared(0), 100));
        ASSERT_TRUE(job.copy(1, 4, job.shared(0), job.shared(1), 100));
        ASSERT_TRUE(job.add(2, 2, job.shared(1), job.shared(0), 1));
        for (int frame = 0; frame < 20; ++frame) {
            std::vector<std::byte> bytes(random.below(80) + 1);
            for (std::byte& byte : bytes) {
                byte =
                    static_cast<std::byte>(random.chance(60) ? random.below(4) : random.below(256));
            }
            bytes[0] = static_cast<std::byte>(random.below(16));
            if (bytes.size() >= 24 && random.chance(70)) {
                const GlobalAddress address =
                    job.shared(static_cast<std::uint32_t>(random.below(4)), random.below(70'000));
                std::memcpy(&bytes[16], &address, 8);
            }
            job.network.inject(random.chance(50) ? 0 : 2, 1, bytes);
        }
        ASSERT_TRUE(job.run());
        ASSERT_EQ(job.nodes[1]->router.outstanding(), 0U);
        ASSERT_EQ(job.nodes[1]->ends.ended.size(), 3U);
    }
}

// namespace acp::router::test
}  // namespace
}  // namespace acp::router::test
