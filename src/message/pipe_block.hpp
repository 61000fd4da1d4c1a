// SPDX-License-Identifier: BSD-3-Clause
// The block of a pipe's slots, or of the mirror of a ring on another node, in the heap of the sender:
// allocated for the first long message, and freed with the end. For the holder of the end's lock.
// Tests: tests/conformance/channel_test.cpp.
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

    //   allocator  must outlive the block
    //   process    the calling one
    //   blocks     the start of this process's heap
    void begin(data::Allocator& allocator, std::uint32_t process, char* blocks) noexcept {
        allocator_ = &allocator;
        process_ = process;
        blocks_ = blocks;
    }

    // Allocates slots of `slot_bytes` bytes. An empty PipeRoom: the heap has no room now.
    [[nodiscard]] PipeRoom take(std::uint64_t slots, std::uint64_t slot_bytes) noexcept {
        try {
            auto block = allocator_->allocate(process_, slots * slot_bytes, page_bytes);
            if (!block.is_ok()) return {};
            block_ = block.value();
        } catch (const std::exception&) {  // treated as a full heap
            return {};
        }
        const std::uint64_t place = block_ - allocator_->start_of(process_);
        return {blocks_ + place, place, slot_bytes};
    }

    // The block that take() has allocated.
    [[nodiscard]] memory::GlobalAddress address() const noexcept { return block_; }

    // Frees the block, when no receiver reads the slots. Throws std::bad_alloc; then the block
    // stays until the heaps are emptied.
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
