// SPDX-License-Identifier: BSD-3-Clause
// The attach path: reads and writes the private memory of another process of the node through the
// kernel, in one copy and without that process's help (process_vm_readv, process_vm_writev). A pid
// alone is not trusted: this class uses it only after it has read through it a random token that
// the peer published. Since a process may run another program with memory at the same addresses
// (exec), the bytes of a system call count only if the process's slot shows afterwards that it was
// not replaced (node::may_be_replaced). Commands between the same two segments share a system call.
// This class knows no handle and no order. Any thread may call it.
// Tests: tests/unit/local/attach_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"
#include "local/space.hpp"
#include "node/death.hpp"
#include "os/cross_memory.hpp"

namespace acp::local {

inline constexpr std::uint32_t attach_batch_max = 64;

// One copy with both places found. Exactly one place, or both, are another process's private
// memory.
struct AttachCopy {
    Place target;
    Place source;
    std::uint64_t bytes = 0;
    // Result. ok; peer: the process is gone; address: the range is no longer mapped there;
    // unsupported: nothing was moved and this process can no longer attach to the peer, so the
    // owner must run the command; system: another failure of the call.
    base::Code code = base::Code::ok;
    bool is_target_refused = false;  // if code is not ok: the place that was refused
};

class Attach {
public:
    //   segment   must outlive this
    //   is_allowed  false: every peer counts as unreachable, as if the kernel forbade it
    //               (ACP_ATTACH=off)
    Attach(const node::Segment& segment, std::uint32_t slot, bool is_allowed);

    // Publishes this process's token to the other processes. Call before the barrier of acp_init.
    void publish_token() noexcept;

    // Whether this process can attach to the process of a slot. The first call probes. The answer
    // becomes false at the first copy that the kernel refuses although the process lives (it is no
    // longer dumpable, or its main thread has ended); one line on stderr says so.
    [[nodiscard]] bool can_reach(std::uint32_t slot) noexcept;

    // Why can_reach() is false, in words for the user; "" when it is true or was not called yet.
    [[nodiscard]] std::string refusal(std::uint32_t slot) const;

    // Runs copies that all have the same target slot and the same source slot. Blocks for as long
    // as the kernel copies. Each copy's outcome is in its code.
    //   copies.size() <= attach_batch_max
    void run(std::span<AttachCopy> copies) noexcept;

    // Runs one copy of which exactly one place is another process's, which was reached before.
    void run(AttachCopy& copy) noexcept;

    // Makes one attempt at the copy of run(). False when not all bytes were moved: call run() then,
    // which moves the copy again or reports the error.
    [[nodiscard, gnu::always_inline]] inline bool try_run(const AttachCopy& copy) const noexcept {
        const bool is_read = copy.target.direct != nullptr;
        const Place& far = is_read ? copy.source : copy.target;
        if (node::is_dead(segment_, far.slot) || node::may_be_replaced(segment_, far.slot))
            [[unlikely]] {
            return false;
        }
        // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
        void* const there = reinterpret_cast<void*>(far.owner_address);
        const int pid =
            static_cast<int>(segment_.slot(far.slot).pid.load(std::memory_order_relaxed));
        const bool is_moved =
            is_read ? os::read_process_whole(pid, copy.target.direct, there, copy.bytes)
                    : os::write_process_whole(pid, copy.source.direct, there, copy.bytes);
        return is_moved && !node::may_be_replaced(segment_, far.slot);
    }

    // The result of an earlier can_reach(); false if there was none. Makes no system call.
    [[nodiscard]] bool is_known_reachable(std::uint32_t slot) const noexcept {
        return reachable_[slot].load(std::memory_order_relaxed) == Reachable::yes;
    }

private:
    enum class Reachable : std::uint8_t { unknown, yes, no };

    [[nodiscard]] int pid(std::uint32_t slot) const noexcept;
    [[nodiscard]] std::int64_t call(bool is_read,
                                    std::uint32_t slot,
                                    std::span<const os::Piece> near,
                                    std::span<const os::Piece> far) const noexcept;
    [[nodiscard]] base::Code code_of(std::uint32_t slot, std::int64_t failure) noexcept;
    void refuse(AttachCopy& copy, bool is_target, std::int64_t failure) noexcept;
    [[nodiscard]] bool is_ending(std::uint32_t slot) const noexcept;
    void give_up(std::uint32_t slot, int error) noexcept;
    void run_one(AttachCopy& copy, std::uint64_t done_bytes) noexcept;
    void run_through_buffer(AttachCopy& copy) noexcept;

    const node::Segment& segment_;
    std::uint32_t slot_;
    bool is_allowed_;
    std::uint64_t token_;
    std::unique_ptr<std::atomic<Reachable>[]> reachable_;
    std::unique_ptr<std::atomic<int>[]> refusal_errno_;
};

}  // namespace acp::local
