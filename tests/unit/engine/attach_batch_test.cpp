// SPDX-License-Identifier: BSD-3-Clause
// Short copies collected for one system call: none moves before its batch is full or run, limits of
// copies and of bytes at and past them, each copy has its own end although it shares a call, and
// copies that the kernel refuses are returned in their order. One thread.
#include "engine/attach_batch.hpp"

#include <map>

#include "support/refuse_memory.hpp"
#include "unit/engine/gateway_slot.hpp"

namespace acp::engine::test {
namespace {

using base::Code;

class AttachBatchTest : public testing::Test {
protected:
    // Takes the completions, by ticket.
    std::map<Ticket, Code> take_ended() {
        std::map<Ticket, Code> taken;
        for (std::size_t i = 0; i < batch_.ended().size(); ++i) {
            EXPECT_TRUE(taken.emplace(batch_.ended()[i].ticket, batch_.ended()[i].code).second);
        }
        batch_.ended().clear();
        return taken;
    }

    // Collects puts of 8 bytes, all `value`, one behind the other in the rank's memory.
    void put_words(std::uint32_t rank, std::uint32_t count, char value, Ticket first) {
        const std::vector<std::byte> word(8, std::byte(value));
        for (std::uint32_t i = 0; i < count; ++i)
            ASSERT_TRUE(
                batch_.put(node_.own(rank).address + std::uint64_t{i} * 8, word, first + i));
    }

    GatewaySlot node_{{2, 1}};
    AttachBatch batch_{node_.space, node_.hazards, *node_.attach};
};

TEST_F(AttachBatchTest, a_full_batch_moves_when_one_more_is_collected) {
    ASSERT_TRUE(node_.attach->can_reach(1));
    put_words(1, local::attach_batch_max, 'a', 100);
    EXPECT_FALSE(batch_.has_room(8));
    EXPECT_EQ(node_.own(1).bytes[0], 0);
    EXPECT_TRUE(batch_.ended().is_empty());
    put_words(1, 1, 'b', 500);
    EXPECT_EQ(batch_.ended().size(), local::attach_batch_max);
    EXPECT_EQ(node_.own(1).bytes[0], 'a');
    EXPECT_EQ(node_.own(1).bytes[8 * local::attach_batch_max - 1], 'a');
    EXPECT_TRUE(batch_.has_room(8));
    batch_.run();
    EXPECT_EQ(node_.own(1).bytes[7], 'b');
    EXPECT_EQ(node_.own(1).bytes[8], 'a');
    for (const auto& [ticket, code] : take_ended()) EXPECT_EQ(code, Code::ok) << ticket;
    EXPECT_TRUE(batch_.is_empty());
}

TEST_F(AttachBatchTest, bytes_to_be_written_are_bounded_and_kept_here) {
    ASSERT_TRUE(node_.attach->can_reach(1));
    std::uint32_t count = 0;
    while (batch_.has_room(batched_bytes_max)) {
        std::vector<std::byte> bytes = pattern(batched_bytes_max, count);
        ASSERT_TRUE(
            batch_.put(node_.own(1).address + count * batched_bytes_max, bytes, 100 + count));
        bytes.assign(bytes.size(), std::byte{0});
        ASSERT_LT(++count, local::attach_batch_max) << "the bytes have no bound";
    }
    EXPECT_TRUE(batch_.has_room(0)) << "a read takes none of that room";
    EXPECT_TRUE(batch_.ended().is_empty());
    const std::vector<std::byte> last = pattern(batched_bytes_max, 77);
    ASSERT_TRUE(batch_.put(node_.own(1).address + count * batched_bytes_max, last, 99));
    EXPECT_EQ(batch_.ended().size(), count);
    batch_.run();
    EXPECT_EQ(take_ended().size(), count + 1);
    for (std::uint32_t i = 0; i < count; ++i) {
        EXPECT_EQ(bytes_at(node_.own(1).bytes + i * batched_bytes_max, batched_bytes_max),
                  pattern(batched_bytes_max, i));
    }
    EXPECT_EQ(bytes_at(node_.own(1).bytes + count * batched_bytes_max, last.size()), last);
}

TEST_F(AttachBatchTest, reads_and_writes_of_several_processes_share_a_batch) {
    ASSERT_TRUE(node_.attach->can_reach(0) && node_.attach->can_reach(1));
    std::vector<std::vector<std::byte>> into(20, std::vector<std::byte>(16));
    for (std::uint32_t i = 0; i < 20; ++i) {
        const std::uint32_t rank = i % 2;
        const std::uint64_t at = std::uint64_t{i} * 64;
        const std::vector<std::byte> old = pattern(16, 100 + i);
        std::memcpy(node_.own(rank).bytes + at, old.data(), old.size());
        ASSERT_TRUE(batch_.get(node_.own(rank).address + at, into[i], i));
        ASSERT_TRUE(batch_.put(node_.own(1 - rank).address + at, pattern(16, i), 50 + i));
    }
    batch_.run();
    for (const auto& [ticket, code] : take_ended()) EXPECT_EQ(code, Code::ok) << ticket;
    for (std::uint32_t i = 0; i < 20; ++i) {
        const std::uint32_t rank = i % 2;
        EXPECT_EQ(into[i], pattern(16, 100 + i));
        EXPECT_EQ(bytes_at(node_.own(1 - rank).bytes + std::uint64_t{i} * 64, 16), pattern(16, i));
    }
}

TEST_F(AttachBatchTest, a_copy_that_fails_leaves_those_beside_it_alone) {
    ASSERT_TRUE(node_.attach->can_reach(1));
    std::vector<char> other(4096);
    const auto key = node_.ranks[1]->registry->add(other.data(), other.size(), 0);
    ASSERT_TRUE(key.is_ok());
    const std::vector<std::byte> bytes = pattern(64, 1);
    ASSERT_TRUE(batch_.put(node_.own(1).address, bytes, 1));
    ASSERT_TRUE(batch_.put(key.value(), bytes, 2));
    ASSERT_TRUE(batch_.put(node_.own(1).address + mailbox::test::private_bytes - 63, bytes, 3));
    ASSERT_TRUE(batch_.put(node_.own(1).address + 64, bytes, 4));
    ASSERT_TRUE(node_.ranks[1]->registry->remove(key.value()).is_ok());
    batch_.run();
    const std::map<Ticket, Code> expected{
        {1, Code::ok}, {2, Code::stale}, {3, Code::address}, {4, Code::ok}};
    EXPECT_EQ(take_ended(), expected);
    EXPECT_EQ(bytes_at(node_.own(1).bytes + 64, 64), bytes);
    EXPECT_EQ(other, std::vector<char>(4096)) << "memory that was unregistered has changed";
}

TEST_F(AttachBatchTest, refused_copies_are_returned_in_their_order_with_their_bytes) {
    node_.refuse_attach(1);
    std::vector<std::byte> into(8);
    ASSERT_TRUE(batch_.put(node_.own(1).address, pattern(8, 1), 1));
    ASSERT_TRUE(batch_.put(node_.own(1).address + 8, pattern(8, 2), 2));
    ASSERT_TRUE(batch_.get(node_.own(1).address + 16, into, 3));
    batch_.run();
    EXPECT_TRUE(batch_.has_refused());
    EXPECT_TRUE(batch_.ended().is_empty());
    EXPECT_FALSE(node_.attach->can_reach(1));
    EXPECT_FALSE(batch_.has_room(0));
    EXPECT_FALSE(batch_.put(node_.own(0).address, pattern(8, 3), 4)) << "it would lose their bytes";
    std::vector<Ticket> given;
    const auto take = [&](std::size_t most) {
        return batch_.give_refused([&](const AttachBatch::Copy& copy) {
            if (given.size() == most) return false;
            given.push_back(copy.ticket);
            if (!copy.is_read) {
                EXPECT_EQ(bytes_at(copy.near, copy.bytes),
                          pattern(8, static_cast<std::uint32_t>(copy.ticket)));
            }
            return true;
        });
    };
    EXPECT_FALSE(take(0));
    EXPECT_TRUE(take(1));
    EXPECT_TRUE(batch_.has_refused());
    EXPECT_TRUE(take(3));
    EXPECT_EQ(given, (std::vector<Ticket>{1, 2, 3}));
    EXPECT_FALSE(batch_.has_refused());
    ASSERT_TRUE(node_.attach->can_reach(0));
    ASSERT_TRUE(batch_.put(node_.own(0).address, pattern(8, 3), 4));
    batch_.run();
    EXPECT_EQ(take_ended(), (std::map<Ticket, Code>{{4, Code::ok}}));
}

TEST_F(AttachBatchTest, nothing_is_collected_without_memory_for_its_end) {
    ASSERT_TRUE(node_.attach->can_reach(1));
    put_words(1, 2 * local::attach_batch_max, 'a', 1000);
    batch_.run();
    EXPECT_EQ(batch_.ended().size(), std::size_t{2} * local::attach_batch_max);
    const std::vector<std::byte> word(8, std::byte{'z'});
    {
        const acp::test::Refusal refusal(1, acp::test::all_from_there);
        EXPECT_FALSE(batch_.has_room(8));
        EXPECT_FALSE(batch_.put(node_.own(1).address, word, 1));
    }
    batch_.run();
    EXPECT_EQ(node_.own(1).bytes[0], 'a');
    EXPECT_EQ(take_ended().size(), std::size_t{2} * local::attach_batch_max);
    EXPECT_TRUE(batch_.put(node_.own(1).address, word, 1));
    batch_.run();
    EXPECT_EQ(node_.own(1).bytes[0], 'z');
}

// A fault handler of the gateway's process may copy while an access of the same thread lasts.
TEST_F(AttachBatchTest, an_access_within_an_access_is_named_beside_it) {
    const auto named = [&](GlobalAddress address) {
        const auto lines = node_.segment.hazards(node_.slot);
        return std::count_if(lines.begin(), lines.end(), [&](const memory::HazardLine& line) {
            return line.target.load() == address;
        });
    };
    const GlobalAddress outer = node_.shared(0).address;
    const GlobalAddress inner = node_.shared(1).address;
    {
        const Inside first(node_.hazards, outer, outer);
        {
            const Inside second(node_.hazards, inner, inner);
            EXPECT_EQ(named(outer), 1);
            EXPECT_EQ(named(inner), 1);
        }
        EXPECT_EQ(named(outer), 1);
        EXPECT_EQ(named(inner), 0);
    }
    EXPECT_EQ(named(outer), 0);
}

}  // namespace
}  // namespace acp::engine::test
