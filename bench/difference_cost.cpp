// SPDX-License-Identifier: BSD-3-Clause
// The cost of making and applying the difference of a 4 KiB page, by way and write pattern, as
// nanoseconds and as multiples of M, memcmp of two equal pages in the cache. The ways and M take
// turns in short rounds, so that a noisy machine disturbs all alike. Medians of the rounds, and of
// the ratios of neighbouring rounds.
//   difference_cost
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "os/clock.hpp"
#include "os/cpu.hpp"

#include "pages/difference.hpp"

namespace {

using namespace acp;
using namespace acp::pages;

constexpr int rounds = 201;
constexpr int passes = 8;                // of all pages, per round
constexpr std::size_t pages_count = 32;  // of a pattern; with their twins they stay in the cache

struct alignas(64) Page {
    std::array<std::byte, page_bytes> bytes;
};

struct Pattern {
    const char* name;
    std::size_t stride;  // bytes from one run to the next; 0: random words
    std::size_t bytes;   // of a run, or the number of random words
};

constexpr std::array patterns = {Pattern{"equal", page_bytes, 0},
                                 Pattern{"one word", 0, 1},
                                 Pattern{"64 words", 0, 64},
                                 Pattern{"every 2nd double", 16, 8},
                                 Pattern{"all", page_bytes, page_bytes},
                                 Pattern{"low 5 bytes of all", 8, 5}};

std::uint32_t next_random() {
    static std::uint64_t state = 1;
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state >> 33);
}

struct Pages {
    std::vector<Page> twins = std::vector<Page>(pages_count);
    std::vector<Page> pages;
    std::vector<Page> homes;
    std::vector<DifferenceRoom> rooms = std::vector<DifferenceRoom>(pages_count);
    std::vector<Difference> differences = std::vector<Difference>(pages_count);

    explicit Pages(const Pattern& pattern) {
        for (Page& twin : twins) {
            for (std::byte& byte : twin.bytes) byte = static_cast<std::byte>(next_random());
        }
        pages = twins;
        homes = twins;
        for (Page& page : pages) write(page, pattern);
    }

    static void change(Page& page, std::size_t first, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) page.bytes[first + i] ^= std::byte{0x5a};
    }

    static void write(Page& page, const Pattern& pattern) {
        if (pattern.stride == 0) {
            for (std::size_t i = 0; i < pattern.bytes; ++i) {
                change(page, std::size_t{next_random() % 512} * 8, 8);
            }
            return;
        }
        for (std::size_t i = 0; i < page_bytes; i += pattern.stride) change(page, i, pattern.bytes);
    }
};

// Nanoseconds for a page.
template <typename Work>
double time_of(const Work& work) {
    const std::uint64_t begin = os::now_ns();
    for (int pass = 0; pass < passes; ++pass) {
        for (std::size_t i = 0; i < pages_count; ++i) work(i);
    }
    return static_cast<double>(os::now_ns() - begin) / (passes * static_cast<double>(pages_count));
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + rounds / 2, values.end());
    return values[rounds / 2];
}

struct Way {
    const char* name;
    DifferenceCode code;
};

void compare(const Way& way, const Pattern& pattern) {
    Pages set(pattern);
    std::vector<double> bases;
    std::vector<double> times[2];
    std::vector<double> ratios[2];
    int unequal = 0;
    for (int round = 0; round < rounds; ++round) {
        bases.push_back(time_of([&](std::size_t i) {
            // volatile: the compiler must not know that nothing changed since the last pass
            const std::byte* volatile const twin = set.twins[i].bytes.data();
            unequal += std::memcmp(set.homes[i].bytes.data(), twin, page_bytes) != 0 ? 1 : 0;
        }));
        const double took[2] = {time_of([&](std::size_t i) {
                                    set.differences[i] = way.code.make(
                                        set.rooms[i], set.pages[i].bytes, set.twins[i].bytes);
                                }),
                                time_of([&](std::size_t i) {
                                    way.code.apply(set.homes[i].bytes, set.differences[i]);
                                })};
        // M is of equal pages.
        set.homes = set.twins;
        for (int i = 0; i < 2; ++i) {
            times[i].push_back(took[i]);
            ratios[i].push_back(took[i] / bases.back());
        }
    }
    std::printf("%-12s %-20s %6zu %7.0f %7.0f %6.1f %7.0f %6.1f%s\n", way.name, pattern.name,
                set.differences[0].bytes().size(), median(bases), median(times[0]),
                median(ratios[0]), median(times[1]), median(ratios[1]), unequal != 0 ? " ?" : "");
}

}  // namespace

int main() {
    std::vector<Way> ways = {{"words", DifferenceCode({})}};
    if (os::has_byte_shuffle()) ways.push_back({"shuffles", DifferenceCode({true, false})});
    if (os::has_byte_compress()) ways.push_back({"compression", DifferenceCode({true, true})});
    std::printf("%-12s %-20s %6s %7s %7s %6s %7s %6s   medians of %d rounds\n", "way", "pattern",
                "bytes", "M ns", "make", "/ M", "apply", "/ M", rounds);
    for (const Way& way : ways) {
        for (const Pattern& pattern : patterns) compare(way, pattern);
    }
    return 0;
}
