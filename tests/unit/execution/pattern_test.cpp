// SPDX-License-Identifier: BSD-3-Clause
// A pattern takes what its contract allows, up to each limit, and refuses everything behind it with
// the value in the message; a refused call adds nothing.
#include "execution/pattern.hpp"

#include <array>
#include <gtest/gtest.h>
#include <limits>
#include <string>

#include "support/rank_node.hpp"

namespace acp::execution {
namespace {

using base::Code;
using base::Status;

constexpr int int_min = std::numeric_limits<int>::min();
constexpr int int_max = std::numeric_limits<int>::max();

team::Membership members_of(std::uint32_t size, std::uint32_t own) {
    std::vector<team::TeamMember> members;
    for (std::uint32_t rank = 0; rank < size; ++rank) members.push_back({rank, 0});
    return {members, own};
}

void expect_refused(const Status& status, Code code, const std::string& words) {
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_NE(std::string(status.message()).find(words), std::string::npos)
        << "\"" << status.message() << "\" lacks \"" << words << "\"";
}

class PatternTest : public testing::Test {
protected:
    std::array<char, 64> memory_{};
    Pattern pattern_{members_of(5, 3)};
};

TEST_F(PatternTest, shifts_wrap_around_at_both_ends_of_the_team) {
    const std::vector<std::pair<int, std::uint32_t>> rows{{0, 3},  {1, 4},  {2, 0}, {4, 2},
                                                          {-1, 2}, {-3, 0}, {-4, 4}};
    for (const auto& [shift, partner] : rows) {
        ASSERT_TRUE(pattern_.add_send(shift, memory_.data(), 8).is_ok());
        EXPECT_EQ(pattern_.messages().back().partner, partner) << shift;
        EXPECT_EQ(pattern_.messages().back().kind, PatternMessageKind::send);
        ASSERT_TRUE(pattern_.add_receive(shift, memory_.data(), 8).is_ok());
        EXPECT_EQ(pattern_.messages().back().partner, partner) << shift;
        EXPECT_EQ(pattern_.messages().back().kind, PatternMessageKind::receive);
    }
    EXPECT_EQ(pattern_.messages().size(), 2 * rows.size());
}

TEST_F(PatternTest, a_shift_beyond_the_team_adds_nothing) {
    for (const int shift : {5, -5, 6, int_max, int_min, int_min + 1}) {
        const std::string named = "shift " + std::to_string(shift) + " ";
        expect_refused(pattern_.add_send(shift, memory_.data(), 8), Code::argument, named);
        expect_refused(pattern_.add_receive(shift, memory_.data(), 8), Code::argument, named);
    }
    EXPECT_TRUE(pattern_.messages().empty());
    Pattern alone(members_of(1, 0));
    EXPECT_TRUE(alone.add_send(0, memory_.data(), 8).is_ok());
    expect_refused(alone.add_send(1, memory_.data(), 8), Code::argument, "shift 1 ");
    expect_refused(alone.add_send(-1, memory_.data(), 8), Code::argument, "shift -1 ");
}

TEST_F(PatternTest, a_size_is_below_its_end_and_null_is_for_no_bytes_alone) {
    ASSERT_TRUE(pattern_.add_send(1, memory_.data(), message_bytes_end - 1).is_ok());
    ASSERT_TRUE(pattern_.add_receive(1, memory_.data(), message_bytes_end - 1).is_ok());
    ASSERT_TRUE(pattern_.add_send(1, nullptr, 0).is_ok());
    ASSERT_TRUE(pattern_.add_receive(1, nullptr, 0).is_ok());
    const std::size_t before = pattern_.messages().size();
    for (const std::uint64_t bytes :
         {message_bytes_end, message_bytes_end + 1, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
        const std::string named = "size " + std::to_string(bytes) + " ";
        expect_refused(pattern_.add_send(1, memory_.data(), bytes), Code::argument, named);
        expect_refused(pattern_.add_receive(1, memory_.data(), bytes), Code::argument, named);
    }
    expect_refused(pattern_.add_send(1, nullptr, 1), Code::argument, "source is NULL");
    expect_refused(pattern_.add_receive(1, nullptr, 7), Code::argument, "size is 7");
    EXPECT_EQ(pattern_.messages().size(), before);
}

TEST_F(PatternTest, is_full_at_its_limit_for_every_kind_of_message) {
    for (std::size_t i = 0; i < messages_max - 1; ++i)
        ASSERT_TRUE(pattern_.add_send(1, memory_.data(), 1).is_ok()) << i;
    const std::vector<NeighbourPiece> one{{1, 0, 1}};
    expect_refused(pattern_.add_neighbours(memory_.data(), one, memory_.data(), one), Code::limit,
                   std::to_string(messages_max));
    EXPECT_EQ(pattern_.messages().size(), messages_max - 1) << "half of a refused call was added";
    ASSERT_TRUE(pattern_.add_receive(1, memory_.data(), 1).is_ok()) << "the last one fits";
    expect_refused(pattern_.add_send(1, memory_.data(), 1), Code::limit, "at most");
    expect_refused(pattern_.add_receive(1, memory_.data(), 0), Code::limit, "at most");
    exchange::GridShape grid;
    grid.axes = {{5, true, 4, 1}};
    grid.point_bytes = 8;
    grid.reach = 1;
    expect_refused(pattern_.add_halo(grid, memory_.data()), Code::limit, "at most");
    EXPECT_EQ(pattern_.messages().size(), messages_max);
}

TEST_F(PatternTest, neighbours_are_added_all_or_none) {
    const std::vector<NeighbourPiece> to{{1, 0, 8}, {-1, 8, 16}, {0, 63, 1}};
    const std::vector<NeighbourPiece> from{{2, 4, 4}, {-2, 0, 0}};
    std::array<char, 64> target{};
    ASSERT_TRUE(pattern_.add_neighbours(memory_.data(), to, target.data(), from).is_ok());
    ASSERT_EQ(pattern_.messages().size(), 5U);
    EXPECT_EQ(pattern_.messages()[1].memory, memory_.data() + 8);
    EXPECT_EQ(pattern_.messages()[1].bytes, 16U);
    EXPECT_EQ(pattern_.messages()[2].memory, memory_.data() + 63);
    EXPECT_EQ(pattern_.messages()[3].memory, target.data() + 4);
    EXPECT_EQ(pattern_.messages()[3].partner, 0U);
    EXPECT_EQ(pattern_.messages()[4].bytes, 0U);
    const std::vector<NeighbourPiece> wrong{{1, 0, 8}, {9, 0, 8}};
    expect_refused(pattern_.add_neighbours(memory_.data(), wrong, target.data(), from),
                   Code::argument, "neighbour 1: shift 9");
    expect_refused(pattern_.add_neighbours(memory_.data(), to, target.data(), wrong),
                   Code::argument, "neighbour 1: shift 9");
    expect_refused(pattern_.add_neighbours(memory_.data(), to, nullptr, from), Code::argument,
                   "target is NULL");
    expect_refused(pattern_.add_neighbours(nullptr, to, target.data(), from), Code::argument,
                   "source is NULL");
    EXPECT_EQ(pattern_.messages().size(), 5U);
    EXPECT_TRUE(pattern_.add_neighbours(nullptr, {}, nullptr, {}).is_ok());
    EXPECT_EQ(pattern_.messages().size(), 5U);
}

TEST_F(PatternTest, a_halo_has_a_send_and_a_receive_for_each_face) {
    exchange::GridShape grid;
    grid.axes = {{5, true, 4, 1}, {1, false, 3, 1}};
    grid.point_bytes = 8;
    grid.reach = 1;
    std::vector<char> array(6 * 5 * 8);
    ASSERT_TRUE(pattern_.add_halo(grid, array.data()).is_ok());
    std::uint32_t sends = 0;
    for (const PatternMessage& message : pattern_.messages()) {
        sends += message.kind == PatternMessageKind::send ? 1 : 0;
        EXPECT_TRUE(message.partner == 2 || message.partner == 4) << message.partner;
        ASSERT_GE(message.memory, array.data());
        EXPECT_LE(message.memory + message.bytes, array.data() + array.size());
    }
    EXPECT_EQ(sends, 2U);
    EXPECT_EQ(pattern_.messages().size(), 4U);
    expect_refused(pattern_.add_halo(grid, nullptr), Code::argument, "array is NULL");
    grid.axes[0].members = 4;
    EXPECT_EQ(pattern_.add_halo(grid, array.data()).code(), Code::argument);
    EXPECT_EQ(pattern_.messages().size(), 4U);
}

class PatternCopyTest : public testing::Test {
protected:
    static constexpr std::uint64_t starter_bytes = 1 << 16;

    [[nodiscard]] const local::Space& space() { return ranks_[0].gma->space(); }

    Status add(GlobalAddress target, std::uint64_t bytes) {
        return pattern_.add_copy(space(), target, memory_.data(), bytes);
    }

    acp::test::RankNode ranks_{4};
    std::array<char, 64> memory_{};
    Pattern pattern_{members_of(3, 0)};  // process 3 is no member
};

TEST_F(PatternCopyTest, the_target_is_memory_of_a_member_up_to_its_last_byte) {
    const GlobalAddress start = space().starter_address(2);
    ASSERT_TRUE(add(start, 8).is_ok());
    ASSERT_TRUE(add(start + starter_bytes - 1, 1).is_ok());
    EXPECT_EQ(pattern_.messages().back().partner, 2U);
    EXPECT_EQ(pattern_.messages().back().target, start + starter_bytes - 1);
    EXPECT_EQ(pattern_.messages().back().kind, PatternMessageKind::copy);
    ASSERT_TRUE(add(space().starter_address(0), 64).is_ok()) << "a copy to oneself";
    const std::size_t before = pattern_.messages().size();
    expect_refused(add(start, std::uint64_t{1} << 40), Code::address, "the target is");
    expect_refused(add(0, 8), Code::address, "of no member");
    expect_refused(add(1, 8), Code::address, "of no member");
    expect_refused(add(~std::uint64_t{0}, 8), Code::address, "of no member");
    expect_refused(add(space().starter_address(3), 8), Code::address, "of no member");
    expect_refused(add(start, message_bytes_end), Code::argument, "2^50");
    expect_refused(pattern_.add_copy(space(), start, nullptr, 8), Code::argument, "source is NULL");
    EXPECT_EQ(pattern_.messages().size(), before);
}

TEST_F(PatternCopyTest, registered_memory_is_a_target_until_its_registration_ends) {
    std::vector<char> own(4096);
    local::Registry& registry = ranks_[1].gma->registry();
    auto key = registry.add(own.data(), own.size(), 0);
    ASSERT_TRUE(key.is_ok()) << key.failure().message();
    const GlobalAddress target = registry.address_in(key.value(), own.data()).value();
    EXPECT_TRUE(add(target + 4088, 8).is_ok());
    EXPECT_FALSE(add(target + 4089, 8).is_ok()) << "one byte behind the registration";
    ASSERT_TRUE(registry.remove(key.value()).is_ok());
    EXPECT_EQ(add(target, 8).code(), Code::stale);
    EXPECT_EQ(pattern_.messages().size(), 1U);
}

}  // namespace
}  // namespace acp::execution
