// SPDX-License-Identifier: BSD-3-Clause
// The block of a pipe's slots, in the heap of the sender: taken when a long message first needs it, and given back with the end. For the
// holder of the end's lock. Tests: tests/conformance/channel_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include "data/allocator.hpp"
#include "message/pipe.hpp"

namespace acp::message {

class PipeBlock {
public:
    PipeBlock() = default;
    PipeBlock(const PipeBlock&) = delete;
    PipeBlock& operator=(const PipeBlock&) = delete;
    ~PipeBlock() = default;

    //   allocator  outlives the block
    //   process    the calling one
    //   blocks     where the heap of the process begins
    void begin(data::Allocator& allocator, std::uint32_t process, char* blocks) noexcept {
        allocator_ = &allocator;
        process_ = process;
        blocks_ = blocks;
    }

    // The room for slots of so many bytes; none: the heap has not so much now.
    [[nodiscard]] PipeRoom take(std::uint64_t slots, std::uint64_t slot_bytes) noexcept {
        try {
            auto block = allocator_->allocate(process_, slots * slot_bytes, page_bytes);
            if (!block.is_ok()) return {};
            block_ = block.value();
        } catch (const std::exception&) {  // as if the heap had no room
            return {};
        }
        const std::uint64_t place = block_ - allocator_->start_of(process_);
        return {blocks_ + place, place, slot_bytes};
    }

    // When nobody reads the slots any more. Throws std::bad_alloc; then the block stays until the heaps are emptied.
    void give_back() {
        const memory::GlobalAddress block = std::exchange(block_, 0);
        if (block != 0) (void)allocator_->free(block);
    }

private:
    static constexpr std::uint64_t page_bytes = 4096;

    data::Allocator* allocator_ = nullptr;
    std::uint32_t process_ = 0;
    char* blocks_ = nullptr;
    memory::GlobalAddress block_ = 0;
};

}  // namespace acp::message
