// SPDX-License-Identifier: BSD-3-Clause
// Each row of the table of operations works a bounded time in the thread of a gateway: the test
// counts the accesses of the node's memory at the longest requests, on long containers. Each row has
// a bound here, and a row without one fails the test. Two cases have no bound: the destruction of a
// table, whose accesses grow with its entries and slots, and requests on a vector or deque that may
// be long (SequenceName::may_be_long), which callers send after bounded ones have failed repeatedly.
#include <algorithm>
#include <iterator>
#include <map>

#include "unit/operations/steps/long_containers.hpp"
#include "unit/operations/steps/step_counter.hpp"

namespace acp::operations::test {
namespace {

using namespace acp::
    allocator;  // NOLINT(google-build-using-namespace): its operations are what this file is about

// Bounds in accesses of the node's memory. A gateway makes 20,000 in about 100 us.
constexpr std::uint64_t one = 1'000;      // work on one element, block, entry, place or page
constexpr std::uint64_t several = 7'000;  // work on all elements, blocks or keys of a request
constexpr std::uint64_t most = 20'000;    // 64 KiB word by word, 256 entries, a piece of a heap

// Bytes of copies in one operation.
constexpr std::uint64_t copied_most = 1U << 16U;

struct RowBound {
    std::uint32_t number;
    std::uint64_t steps;
};

template <typename Operation>
constexpr RowBound bound(std::uint64_t steps) {
    return {local::operation_number<Operation>, steps};
}

// In the order of library_operations.cpp.
constexpr RowBound bounds[] = {
    {put_signal_add_number, one},  {put_signal_set_number, one},   {take_lease_number, one},
    {leased_put_number, one},      bound<MakeLock>(one),           bound<TakeLock>(one),
    bound<PollLock>(one),          bound<LeaveLock>(one),          bound<ReleaseLock>(one),
    bound<BindLock>(one),          bound<ReadBoundBytes>(one),     bound<FreeLock>(one),
    bound<GrantLock>(one),         bound<LockOfContainer>(one),    bound<ApplyDifference>(one),
    bound<MarkSharer>(one),        bound<ApplyChecked>(several),   bound<EndWrites>(one),
    bound<NoteTouches>(one),       bound<AllocateBlocks>(several), bound<FreeBlocks>(several),
    bound<GiveBackIdle>(one),      bound<MeasureBlock>(one),       bound<ClearBlock>(one),
    bound<MeasureHeap>(most),      bound<EstimateFill>(one),       bound<CheckHeap>(most),
    bound<LendBlock>(one),         bound<TakeBackBlock>(one),      bound<ReplaceBlock>(one),
    bound<MakeTable>(one),         bound<DestroyTable>(one),       bound<DestroyMore>(several),
    bound<DestroyLater>(several),  bound<UseTable>(one),           bound<GiveTable>(one),
    bound<CountEntries>(one),      bound<WalkEntries>(one),        bound<ClearTable>(most),
    bound<MakeDirectory>(one),     bound<UseDirectory>(one),       bound<DestroyDirectory>(one),
    bound<MakeTableList>(one),     bound<FindEntry>(one),          bound<PutEntry>(one),
    bound<PutBlock>(one),          bound<EraseEntry>(one),         bound<ChangeEntry>(one),
    bound<ReadEntry>(one),         bound<EraseRecord>(one),        bound<RunBatch>(several),
    bound<NextOfKey>(one),         bound<MakeList>(one),           bound<DestroyList>(several),
    bound<InsertElement>(one),     bound<ReserveNode>(one),        bound<TakeElement>(one),
    bound<MoveElement>(one),       bound<FindNeighbour>(one),      bound<ReadRange>(one),
    bound<ReadElement>(one),       bound<CountElements>(one),      bound<GatherElements>(several),
    bound<EraseElements>(several), bound<ClearList>(several),      bound<MakeSequence>(most),
    bound<ExtendSequence>(one),    bound<DestroySequence>(one),    bound<PushBytes>(most),
    bound<PopBytes>(most),         bound<ReadBytes>(most),         bound<SpliceBytes>(most),
    bound<TellSequence>(one),      bound<WritePiece>(most),        bound<CopyContent>(most),
    bound<AdoptBody>(one),
};

const RowBound* bound_of(std::uint32_t number) {
    const auto* const found = std::ranges::find(bounds, number, &RowBound::number);
    return found != std::end(bounds) ? found : nullptr;
}

// The number of requests of each row that were carried out.
using Runs = std::map<std::uint32_t, int>;

void expect_bounded(HostileScene& scene, const Request& request, Runs& runs) {
    const local::NumberedOperation& row = *library_operations().find(request.number);
    SCOPED_TRACE(row.name);
    const RowBound* const bound = bound_of(request.number);
    ASSERT_NE(bound, nullptr) << "the row has no bound in this test";
    const StepCounter counter(scene.memory().data(), scene.memory().size());
    const Code code = scene.run(request);
    const Work work = StepCounter::work();
    EXPECT_LE(work.steps, bound->steps);
    EXPECT_LE(work.copied, copied_most);
    if (code == Code::ok) ++runs[request.number];
}

// The counter counts: a request of the same row works more for more elements.
TEST(OperationStepsTest, more_elements_are_more_steps) {
    HostileScene scene;
    const auto steps_of = [&](std::uint32_t elements) {
        const StepCounter counter(scene.memory().data(), scene.memory().size());
        const ListRange range{scene.content().lists[1], {}, 0, elements, 8, 0};
        EXPECT_EQ(scene.run({local::operation_number<ReadRange>, bytes_of(range)}), Code::ok);
        return StepCounter::work().steps;
    };
    EXPECT_GE(steps_of(5), steps_of(1) + 4);
}

TEST(OperationStepsTest, each_row_has_one_bound) {
    for (std::uint32_t number = 0; number < local::operation_numbers; ++number) {
        const bool is_row = library_operations().find(number) != nullptr;
        EXPECT_EQ(std::ranges::count(bounds, number, &RowBound::number), is_row ? 1 : 0) << number;
    }
}

TEST(OperationStepsTest, each_row_stays_within_its_bound_at_its_longest_requests) {
    Runs runs;
    HostileScene scene;
    for (const Request& request : scene.valid_requests()) expect_bounded(scene, request, runs);
    HostileScene great(16);
    LongContainers containers(great);
    for (const auto& [what, request] : containers.requests()) {
        SCOPED_TRACE(what);
        expect_bounded(great, request, runs);
    }
    for (const RowBound& bound : bounds)
        EXPECT_GT(runs[bound.number], 0) << library_operations().find(bound.number)->name;
    great.expect_sound();
}

// A heap without room is searched once for all blocks of an operation, not once for each.
TEST(OperationStepsTest, blocks_that_find_no_room_cost_one_search) {
    HostileScene scene;
    const auto steps_of = [&](std::uint32_t blocks) {
        Bytes bytes = bytes_of(ToAllocate());
        for (std::uint32_t i = 0; i < blocks; ++i) {
            const Bytes size = bytes_of(std::uint64_t{1} << 40U);
            bytes.insert(bytes.end(), size.begin(), size.end());
        }
        const StepCounter counter(scene.memory().data(), scene.memory().size());
        EXPECT_EQ(scene.run({local::operation_number<AllocateBlocks>, bytes}), Code::ok);
        EXPECT_EQ(scene.result(), Bytes(blocks * sizeof(std::uint64_t)));
        return StepCounter::work().steps;
    };
    EXPECT_EQ(steps_of(blocks_max), steps_of(1));
}

}  // namespace
}  // namespace acp::operations::test
