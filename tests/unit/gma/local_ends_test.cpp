// SPDX-License-Identifier: BSD-3-Clause
// Memory that stands for the caller's pointers: a block serves one command at a time, and a get's
// bytes are copied out of it at completion; a registration is kept after its command, and revoked by
// a failure.
#include "gma/local_ends.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "unit/local/test_owner.hpp"

namespace acp::gma::test {
namespace {

using base::Code;
using Loan = LocalEnds::Loan;

class LocalEndsTest : public testing::Test {
protected:
    [[nodiscard]] LocalEnds::End end_of(std::uint64_t bytes,
                                        bool is_get = false,
                                        std::uint64_t offset = 0) {
        return {memory_.data() + offset, bytes, is_get};
    }

    void end(const Loan& loan, bool is_ok = true) {
        memory::Command command;
        command.expected = memory::Command::note(memory::IssuedBy::get, loan.number);
        ends_.on_end(command, is_ok);
    }

    Loan lend_registration(const LocalEnds::End& end) {
        auto loan = ends_.add_registration(end);
        EXPECT_TRUE(loan.is_ok()) << loan.failure().message();
        return loan.is_ok() ? loan.value() : Loan{};
    }

    [[nodiscard]] char* blocks() const { return owner_.segment.claimed(0, local_ends_range); }

    node::Segment node_ = local::test::make_node(1, 1);
    local::test::Owner owner_{node_, 0};
    std::vector<char> memory_ = std::vector<char>(1 << 20, 'm');
    LocalEnds ends_{blocks(), owner_.space.claimed_address(0, local_ends_range), *owner_.registry};
};

TEST_F(LocalEndsTest, lends_blocks_apart_from_each_other_that_others_can_address) {
    std::set<std::uint64_t> begins;
    std::vector<Loan> loans;
    for (std::uint32_t i = 0; i < LocalEnds::block_count; ++i) {
        const std::uint64_t bytes =
            i < LocalEnds::small_count ? LocalEnds::small_bytes : LocalEnds::block_bytes_max;
        const Loan loan = ends_.take_block(end_of(bytes));
        ASSERT_NE(loan.number, 0U);
        EXPECT_EQ(owner_.direct(loan.address), loan.block);
        EXPECT_EQ(owner_.find(loan.address, bytes), Code::ok);
        for (std::uint64_t at = 0; at < bytes; at += 64) {
            EXPECT_TRUE(begins.insert(loan.address + at).second) << "two loans overlap";
        }
        loans.push_back(loan);
    }
    EXPECT_EQ(ends_.take_block(end_of(1)).number, 0U) << "no room is free";
    EXPECT_EQ(ends_.take_block(end_of(LocalEnds::block_bytes_max)).number, 0U);
    for (const Loan& loan : loans) end(loan);
    EXPECT_NE(ends_.take_block(end_of(1)).number, 0U);
    EXPECT_EQ(ends_.take_block(end_of(LocalEnds::block_bytes_max + 1)).number, 0U) << "too long";
}

TEST_F(LocalEndsTest, lends_a_long_block_where_no_short_one_is_left) {
    for (std::uint32_t i = 0; i < LocalEnds::small_count; ++i) {
        EXPECT_LE(ends_.take_block(end_of(8)).number, LocalEnds::small_count);
    }
    EXPECT_GT(ends_.take_block(end_of(8)).number, LocalEnds::small_count);
}

TEST_F(LocalEndsTest, brings_a_gets_bytes_when_its_command_has_ended_well) {
    for (const std::uint64_t bytes : {1U, 8U, 256U, 257U, 4096U}) {
        std::fill(memory_.begin(), memory_.end(), 'm');
        const Loan loan = ends_.take_block(end_of(bytes, true, 100));
        std::memset(loan.block, 'g', bytes);
        EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 'g'), 0);
        end(loan);
        EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 'g'),
                  static_cast<std::ptrdiff_t>(bytes));
        EXPECT_EQ(memory_[99], 'm');
        EXPECT_EQ(memory_[100], 'g');
    }
}

TEST_F(LocalEndsTest, writes_nothing_after_a_failure_and_lends_that_block_no_more) {
    std::set<std::uint32_t> failed;
    for (std::uint32_t i = 0; i < LocalEnds::large_count; ++i) {
        const Loan loan = ends_.take_block(end_of(4096, true));
        std::memset(loan.block, 'g', 4096);
        end(loan, false);
        EXPECT_TRUE(failed.insert(loan.number).second);
    }
    EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 'g'), 0);
    EXPECT_EQ(ends_.take_block(end_of(4096)).number, 0U);
}

TEST_F(LocalEndsTest, gives_a_block_back_whose_command_never_ran) {
    for (int i = 0; i < 500; ++i) {
        const Loan loan = ends_.take_block(end_of(4096, true));
        ASSERT_NE(loan.number, 0U);
        std::memset(loan.block, 'g', 4096);
        ends_.give_back(loan.number);
    }
    EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 'g'), 0);
    ends_.give_back(0);  // 0 is the number of no loan
}

TEST_F(LocalEndsTest, registers_memory_once_for_commands_one_after_the_other) {
    const Loan first = lend_registration(end_of(100'000));
    EXPECT_EQ(first.block, nullptr);
    EXPECT_EQ(owner_.direct(first.address), memory_.data());
    end(first);
    for (int i = 0; i < 100; ++i) {
        const Loan again = lend_registration(end_of(100'000));
        EXPECT_EQ(again.address, first.address);
        end(again);
    }
    EXPECT_EQ(owner_.registry->live(), 1U);
    const Loan one = lend_registration(end_of(100'000));
    const Loan other = lend_registration(end_of(100'000));
    EXPECT_NE(one.address, other.address) << "two commands at once";
    EXPECT_NE(lend_registration(end_of(100'000, true)).address, one.address) << "to be written";
}

TEST_F(LocalEndsTest, lends_registrations_up_to_its_limit) {
    std::vector<Loan> loans;
    for (std::uint64_t i = 0; i < LocalEnds::registered_max; ++i) {
        loans.push_back(lend_registration(end_of(5000, false, i)));
        ASSERT_NE(loans.back().number, 0U);
        ASSERT_LE(loans.back().number, memory::Command::loans_max);
    }
    EXPECT_EQ(lend_registration(end_of(5000)).number, 0U) << "no room is free";
    end(loans[7]);
    EXPECT_NE(lend_registration(end_of(6000)).number, 0U);
}

TEST_F(LocalEndsTest, revokes_a_registration_whose_command_failed) {
    const Loan loan = lend_registration(end_of(100'000, true));
    EXPECT_EQ(owner_.find(loan.address, 100'000), Code::ok);
    end(loan, false);
    EXPECT_EQ(owner_.find(loan.address, 100'000), Code::stale);
    const Loan again = lend_registration(end_of(100'000, true));
    EXPECT_NE(again.address, loan.address);
    end(again);
    (void)ends_.cache().end_kept();
    EXPECT_EQ(owner_.registry->live(), 0U);
}

TEST_F(LocalEndsTest, knows_the_memory_of_a_part_of_a_kept_registration) {
    end(lend_registration(end_of(100'000)));
    const Loan part = lend_registration(end_of(50'000, false, 300));
    EXPECT_EQ(ends_.memory_at(part.number, part.address + 5), memory_.data() + 305);
    EXPECT_EQ(owner_.registry->live(), 1U);
}

TEST_F(LocalEndsTest, refuses_bad_memory_with_a_reason_and_registers_nothing) {
    static const std::vector<char> constant(8192);
    const auto bad = ends_.add_registration({nullptr, 5000, false});
    ASSERT_FALSE(bad.is_ok());
    EXPECT_EQ(bad.failure().code(), Code::argument);
    for (int i = 0; i < 300; ++i) {
        EXPECT_FALSE(ends_.add_registration({nullptr, 5000, true}).is_ok());
    }
    EXPECT_NE(lend_registration(end_of(5000)).number, 0U) << "no number was lost";
}

TEST_F(LocalEndsTest, lends_nothing_to_two_threads_at_once) {
    std::atomic<bool> is_lent_twice{false};
    std::array<std::atomic<int>, memory::Command::loans_max + 1> users{};
    const auto work = [&](std::uint64_t offset) {
        for (int i = 0; i < 3000; ++i) {
            const bool is_block = i % 8 != 0;
            const auto wanted = end_of(is_block ? 200 : 5000, i % 2 == 0, offset);
            const Loan loan = is_block ? ends_.take_block(wanted) : lend_registration(wanted);
            if (loan.number == 0) continue;
            if (users[loan.number].fetch_add(1) != 0) is_lent_twice = true;
            if (loan.block != nullptr) std::memset(loan.block, static_cast<int>(offset), 200);
            users[loan.number].fetch_sub(1);
            end(loan);
        }
    };
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i) threads.emplace_back(work, i * 10'000);
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(is_lent_twice);
}

}  // namespace
}  // namespace acp::gma::test
