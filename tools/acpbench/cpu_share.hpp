// SPDX-License-Identifier: BSD-3-Clause
// How much of a CPU the calling thread gets while it computes: less than all of it where other
// programs use the CPUs, and then its times say nothing of the library. One thread for each object.
#pragma once

#include <algorithm>
#include <cstdint>

#include "os/clock.hpp"
#include "os/cpu_time.hpp"

namespace acp::bench {

class CpuShare {
public:
    CpuShare() : cpu_begin_(os::own_cpu_ns()), begin_(os::now_ns()) {}

    [[nodiscard]] std::uint64_t elapsed_ns() const { return os::now_ns() - begin_; }

    // Since the object was made: 0 .. 1000.
    [[nodiscard]] std::uint64_t in_thousandths() const {
        const std::uint64_t all = std::max<std::uint64_t>(elapsed_ns(), 1);
        return std::min<std::uint64_t>(1000 * (os::own_cpu_ns() - cpu_begin_) / all, 1000);
    }

private:
    std::uint64_t cpu_begin_;
    std::uint64_t begin_;
};

}  // namespace acp::bench
