// SPDX-License-Identifier: BSD-3-Clause
// The one file that is compiled with OpenMP.
#include "rank_threads.hpp"

#include "os/cpu.hpp"

namespace acp::bench {

bool has_openmp() {
    return ACP_BENCH_OPENMP != 0;
}

bool can_run_threads(int ranks, int threads, bool is_quick) {
    return has_openmp() && (is_quick || ranks * threads <= os::usable_cpus());
}

void by_threads(std::size_t first,
                std::size_t last,
                int threads,
                const std::function<void(std::size_t, std::size_t)>& work) {
    if (threads <= 1) {
        work(first, last);
        return;
    }
    const auto parts = static_cast<std::size_t>(threads);
    const auto cut = [&](int part) {
        return first + (last - first) * static_cast<std::size_t>(part) / parts;
    };
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int part = 0; part < threads; ++part) work(cut(part), cut(part + 1));
}

}  // namespace acp::bench
