// SPDX-License-Identifier: BSD-3-Clause
// What a context of PM messages sees of the processes of the job: where their pools are, who writes, who is gone, and how to wake them. One for
// each context, for its thread. Tests: tests/conformance/pm_test.cpp.
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

// The word of a process that says where its pool for a context is: an address, or one of these. In the lower bits of an address, a multiple of 64:
// it was closed; what lies there is no pool but the block of a PerPeerContext.
inline constexpr std::uint64_t pool_not_open = 0;
inline constexpr std::uint64_t pool_closed = 1;
inline constexpr std::uint64_t pool_per_peer = 2;
inline constexpr std::uint64_t pool_flags = pool_closed | pool_per_peer;

class NodeHost {
public:
    //   gma, allocator  outlive this
    //   context         its number
    NodeHost(gma::Gma& gma, data::Allocator& allocator, std::uint32_t context);
    NodeHost(const NodeHost&) = delete;
    NodeHost& operator=(const NodeHost&) = delete;
    ~NodeHost() = default;

    // Empties the words of a process before an epoch begins.
    static void clear(const node::Segment& segment, std::uint32_t slot) noexcept;

    // As ReceivePool and NearOutlet ask for it.

    [[nodiscard]] std::uint32_t process() const noexcept { return space_.process(); }

    [[nodiscard]] sync::WriteLease<>::Fence fence() const noexcept { return fence_; }

    static void barrier() noexcept;
    [[nodiscard]] bool connect(InletPath<>& path, const Hello& hello, std::uint32_t index) noexcept;
    [[nodiscard]] bool writes(std::uint32_t process, std::uint64_t place) const noexcept;
    [[nodiscard]] bool is_gone(std::uint32_t process) const noexcept;
    void wake(std::uint32_t process) const noexcept;
    void ring_all() const noexcept;

    // For the context.

    [[nodiscard]] gma::Gma& gma() const noexcept { return gma_; }

    [[nodiscard]] bool is_rank(int rank) const noexcept {
        return static_cast<std::uint32_t>(rank) < space_.segment().shape().procs;
    }

    [[nodiscard]] std::uint32_t process_of(int rank) const noexcept {
        return space_.segment().process_of(static_cast<std::uint32_t>(rank));
    }

    [[nodiscard]] bool is_near(std::uint32_t process) const noexcept {
        return space_.is_on_node(process);
    }

    // The word of a process, of this node.
    [[nodiscard]] std::atomic<std::uint64_t>& pool_word(std::uint32_t process) const noexcept;
    // The address of the word of any.
    [[nodiscard]] memory::GlobalAddress pool_word_address(std::uint32_t process) const noexcept;
    // The pool of a process of this node; nullptr: it is not open.
    [[nodiscard]] char* pool_of(std::uint32_t process) const noexcept;
    // Memory of an address in the heap of a process of this node.
    [[nodiscard]] char* pointer_to(std::uint32_t process,
                                   memory::GlobalAddress address) const noexcept;
    [[nodiscard]] sync::Bell<>& bell_of(std::uint32_t process) const noexcept;

    // Whether something waits for its turn to other nodes.
    [[nodiscard]] bool is_carrying() const noexcept;
    // Sends on what waits for its turn to other nodes.
    void carry_on() noexcept;
    // Waits for what is under way.
    void settle() noexcept;

private:
    gma::Gma& gma_;
    data::Allocator& allocator_;
    const local::Space& space_;
    std::uint32_t context_;
    sync::WriteLease<>::Fence fence_;
    std::array<std::unique_ptr<message::FarCredits>, leases>
        credits_;  // made when a sender on another node is met
};

}  // namespace acp::pm
