// SPDX-License-Identifier: BSD-3-Clause
// The output of the writer of short copies, read back by the codec: every copy once, with its own
// token, target and bytes, under as few heads as the rules allow, and no byte after the room.
#include "router/puts_writer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "support/random.hpp"

namespace acp::router::test {
namespace {

constexpr JobShape shape{2, 10};
constexpr std::uint32_t initiator = 7;

struct Copy {
    std::uint64_t token = 0;
    std::uint64_t target = 0;
    std::vector<std::byte> bytes;

    bool operator==(const Copy&) const = default;
};

Copy copy_of(std::uint64_t token, std::size_t bytes) {
    return {token, token * 1000 + 3, std::vector<std::byte>(bytes, static_cast<std::byte>(token))};
}

// false: it does not fit.
bool add(PutsWriter& writer, const Copy& copy) {
    std::byte* const room = writer.room_for(copy.token, copy.bytes.size());
    if (room == nullptr) return false;
    std::copy(copy.bytes.begin(), copy.bytes.end(), room);
    memory::Command command;
    command.target = copy.target;
    command.bytes = copy.bytes.size();
    writer.add(initiator, copy.token, command);
    return true;
}

struct Found {
    std::vector<Copy> copies;
    std::size_t heads = 0;
};

Found read_all(Bytes rest) {
    Found found;
    while (!rest.empty()) {
        PutsFrame frame;
        Bytes tail;
        EXPECT_EQ(static_cast<FrameType>(rest[0]), FrameType::puts);
        if (read(rest, shape, frame, tail) != Fault::none) {
            ADD_FAILURE() << "head " << found.heads << " is not sound";
            break;
        }
        ++found.heads;
        EXPECT_EQ(frame.initiator, initiator);
        for (std::uint32_t i = 0; i < frame.count; ++i) {
            Copy copy;
            copy.token = frame.token + std::uint64_t{2} * i;
            std::memcpy(&copy.target, tail.data(), sizeof copy.target);
            tail = tail.subspan(sizeof copy.target);
            copy.bytes.assign(tail.begin(), tail.begin() + frame.bytes);
            tail = tail.subspan(frame.bytes);
            found.copies.push_back(std::move(copy));
        }
    }
    return found;
}

class PutsWriterTest : public ::testing::Test {
protected:
    // Adds the copies that fit and reads them back. Returns the number of heads.
    std::size_t heads_of(const std::vector<Copy>& copies) {
        PutsWriter writer({room_.data(), room_bytes_});
        taken_ = 0;
        while (taken_ < copies.size() && add(writer, copies[taken_])) ++taken_;
        EXPECT_EQ(writer.count(), taken_);
        const std::uint32_t used = writer.end();
        EXPECT_LE(used, room_bytes_);
        const Found found = read_all(Bytes(room_).first(used));
        EXPECT_TRUE(std::equal(found.copies.begin(), found.copies.end(), copies.begin(),
                               copies.begin() + static_cast<std::ptrdiff_t>(taken_)));
        return found.heads;
    }

    std::array<std::byte, 9000> room_{};
    std::size_t room_bytes_ = 9000;
    std::size_t taken_ = 0;
};

TEST_F(PutsWriterTest, copies_alike_share_a_head) {
    EXPECT_EQ(heads_of({copy_of(2, 8), copy_of(4, 8), copy_of(6, 8)}), 1U);
    EXPECT_EQ(heads_of({copy_of(2, 0), copy_of(4, 0)}), 1U);
    EXPECT_EQ(taken_, 2U);
}

TEST_F(PutsWriterTest, another_size_or_a_gap_in_the_tokens_takes_another) {
    EXPECT_EQ(heads_of({copy_of(2, 8), copy_of(4, 4), copy_of(6, 4), copy_of(8, 8)}), 3U);
    EXPECT_EQ(heads_of({copy_of(2, 8), copy_of(6, 8)}), 2U);
    EXPECT_EQ(heads_of({copy_of(4, 8), copy_of(2, 8)}), 2U);
}

TEST_F(PutsWriterTest, a_head_stands_for_255_at_most) {
    std::vector<Copy> copies;
    for (std::uint64_t i = 1; i <= 256; ++i) copies.push_back(copy_of(2 * i, 8));
    EXPECT_EQ(heads_of(copies), 2U);
    EXPECT_EQ(taken_, copies.size());
}

TEST_F(PutsWriterTest, takes_what_fits_to_the_last_byte_and_no_more) {
    room_bytes_ = sizeof(PutsFrame) + 2 * 16;
    EXPECT_EQ(heads_of({copy_of(2, 8), copy_of(4, 8), copy_of(6, 8)}), 1U);
    EXPECT_EQ(taken_, 2U);
    --room_bytes_;
    EXPECT_EQ(heads_of({copy_of(2, 8), copy_of(4, 8)}), 1U);
    EXPECT_EQ(taken_, 1U);
    room_bytes_ = 0;
    EXPECT_EQ(heads_of({copy_of(2, 0)}), 0U);
    EXPECT_EQ(PutsWriter({}).room_for(2, ~std::uint64_t{0}), nullptr);
}

TEST_F(PutsWriterTest, whatever_is_written_is_read_back) {
    acp::test::Random random(4);
    for (int round = 0; round < 300; ++round) {
        std::vector<Copy> copies;
        std::uint64_t token = 2;
        for (std::uint64_t count = random.below(400); count > 0; --count) {
            token += random.chance(12) ? 4U : 2U;
            copies.push_back(copy_of(token, random.chance(25) ? random.below(40) : 8));
        }
        room_bytes_ = random.below(9000);
        heads_of(copies);
    }
}

// namespace acp::router::test
}  // namespace
}  // namespace acp::router::test
