// SPDX-License-Identifier: BSD-3-Clause
// The operations by which a rank of another node changes a long vector or deque in pieces, as its
// gateway runs them: none copies more than 64 KiB, and they change the content in one step.
#include "node/death.hpp"

#include "unit/allocator/sequence_operations_fixture.hpp"

namespace acp::allocator::test {
namespace {

// A gateway with a vector, whose content a rank of the job replaces in pieces.
class ReplacedBodyTest : public SequenceOperationsTest {
protected:
    static constexpr std::uint32_t rank = 1;

    ReplacedBodyTest() { thread_ = local::OperationContext::gateway_thread; }

    LentBlock lend(std::uint64_t bytes) {
        EXPECT_EQ(run(local::operation_number<LendBlock>, ToLend{bytes, rank}), Code::ok);
        return told<LentBlock>();
    }

    SequenceTold tell(const SequenceName& name) {
        EXPECT_EQ(run(local::operation_number<TellSequence>, SequenceTell{name, 0, 0}), Code::ok);
        return told<SequenceTold>();
    }

    SequenceEffect copy(const SequenceName& name,
                        std::uint64_t version,
                        const LentBlock& stage,
                        std::uint64_t index,
                        std::uint64_t bytes) {
        EXPECT_EQ(run(local::operation_number<CopyContent>,
                      ContentToCopy{name, version, index, bytes, stage, start + index}),
                  Code::ok);
        return told<SequenceResult>().effect;
    }

    SequenceEffect adopt(const SequenceName& name,
                         std::uint64_t version,
                         const LentBlock& stage,
                         std::uint64_t bytes) {
        EXPECT_EQ(run(local::operation_number<AdoptBody>,
                      BodyToAdopt{name, version, stage, bytes, capacity}),
                  Code::ok);
        return told<SequenceResult>().effect;
    }

    static constexpr std::uint64_t start = sequence::Body<std::atomic>::head_bytes;
    static constexpr std::uint64_t capacity = 320;
};

TEST_F(ReplacedBodyTest, no_change_copies_more_than_64_kib_at_once) {
    constexpr std::uint64_t bytes = copied_bytes_max - 4;
    const SequenceName name = make(SequenceKind::vector, bytes);
    push(name, std::string(tell(name).capacity - bytes, 'x'));
    EXPECT_EQ(run(local::operation_number<PushBytes>, SequencePush{name, 0, {}, 5}, "12345"),
              Code::ok);
    EXPECT_EQ(told<SequenceResult>().effect, SequenceEffect::too_long);
    SequenceSplice reserve;
    reserve.name = name;
    reserve.capacity_least = 10 * bytes;
    push(name, "");
    EXPECT_EQ(run(local::operation_number<PopBytes>, SequencePop{name, 0, 0, {}, 1}), Code::ok);
    EXPECT_EQ(run(local::operation_number<SpliceBytes>, reserve), Code::ok);
    EXPECT_EQ(told<SequenceResult>().effect, SequenceEffect::done);
    push(name, "12345");
    reserve.capacity_least = 20 * bytes;
    EXPECT_EQ(run(local::operation_number<SpliceBytes>, reserve), Code::ok);
    EXPECT_EQ(told<SequenceResult>().effect, SequenceEffect::too_long);
    reserve.name.may_be_long = 1;
    EXPECT_EQ(run(local::operation_number<SpliceBytes>, reserve), Code::ok);
    EXPECT_EQ(told<SequenceResult>().effect, SequenceEffect::done);
    EXPECT_EQ(tell(name).bytes, copied_bytes_max + 4);
    const LentBlock stage = lend(2 * copied_bytes_max);
    EXPECT_EQ(run(local::operation_number<CopyContent>,
                  ContentToCopy{name, tell(name).version, 0, copied_bytes_max + 1, stage, 0}),
              Code::argument);
}

TEST_F(ReplacedBodyTest, no_push_pop_or_read_copies_more_than_64_kib_at_once) {
    constexpr std::uint64_t bytes = copied_bytes_max + 1;
    const SequenceName name = make(SequenceKind::vector);
    SequenceSplice reserve;
    reserve.name = name;
    reserve.capacity_least = 3 * bytes;
    EXPECT_EQ(run(local::operation_number<SpliceBytes>, reserve), Code::ok);
    const LentBlock stage = lend(bytes);
    std::memset(memory(stage.address), 's', bytes);
    const auto expect_effect = [&](std::uint32_t operation, const auto& request,
                                   SequenceEffect effect) {
        EXPECT_EQ(run(operation, request), Code::ok);
        EXPECT_EQ(told<SequenceResult>().effect, effect);
    };
    expect_effect(local::operation_number<PushBytes>, SequencePush{name, 0, stage, bytes},
                  SequenceEffect::too_long);
    PieceToPush piece{name, 0, tell(name).version, stage, bytes, 0, copied_bytes_max};
    expect_effect(local::operation_number<WritePiece>, piece, SequenceEffect::done);
    EXPECT_EQ(tell(name).bytes, 0U);
    piece.at = copied_bytes_max;
    EXPECT_EQ(run(local::operation_number<WritePiece>, piece), Code::argument)
        << "behind the bytes of the push";
    piece.bytes = 1;
    expect_effect(local::operation_number<WritePiece>, piece, SequenceEffect::done);
    EXPECT_EQ(tell(name).bytes, bytes);
    expect_effect(local::operation_number<ReadBytes>, SequenceRead{name, 0, stage, bytes},
                  SequenceEffect::too_long);
    expect_effect(local::operation_number<PopBytes>, SequencePop{name, 0, 1, stage, bytes},
                  SequenceEffect::too_long);
    SequenceName at_once = name;
    at_once.may_be_long = 1;
    expect_effect(local::operation_number<PopBytes>, SequencePop{at_once, 0, 1, stage, bytes},
                  SequenceEffect::done);
    EXPECT_EQ(tell(name).bytes, 0U);
}

TEST_F(ReplacedBodyTest, a_body_made_in_pieces_takes_the_place_of_the_old_one) {
    for (const SequenceKind kind : {SequenceKind::vector, SequenceKind::deque}) {
        const SequenceName name = make(kind);
        push(name, "some content");
        const std::uint64_t version = tell(name).version;
        const LentBlock stage = lend(start + capacity);
        EXPECT_EQ(copy(name, version, stage, 0, 5), SequenceEffect::done);
        EXPECT_EQ(copy(name, version, stage, 5, 7), SequenceEffect::done);
        EXPECT_EQ(copy(name, version, stage, 5, 8), SequenceEffect::outside);
        EXPECT_EQ(adopt(name, version, stage, 12), SequenceEffect::done);
        EXPECT_EQ(read(name), "some content");
        EXPECT_EQ(tell(name).capacity, capacity);
        EXPECT_EQ(run(local::operation_number<TakeBackBlock>, stage), Code::stale);
        EXPECT_EQ(push(name, ", and more"), 12U);
        EXPECT_EQ(read(name), "some content, and more");
        EXPECT_EQ(run(local::operation_number<DestroySequence>, name), Code::ok);
    }
    EXPECT_EQ(blocks(), 0U);
}

TEST_F(ReplacedBodyTest, a_changed_content_is_neither_copied_nor_replaced) {
    const SequenceName name = make(SequenceKind::vector);
    push(name, "content");
    const std::uint64_t version = tell(name).version;
    const LentBlock stage = lend(start + capacity);
    EXPECT_EQ(copy(name, version, stage, 0, 7), SequenceEffect::done);
    push(name, "!");
    EXPECT_EQ(copy(name, version, stage, 0, 7), SequenceEffect::changed);
    EXPECT_EQ(adopt(name, version, stage, 7), SequenceEffect::changed);
    EXPECT_EQ(read(name), "content!");
    EXPECT_EQ(run(local::operation_number<TakeBackBlock>, stage), Code::ok);
    EXPECT_EQ(run(local::operation_number<DestroySequence>, name), Code::ok);
    EXPECT_EQ(blocks(), 0U);
}

TEST_F(ReplacedBodyTest, a_pop_of_one_version_removes_nothing_of_another_one) {
    const SequenceName name = make(SequenceKind::vector);
    push(name, "content");
    SequencePop pop{name, 0, 0, {}, 3, tell(name).version};
    EXPECT_EQ(run(local::operation_number<PopBytes>, pop), Code::ok);
    EXPECT_EQ(told<SequenceResult>().effect, SequenceEffect::done);
    EXPECT_EQ(read(name), "cont");
    EXPECT_EQ(run(local::operation_number<PopBytes>, pop), Code::ok);
    EXPECT_EQ(told<SequenceResult>().effect, SequenceEffect::changed);
    EXPECT_EQ(read(name), "cont");
}

TEST_F(ReplacedBodyTest, the_death_of_the_rank_leaves_the_content_and_no_block) {
    const SequenceName name = make(SequenceKind::vector);
    push(name, "content");
    const std::uint64_t version = tell(name).version;
    const LentBlock stage = lend(start + capacity);
    EXPECT_EQ(copy(name, version, stage, 0, 4), SequenceEffect::done);
    node::mark_dead(node_, rank, 9);
    EXPECT_EQ(blocks(), 2U) << "the head and the body of the vector";
    EXPECT_EQ(
        run(local::operation_number<AdoptBody>, BodyToAdopt{name, version, stage, 4, capacity}),
        Code::address);
    EXPECT_EQ(read(name), "content");
}

}  // namespace
}  // namespace acp::allocator::test
