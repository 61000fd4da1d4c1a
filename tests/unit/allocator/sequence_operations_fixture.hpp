// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the tests of operations on vectors and deques: a heap, and the arguments of its
// operations as bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "allocator/heap_operations.hpp"
#include "allocator/sequence_operations.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::allocator::test {

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
        EXPECT_EQ(run(local::operation_number<MeasureHeap>, heap::HeapPlace()), Code::ok);
        return told<MeasuredPiece>().usage.blocks;
    }

    node::Segment node_ = local::test::make_node(2, 2, heap_bytes);
    local::test::Owner owner_{node_, 0};
    std::vector<std::byte> result_;
    std::uint32_t thread_ = 0;
};

}  // namespace acp::allocator::test
