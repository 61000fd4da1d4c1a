// SPDX-License-Identifier: BSD-3-Clause
// Loops that a rank divides among threads by OpenMP, as programs of two levels do. Knows nothing of
// what the loops do. One thread of a rank at a time.
#pragma once

#include <cstddef>
#include <functional>

namespace acp::bench {

// Whether this program was built with OpenMP.
[[nodiscard]] bool has_openmp();

// Whether as many ranks of one machine with as many threads each are to be run: there are CPUs for
// all, or it shall be seen that they work rather than how fast they are.
[[nodiscard]] bool can_run_threads(int ranks, int threads, bool is_quick);

// Calls work(begin, end) for parts of first .. last-1 that have all of it, in as many threads, and
// returns when all calls have returned.
//   threads  1: the caller alone; more only with has_openmp()
void by_threads(std::size_t first,
                std::size_t last,
                int threads,
                const std::function<void(std::size_t, std::size_t)>& work);

}  // namespace acp::bench
