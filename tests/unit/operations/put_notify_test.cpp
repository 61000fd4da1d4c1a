// SPDX-License-Identifier: BSD-3-Clause
// The operation by which channels reach other nodes: bytes and word, both or neither, and a ring for who sleeps.
#include "operations/put_notify.hpp"

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "operations/library_operations.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::operations::test {
namespace {

using base::Code;

class PutNotifyOperationTest : public testing::Test {
protected:
    Code run(const PutNotify& head, const std::string& bytes) {
        std::vector<std::byte> arguments(sizeof head + bytes.size());
        std::memcpy(arguments.data(), &head, sizeof head);
        std::memcpy(arguments.data() + sizeof head, bytes.data(), bytes.size());
        return run(arguments);
    }

    Code run(std::span<const std::byte> arguments) {
        const local::NumberedOperation* row = library_operations().find(put_notify_number);
        local::OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(),
                                        0);
        return local::run_operation(*row, context, arguments, {}).code;
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

TEST_F(PutNotifyOperationTest, writes_the_bytes_and_stores_the_word) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{put_notify_bytes_max}}) {
        const std::string bytes(size, 'b');
        EXPECT_EQ(run({base_ + 64, base_, size + 5}, bytes), Code::ok);
        EXPECT_EQ(std::string(starter() + 64, size), bytes);
        EXPECT_EQ(starter()[64 + size], 0);
        EXPECT_EQ(word(), size + 5);
        std::memset(starter() + 64, 0, size);
    }
}

TEST_F(PutNotifyOperationTest, writes_nothing_where_one_of_the_two_is_bad) {
    const memory::GlobalAddress beyond = base_ + local::test::test_starter_bytes - 4;
    EXPECT_EQ(run({beyond, base_, 5}, "12345678"), Code::address);
    EXPECT_EQ(run({base_ + 64, beyond, 5}, "12345678"), Code::address);
    EXPECT_EQ(run({base_ + 64, base_ + 4, 5}, "12345678"), Code::alignment);
    EXPECT_EQ(run({0, base_, 5}, "12345678"), Code::address);
    EXPECT_EQ(std::string(starter(), 4096), std::string(4096, '\0'));
}

TEST_F(PutNotifyOperationTest, rings_whoever_sleeps_in_the_process) {
    sync::Bell<>& bell = node_.slot(0).door.waiter_bell;
    const std::uint32_t asleep = bell.announce();
    EXPECT_EQ(run({0, base_, 9}, ""), Code::ok);
    EXPECT_NE(bell.word().load(), asleep) << "who is about to sleep on it does not";
    EXPECT_EQ(word(), 9U);
}

TEST_F(PutNotifyOperationTest, refuses_arguments_that_are_too_short) {
    const std::array<std::byte, sizeof(PutNotify)> arguments{};
    for (std::size_t bytes = 0; bytes < arguments.size(); ++bytes) {
        EXPECT_EQ(run(std::span(arguments).first(bytes)), Code::argument);
    }
}

TEST_F(PutNotifyOperationTest, reaches_registered_memory_of_its_own_process) {
    alignas(8) std::array<char, 64> memory{};
    const local::Key key = owner_.add(memory.data(), memory.size());
    EXPECT_EQ(run({key + 8, key, 3}, "12345678"), Code::ok);
    EXPECT_EQ(std::string(memory.data() + 8, 8), "12345678");
    EXPECT_EQ(memory[0], 3);
    EXPECT_EQ(owner_.remove(key), Code::ok);
    EXPECT_EQ(run({key + 8, key, 3}, "12345678"), Code::stale);
}

}  // namespace
}  // namespace acp::operations::test
