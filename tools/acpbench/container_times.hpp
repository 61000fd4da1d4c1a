// SPDX-License-Identifier: BSD-3-Clause
// What the experiments on lists, vectors and deques have in common: calls on a container of the own
// process, of another rank of the node and of another node, timed beside the same calls on a
// container of the C++ library, or beside a copy of 8 bytes; and all ranks at once on one
// container. Rank 0 calls, the others sleep but for the last.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "os/clock.hpp"

#include "job.hpp"
#include "options.hpp"
#include "row.hpp"

namespace acp::bench {

// Has the compiler keep what made a word.
inline void keep(std::uint64_t word) {
    [[maybe_unused]] static volatile std::uint64_t kept;
    kept = word;
}

// The time of one call, by the name of the call, in the order in which they came first.
class CallTimes {
public:
    //   each(i)  the call, for i in [0, count)
    template <typename Each>
    void time(const std::string& call, std::uint64_t count, const Each& each) {
        const std::uint64_t start = os::now_ns();
        for (std::uint64_t i = 0; i < count; ++i) each(i);
        add(call, static_cast<double>(os::now_ns() - start) / 1e3 / static_cast<double>(count));
    }

    // One call that does something to `count` elements.
    template <typename Whole>
    void time_whole(const std::string& call, std::uint64_t count, const Whole& whole) {
        const std::uint64_t start = os::now_ns();
        whole();
        add(call, static_cast<double>(os::now_ns() - start) / 1e3 / static_cast<double>(count));
    }

    struct Call {
        std::string name;
        std::vector<double> us;
    };

    [[nodiscard]] const std::vector<Call>& calls() const { return calls_; }

    // Empty: there is no such call.
    [[nodiscard]] std::vector<double> us_of(const std::string& call) const;

private:
    void add(const std::string& call, double us);

    std::vector<Call> calls_;
};

// A container of the library and its like of the C++ library.
struct ContainerKind {
    std::string experiment;
    std::string name;       // "list"
    std::string yardstick;  // "std::list"
    // Each creates a container of `elements` elements, times its calls and destroys it; both use
    // the same names of calls.
    std::function<void(int owner, std::uint64_t elements, CallTimes& times)> run;
    std::function<void(std::uint64_t elements, CallTimes& times)> run_beside;
    // A container on a rank for all ranks, and the end of it.
    std::function<acp_ga_t(int owner)> make;
    std::function<void(acp_ga_t container)> destroy;
    // Puts an element at one end and takes one from the other.
    std::function<void(acp_ga_t container)> pass;
    std::function<void()> pass_beside;
};

// On every rank. Returns rank 0's rows; none on others, which do what rank 0 says until it leaves.
std::vector<Row> measure_container_kinds(Job& job,
                                         const Options& options,
                                         const std::vector<ContainerKind>& kinds);

// Bytes that blocks take in the heap of a rank.
[[nodiscard]] std::uint64_t heap_bytes_of(int rank);

}  // namespace acp::bench
