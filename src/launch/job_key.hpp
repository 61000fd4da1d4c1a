// SPDX-License-Identifier: BSD-3-Clause
// The secret of a job, from which its gateways derive their encryption keys. It travels on the
// launcher's channel alone, never in an argument, a variable or a file, and lies in memory that is
// excluded from core dumps, swap and forked children. Knows no cipher. A JobKey belongs to one
// thread.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.hpp"
#include "os/secret_memory.hpp"

namespace acp::launch {

inline constexpr std::size_t job_key_bytes = 32;

class JobKey {
public:
    JobKey() noexcept = default;  // no key: bytes() is empty

    // Makes room for a key; it is all zeros. Errors: memory, unsupported, as SecretMemory.
    static base::Result<JobKey> create() {
        auto memory = os::SecretMemory::allocate(job_key_bytes);
        if (!memory.is_ok()) return std::move(memory).failure();
        JobKey key;
        key.memory_ = std::move(memory).value();
        return key;
    }

    [[nodiscard]] std::span<std::byte> bytes() noexcept { return memory_.bytes(); }

private:
    os::SecretMemory memory_;
};

}  // namespace acp::launch
