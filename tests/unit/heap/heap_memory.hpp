// SPDX-License-Identifier: BSD-3-Clause
// A heap's control words in memory that forked processes share, and the blocks that a test has
// allocated.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <sys/mman.h>

#include "heap/heap.hpp"
#include "heap/walk.hpp"

namespace acp::heap {

// Zeroed pages shared with children.
class SharedPages {
public:
    explicit SharedPages(std::uint64_t bytes)
        : bytes_(bytes),
          memory_(mmap(nullptr,
                       bytes,
                       PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1,
                       0)) {
        if (memory_ == MAP_FAILED) std::abort();
    }

    ~SharedPages() { munmap(memory_, bytes_); }

    SharedPages(const SharedPages&) = delete;
    SharedPages& operator=(const SharedPages&) = delete;

    [[nodiscard]] char* data() const { return static_cast<char*>(memory_); }

    // The bytes read as zero afterwards.
    void forget() const { madvise(memory_, bytes_, MADV_REMOVE); }

private:
    std::uint64_t bytes_;
    void* memory_;
};

// Memory that stays with its heap.
inline constexpr GiveBack keeps_memory{[](void*, std::uint64_t, std::uint64_t) noexcept {},
                                       nullptr};

// Allocated blocks; none overlaps another.
class Blocks {
public:
    // Adds a block. Returns whether it overlaps no other one and lies inside the heap.
    bool add(Offset block, std::uint64_t bytes, std::uint64_t limit) {
        if (block > limit || bytes > limit - block) return false;
        const auto next = blocks_.lower_bound(block);
        if (next != blocks_.end() && next->first < block + bytes) return false;
        if (next != blocks_.begin()) {
            const auto before = std::prev(next);
            if (before->first + before->second > block) return false;
        }
        blocks_.emplace(block, bytes);
        return true;
    }

    void remove(Offset block) { blocks_.erase(block); }

    [[nodiscard]] std::map<Offset, std::uint64_t>& all() { return blocks_; }

private:
    std::map<Offset, std::uint64_t> blocks_;
};

}  // namespace acp::heap
