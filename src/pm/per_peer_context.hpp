// SPDX-License-Identifier: BSD-3-Clause
// A context of PM messages by the scheme of paper 001, for comparison: a send buffer and a receive
// buffer for each process of the job, and three remote writes for each message: the payload, the
// pointer behind it, and, once it was used, the pointer to the released part. It uses copies only,
// near and far. It has the scheme's limits: memory that grows with the job, and no recovery once
// two pointers differ; so it is opened only once. No bell is rung, so a waiting thread polls. One
// thread at a time. Tests: tests/unit/pm/per_peer_context_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"

#include "pm/node_host.hpp"

namespace acp::pm {

class PerPeerContext {
public:
    static constexpr std::uint64_t buffer_bytes = 32768;

    // The size of a process's block in a job of `procs` processes.
    [[nodiscard]] static constexpr std::uint64_t block_bytes(std::uint32_t procs) noexcept {
        return procs * sizeof(PeerPlace);
    }

    struct PerPeerMessage {
        const char* data = nullptr;  // nullptr: no message
        std::uint64_t bytes = 0;
        std::uint32_t source = 0;
    };

    // Throws std::bad_alloc.
    //   block  an unused block of block_bytes() in the heap of this process
    //   the other arguments: see Context
    PerPeerContext(gma::Gma& gma,
                   data::Allocator& allocator,
                   std::uint32_t number,
                   memory::GlobalAddress block);
    PerPeerContext(const PerPeerContext&) = delete;
    PerPeerContext& operator=(const PerPeerContext&) = delete;
    ~PerPeerContext() = default;

    void open() noexcept;
    void close() noexcept;

    // See Context.
    [[nodiscard]] char* reserve(std::uint32_t process, std::uint64_t bytes);

    [[nodiscard]] bool has_reserved() const noexcept { return reserved_ != nullptr; }

    [[nodiscard]] std::uint64_t reserved_bytes() const noexcept { return reserved_bytes_; }

    void truncate(std::uint64_t bytes) noexcept { reserved_bytes_ = bytes; }

    // Throws std::bad_alloc before anything is sent.
    void send();
    [[nodiscard]] bool is_sent();
    [[nodiscard]] base::Status why_no_room(std::uint32_t process) const;
    [[nodiscard]] PerPeerMessage receive();
    // Whether receive() would return a message.
    [[nodiscard]] bool has_message() const noexcept;

    [[nodiscard]] bool is_holding() const noexcept { return held_ != nullptr; }

    // Throws std::bad_alloc before anything is released.
    void release();

    // Makes progress, and sometimes yields: a waiting thread calls it between two polls.
    void look_on() noexcept;
    void settle() noexcept;

private:
    using Pointer = std::atomic<std::uint64_t>;

    // The memory of a process for one other process, its peer. Pointers count bytes; modulo
    // buffer_bytes they are offsets in the buffers.
    struct alignas(64) PeerPlace {
        alignas(64) Pointer received;  // end of the last message received; writer: the peer
        alignas(64) Pointer released;  // end of the sent bytes that were released; writer: the peer
        // end of the received bytes that were released; writer: this process
        alignas(64) Pointer used;
        alignas(64) std::array<char, buffer_bytes> to_receive;
        std::array<char, buffer_bytes> to_send;
    };

    // A message: its length, its bytes up to a multiple of 8, and in the send buffer the pointer
    // behind it.
    static constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
    // In place of a length: the next message is at the start of the buffer.
    static constexpr std::uint64_t skip = ~std::uint64_t{0};

    // A copy from memory of this process.
    struct PeerCopy {
        memory::GlobalAddress target;
        const void* source;
        std::uint64_t bytes;
    };

    // Copies to one process are issued one after another, each when the previous one has ended: a
    // pointer must not overtake its payload, nor an older pointer a newer one. Ordering by handles
    // would also wait for commands to other processes, which may be dead.
    struct PeerEnd {
        memory::GlobalAddress block = 0;  // this process's place in the peer's block; 0: unknown
        std::uint64_t sent = 0;
        std::uint64_t used = 0;
        std::vector<PeerCopy> steps;          // copies still to be issued
        gma::Handle step = gma::handle_null;  // the copy in flight
    };

    [[nodiscard]] static constexpr std::uint64_t bytes_of(std::uint64_t payload_bytes) noexcept {
        return 2 * word_bytes + (payload_bytes + word_bytes - 1) / word_bytes * word_bytes;
    }

    [[nodiscard]] PeerPlace& place(std::uint32_t process) const noexcept {
        return reinterpret_cast<PeerPlace*>(memory_)[process];
    }

    [[nodiscard]] memory::GlobalAddress own(const void* byte) const noexcept {
        return address_ + static_cast<std::uint64_t>(static_cast<const char*>(byte) - memory_);
    }

    [[nodiscard]] bool find(std::uint32_t process);
    [[nodiscard]] bool is_closed(std::uint32_t process) const noexcept;
    void end_step(PeerEnd& to) noexcept;
    void go_on(PeerEnd& to) noexcept;
    void go_on_with_all() noexcept;
    void begin_steps(PeerEnd& to, std::initializer_list<PeerCopy> steps) noexcept;

    NodeHost host_;
    memory::GlobalAddress address_;
    char* memory_;
    std::uint32_t procs_;
    std::vector<PeerEnd> peers_;
    std::vector<std::uint32_t> busy_;  // peers with a copy in flight
    PeerEnd* reserved_ = nullptr;
    std::uint64_t reserved_bytes_ = 0;
    std::uint64_t skipped_bytes_ = 0;  // skipped before the reserved message
    PeerEnd* held_ = nullptr;
    std::uint64_t held_bytes_ = 0;
    std::uint32_t next_ = 0;  // the process at which the next receive() begins
    std::uint32_t looks_ = 0;
};

}  // namespace acp::pm
