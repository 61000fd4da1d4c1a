// SPDX-License-Identifier: BSD-3-Clause
// The plain text of datagrams until they are acknowledged: a fixed number of equal buffers, and
// queues of them. The pool is a stack: the buffer freed last is taken first, so that little memory
// is touched when little is in flight. Knows no peer. One thread.
// Tests: tests/unit/datagram/send_pool_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "datagram/time.hpp"
#include "datagram/wire.hpp"

namespace acp::datagram {

using BufferIndex = std::uint32_t;
inline constexpr BufferIndex no_buffer = ~0U;

struct SendBuffer {
    BufferIndex next = no_buffer;   // the next buffer in its queue, or in the list of free ones
    Dsn dsn = 0;                    // serial number, once is_numbered
    std::uint32_t frame_bytes = 0;  // bytes of frames committed, with the tail
    std::uint16_t tail_bytes = 0;   // the last of these bytes, which lie elsewhere
    bool is_numbered = false;       // sent at least once
};

static_assert(sizeof(SendBuffer) == 16);

class SendPool {
public:
    //   buffers             how many, at least 1
    //   datagram_bytes_max  size of each: headers, frames and tag
    SendPool(std::uint32_t buffers, std::uint32_t datagram_bytes_max)
        : stride_((std::size_t{datagram_bytes_max} + 63) & ~std::size_t{63}),
          bytes_(new std::byte[std::size_t{buffers} * stride_]),
          buffers_(buffers),
          free_count_(buffers) {
        for (BufferIndex i = 0; i < buffers; ++i)
            buffers_[i].next = i + 1 < buffers ? i + 1 : no_buffer;
        free_ = buffers == 0 ? no_buffer : 0;
    }

    // Takes a buffer; no_buffer if all are in use.
    [[nodiscard]] BufferIndex take() noexcept {
        const BufferIndex index = free_;
        if (index == no_buffer) return index;
        SendBuffer& buffer = buffers_[index];
        free_ = buffer.next;
        --free_count_;
        buffer = SendBuffer{};
        return index;
    }

    void give_back(BufferIndex index) noexcept {
        buffers_[index].next = free_;
        free_ = index;
        ++free_count_;
    }

    [[nodiscard]] SendBuffer& operator[](BufferIndex index) noexcept { return buffers_[index]; }

    // The plain text of a buffer: sealed header, frames, then room for control frames.
    [[nodiscard]] std::byte* plain(BufferIndex index) noexcept {
        return bytes_.get() + std::size_t{index} * stride_;
    }

    [[nodiscard]] std::byte* frames(BufferIndex index) noexcept {
        return plain(index) + sealed_bytes;
    }

    // Notes where the tail of the frames lies. The pointer is kept behind the frames in the buffer,
    // in the room the tail would have taken.
    void set_tail(BufferIndex index, const std::byte* tail) noexcept {
        std::memcpy(frames(index) + own_frame_bytes(index), &tail, sizeof tail);
    }

    [[nodiscard]] const std::byte* tail(BufferIndex index) noexcept {
        const std::byte* tail = nullptr;
        std::memcpy(&tail, frames(index) + own_frame_bytes(index), sizeof tail);
        return tail;
    }

    [[nodiscard]] std::uint32_t own_frame_bytes(BufferIndex index) const noexcept {
        return buffers_[index].frame_bytes - buffers_[index].tail_bytes;
    }

    [[nodiscard]] std::uint32_t free_count() const noexcept { return free_count_; }

    [[nodiscard]] std::uint32_t size() const noexcept {
        return static_cast<std::uint32_t>(buffers_.size());
    }

private:
    std::size_t stride_;
    // Left uninitialised: pages are touched when they are used.
    std::unique_ptr<std::byte[]> bytes_;
    std::vector<SendBuffer> buffers_;
    BufferIndex free_ = no_buffer;
    std::uint32_t free_count_;
};

// A queue of buffers, first in, first out, linked through SendBuffer::next. A buffer is in one
// queue at most.
class BufferQueue {
public:
    [[nodiscard]] bool empty() const noexcept { return first_ == no_buffer; }

    [[nodiscard]] BufferIndex front() const noexcept { return first_; }

    [[nodiscard]] BufferIndex back() const noexcept { return last_; }

    [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

    void push(SendPool& pool, BufferIndex index) noexcept {
        pool[index].next = no_buffer;
        if (empty()) {
            first_ = index;
        } else {
            pool[last_].next = index;
        }
        last_ = index;
        ++size_;
    }

    BufferIndex pop(SendPool& pool) noexcept {
        const BufferIndex index = first_;
        first_ = pool[index].next;
        if (first_ == no_buffer) last_ = no_buffer;
        --size_;
        return index;
    }

private:
    BufferIndex first_ = no_buffer;
    BufferIndex last_ = no_buffer;
    std::uint32_t size_ = 0;
};

}  // namespace acp::datagram
