// SPDX-License-Identifier: BSD-3-Clause
// The memory file that a process shares with a worker process of its own: a head, and for each
// context a call ring and its staging memory. Offsets only. Written by the process that starts the
// worker, before it does; afterwards only the rings and the staging memory change.
// Tests: tests/unit/offload/worker_process_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "call/arguments.hpp"
#include "call/ring_layout.hpp"

namespace acp::call {

// The operations that a worker carries out, as the shape of a call has them.
enum class WorkerOperation : std::uint8_t {
    function,  // any context: calls the function at address `target`
    // Context 0 only. `target` and arguments:
    load,    // 0; buffer with the path, its bytes, buffer for a message, its bytes. Result: number
    unload,  // number of a library
    symbol,  // number; buffer with the name, its bytes. Result: address, 0: none
    open,    // number of a context, which gets a thread and an empty ring
    leave,   // 0: the process ends with exit code 0 after the answer
    // A context but 0:
    close,  // 0: its thread ends after the answer
};

// Context 0 carries operations only, so that they do not wait for functions.
inline constexpr std::uint32_t worker_contexts = 1 + 16;
inline constexpr std::uint32_t worker_slots = 64;

inline constexpr std::uint64_t worker_page_bytes = 4096;

[[nodiscard]] constexpr std::uint64_t worker_pages(std::uint64_t bytes) noexcept {
    return (bytes + worker_page_bytes - 1) / worker_page_bytes * worker_page_bytes;
}

// Room for the buffers of one call at its limit, and a list of arguments.
inline constexpr std::uint64_t worker_staging_bytes =
    buffer_bytes_max + worker_pages(std::uint64_t{arguments_max} * 16);

// The version of everything that the two processes share; a worker of another one refuses to run.
inline constexpr std::uint64_t worker_version = 3;

struct WorkerHead {
    std::uint64_t version;             // worker_version
    std::atomic<std::uint32_t> ready;  // futex; writer: the worker, 1 once it serves context 0
};

static_assert(sizeof(WorkerHead) <= worker_page_bytes);

[[nodiscard]] constexpr std::uint64_t worker_context_bytes() noexcept {
    return worker_pages(ring_bytes(worker_slots)) + worker_staging_bytes;
}

//   context  0 .. worker_contexts - 1
[[nodiscard]] constexpr std::uint64_t worker_ring_offset(std::uint32_t context) noexcept {
    return worker_page_bytes + context * worker_context_bytes();
}

[[nodiscard]] constexpr std::uint64_t worker_staging_offset(std::uint32_t context) noexcept {
    return worker_ring_offset(context) + worker_pages(ring_bytes(worker_slots));
}

// Bytes of the file; sparse.
[[nodiscard]] constexpr std::uint64_t worker_memory_bytes() noexcept {
    return worker_ring_offset(worker_contexts);
}

}  // namespace acp::call
