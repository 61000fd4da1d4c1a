// SPDX-License-Identifier: BSD-3-Clause
// Pairs of pages for tests of differences: a random twin, and the page after writes of a known
// pattern. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "pages/page.hpp"
#include "support/random.hpp"

namespace acp::pages {

using PageArray = std::array<std::byte, page_bytes>;

struct PagePair {
    alignas(64) PageArray twin{};
    alignas(64) PageArray page{};

    explicit PagePair(test::Random& random) {
        for (std::byte& byte : twin) byte = static_cast<std::byte>(random.next());
        page = twin;
    }

    // Changes a byte, to a value that depends on the old one alone.
    void write(std::size_t place) { page[place] = twin[place] ^ std::byte{0x5a}; }
};

// The patterns of programs, then those that reach each kind of line and run.
inline constexpr std::array page_patterns = {
    "equal",     "one word",       "64 words",   "every 2nd double", "all",
    "low bytes", "all but a byte", "one a line", "random bytes",     "random runs"};

inline void write_run(PagePair& pair, std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count && i < page_bytes; ++i) pair.write(i);
}

//   pattern  below the number of patterns
inline PagePair make_pair(std::size_t pattern, test::Random& random) {
    PagePair pair(random);
    const auto write_words = [&](std::size_t stride, std::size_t bytes) {
        for (std::size_t i = 0; i < page_bytes; i += stride) write_run(pair, i, bytes);
    };
    switch (pattern) {
        case 0:
            break;
        case 1:
            write_run(pair, random.below(512) * 8, 8);
            break;
        case 2:
            for (int i = 0; i < 64; ++i) write_run(pair, random.below(512) * 8, 8);
            break;
        case 3:
            write_words(16, 8);
            break;
        case 4:
            write_words(8, 8);
            break;
        case 5:
            write_words(8, 5);
            break;
        case 6:
            for (std::size_t i = 0; i < page_bytes; i += line_bytes) {
                const std::size_t spared = random.below(line_bytes);
                write_run(pair, i, spared);
                write_run(pair, i + spared + 1, line_bytes - spared - 1);
            }
            break;
        case 7:
            for (std::size_t i = 0; i < page_bytes; i += line_bytes) {
                pair.write(i + random.below(line_bytes));
            }
            break;
        case 8:
            for (std::size_t i = 0; i < page_bytes; ++i) {
                if (random.chance(50)) pair.write(i);
            }
            break;
        default:
            for (std::size_t i = random.below(100); i < page_bytes;) {
                const std::size_t count = random.between(1, 150);
                write_run(pair, i, count);
                i += count + random.between(1, 150);
            }
            break;
    }
    return pair;
}

}  // namespace acp::pages
