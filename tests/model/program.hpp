// SPDX-License-Identifier: BSD-3-Clause
// A random program of copies, atomics and orders over the strips of one issuer, and its expected
// result: a sequential model. Races are excluded by construction: a step that accesses memory of an
// earlier, perhaps incomplete step is ordered after it. Knows neither the library nor other
// issuers. Any thread; no state.
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

// The issuer's action after the step.
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
    std::size_t bytes = 0;  // length of a copy, width of an atomic
    Spot target;            // count_*: unused, the old value goes to a sink of the step
    Spot source;            // count_*: the offset is the counter's number
    std::uint64_t operand = 0;
    std::uint64_t expected = 0;
    OrderBy order = OrderBy::nothing;
    std::size_t order_step = 0;  // OrderBy::handle: the step with that handle
    Then then = Then::go_on;
    std::size_t then_step = 0;
    std::size_t thread = 0;  // the thread that issues it, if a program is distributed to threads
    bool is_bare = false;    // an atomic without a target address: its old value is not wanted
    bool is_bad = false;     // its target address is outside the memory
    bool is_expected_to_run = true;
};

struct Shape {
    std::size_t strip_bytes = 256;       // bytes of one issuer at one location
    std::size_t copy_bytes_max = 100;    // no more than strip_bytes / 2
    std::vector<std::size_t> locations;  // locations that this issuer can reach
    std::size_t threads = 1;             // each step is issued by one of as many threads
    bool is_cont_allowed = true;
    bool are_failures_allowed = true;
};

using Program = std::vector<Step>;

[[nodiscard]] Program make_program(Random& random, const Shape& shape);

// The number of failures of the program, each to be reported once.
[[nodiscard]] std::size_t failures_of(const Program& program);

// The final content of the issuer's strips, by location, and the changes of the shared counters.
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
