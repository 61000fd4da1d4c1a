// SPDX-License-Identifier: BSD-3-Clause
// The memory that a device process and its executor share: a head, and for each caller (a thread
// that makes system calls) a ring of one slot, and staging memory with its wall. It has no file, so
// only companions of the device process and children that it forks have it. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/status.hpp"
#include "os/cpu.hpp"
#include "os/mapping.hpp"

#include "call/ring.hpp"
#include "call/system_call_record.hpp"

namespace acp::worker {

using base::Result;

class SystemCallMemory {
public:
    // What the two processes share of a caller.
    struct CallerHead {
        // Writer: the executor, before it answers; reader: the caller, after the answer. The signal
        // that the call has raised; 0: none.
        std::atomic<std::uint32_t> signal;
        // 1 + the CPU on which each side ran when it last waited; 0: unknown. Neither side polls on
        // the CPU of the other one, where its polls would keep that one from running.
        std::atomic<int> caller_cpu;    // writer: the caller
        std::atomic<int> executor_cpu;  // writer: the executor

        // Notes the CPU of the calling side; returns whether it is that of the other side.
        [[nodiscard]] static bool is_on_cpu_of(const std::atomic<int>& other,
                                               std::atomic<int>& own) noexcept {
            const int cpu = 1 + os::current_cpu();
            // relaxed, twice: only hints
            if (own.load(std::memory_order_relaxed) != cpu)
                own.store(cpu, std::memory_order_relaxed);
            return other.load(std::memory_order_relaxed) == cpu;
        }
    };

    //   callers  1 ..
    // Errors: memory, system.
    static Result<SystemCallMemory> create(std::uint32_t callers) {
        auto mapped = os::Mapping::map_shared_anonymous(caller_offset(callers));
        if (!mapped.is_ok()) return std::move(mapped).failure();
        SystemCallMemory memory(std::move(mapped).value(), callers);
        for (std::uint32_t caller = 0; caller < callers; ++caller) {
            base::Status status =
                os::close_range(memory.staging_start(caller) + call::system_call_staging_bytes,
                                call::system_call_wall_bytes);
            if (!status.is_ok()) return status;
        }
        return memory;
    }

    [[nodiscard]] std::uint32_t callers() const noexcept { return callers_; }

    // Futex. Writer: the device process. The executor must serve the callers below this number.
    [[nodiscard]] std::atomic<std::uint32_t>& served() const noexcept {
        return *reinterpret_cast<std::atomic<std::uint32_t>*>(mapping_.data());
    }

    [[nodiscard]] CallerHead& head(std::uint32_t caller) const noexcept {
        return *reinterpret_cast<CallerHead*>(caller_start(caller));
    }

    [[nodiscard]] call::RingView<> ring(std::uint32_t caller) const noexcept {
        return call::RingView<>::of(caller_start(caller) + call::slot_bytes, 1);
    }

    // system_call_staging_bytes, followed by the wall.
    [[nodiscard]] std::span<std::byte> staging(std::uint32_t caller) const noexcept {
        return {staging_start(caller), call::system_call_staging_bytes};
    }

private:
    // A page of each machine.
    static constexpr std::uint64_t head_bytes = std::uint64_t{64} << 10U;
    static constexpr std::uint64_t caller_bytes =
        head_bytes + call::system_call_staging_bytes + call::system_call_wall_bytes;

    static_assert(call::slot_bytes + call::ring_bytes(1) <= head_bytes);
    static_assert(caller_bytes % head_bytes == 0);

    SystemCallMemory(os::Mapping mapping, std::uint32_t callers) noexcept
        : mapping_(std::move(mapping)), callers_(callers) {}

    static constexpr std::uint64_t caller_offset(std::uint32_t caller) noexcept {
        return head_bytes + caller * caller_bytes;
    }

    [[nodiscard]] std::byte* caller_start(std::uint32_t caller) const noexcept {
        return reinterpret_cast<std::byte*>(mapping_.data()) + caller_offset(caller);
    }

    [[nodiscard]] std::byte* staging_start(std::uint32_t caller) const noexcept {
        return caller_start(caller) + head_bytes;
    }

    os::Mapping mapping_;
    std::uint32_t callers_;
};

}  // namespace acp::worker
