// SPDX-License-Identifier: BSD-3-Clause
// The words of a sequence keep their fields up to their limits, and two states never have the same
// word.
#include "sequence/words.hpp"

#include <gtest/gtest.h>

namespace acp::sequence {
namespace {

TEST(Words, an_operation_keeps_its_parts_at_their_limits) {
    OperationWord operation;
    operation.state = TurnState::evicting;
    operation.which = 1;
    operation.participant = (1U << OperationWord::participant_bits) - 1;
    operation.generation = (1U << OperationWord::generation_bits) - 1;
    operation.sequence = (std::uint64_t{1} << OperationWord::sequence_bits) - 1;
    EXPECT_EQ(operation.packed(), ~std::uint64_t{0});
    const OperationWord again = OperationWord::unpacked(operation.packed());
    EXPECT_EQ(again.state, TurnState::evicting);
    EXPECT_EQ(again.which, 1U);
    EXPECT_EQ(again.participant, operation.participant);
    EXPECT_EQ(again.generation, operation.generation);
    EXPECT_EQ(again.sequence, operation.sequence);
}

TEST(Words, a_change_has_the_next_sequence_number_and_begins_again_past_the_last) {
    OperationWord operation;
    operation.state = TurnState::held;
    operation.participant = 7;
    operation.sequence = (std::uint64_t{1} << OperationWord::sequence_bits) - 2;
    operation = operation.after(1);
    EXPECT_EQ(operation.state, TurnState::idle);
    EXPECT_EQ(operation.participant, 0U);
    EXPECT_EQ(operation.which, 1U);
    EXPECT_EQ(operation.sequence, (std::uint64_t{1} << OperationWord::sequence_bits) - 1);
    EXPECT_EQ(operation.after(0).sequence, 0U);
}

TEST(Words, a_named_block_keeps_its_parts_at_their_limits) {
    const Named named{1, table::number_mask, Named::number_mask};
    EXPECT_EQ(named.packed(), ~std::uint64_t{0});
    const Named again = Named::unpacked(named.packed());
    EXPECT_EQ(again.bit, 1U);
    EXPECT_EQ(again.block, table::number_mask);
    EXPECT_EQ(again.number, Named::number_mask);
    EXPECT_EQ(again.generation(), 255U);
    EXPECT_EQ(named.next(5, 0).number, 0U);
    EXPECT_EQ(named.next(5, 0).block, 5U);
    EXPECT_EQ((Named{0, 9, 255}.next(9, 1).generation()), 0U);
}

}  // namespace
}  // namespace acp::sequence
