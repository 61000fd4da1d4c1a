// SPDX-License-Identifier: BSD-3-Clause
// The operations on vectors and deques as bytes, which may come from another node: valid arguments
// have their effect, malformed ones are refused and change nothing.
#include "allocator/sequence_operations.hpp"

#include "node/death.hpp"

#include "unit/allocator/sequence_operations_fixture.hpp"

namespace acp::allocator::test {
namespace {

TEST_F(SequenceOperationsTest, push_pop_read_splice_and_measure) {
    const SequenceName name = make(SequenceKind::deque);
    EXPECT_EQ(push(name, "middle"), 0U);
    EXPECT_EQ(push(name, " end"), 6U);
    EXPECT_EQ(push(name, "start ", true), 0U);
    EXPECT_EQ(read(name), "start middle end");
    EXPECT_EQ(read(name, 6), "middle end");
    EXPECT_EQ(run(local::operation_number<PopBytes>, SequencePop{name, 1, 1, {}, 6}), Code::ok);
    EXPECT_EQ(text_told(), "start ");
    EXPECT_EQ(run(local::operation_number<PopBytes>, SequencePop{name, 0, 0, {}, 4}), Code::ok);
    EXPECT_EQ(told<SequenceResult>().bytes, 4U);
    EXPECT_EQ(result_.size(), sizeof(SequenceResult));
    SequenceSplice splice;
    splice.name = name;
    splice.at = 1;
    splice.removed = 2;
    splice.added = 3;
    EXPECT_EQ(run(local::operation_number<SpliceBytes>, splice, "xyz"), Code::ok);
    EXPECT_EQ(told<SequenceResult>().bytes, 6U);
    EXPECT_EQ(read(name), "mxyzdle");
    EXPECT_EQ(run(local::operation_number<TellSequence>, SequenceTell{name, 2, 100}), Code::ok);
    const auto seen = told<SequenceTold>();
    EXPECT_EQ(seen.bytes, 7U);
    EXPECT_GE(seen.capacity, 7U);
    EXPECT_EQ(std::string(memory(seen.addresses[0]), seen.pieces[0]), "yzdle");
    EXPECT_EQ(seen.addresses[1], 0U);
    EXPECT_EQ(run(local::operation_number<DestroySequence>, name), Code::ok);
    EXPECT_EQ(run(local::operation_number<DestroySequence>, name), Code::stale);
    EXPECT_EQ(blocks(), 0U);
}

TEST_F(SequenceOperationsTest, what_is_long_goes_through_a_stage) {
    const SequenceName name = make(SequenceKind::vector, 3);
    const std::string text(50'000, 'l');
    const LentBlock stage{allocate(text.size())};
    std::memcpy(memory(stage.address), text.data(), text.size());
    EXPECT_EQ(run(local::operation_number<PushBytes>, SequencePush{name, 0, stage, text.size()}),
              Code::ok);
    EXPECT_EQ(told<SequenceResult>().bytes, 3U);
    SequenceSplice splice;
    splice.name = name;
    splice.added = text.size();
    splice.stage = stage;
    EXPECT_EQ(run(local::operation_number<SpliceBytes>, splice), Code::ok);
    std::memset(memory(stage.address), 0, text.size());
    EXPECT_EQ(run(local::operation_number<ReadBytes>, SequenceRead{name, 0, stage, text.size()}),
              Code::ok);
    EXPECT_EQ(told<SequenceResult>().bytes, text.size());
    EXPECT_EQ(std::string(memory(stage.address), text.size()), text);
    std::memset(memory(stage.address), 0, text.size());
    EXPECT_EQ(run(local::operation_number<PopBytes>, SequencePop{name, 0, 1, stage, text.size()}),
              Code::ok);
    EXPECT_EQ(told<SequenceResult>().bytes, text.size());
    EXPECT_EQ(std::string(memory(stage.address), text.size()), text);
    free(stage.address);
    EXPECT_EQ(run(local::operation_number<PushBytes>, SequencePush{name, 0, stage, 100}),
              Code::address);
    EXPECT_EQ(run(local::operation_number<DestroySequence>, name), Code::ok);
    EXPECT_EQ(blocks(), 0U);
}

TEST_F(SequenceOperationsTest, a_pop_without_room_returns_the_available_size) {
    const SequenceName name = make(SequenceKind::vector, 2'000);
    const LentBlock small{allocate(1'000)};
    for (const LentBlock& stage : {LentBlock{}, small}) {
        for (const std::uint64_t bytes : {std::uint64_t{1'500}, ~std::uint64_t{0}}) {
            EXPECT_EQ(run(local::operation_number<PopBytes>, SequencePop{name, 0, 1, stage, bytes}),
                      Code::ok);
            EXPECT_EQ(told<SequenceResult>().bytes, 0U);
            EXPECT_EQ(told<SequenceResult>().there, 2'000U);
            EXPECT_EQ(result_.size(), sizeof(SequenceResult));
        }
    }
    const LentBlock large{allocate(1'500)};
    EXPECT_EQ(run(local::operation_number<PopBytes>, SequencePop{name, 0, 1, large, 1'500}),
              Code::ok);
    EXPECT_EQ(told<SequenceResult>().bytes, 1'500U);
    EXPECT_EQ(
        run(local::operation_number<PopBytes>, SequencePop{name, 0, 1, {}, ~std::uint64_t{0}}),
        Code::ok);
    EXPECT_EQ(told<SequenceResult>().bytes, 500U);
    EXPECT_EQ(result_.size(), sizeof(SequenceResult) + 500);
    free(small.address);
    free(large.address);
    EXPECT_EQ(run(local::operation_number<DestroySequence>, name), Code::ok);
    EXPECT_EQ(blocks(), 0U);
}

TEST_F(SequenceOperationsTest, a_stage_without_a_loan_is_neither_read_nor_written) {
    const SequenceName name = make(SequenceKind::vector, 3);
    const LentBlock stage{allocate(5'000), 1};
    std::memset(memory(stage.address), 's', 5'000);
    EXPECT_EQ(run(local::operation_number<PushBytes>, SequencePush{name, 0, stage, 5'000}),
              Code::address);
    EXPECT_EQ(run(local::operation_number<ReadBytes>, SequenceRead{name, 0, stage, 5'000}),
              Code::address);
    EXPECT_EQ(run(local::operation_number<PopBytes>, SequencePop{name, 0, 1, stage, 5'000}),
              Code::address);
    SequenceSplice splice;
    splice.name = name;
    splice.added = 5'000;
    splice.stage = stage;
    EXPECT_EQ(run(local::operation_number<SpliceBytes>, splice), Code::address);
    EXPECT_EQ(read(name).size(), 3U);
    EXPECT_EQ(*memory(stage.address), 's');
    free(stage.address);
    EXPECT_EQ(run(local::operation_number<DestroySequence>, name), Code::ok);
    EXPECT_EQ(blocks(), 0U);
}

TEST_F(SequenceOperationsTest, what_is_malformed_is_refused_and_changes_nothing) {
    const SequenceName vector = make(SequenceKind::vector);
    const SequenceName deque = make(SequenceKind::deque);
    push(vector, "text");
    const LentBlock stage{allocate(100)};
    const std::uint64_t room = owner_.space.claimed_address(0, node::heap_blocks);
    const SequenceName foreign{vector.address, SequenceKind::deque};
    for (const SequenceName& wrong : {foreign, SequenceName{0, SequenceKind::vector},
                                      SequenceName{vector.address + 64, SequenceKind::vector},
                                      SequenceName{vector.address + 1, SequenceKind::vector},
                                      SequenceName{stage.address, SequenceKind::vector},
                                      SequenceName{room + heap_bytes - 8, SequenceKind::vector},
                                      SequenceName{vector.address, static_cast<SequenceKind>(7)}}) {
        EXPECT_EQ(run(local::operation_number<PushBytes>, SequencePush{wrong, 0, {}, 1}, "x"),
                  Code::stale);
        EXPECT_EQ(run(local::operation_number<PopBytes>, SequencePop{wrong, 0, 0, {}, 1}),
                  Code::stale);
        EXPECT_EQ(run(local::operation_number<ReadBytes>, SequenceRead{wrong, 0, {}, 1}),
                  Code::stale);
        EXPECT_EQ(run(local::operation_number<TellSequence>, SequenceTell{wrong, 0, 1}),
                  Code::stale);
        EXPECT_EQ(run(local::operation_number<DestroySequence>, wrong), Code::stale);
        SequenceSplice splice;
        splice.name = wrong;
        EXPECT_EQ(run(local::operation_number<SpliceBytes>, splice), Code::stale);
    }
    EXPECT_EQ(run(local::operation_number<MakeSequence>,
                  MakeSequence::Input{static_cast<SequenceKind>(0), 1, 1}),
              Code::argument);
    EXPECT_EQ(run(local::operation_number<PushBytes>, SequencePush{vector, 1, {}, 1}, "x"),
              Code::argument);
    EXPECT_EQ(run(local::operation_number<PushBytes>, SequencePush{deque, 2, {}, 1}, "x"),
              Code::argument);
    EXPECT_EQ(run(local::operation_number<PushBytes>, SequencePush{vector, 0, {}, 2}, "x"),
              Code::argument);
    EXPECT_EQ(run(local::operation_number<PushBytes>, SequencePush{vector, 0, stage, 1}, "x"),
              Code::argument);
    EXPECT_EQ(run(local::operation_number<PushBytes>, SequencePush{vector, 0, stage, 5'000}),
              Code::address);
    EXPECT_EQ(
        run(local::operation_number<PushBytes>, SequencePush{vector, 0, {stage.address + 16}, 1}),
        Code::address);
    EXPECT_EQ(run(local::operation_number<PushBytes>, SequencePush{vector, 0, {12345}, 1}),
              Code::address);
    EXPECT_EQ(run(local::operation_number<PopBytes>, SequencePop{vector, 1, 0, {}, 1}),
              Code::argument);
    EXPECT_EQ(run(local::operation_number<PopBytes>, SequencePop{vector, 0, 1, {12345}, 1}),
              Code::address);
    EXPECT_EQ(run(local::operation_number<ReadBytes>, SequenceRead{vector, 0, {12345}, 1}),
              Code::address);
    SequenceSplice splice;
    splice.name = vector;
    splice.added = 5;
    EXPECT_EQ(run(local::operation_number<SpliceBytes>, splice, "four"), Code::argument);
    splice.must_fit = 2;
    EXPECT_EQ(run(local::operation_number<SpliceBytes>, splice, "five5"), Code::argument);
    for (const std::uint32_t number :
         {local::operation_number<MakeSequence>, local::operation_number<DestroySequence>,
          local::operation_number<PushBytes>, local::operation_number<PopBytes>,
          local::operation_number<ReadBytes>, local::operation_number<SpliceBytes>,
          local::operation_number<TellSequence>}) {
        EXPECT_EQ(run_bytes(number, std::vector<std::byte>(7)), Code::argument) << number;
    }
    EXPECT_EQ(read(vector), "text");
    EXPECT_EQ(read(deque), "");
    EXPECT_EQ(run(local::operation_number<MakeSequence>,
                  MakeSequence::Input{SequenceKind::vector, 0, heap_bytes}),
              Code::ok);
    EXPECT_EQ(told<std::uint64_t>(), 0U) << "there is no room";
    EXPECT_EQ(run(local::operation_number<MakeSequence>,
                  MakeSequence::Input{SequenceKind::vector, made_bytes_max + 1, 0}),
              Code::argument);
    free(stage.address);
    EXPECT_EQ(run(local::operation_number<DestroySequence>, vector), Code::ok);
    EXPECT_EQ(run(local::operation_number<DestroySequence>, deque), Code::ok);
    EXPECT_EQ(blocks(), 0U);
}

TEST_F(SequenceOperationsTest, a_long_one_is_extended_in_pieces_by_its_maker) {
    constexpr std::uint64_t bytes = (5 << 19) + 3;
    constexpr std::uint32_t maker = 1;
    // What the memory held before.
    const std::uint64_t before = allocate(bytes + 100);
    std::memset(memory(before), 'x', bytes + 100);
    free(before);
    for (const SequenceKind kind : {SequenceKind::vector, SequenceKind::deque}) {
        ASSERT_EQ(
            run(local::operation_number<MakeSequence>, MakeSequence::Input{kind, 0, bytes, maker}),
            Code::ok);
        const auto made = told<MadeSequence>();
        ASSERT_NE(made.address, 0U);
        EXPECT_EQ(made.maker, maker);
        const SequenceName name{made.address, kind};
        std::uint32_t calls = 0;
        for (std::uint64_t there = 0; there < bytes; ++calls) {
            ASSERT_EQ(run(local::operation_number<ExtendSequence>,
                          SequenceToExtend{name, made.maker, bytes}),
                      Code::ok);
            const auto now = told<ExtendedSequence>();
            ASSERT_EQ(now.effect, SequenceEffect::done);
            EXPECT_LE(now.there - there, std::uint64_t{1} << 20);
            ASSERT_GT(now.there, there);
            there = now.there;
        }
        EXPECT_EQ(calls, 3U);
        // The first use; the maker has no further rights then.
        ASSERT_EQ(run(local::operation_number<TellSequence>, SequenceTell{name, 0, bytes}),
                  Code::ok);
        const auto seen = told<SequenceTold>();
        ASSERT_EQ(seen.pieces[0], bytes);
        const char* const content = memory(seen.addresses[0]);
        EXPECT_EQ(std::count(content, content + bytes, 0), static_cast<std::ptrdiff_t>(bytes));
        EXPECT_EQ(
            run(local::operation_number<ExtendSequence>, SequenceToExtend{name, made.maker, bytes}),
            Code::stale);
        EXPECT_EQ(run(local::operation_number<DestroySequence>, name), Code::ok);
    }
    EXPECT_EQ(blocks(), 0U);
}

TEST_F(SequenceOperationsTest, one_whose_maker_dies_while_it_extends_it_is_freed) {
    constexpr std::uint64_t bytes = 5 << 19;
    constexpr std::uint32_t maker = 1;
    ASSERT_EQ(run(local::operation_number<MakeSequence>,
                  MakeSequence::Input{SequenceKind::vector, 0, bytes, maker}),
              Code::ok);
    const SequenceToExtend wish{{told<std::uint64_t>(), SequenceKind::vector}, maker, bytes};
    ASSERT_EQ(run(local::operation_number<ExtendSequence>, wish), Code::ok);
    EXPECT_GT(blocks(), 0U);
    node::mark_dead(node_, maker, 9);
    EXPECT_EQ(blocks(), 0U);
    EXPECT_EQ(run(local::operation_number<ExtendSequence>, wish), Code::stale);
}

}  // namespace
}  // namespace acp::allocator::test
