// SPDX-License-Identifier: BSD-3-Clause
// The operations on a heap as bytes, which may come from another node: malformed arguments are
// refused and change nothing.
#include "allocator/heap_operations.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "node/death.hpp"

#include "unit/local/test_owner.hpp"

namespace acp::allocator::test {
namespace {

using base::Code;

constexpr std::uint64_t heap_bytes = 4 * heap::area_bytes;
// A block's owner in ToFree, as a word.
constexpr auto of_program = static_cast<std::uint64_t>(BlockOwner::program);
constexpr auto of_separate = static_cast<std::uint64_t>(BlockOwner::separate);

const local::NumberedOperation* row_of(std::uint32_t number) {
    for (const local::NumberedOperation& row : heap_operations) {
        if (row.number == number) return &row;
    }
    return nullptr;
}

class HeapOperationsTest : public testing::Test {
protected:
    using Words = std::vector<std::uint64_t>;

    Code run(std::uint32_t number, const Words& arguments) {
        return run(number, std::as_bytes(std::span(arguments)));
    }

    Code run(std::uint32_t number, std::span<const std::byte> arguments) {
        const local::NumberedOperation* row = row_of(number);
        result_.assign(row->result_bytes_max, std::byte{0xee});
        local::OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(),
                                        0);
        const auto ran = local::run_operation(*row, context, arguments, result_);
        result_.resize(ran.result_bytes);
        return ran.code;
    }

    [[nodiscard]] Words words() const {
        Words told(result_.size() / sizeof(std::uint64_t));
        std::memcpy(told.data(), result_.data(), told.size() * sizeof(std::uint64_t));
        return told;
    }

    [[nodiscard]] static Words to_free(Words blocks) {
        blocks.insert(blocks.begin(), of_program);
        return blocks;
    }

    // Whether FreeBlocks freed the block at this index of its request, or why not.
    [[nodiscard]] heap::Freed freed(std::size_t index = 0) const {
        return static_cast<heap::Freed>(result_.at(index));
    }

    [[nodiscard]] heap::Usage usage() {
        EXPECT_EQ(run(local::operation_number<MeasureHeap>, from_start()), Code::ok);
        MeasuredPiece told;
        EXPECT_EQ(result_.size(), sizeof told);
        std::memcpy(&told, result_.data(), sizeof told);
        EXPECT_EQ(told.is_end, 1U);
        return told.usage;
    }

    // A walk that begins.
    [[nodiscard]] static Words from_start() {
        return {std::uint64_t{heap::HeapPlace::no_head} << 32};
    }

    node::Segment node_ = local::test::make_node(2, 2, heap_bytes);
    local::test::Owner owner_{node_, 0};
    std::vector<std::byte> result_;
};

TEST_F(HeapOperationsTest, allocates_several_blocks_and_frees_them) {
    ASSERT_EQ(run(local::operation_number<AllocateBlocks>, {16, 10, 5'000, 1'000'000}), Code::ok);
    const Words blocks = words();
    ASSERT_EQ(blocks.size(), 3U);
    EXPECT_EQ(usage().blocks, 3U);
    ASSERT_EQ(run(local::operation_number<MeasureBlock>, {blocks[1]}), Code::ok);
    EXPECT_GE(words().front(), 5'000U);
    ASSERT_EQ(run(local::operation_number<FreeBlocks>, to_free(blocks)), Code::ok);
    EXPECT_EQ(result_, std::vector<std::byte>(3, std::byte{0}));
    ASSERT_EQ(run(local::operation_number<FreeBlocks>, to_free(blocks)), Code::ok);
    EXPECT_EQ(freed(), heap::Freed::not_allocated);
    EXPECT_EQ(usage().blocks, 0U);
}

TEST_F(HeapOperationsTest, says_for_which_blocks_there_was_no_room) {
    ASSERT_EQ(
        run(local::operation_number<AllocateBlocks>, {16, 100, heap_bytes, 100, ~std::uint64_t{0}}),
        Code::ok);
    const Words blocks = words();
    ASSERT_EQ(blocks.size(), 4U);
    EXPECT_NE(blocks[0], 0U);
    EXPECT_EQ(blocks[1], 0U);
    EXPECT_NE(blocks[2], 0U);
    EXPECT_EQ(blocks[3], 0U);
}

TEST_F(HeapOperationsTest, finds_room_in_a_span_behind_a_smaller_block_that_found_none) {
    const auto allocate = [&](std::uint64_t bytes) {
        EXPECT_EQ(run(local::operation_number<AllocateBlocks>, {16, bytes}), Code::ok);
        return words().front();
    };
    ASSERT_NE(allocate(100), 0U);
    for (std::uint64_t bytes = heap_bytes; bytes >= heap::unit_bytes; bytes /= 2) {
        while (allocate(bytes) != 0) {
        }
    }
    while (allocate(8) != 0) {
    }
    ASSERT_EQ(run(local::operation_number<AllocateBlocks>, {16, 8, 100, 8, 100}), Code::ok);
    const Words blocks = words();
    EXPECT_EQ(blocks[0], 0U);
    EXPECT_NE(blocks[1], 0U);
    EXPECT_EQ(blocks[2], 0U);
    EXPECT_NE(blocks[3], 0U);
}

TEST_F(HeapOperationsTest, refuses_what_is_malformed) {
    const std::vector<std::byte> odd(9);
    EXPECT_EQ(run(local::operation_number<AllocateBlocks>, odd), Code::argument);
    EXPECT_EQ(run(local::operation_number<AllocateBlocks>, Words()), Code::argument);
    for (const std::uint64_t alignment :
         {std::uint64_t{0}, std::uint64_t{24}, std::uint64_t{8192}}) {
        EXPECT_EQ(run(local::operation_number<AllocateBlocks>, {alignment, 8}), Code::argument);
    }
    EXPECT_EQ(run(local::operation_number<FreeBlocks>, odd), Code::argument);
    EXPECT_EQ(run(local::operation_number<MeasureBlock>, {1, 2}), Code::argument);
    EXPECT_EQ(run(local::operation_number<ClearBlock>, {1}), Code::argument);
    EXPECT_EQ(run(local::operation_number<LendBlock>, {1}), Code::argument);
    EXPECT_EQ(run(local::operation_number<TakeBackBlock>, {1}), Code::argument);
    EXPECT_EQ(run(local::operation_number<ReplaceBlock>, {1, 2}), Code::argument);
    EXPECT_EQ(run(local::operation_number<ClearBlock>, {0, 0, clear_bytes_max + 1}),
              Code::argument);
    EXPECT_EQ(usage().unit_bytes, 0U);
}

TEST_F(HeapOperationsTest, reaches_nothing_outside_of_the_heap) {
    const auto start = owner_.space.claimed_address(0, node::heap_blocks);
    const auto beside = owner_.space.claimed_address(1, node::heap_blocks);
    for (const std::uint64_t wrong : {std::uint64_t{0}, start - 16, start + heap_bytes, beside}) {
        ASSERT_EQ(run(local::operation_number<FreeBlocks>, {of_program, wrong}), Code::ok);
        EXPECT_EQ(freed(), heap::Freed::outside) << wrong;
        ASSERT_EQ(run(local::operation_number<MeasureBlock>, {wrong}), Code::ok);
        EXPECT_EQ(words().front(), 0U);
        EXPECT_EQ(run(local::operation_number<ClearBlock>, {wrong, 0, 8}), Code::address);
    }
    EXPECT_EQ(run(local::operation_number<ClearBlock>, {start + heap_bytes - 8, 0, 16}),
              Code::address);
}

// A node of ranks 0 and 1 of a job of 4; ranks 2 and 3 are on another node.
class LoanTest : public HeapOperationsTest {
protected:
    [[nodiscard]] LentBlock lend(std::uint64_t process) {
        EXPECT_EQ(run(local::operation_number<LendBlock>, {100, process}), Code::ok);
        LentBlock lent;
        std::memcpy(&lent, result_.data(), sizeof lent);
        return lent;
    }

    Code take_back(const LentBlock& lent) {
        return run(local::operation_number<TakeBackBlock>, {lent.address, lent.process});
    }
};

TEST_F(LoanTest, a_loan_is_ended_once_by_its_process) {
    const LentBlock lent = lend(1);
    EXPECT_EQ(lent.process, 1U);
    EXPECT_EQ(usage().blocks, 1U);
    EXPECT_EQ(take_back({lent.address, 0}), Code::stale);
    EXPECT_EQ(take_back({lent.address + 16, 1}), Code::stale);
    EXPECT_EQ(take_back({0, 1}), Code::stale);
    EXPECT_EQ(take_back(lent), Code::ok);
    EXPECT_EQ(take_back(lent), Code::stale);
    EXPECT_EQ(usage().blocks, 0U);
}

TEST_F(LoanTest, a_block_lent_to_a_dead_process_is_freed_once) {
    const LentBlock lent = lend(1);
    const LentBlock other = lend(0);
    node::mark_dead(node_, 1, 9);
    EXPECT_EQ(usage().blocks, 1U) << "who looks at a heap frees what the dead one held";
    EXPECT_EQ(take_back(lent), Code::stale) << "what it had asked for comes late";
    EXPECT_EQ(take_back(other), Code::ok);
    EXPECT_EQ(usage().blocks, 0U);
}

TEST_F(LoanTest, a_block_that_an_operation_uses_is_freed_when_it_has_ended) {
    const LentBlock lent = lend(1);
    NodeHeap heap(node_, 0, owner_.hazards);
    const heap::Offset block = offset_in_heap(owner_.space, 0, lent.address);
    node::mark_dead(node_, 1, 9);
    {
        const NodeHeap::Borrowed borrowed(heap, block, 1);
        EXPECT_TRUE(borrowed.is_there());
        EXPECT_EQ(usage().blocks, 1U);
    }
    EXPECT_EQ(usage().blocks, 0U);
    const NodeHeap::Borrowed late(heap, block, 1);
    EXPECT_FALSE(late.is_there());
}

TEST_F(LoanTest, lends_without_a_loan_where_there_is_no_room_for_it) {
    const std::uint32_t most = heap_words_of(node_.shape()).loans();
    for (std::uint32_t i = 0; i < most; ++i) EXPECT_EQ(lend(1).process, 1U);
    const LentBlock last = lend(1);
    EXPECT_EQ(last.process, NodeHeap::nobody);
    EXPECT_EQ(take_back(last), Code::ok);
    node::mark_dead(node_, 1, 9);
    EXPECT_EQ(usage().blocks, 0U);
    EXPECT_EQ(lend(node_.shape().procs).process, NodeHeap::nobody) << "a process that is none";
}

TEST_F(LoanTest, a_lent_block_takes_the_place_of_another_one) {
    for (const std::uint64_t process : {std::uint64_t{0}, std::uint64_t{1}, NodeHeap::nobody}) {
        ASSERT_EQ(run(local::operation_number<AllocateBlocks>, {16, 100}), Code::ok);
        const std::uint64_t old = words().front();
        LentBlock lent = lend(process == NodeHeap::nobody ? 1 : process);
        if (process == NodeHeap::nobody) {
            ASSERT_EQ(take_back(lent), Code::ok);
            ASSERT_EQ(run(local::operation_number<AllocateBlocks>, {16, 100}), Code::ok);
            lent = {words().front(), process};
        }
        const auto replace = [&](std::uint64_t other) {
            EXPECT_EQ(
                run(local::operation_number<ReplaceBlock>, {lent.address, lent.process, other}),
                Code::ok);
            return static_cast<heap::Freed>(result_.front());
        };
        EXPECT_NE(replace(old + 16), heap::Freed::done) << "no block begins there";
        EXPECT_EQ(replace(old), heap::Freed::done);
        EXPECT_EQ(usage().blocks, 1U);
        EXPECT_EQ(replace(old), heap::Freed::not_allocated);
        ASSERT_EQ(run(local::operation_number<FreeBlocks>, {of_program, lent.address}), Code::ok);
        EXPECT_EQ(static_cast<heap::Freed>(result_.front()), heap::Freed::done)
            << "it is the program's";
        EXPECT_EQ(usage().blocks, 0U);
    }
}

TEST_F(LoanTest, no_block_takes_the_place_of_another_one_for_a_process_that_has_died) {
    ASSERT_EQ(run(local::operation_number<AllocateBlocks>, {16, 100}), Code::ok);
    const std::uint64_t old = words().front();
    const LentBlock lent = lend(1);
    node::mark_dead(node_, 1, 9);
    EXPECT_EQ(usage().blocks, 1U);
    EXPECT_EQ(run(local::operation_number<ReplaceBlock>, {lent.address, lent.process, old}),
              Code::stale);
    EXPECT_EQ(usage().blocks, 1U) << "the old one is as it was";
}

TEST_F(HeapOperationsTest, clears_a_part_of_a_block) {
    ASSERT_EQ(run(local::operation_number<AllocateBlocks>, {16, 300'000}), Code::ok);
    const std::uint64_t block = words().front();
    char* const memory = node_.claimed(0, node::heap_blocks) +
                         (block - owner_.space.claimed_address(0, node::heap_blocks));
    std::memset(memory, 'x', 300'000);
    ASSERT_EQ(run(local::operation_number<ClearBlock>, {block, 5, 299'000}), Code::ok);
    EXPECT_EQ(memory[4], 'x');
    for (std::size_t i = 5; i < 299'005; ++i) ASSERT_EQ(memory[i], 0) << i;
    EXPECT_EQ(memory[299'005], 'x');
}

TEST_F(HeapOperationsTest, clears_and_frees_nothing_but_what_the_request_may) {
    ASSERT_EQ(run(local::operation_number<AllocateBlocks>, {16, 1'000}), Code::ok);
    const std::uint64_t block = words().front();
    EXPECT_EQ(run(local::operation_number<ClearBlock>, {block, 0, 5'000}), Code::address);
    EXPECT_EQ(run(local::operation_number<ClearBlock>, {block, ~std::uint64_t{0}, 8}),
              Code::address);
    EXPECT_EQ(run(local::operation_number<ClearBlock>, {block + 16, 0, 8}), Code::address);
    NodeHeap heap(node_, 0, owner_.hazards);
    const auto start = owner_.space.claimed_address(0, node::heap_blocks);
    const std::uint64_t part = start + heap.allocate(0, 1'000, 16, BlockOwner::container);
    const std::uint64_t separate = start + heap.allocate(0, 1'000, 16, BlockOwner::separate);
    for (const std::uint64_t owned : {part, separate}) {
        EXPECT_EQ(run(local::operation_number<ClearBlock>, {owned, 0, 8}), Code::address);
        ASSERT_EQ(run(local::operation_number<FreeBlocks>, {of_program, owned}), Code::ok);
        EXPECT_EQ(freed(), heap::Freed::of_container);
    }
    ASSERT_EQ(run(local::operation_number<FreeBlocks>, {of_separate, part, separate}), Code::ok);
    EXPECT_EQ(freed(0), heap::Freed::of_container);
    EXPECT_EQ(freed(1), heap::Freed::done);
    EXPECT_EQ(run(local::operation_number<TakeBackBlock>, {part, NodeHeap::nobody}), Code::stale);
    const std::uint64_t part_owner = static_cast<std::uint64_t>(BlockOwner::container) << 32;
    EXPECT_EQ(run(local::operation_number<AllocateBlocks>, {16 | part_owner, 8}), Code::argument);
}

TEST_F(HeapOperationsTest, reports_words_that_contradict_each_other) {
    ASSERT_EQ(run(local::operation_number<AllocateBlocks>, {16, 100'000}), Code::ok);
    ASSERT_EQ(run(local::operation_number<CheckHeap>, from_start()), Code::ok);
    EXPECT_EQ(result_.size(), sizeof(CheckedPiece));
    const heap::Control<> control(node_.claimed(0, heap_words),
                                  heap_words_of(node_.shape()).shape());
    control.unit(0).store(~std::uint64_t{0}, std::memory_order_relaxed);
    ASSERT_EQ(run(local::operation_number<CheckHeap>, from_start()), Code::ok);
    EXPECT_GT(result_.size(), sizeof(CheckedPiece));
}

TEST_F(HeapOperationsTest, return_the_usage_of_a_heap) {
    ASSERT_EQ(run(local::operation_number<EstimateFill>, Words()), Code::ok);
    EXPECT_EQ(words(), (Words{0, heap_bytes}));
    ASSERT_EQ(run(local::operation_number<AllocateBlocks>, {16, 3 * heap::area_bytes}), Code::ok);
    ASSERT_EQ(run(local::operation_number<EstimateFill>, Words()), Code::ok);
    const std::uint64_t in_use = words()[0];
    EXPECT_EQ(in_use, usage().unit_bytes);
}

// A heap with room for long blocks, on which a gateway runs the requests of other nodes.
class LongBlocksTest : public testing::Test {
protected:
    static constexpr std::uint64_t areas = 64;

    template <typename Operation>
    typename Operation::Output run(const typename Operation::Input& input,
                                   std::span<const std::uint64_t> tail = {}) {
        typename Operation::Output output{};
        local::OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(), 0,
                                        local::OperationContext::gateway_thread);
        {
            typename Operation::Owner owner(context);
            run_on<Operation>(owner, input, tail, output);
        }
        later_.assign(context.later().begin(), context.later().end());
        return output;
    }

    template <typename Operation>
    void run_on(typename Operation::Owner& owner,
                const typename Operation::Input& input,
                std::span<const std::uint64_t> tail,
                typename Operation::Output& output) {
        std::array<std::byte, 64> room{};
        local::ResultTail following(room);
        local::OperationReply<typename Operation::Output> reply{output, following};
        const local::OperationCall<typename Operation::Input> call{input, std::as_bytes(tail)};
        EXPECT_EQ(Operation::run(owner, call, reply), Code::ok);
        std::memcpy(&address_, room.data(), sizeof address_);
    }

    // Whether the last operation has asked for a round that gives memory back.
    [[nodiscard]] bool is_asked_to_give_back() const {
        return std::ranges::count(later_, local::operation_number<GiveBackIdle>) != 0;
    }

    std::uint64_t allocate(std::uint64_t bytes) {
        (void)run<AllocateBlocks>({}, {{bytes}});
        return address_;
    }

    [[nodiscard]] std::uint64_t backed_bytes() { return run<MeasureHeap>({}).usage.backed_bytes; }

    [[nodiscard]] std::uint64_t in_use() {
        return NodeHeap(node_, 0, owner_.hazards).bytes_in_use();
    }

    node::Segment node_ = local::test::make_node(2, 2, areas* heap::area_bytes);
    local::test::Owner owner_{node_, 0};
    std::uint64_t address_ = 0;
    std::vector<std::uint32_t> later_;
};

TEST_F(LongBlocksTest, a_gateway_gives_the_memory_of_long_blocks_back_in_rounds) {
    const std::uint64_t none = in_use();
    const std::uint64_t one = allocate(20 * heap::area_bytes + 5);
    const std::uint64_t other = allocate(30 * heap::area_bytes);
    EXPECT_FALSE(is_asked_to_give_back());
    std::uint64_t backed = backed_bytes();
    (void)run<FreeBlocks>({}, {{one, other}});
    EXPECT_EQ(in_use(), none) << "the blocks are free at once";
    EXPECT_EQ(backed_bytes(), backed);
    std::uint32_t rounds = 0;
    for (; is_asked_to_give_back(); ++rounds) {
        (void)run<GiveBackIdle>({});
        EXPECT_EQ(backed_bytes(), backed - heap::area_bytes);
        backed = backed_bytes();
        ASSERT_LT(rounds, 100U);
    }
    EXPECT_GE(rounds, 40U);
    EXPECT_NE(allocate(60 * heap::area_bytes), 0U);
}

TEST_F(LongBlocksTest, a_block_finds_the_room_of_one_whose_memory_is_still_there) {
    const std::uint64_t block = allocate(60 * heap::area_bytes);
    (void)run<FreeBlocks>({}, {{block}});
    EXPECT_TRUE(is_asked_to_give_back());
    EXPECT_NE(allocate(60 * heap::area_bytes), 0U);
    EXPECT_FALSE(is_asked_to_give_back());
}

TEST_F(HeapOperationsTest, say_that_there_is_no_heap) {
    const node::Segment without = local::test::make_node(1, 1);
    local::test::Owner owner(without, 0);
    for (const std::uint32_t number :
         {local::operation_number<AllocateBlocks>, local::operation_number<FreeBlocks>,
          local::operation_number<MeasureBlock>, local::operation_number<MeasureHeap>,
          local::operation_number<EstimateFill>, local::operation_number<CheckHeap>}) {
        const local::NumberedOperation* row = row_of(number);
        const bool is_bare = number == local::operation_number<MeasureHeap> ||
                             number == local::operation_number<EstimateFill> ||
                             number == local::operation_number<CheckHeap>;
        const Words arguments =
            is_bare ? (number == local::operation_number<EstimateFill> ? Words() : from_start())
                    : Words{number == local::operation_number<FreeBlocks> ? of_program : 16};
        result_.resize(row->result_bytes_max);
        local::OperationContext context(owner.space, owner.hazards, *owner.hazards.own_line(), 0);
        EXPECT_EQ(
            local::run_operation(*row, context, std::as_bytes(std::span(arguments)), result_).code,
            Code::unsupported);
    }
}

}  // namespace
}  // namespace acp::allocator::test
