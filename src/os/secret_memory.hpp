// SPDX-License-Identifier: BSD-3-Clause
// Memory for keys: kept out of swap and core dumps, zero in forked children, between two guard
// pages, and wiped before it is freed. Knows nothing of its content. An object belongs to one
// thread at a time.
// Tests: tests/unit/os/secret_memory_test.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/status.hpp"
#include "os/mapping.hpp"

namespace acp::os {

// Overwrites a secret with zeros in a way that no compiler removes. Also clears the vector
// registers, in which copying leaves parts of the secret that the next context save would store.
void wipe(std::span<std::byte> secret) noexcept;

class SecretMemory {
public:
    SecretMemory() noexcept = default;

    // Allocates zeroed memory, aligned to 64 bytes; its last byte lies right before the guard page
    // when `bytes` is a multiple of 64. Errors: argument (0 bytes), memory, unsupported (a kernel
    // that cannot exclude memory from dumps).
    static Result<SecretMemory> allocate(std::size_t bytes);

    SecretMemory(SecretMemory&& other) noexcept;
    SecretMemory& operator=(SecretMemory&& other) noexcept;
    SecretMemory(const SecretMemory&) = delete;
    SecretMemory& operator=(const SecretMemory&) = delete;

    ~SecretMemory() { release(); }

    [[nodiscard]] std::span<std::byte> bytes() noexcept { return bytes_; }

    // False when the limit of locked memory (ulimit -l) was used up: then the memory may be swapped
    // out.
    [[nodiscard]] bool is_locked() const noexcept { return is_locked_; }

private:
    void release() noexcept;

    Mapping mapping_;             // includes the guard pages
    std::span<std::byte> bytes_;  // the part between the guard pages
    bool is_locked_ = false;
};

}  // namespace acp::os
