// SPDX-License-Identifier: BSD-3-Clause
// The operations behind a short acp_put_signal and behind channels between nodes: both bytes and
// word are written, or neither.
#include "operations/put_signal.hpp"

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "operations/library_operations.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::operations::test {
namespace {

using base::Code;

// The parameter is the number of the operation.
class PutSignalOperationTest : public testing::TestWithParam<std::uint32_t> {
protected:
    [[nodiscard]] static bool is_set() { return GetParam() == put_signal_set_number; }

    Code run(const PutSignal& head, const std::string& bytes) {
        std::vector<std::byte> arguments(sizeof head + bytes.size());
        std::memcpy(arguments.data(), &head, sizeof head);
        std::memcpy(arguments.data() + sizeof head, bytes.data(), bytes.size());
        return run(arguments);
    }

    Code run(std::span<const std::byte> arguments) {
        local::OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(),
                                        0);
        return local::run_operation(row(), context, arguments, {}).code;
    }

    [[nodiscard]] static const local::NumberedOperation& row() {
        return *library_operations().find(GetParam());
    }

    [[nodiscard]] std::uint64_t word() const {
        std::uint64_t value = 0;
        std::memcpy(&value, starter(), sizeof value);
        return value;
    }

    [[nodiscard]] char* starter() const { return owner_.segment.starter(0); }

    node::Segment node_ = local::test::make_node(1, 1);
    local::test::Owner owner_{node_, 0};
    memory::GlobalAddress base_ = owner_.space.starter_address(0);
};

TEST_P(PutSignalOperationTest, writes_the_bytes_and_changes_the_word) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{put_signal_bytes_max}}) {
        const std::uint64_t before = word();
        const std::string bytes(size, 'b');
        EXPECT_EQ(run({base_ + 64, base_, size + 5}, bytes), Code::ok);
        EXPECT_EQ(std::string(starter() + 64, size), bytes);
        EXPECT_EQ(starter()[64 + size], 0);
        EXPECT_EQ(word(), (is_set() ? 0 : before) + size + 5);
        std::memset(starter() + 64, 0, size);
    }
}

TEST_P(PutSignalOperationTest, writes_nothing_where_one_of_the_two_is_bad) {
    const memory::GlobalAddress beyond = base_ + local::test::test_starter_bytes - 4;
    EXPECT_EQ(run({beyond, base_, 5}, "12345678"), Code::address);
    EXPECT_EQ(run({base_ + 64, beyond, 5}, "12345678"), Code::address);
    EXPECT_EQ(run({base_ + 64, base_ + 4, 5}, "12345678"), Code::alignment);
    EXPECT_EQ(run({0, base_, 5}, "12345678"), Code::address);
    EXPECT_EQ(run({0, base_, 5}, ""), Code::address);
    EXPECT_EQ(std::string(starter(), 4096), std::string(4096, '\0'));
}

// A waiter for a counter of its own spins, so the operation wakes no thread; a waiter for a channel
// sleeps, and is woken.
TEST_P(PutSignalOperationTest, wakes_sleepers_of_the_process_whose_word_it_sets) {
    sync::Bell<>& bell = node_.slot(0).door.waiter_bell;
    const std::uint32_t asleep = bell.announce();
    EXPECT_EQ(run({base_, base_, 9}, ""), Code::ok);
    EXPECT_EQ(bell.word().load() != asleep, is_set());
    EXPECT_EQ(word(), 9U);
}

TEST_P(PutSignalOperationTest, refuses_arguments_that_are_too_short) {
    const std::array<std::byte, sizeof(PutSignal)> arguments{};
    for (std::size_t bytes = 0; bytes < arguments.size(); ++bytes) {
        EXPECT_EQ(run(std::span(arguments).first(bytes)), Code::argument);
        EXPECT_EQ(row().places_of(std::span(arguments).first(bytes)), "the request is cut short");
    }
}

TEST_P(PutSignalOperationTest, reaches_registered_memory_of_its_own_process) {
    alignas(8) std::array<char, 64> memory{};
    const local::Key key = owner_.add(memory.data(), memory.size());
    EXPECT_EQ(run({key + 8, key, 3}, "12345678"), Code::ok);
    EXPECT_EQ(std::string(memory.data() + 8, 8), "12345678");
    EXPECT_EQ(memory[0], 3);
    EXPECT_EQ(owner_.remove(key), Code::ok);
    EXPECT_EQ(run({key + 8, key, 3}, "12345678"), Code::stale);
}

INSTANTIATE_TEST_SUITE_P(of,
                         PutSignalOperationTest,
                         testing::Values(put_signal_add_number, put_signal_set_number),
                         [](const auto& each) {
                             return each.param == put_signal_set_number ? "set" : "add";
                         });

}  // namespace
}  // namespace acp::operations::test
