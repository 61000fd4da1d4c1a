// SPDX-License-Identifier: BSD-3-Clause
// A releasing thread notifies the next holder on another node, perhaps late or twice.
#include <cstring>

#include "operations/library_operations.hpp"
#include "operations/lock_operations.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::operations::test {
namespace {

using base::Code;
using sync::GrantState;

class GrantLockTest : public testing::Test {
protected:
    Code grant(memory::GlobalAddress word, std::uint64_t value) {
        const LockNotification notification{word, value};
        local::OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(),
                                        0);
        return local::run_operation(*library_operations().find(local::operation_number<GrantLock>),
                                    context, std::as_bytes(std::span(&notification, 1)), {})
            .code;
    }

    [[nodiscard]] sync::GrantWord<> word() const {
        return sync::GrantWord<>(
            *reinterpret_cast<std::atomic<std::uint64_t>*>(owner_.segment.starter(0)));
    }

    [[nodiscard]] sync::Bell<>& bell() { return node_.slot(0).door.waiter_bell; }

    node::Segment node_ = local::test::make_node(1, 1);
    local::test::Owner owner_{node_, 0};
    memory::GlobalAddress base_ = owner_.space.starter_address(0);
};

TEST_F(GrantLockTest, grants_the_wait_of_its_number_and_wakes_the_waiter) {
    for (const bool has_died : {false, true}) {
        const std::uint64_t number = word().begin();
        EXPECT_FALSE(word().is_granted());
        const std::uint32_t asleep = bell().announce();
        EXPECT_EQ(grant(base_, GrantState::of_grant(number, has_died)), Code::ok);
        EXPECT_TRUE(word().is_granted());
        EXPECT_EQ(word().has_died(), has_died);
        EXPECT_NE(bell().word().load(), asleep);
    }
}

TEST_F(GrantLockTest, a_grant_of_another_wait_changes_nothing_and_wakes_no_thread) {
    const std::uint64_t earlier = word().begin();
    const std::uint64_t number = word().begin();
    const std::uint32_t asleep = bell().announce();
    for (const std::uint64_t other : {earlier, number + 1}) {
        EXPECT_EQ(grant(base_, GrantState::of_grant(other, false)), Code::ok);
        EXPECT_FALSE(word().is_granted());
    }
    EXPECT_EQ(bell().word().load(), asleep);
    EXPECT_EQ(grant(base_, GrantState::of_grant(number, false)), Code::ok);
    EXPECT_EQ(grant(base_, GrantState::of_grant(number, true)), Code::ok);
    EXPECT_FALSE(word().has_died());
}

TEST_F(GrantLockTest, refuses_what_is_no_grant_and_no_word) {
    const std::uint64_t value = GrantState::of_grant(word().begin(), false);
    EXPECT_EQ(grant(base_, GrantState::before(value)), Code::argument);
    EXPECT_EQ(grant(base_, value | 3U), Code::argument);
    EXPECT_EQ(grant(base_, GrantState::granted), Code::argument);
    EXPECT_EQ(grant(base_ + 4, value), Code::alignment);
    EXPECT_EQ(grant(base_ + local::test::test_starter_bytes - 4, value), Code::address);
    EXPECT_EQ(grant(0, value), Code::address);
    EXPECT_FALSE(word().is_granted());
}

}  // namespace
}  // namespace acp::operations::test
