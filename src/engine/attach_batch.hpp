// SPDX-License-Identifier: BSD-3-Clause
// Short copies between the gateway and private memory of processes, collected and moved through the
// kernel up to attach_batch_max per system call: those of one call read, or write, one granule.
// Addresses are looked up when the bytes move, under a hazard line; a copy whose memory was
// unregistered before completes with Code::stale. Bytes to be written are kept here, so the
// caller's may go. A copy that the kernel refuses though its process lives is returned to the
// caller, who asks the owner. Knows no ticket's meaning. One thread: the gateway's.
// Tests: tests/unit/engine/attach_batch_test.cpp, local_placement_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "local/attach.hpp"

#include "engine/settled.hpp"

namespace acp::engine {

// Longer copies are moved by a call of their own, at once.
inline constexpr std::uint64_t batched_bytes_max = 16ULL * 1024;

class AttachBatch {
public:
    //   all must outlive this
    AttachBatch(local::Space& space, local::Hazards& hazards, local::Attach& attach);

    struct Copy {
        GlobalAddress address = 0;
        char* near = nullptr;
        std::uint32_t bytes = 0;
        bool is_read = false;
        Ticket ticket = 0;
    };

    // Whether put() of this size would find room without moving the collected copies. To be asked
    // where the caller's hazard line names an access of its own, which moving would take out of it.
    //   bytes  0 .. batched_bytes_max
    [[nodiscard]] bool has_room(std::uint64_t bytes);

    // Collect a copy; when there is no room left, what was collected moves first. The end of each
    // stands in ended() after run() or before. False: there is no memory for its end until those
    // that are there are taken, or refused copies stand here; it was not collected.
    //   bytes.size(), into.size()  1 .. batched_bytes_max
    [[nodiscard]] bool put(GlobalAddress target, std::span<const std::byte> bytes, Ticket ticket);
    [[nodiscard]] bool get(GlobalAddress source, std::span<std::byte> into, Ticket ticket);

    // Moves everything.
    void run() noexcept { move_all(); }

    // The completions so far. The reader clears them.
    [[nodiscard]] SettledList& ended() noexcept { return ended_; }

    [[nodiscard]] bool is_empty() const noexcept { return count_ == 0 && ended_.is_empty(); }

    // Whether copies stand here that the kernel refused: nothing of them was moved, and they have
    // no end yet.
    [[nodiscard]] bool has_refused() const noexcept { return refused_count_ != 0; }

    // Gives the refused copies away, oldest first, until take(copy) says no: that one and the rest
    // stay. True when one went.
    template <typename Take>
    bool give_refused(Take&& take) {
        std::uint32_t given = 0;
        while (given < refused_count_ && take(refused_[given])) ++given;
        std::copy(refused_.begin() + given, refused_.begin() + refused_count_, refused_.begin());
        refused_count_ -= given;
        return given != 0;
    }

private:
    [[nodiscard]] bool make_room(std::uint64_t bytes);
    void move_all() noexcept;
    void move_alike(std::uint64_t& pending);

    void settle(const Copy& copy, base::Code code) noexcept {
        if (code == base::Code::unsupported) {
            refused_[refused_count_++] = copy;
        } else {
            ended_.add({copy.ticket, code, 0});
        }
    }

    local::Space& space_;
    local::Hazards& hazards_;
    local::Attach& attach_;
    std::array<Copy, local::attach_batch_max> copies_;
    std::uint32_t count_ = 0;
    std::array<Copy, local::attach_batch_max>
        refused_;  // while there are any, nothing is collected
    std::uint32_t refused_count_ = 0;
    std::unique_ptr<char[]> staging_;  // bytes to be written, also of refused copies
    std::uint64_t staged_bytes_ = 0;
    SettledList ended_{std::size_t{2} * local::attach_batch_max};
};

}  // namespace acp::engine
