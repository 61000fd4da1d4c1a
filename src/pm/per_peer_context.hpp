// SPDX-License-Identifier: BSD-3-Clause
// A context of PM messages by the scheme of paper 001, for comparison: a send buffer and a receive buffer for each process of the job, and three
// remote writes for each message: the payload, the pointer behind it, and, when it was used, the pointer to what was released. It stands on copies
// alone, near and far. It has what the paper says of it: memory that grows with the job, and no way back once two pointers differ; so it is not
// opened a second time. Nobody is rung, so who waits looks. One thread at a time. Tests: tests/conformance/pm_scheme_test.cpp.
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

    // The length of the block of a process of a job of so many.
    [[nodiscard]] static constexpr std::uint64_t block_bytes(std::uint32_t procs) noexcept {
        return procs * sizeof(PeerPlace);
    }

    struct PerPeerMessage {
        const char* data = nullptr;  // nullptr: there is none
        std::uint64_t bytes = 0;
        std::uint32_t source = 0;
    };

    //   block  block_bytes() in the heap of this process that nobody has used
    //   the others as of Context. Throws std::bad_alloc.
    PerPeerContext(gma::Gma& gma,
                   data::Allocator& allocator,
                   std::uint32_t number,
                   memory::GlobalAddress block);
    PerPeerContext(const PerPeerContext&) = delete;
    PerPeerContext& operator=(const PerPeerContext&) = delete;
    ~PerPeerContext() = default;

    void open() noexcept;
    void close() noexcept;

    // As of Context.
    [[nodiscard]] char* reserve(std::uint32_t process, std::uint64_t bytes);

    [[nodiscard]] bool has_reserved() const noexcept { return reserved_ != nullptr; }

    [[nodiscard]] std::uint64_t reserved_bytes() const noexcept { return reserved_bytes_; }

    void truncate(std::uint64_t bytes) noexcept { reserved_bytes_ = bytes; }

    // Throws std::bad_alloc before anything is sent.
    void send();
    [[nodiscard]] bool is_sent();
    [[nodiscard]] base::Status why_no_room(std::uint32_t process) const;
    [[nodiscard]] PerPeerMessage receive();
    // Whether receive() would give one.
    [[nodiscard]] bool has_message() const noexcept;

    [[nodiscard]] bool is_holding() const noexcept { return held_ != nullptr; }

    // Throws std::bad_alloc before anything is released.
    void release();

    // Lets others work: whoever waits calls it between two looks.
    void look_on() noexcept;
    void settle() noexcept;

private:
    using Pointer = std::atomic<std::uint64_t>;

    // What a process has for one other one. Pointers count bytes, modulo the buffers' length they are places there.
    struct alignas(64) PeerPlace {
        alignas(64) Pointer received;  // behind the last message; writer: the other one
        alignas(64) Pointer released;  // of what was sent to the other one; writer: that
        alignas(64) Pointer used;      // of what it has sent; writer: this process
        alignas(64) std::array<char, buffer_bytes> to_receive;
        std::array<char, buffer_bytes> to_send;
    };

    // A message: its length, its bytes up to a multiple of 8, and in the send buffer the pointer behind it.
    static constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
    static constexpr std::uint64_t skip =
        ~std::uint64_t{0};  // in place of a length: go on at the start

    // A copy from memory of this process.
    struct PeerCopy {
        memory::GlobalAddress target;
        const void* source;
        std::uint64_t bytes;
    };

    // Copies to one process are made one after the other, each when the one before has ended: a pointer must not overtake its payload, nor
    // an older one come after a newer. An order of commands would do it too, but their order takes in those to others, of which one may be dead.
    struct PeerEnd {
        memory::GlobalAddress block = 0;  // where this process has its place there; 0: not known
        std::uint64_t sent = 0;
        std::uint64_t used = 0;
        std::vector<PeerCopy> steps;          // still to be made
        gma::Handle step = gma::handle_null;  // under way
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
    std::vector<std::uint32_t> busy_;  // to whom steps are under way
    PeerEnd* reserved_ = nullptr;
    std::uint64_t reserved_bytes_ = 0;
    std::uint64_t skipped_bytes_ = 0;  // before the reserved message
    PeerEnd* held_ = nullptr;
    std::uint64_t held_bytes_ = 0;
    std::uint32_t next_ = 0;  // the process at which receive() begins to look
    std::uint32_t looks_ = 0;
};

}  // namespace acp::pm
