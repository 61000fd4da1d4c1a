// SPDX-License-Identifier: BSD-3-Clause
// The operations on vectors and deques as bytes, which may come from another node: valid arguments
// have their effect, malformed ones are refused and change nothing.
#include "allocator/sequence_operations.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "node/death.hpp"

#include "allocator/heap_operations.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::allocator::test {
namespace {

using base::Code;
using sequence::SequenceEffect;
using sequence::SequenceKind;

constexpr std::uint64_t heap_bytes = 4 * heap::area_bytes;

class SequenceOperationsTest : public testing::Test {
protected:
    // Runs an operation on a request that is followed by a text.
    template <typename Request>
    Code run(std::uint32_t number, const Request& request, const std::string& text = "") {
        std::vector<std::byte> arguments(sizeof request + text.size());
        std::memcpy(arguments.data(), &request, sizeof request);
        std::memcpy(arguments.data() + sizeof request, text.data(), text.size());
        return run_bytes(number, arguments);
    }

    Code run_bytes(std::uint32_t number, const std::vector<std::byte>& arguments) {
        const auto all = {std::span<const local::NumberedOperation>(sequence_operations),
                          std::span<const local::NumberedOperation>(heap_operations)};
        for (const auto rows : all) {
            for (const local::NumberedOperation& row : rows) {
                if (row.number != number) continue;
                result_.assign(row.result_bytes_max, std::byte{0xee});
                local::OperationContext context(owner_.space, owner_.hazards,
                                                *owner_.hazards.own_line(), 0, thread_);
                const auto ran = local::run_operation(row, context, arguments, result_);
                result_.resize(ran.result_bytes);
                return ran.code;
            }
        }
        ADD_FAILURE() << number;
        return Code::system;
    }

    template <typename Value>
    [[nodiscard]] Value told() const {
        Value value{};
        EXPECT_GE(result_.size(), sizeof value);
        std::memcpy(&value, result_.data(), std::min(result_.size(), sizeof value));
        return value;
    }

    [[nodiscard]] std::string text_told() const {
        return {reinterpret_cast<const char*>(result_.data()) + sizeof(SequenceResult),
                result_.size() - sizeof(SequenceResult)};
    }

    SequenceName make(SequenceKind kind, std::uint64_t bytes = 0) {
        EXPECT_EQ(run(local::operation_number<MakeSequence>, MakeSequence::Input{kind, bytes, 0}),
                  Code::ok);
        return {told<std::uint64_t>(), kind};
    }

    std::uint64_t allocate(std::uint64_t bytes) {
        EXPECT_EQ(
            run(local::operation_number<AllocateBlocks>, std::array<std::uint64_t, 2>{16, bytes}),
            Code::ok);
        return told<std::uint64_t>();
    }

    void free(std::uint64_t block) {
        EXPECT_EQ(run(local::operation_number<FreeBlocks>, std::array<std::uint64_t, 2>{0, block}),
                  Code::ok);
    }

    char* memory(std::uint64_t address) {
        return owner_.segment.claimed(0, node::heap_blocks) +
               offset_in_heap(owner_.space, 0, address);
    }

    std::uint64_t push(const SequenceName& name, const std::string& text, bool is_front = false) {
        EXPECT_EQ(run(local::operation_number<PushBytes>,
                      SequencePush{name, is_front, {}, text.size()}, text),
                  Code::ok);
        EXPECT_EQ(told<SequenceResult>().effect, SequenceEffect::done);
        return told<SequenceResult>().bytes;
    }

    std::string read(const SequenceName& name, std::uint64_t index = 0) {
        EXPECT_EQ(run(local::operation_number<ReadBytes>,
                      SequenceRead{name, index, {}, sequence_inline_max}),
                  Code::ok);
        return text_told();
    }

    std::uint64_t blocks() {
        EXPECT_EQ(run_bytes(local::operation_number<MeasureHeap>, {}), Code::ok);
        return told<heap::Usage>().blocks;
    }

    node::Segment node_ = local::test::make_node(2, 2, heap_bytes);
    local::test::Owner owner_{node_, 0};
    std::vector<std::byte> result_;
    std::uint32_t thread_ = 0;
};

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
