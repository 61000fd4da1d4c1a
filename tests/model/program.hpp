// SPDX-License-Identifier: BSD-3-Clause
// A random program of copies, atomics and orders over the strips of one issuer, and what it must do: a
// sequential model. Races are excluded by construction: a step that touches what an earlier, perhaps unfinished
// step touches is ordered after it. Knows nothing of the library and of other issuers. Any thread; no state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/random.hpp"

namespace acp::test {

inline constexpr std::size_t steps_max = 30;
inline constexpr std::size_t counters = 4;  // shared by all issuers, at every location

enum class Verb : std::uint8_t {
    copy,
    cas,
    swap,
    add,
    bit_xor,
    bit_or,
    bit_and,
    min,
    max,
    count_add,
    count_xor
};

enum class OrderBy : std::uint8_t { nothing, handle, all, cont };

// What the issuer does after the step.
enum class Then : std::uint8_t {
    go_on,
    complete_handle,
    complete_all,
    wait_handle,
    inquire_handle
};

struct Spot {
    std::size_t location = 0;
    std::size_t offset = 0;
};

struct Step {
    Verb verb = Verb::copy;
    std::size_t bytes = 0;  // of a copy; width of an atomic
    Spot target;            // count_*: unused, the old value goes to a sink of the step
    Spot source;            // count_*: offset is the counter's number
    std::uint64_t operand = 0;
    std::uint64_t expected = 0;
    OrderBy order = OrderBy::nothing;
    std::size_t order_step = 0;  // OrderBy::handle: whose
    Then then = Then::go_on;
    std::size_t then_step = 0;
    std::size_t thread = 0;  // who issues it, when a program is passed among threads
    bool is_bare = false;    // an atomic without a target address: its old value is not wanted
    bool is_bad = false;     // its target address is outside the memory
    bool is_expected_to_run = true;
};

struct Shape {
    std::size_t strip_bytes = 256;       // what one issuer owns at one location
    std::size_t copy_bytes_max = 100;    // at most strip_bytes / 2
    std::vector<std::size_t> locations;  // those this issuer can reach
    std::size_t threads = 1;             // a step is issued by one of these
    bool is_cont_allowed = true;
    bool are_failures_allowed = true;
};

using Program = std::vector<Step>;

[[nodiscard]] Program make_program(Random& random, const Shape& shape);

// The number of failures of the program, each to be reported once.
[[nodiscard]] std::size_t failures_of(const Program& program);

// What the issuer's strips hold, by location, and what it did to the shared counters.
struct Model {
    std::vector<std::vector<std::byte>> strips;
    std::vector<std::array<std::uint64_t, counters>> added;
    std::vector<std::array<std::uint64_t, counters>> flipped;

    Model(std::size_t locations, std::size_t strip_bytes)
        : strips(locations, std::vector<std::byte>(strip_bytes)),
          added(locations),
          flipped(locations) {}

    void run(const Program& program);
};

[[nodiscard]] std::string describe(const Step& step);
[[nodiscard]] std::string describe(const Program& program);

}  // namespace acp::test
