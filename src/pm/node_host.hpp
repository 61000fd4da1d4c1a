// SPDX-License-Identifier: BSD-3-Clause
// A context's view of the processes of the job: where their pools are, which of them write or are
// gone, and how to wake them. One per context, for its thread. Tests:
// tests/conformance/pm_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "data/allocator.hpp"
#include "gma/gma.hpp"
#include "message/far_credits.hpp"

#include "pm/inlet_path.hpp"
#include "pm/pool_layout.hpp"

namespace acp::pm {

// The most contexts of PM messages.
inline constexpr std::uint64_t pm_contexts = 16;

inline constexpr node::ClaimedRange pm_pools{
    .name = "where contexts of PM messages have their pools",
    .bytes = [](const node::Shape&) -> std::uint64_t {
        return pm_contexts * sizeof(std::uint64_t);
    }};

// The word of a process with the address of its pool for a context, or pool_not_open. An address is
// a multiple of 64; its lowest bit is a flag: the context was closed.
inline constexpr std::uint64_t pool_not_open = 0;
inline constexpr std::uint64_t pool_closed = 1;

class NodeHost {
public:
    //   gma, allocator  must outlive this
    //   context         the context's number
    NodeHost(gma::Gma& gma, data::Allocator& allocator, std::uint32_t context);
    NodeHost(const NodeHost&) = delete;
    NodeHost& operator=(const NodeHost&) = delete;
    ~NodeHost() = default;

    // Clears the words of a process before an epoch begins.
    static void clear(const node::Segment& segment, std::uint32_t slot) noexcept;

    // The interface that ReceivePool and NearOutlet require.

    [[nodiscard]] std::uint32_t process() const noexcept { return space_.process(); }

    [[nodiscard]] sync::WriteLease<>::Fence fence() const noexcept { return fence_; }

    static void barrier() noexcept;
    [[nodiscard]] bool connect(InletPath<>& path, const Hello& hello, std::uint32_t index) noexcept;
    [[nodiscard]] bool writes(std::uint32_t process, std::uint64_t place) const noexcept;
    [[nodiscard]] bool is_gone(std::uint32_t process) const noexcept;
    void wake(std::uint32_t process) const noexcept;
    void ring_all() const noexcept;

    // The interface for the context.

    [[nodiscard]] gma::Gma& gma() const noexcept { return gma_; }

    [[nodiscard]] bool is_rank(int rank) const noexcept {
        return static_cast<std::uint32_t>(rank) < space_.segment().shape().procs;
    }

    [[nodiscard]] std::uint32_t rank_of(std::uint32_t process) const noexcept {
        return space_.segment().rank_of(process);
    }

    [[nodiscard]] std::uint32_t process_of(int rank) const noexcept {
        return space_.segment().process_of(static_cast<std::uint32_t>(rank));
    }

    [[nodiscard]] bool is_near(std::uint32_t process) const noexcept {
        return space_.is_on_node(process);
    }

    // The word of a process of this node.
    [[nodiscard]] std::atomic<std::uint64_t>& pool_word(std::uint32_t process) const noexcept;
    // The address of the word of any process.
    [[nodiscard]] memory::GlobalAddress pool_word_address(std::uint32_t process) const noexcept;
    // The pool of a process of this node; nullptr: it is not open.
    [[nodiscard]] char* pool_of(std::uint32_t process) const noexcept;
    // A pointer into the heap of a process of this node.
    [[nodiscard]] char* pointer_to(std::uint32_t process,
                                   memory::GlobalAddress address) const noexcept;
    [[nodiscard]] sync::Bell<>& bell_of(std::uint32_t process) const noexcept;

    // Whether credits wait until they can be issued to another node.
    [[nodiscard]] bool is_carrying() const noexcept;
    // Issues waiting credits.
    void carry_on() noexcept;
    // Waits for operations in flight.
    void settle() noexcept;

private:
    gma::Gma& gma_;
    data::Allocator& allocator_;
    const local::Space& space_;
    std::uint32_t context_;
    sync::WriteLease<>::Fence fence_;
    // Each is made for the first sender on another node.
    std::array<std::unique_ptr<message::FarCredits>, leases> credits_;
};

}  // namespace acp::pm
