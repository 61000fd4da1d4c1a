// SPDX-License-Identifier: BSD-3-Clause
// Short copies between the gateway and private memory of processes, collected and moved through the kernel up to
// attach_batch_max per system call: those of one call read, or write, one granule. Addresses are looked up when
// the bytes move, under a hazard line; what was unregistered meanwhile ends with Code::stale. Bytes to be written
// are kept here, so the caller's may go. Knows no ticket's meaning. One thread: the gateway's.
// Tests: tests/unit/gateway/local_placement_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "gateway/settled.hpp"
#include "local/attach.hpp"

namespace acp::gateway {

// Longer copies are moved by a call of their own, at once.
inline constexpr std::uint64_t batched_bytes_max = 16ULL * 1024;

class AttachBatch {
public:
    //   all must outlive this
    AttachBatch(local::Space& space, local::Hazards& hazards, local::Attach& attach);

    // Collect a copy; when there is no room left, what was collected moves first. The end of each is appended to
    // the list given to run(), never before.   bytes.size(), into.size()  1 .. batched_bytes_max
    void put(GlobalAddress target, std::span<const std::byte> bytes, Ticket ticket);
    void get(GlobalAddress source, std::span<std::byte> into, Ticket ticket);

    // Moves everything and appends the ends.
    void run(SettledList& ended);

    [[nodiscard]] bool is_empty() const noexcept { return count_ == 0 && ended_.empty(); }

private:
    struct Copy {
        GlobalAddress address = 0;
        char* near = nullptr;
        std::uint32_t bytes = 0;
        bool is_read = false;
        Ticket ticket = 0;
    };

    void move_all();
    void move_alike(std::uint64_t& pending);

    void settle(const Copy& copy, base::Code code) { ended_.push_back({copy.ticket, code, 0}); }

    local::Space& space_;
    local::Hazards& hazards_;
    local::Attach& attach_;
    std::array<Copy, local::attach_batch_max> copies_;
    std::uint32_t count_ = 0;
    std::unique_ptr<char[]> staging_;  // bytes to be written
    std::uint64_t staged_bytes_ = 0;
    SettledList ended_;
};

}  // namespace acp::gateway
