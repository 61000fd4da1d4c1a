// SPDX-License-Identifier: BSD-3-Clause
// The inputs of an operation: a row of the table by its number, and memory of one process that is
// mapped here. While it runs that memory stays registered.
#include "local/numbered_operation.hpp"

#include <atomic>
#include <span>
#include <thread>
#include <vector>

#include "support/operation_library.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::local::test {
namespace {

using base::Code;

class NumberedOperationTest : public testing::Test {
protected:
    // The result of find() in slot 0 on memory of a process.
    Code find(std::uint32_t process, GlobalAddress address, std::uint64_t bytes) {
        OperationContext context(first_.space, first_.hazards, line(), process);
        return context.find(address, bytes) != nullptr ? Code::ok : context.refusal();
    }

    memory::HazardLine& line() { return *first_.hazards.own_line(); }

    [[nodiscard]] static GlobalAddress starter(const Owner& owner) {
        return owner.space.starter_address(owner.space.rank());
    }

    static constexpr std::uint64_t private_bytes = 8192;

    node::Segment node_ = make_node(2, 2);
    Owner first_{node_, 0, false};
    Owner second_{node_, 1, false};
    std::vector<char> first_bytes_ = std::vector<char>(private_bytes);
    std::vector<char> second_bytes_ = std::vector<char>(private_bytes);
    const Key first_private_ = first_.add(first_bytes_.data(), private_bytes);
    const Key second_private_ = second_.add(second_bytes_.data(), private_bytes);
};

TEST_F(NumberedOperationTest, is_found_by_its_number_and_by_no_other) {
    const OperationTable& table = acp::test::operation_table;
    ASSERT_NE(table.find(acp::test::append_number), nullptr);
    EXPECT_STREQ(table.find(acp::test::append_number)->name, "append");
    EXPECT_EQ(table.find(0), nullptr);
    EXPECT_EQ(table.find(operation_numbers - 1), nullptr);
    EXPECT_EQ(table.find(operation_numbers), nullptr);
    EXPECT_EQ(table.find(~0U), nullptr);
    EXPECT_EQ(OperationTable().find(acp::test::append_number), nullptr);
}

TEST(OperationTableTest, finds_each_of_as_many_rows_as_it_has_room_for) {
    constexpr std::uint32_t step = 16;  // the last number is operation_numbers - 16
    std::vector<NumberedOperation> rows(OperationTable::rows_max);
    for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i].number = (i + 1) * step;
    OperationTable table;
    table.add(std::span(rows).first(1));
    table.add(std::span(rows).subspan(1));
    for (std::uint32_t number = 0; number < operation_numbers; ++number) {
        const bool is_row = number != 0 && number % step == 0;
        ASSERT_EQ(table.find(number), is_row ? &rows[number / step - 1] : nullptr) << number;
    }
}

TEST_F(NumberedOperationTest, reaches_what_is_mapped_here_of_the_process_it_runs_on) {
    EXPECT_EQ(find(0, starter(first_), 8), Code::ok);
    EXPECT_EQ(find(1, starter(second_), 8), Code::ok);
    EXPECT_EQ(find(0, first_private_, 8), Code::ok);
    EXPECT_EQ(find(1, second_private_, 8), Code::unsupported);  // private to the other process
    EXPECT_EQ(find(0, starter(second_), 8), Code::address);     // memory of another process
    EXPECT_EQ(find(0, 0, 8), Code::address);
    EXPECT_EQ(find(0, first_private_ + private_bytes - 7, 8), Code::address);
}

TEST_F(NumberedOperationTest, reaches_nothing_that_was_unregistered) {
    ASSERT_TRUE(first_.registry->remove(first_private_).is_ok());
    EXPECT_EQ(find(0, first_private_, 8), Code::stale);
}

TEST_F(NumberedOperationTest, names_what_it_reaches_until_it_ends) {
    const auto is_named = [this](GlobalAddress address) {
        return memory::is_named_by(line(),
                                   [address](GlobalAddress named) { return named == address; });
    };
    const GlobalAddress near = first_private_ + 8;
    const GlobalAddress far = first_private_ + 4096;
    {
        OperationContext context(first_.space, first_.hazards, line(), 0);
        ASSERT_NE(context.find(near, 8), nullptr);
        EXPECT_TRUE(is_named(near));
        ASSERT_NE(context.find(far, 8), nullptr);
        EXPECT_TRUE(is_named(near));
        EXPECT_TRUE(is_named(far));
        EXPECT_EQ(context.find(far + 8, 8), nullptr) << "a line names two addresses";
        EXPECT_EQ(context.refusal(), Code::limit);
        EXPECT_NE(context.find(starter(first_), 8), nullptr)
            << "memory that its owner never revokes needs no hazard word";
        EXPECT_TRUE(is_named(near));
    }
    EXPECT_FALSE(is_named(near));
    EXPECT_FALSE(is_named(far));
}

TEST_F(NumberedOperationTest, may_be_run_by_several_at_once_when_it_is_atomic_by_its_own_means) {
    constexpr std::uint64_t bound = 10'000;
    const acp::test::AddBelow asked{starter(second_), 1, bound};
    const NumberedOperation& operation = *acp::test::operation_table.find(17);
    std::atomic<std::uint64_t> added{0};
    const auto run = [&](Owner& by) {
        for (std::uint64_t i = 0; i < bound; ++i) {
            acp::test::AddedBelow result;
            Hazards::Lease lease(by.hazards);
            OperationContext context(by.space, by.hazards, lease.line(), 1);
            const auto ran = run_operation(operation, context, acp::test::bytes_of(asked),
                                           acp::test::room_in(result));
            EXPECT_EQ(ran.code, Code::ok);
            EXPECT_EQ(ran.result_bytes, sizeof result);
            added.fetch_add(result.is_added, std::memory_order_relaxed);
        }
    };
    std::thread other([&] { run(second_); });
    run(first_);
    other.join();
    EXPECT_EQ(added.load(), bound);
    EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(second_.segment.starter(1)), bound);
}

// namespace acp::local::test
}  // namespace
}  // namespace acp::local::test
