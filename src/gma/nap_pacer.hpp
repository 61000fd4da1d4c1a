// SPDX-License-Identifier: BSD-3-Clause
// How long a sleeper naps between two looks at a word that may change without a ring: a share of
// the time that it has waited, at most a millisecond, so that it sees a plain store soon; longer
// only while its naps have used more than their share of a CPU, which is where a nap is dear (a
// virtual machine whose timer costs 25 us). Told the times; pure.
// Tests: tests/unit/gma/nap_pacer_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

namespace acp::gma {

class NapPacer {
public:
    static constexpr std::uint64_t nap_min_ns = 50'000;
    static constexpr std::uint64_t nap_max_ns = 1'000'000;
    static constexpr std::uint64_t dear_nap_max_ns = 16'000'000;
    static constexpr std::uint64_t waits_per_nap = 32;  // a nap lasts a 32nd of the time waited
    // Naps take at most a 600th of the time waited from a CPU, beside the time of the first short
    // ones: less than 0.2 % of a wait of some seconds.
    static constexpr std::uint64_t waits_per_cpu = 600;
    static constexpr std::uint64_t first_naps_cpu_ns = 500'000;

    //   waited_ns  since the sleep for the word began
    //   used_ns    CPU time of the thread since then
    [[nodiscard]] static std::uint64_t next(std::uint64_t waited_ns,
                                            std::uint64_t used_ns) noexcept {
        const bool is_dear = used_ns > waited_ns / waits_per_cpu + first_naps_cpu_ns;
        return std::clamp(waited_ns / waits_per_nap, nap_min_ns,
                          is_dear ? dear_nap_max_ns : nap_max_ns);
    }
};

}  // namespace acp::gma
