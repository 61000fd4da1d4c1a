// SPDX-License-Identifier: BSD-3-Clause
// The secret of a job, from which its gateways derive what they encrypt with. It travels on the launcher's channel
// alone, never in an argument, a variable or a file, and lies in memory that is in no core dump, no swap and no
// child. Knows no cipher. A JobKey belongs to one thread.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.hpp"
#include "os/secret_memory.hpp"

namespace acp::launch {

inline constexpr std::size_t job_key_bytes = 32;

class JobKey {
public:
    JobKey() noexcept = default;  // none: bytes() is empty

    // Room for a key, zeros so far. Errors: memory, unsupported, as SecretMemory.
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
