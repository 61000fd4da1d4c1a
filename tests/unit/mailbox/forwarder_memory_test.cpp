// SPDX-License-Identifier: BSD-3-Clause
// The forwarder's accesses to memory: places found and refused, bytes and atomics at their targets,
// the hazard line, the counters and the observer. One thread.
#include "mailbox/forwarder_memory.hpp"

#include "unit/mailbox/test_parts.hpp"

namespace acp::mailbox::test {
namespace {

using base::Code;

class ForwarderMemoryTest : public PartsTest {
protected:
    [[nodiscard]] std::uint64_t served_bytes() const {
        return own.segment.slot(self).served_bytes.load(std::memory_order_relaxed);
    }
};

TEST_F(ForwarderMemoryTest, names_both_addresses_while_an_access_lasts) {
    const memory::HazardLine& line = *own.hazards.own_line();
    {
        const ForwarderMemory::Naming naming(accesses, theirs, mine);
        EXPECT_EQ(line.target.load(), theirs);
        EXPECT_EQ(line.source.load(), mine);
    }
    EXPECT_EQ(line.target.load(), 0U);
    accesses.end_poll();
    const ForwarderMemory::Naming naming(accesses, mine, mine);
    EXPECT_EQ(line.target.load(), mine);
}

TEST_F(ForwarderMemoryTest, finds_both_ends_and_blames_the_bad_one) {
    local::Place to;
    local::Place from;
    const AccessVerdict good = accesses.find(theirs, mine, 8, to, from);
    EXPECT_TRUE(good.is_ok());
    EXPECT_EQ(to.slot, 1U);
    EXPECT_EQ(from.slot, self);
    EXPECT_EQ(from.direct, bytes.data());
    const AccessVerdict bad_target =
        accesses.find(theirs + other_bytes.size() - 7, mine, 8, to, from);
    EXPECT_EQ(bad_target.code, Code::address);
    EXPECT_EQ(bad_target.blame, Blame::target);
    const AccessVerdict bad_source = accesses.find(theirs, 0, 8, to, from);
    EXPECT_EQ(bad_source.code, Code::address);
    EXPECT_EQ(bad_source.blame, Blame::source);
}

TEST_F(ForwarderMemoryTest, reaches_own_and_shared_memory_alone) {
    local::Place place;
    ASSERT_TRUE(accesses.find_source(mine, 8, place).is_ok());
    EXPECT_TRUE(accesses.reaches_here(place));
    EXPECT_FALSE(accesses.reaches(1, place));
    ASSERT_TRUE(accesses.find_source(theirs, 8, place).is_ok());
    EXPECT_FALSE(accesses.reaches_here(place));
    EXPECT_TRUE(accesses.reaches(1, place));
    ASSERT_TRUE(accesses.find_source(own.space.starter_address(1), 8, place).is_ok());
    EXPECT_TRUE(accesses.reaches_here(place));
    EXPECT_TRUE(accesses.reaches(2, place));
}

TEST_F(ForwarderMemoryTest, writes_what_came_for_memory_that_it_reaches) {
    const AccessVerdict written = accesses.write(mine + 5, std::span("abc", 3), theirs, 1);
    EXPECT_TRUE(written.is_ok());
    EXPECT_EQ(std::string(bytes.data() + 5, 3), "abc");
    EXPECT_EQ(bytes[4], 4);
    EXPECT_EQ(bytes[8], 8);
    EXPECT_EQ(served_bytes(), 3U);
    EXPECT_TRUE(accesses.write(mine + 5, std::span("abc", 3), theirs, self).is_ok());
    EXPECT_EQ(served_bytes(), 3U)
        << "commands of a process on its own memory are not counted as served";
}

TEST_F(ForwarderMemoryTest, writes_nothing_to_memory_of_others_or_that_is_gone) {
    const AccessVerdict foreign = accesses.write(theirs, std::span("abc", 3), mine, 1);
    EXPECT_EQ(foreign.code, Code::address);
    EXPECT_EQ(foreign.blame, Blame::target);
    EXPECT_EQ(other_bytes[0], 0);
    ASSERT_EQ(own.remove(mine), Code::ok);
    const AccessVerdict gone = accesses.write(mine, std::span("abc", 3), theirs, 1);
    EXPECT_EQ(gone.code, Code::stale);
    EXPECT_EQ(gone.blame, Blame::target);
    EXPECT_EQ(bytes[1], 1);
}

TEST_F(ForwarderMemoryTest, runs_an_atomic_on_an_aligned_word) {
    memory::Command add{memory::Operation::add, 8, 0, mine + 16, 8, 2, 0};
    const std::uint64_t before = word_at(16);
    local::Place word;
    ASSERT_TRUE(accesses.find_source(add.source, 8, word).is_ok());
    const AccessVerdict done = accesses.run_atomic(add, word, 1);
    EXPECT_TRUE(done.is_ok());
    EXPECT_EQ(done.operand, before);
    EXPECT_EQ(word_at(16), before + 2);
    ASSERT_TRUE(accesses.find_source(mine + 20, 8, word).is_ok());
    EXPECT_EQ(accesses.run_atomic(add, word, 1).code, Code::alignment);
    add.width = 0;  // like in a damaged message
    EXPECT_EQ(accesses.run_atomic(add, word, 1).code, Code::alignment);
    EXPECT_EQ(word_at(16), before + 2);
}

TEST_F(ForwarderMemoryTest, reports_each_access_and_its_initiator_to_the_observer) {
    std::vector<std::pair<memory::Command, std::uint32_t>> seen;
    accesses.set_observer([&](const memory::Command& command, std::uint32_t origin) {
        seen.emplace_back(command, origin);
    });
    local::Place to;
    local::Place from;
    ASSERT_TRUE(accesses.find(mine + 8, mine, 8, to, from).is_ok());
    accesses.move(copy(mine + 8, mine, 8), to, from, 2);
    (void)accesses.write(mine, std::span("abc", 3), theirs, 1);
    (void)accesses.write(theirs, std::span("abc", 3), mine, 1);
    ASSERT_EQ(seen.size(), 2U) << "a refused copy writes no byte";
    EXPECT_EQ(seen[0], std::pair(copy(mine + 8, mine, 8), 2U));
    EXPECT_EQ(seen[1], std::pair(copy(mine, theirs, 3), 1U));
    EXPECT_EQ(word_at(8), 0x0706050403020100U) << "moved before the second write";
}

// namespace acp::mailbox::test
}  // namespace
}  // namespace acp::mailbox::test
