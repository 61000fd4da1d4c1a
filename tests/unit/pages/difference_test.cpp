// SPDX-License-Identifier: BSD-3-Clause
// Each way to make a difference writes the bytes of its definition, and applying it stores the
// changed bytes and no other one. The parser refuses all that is not a difference; parts of a
// difference stand alone; the bytes that two nodes wrote are found. One thread.
#include "pages/difference.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "page_patterns.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"

namespace acp::pages {
namespace {

using Bytes = std::vector<std::byte>;

void append(Bytes& bytes, std::uint64_t word) {
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(word >> 8 * i));
}

// The definition of the format, byte by byte.
Bytes defined_difference(const PagePair& pair) {
    std::uint64_t dirty = 0;
    std::uint64_t whole = 0;
    Bytes lines;
    for (std::size_t line = 0; line < page_lines; ++line) {
        std::uint64_t mask = 0;
        Bytes changed;
        for (std::size_t i = 0; i < line_bytes; ++i) {
            const std::size_t place = line * line_bytes + i;
            if (pair.page[place] == pair.twin[place]) continue;
            mask |= std::uint64_t{1} << i;
            changed.push_back(pair.page[place]);
        }
        if (mask == 0) continue;
        dirty |= std::uint64_t{1} << line;
        if (~mask == 0) whole |= std::uint64_t{1} << line;
        if (~mask != 0) append(lines, mask);
        lines.insert(lines.end(), changed.begin(), changed.end());
    }
    Bytes difference;
    if (dirty == 0) return difference;
    append(difference, dirty);
    append(difference, whole);
    difference.insert(difference.end(), lines.begin(), lines.end());
    return difference;
}

Bytes copy_of(Difference difference) {
    return {difference.bytes().begin(), difference.bytes().end()};
}

PageArray random_page(test::Random& random) {
    return PagePair(random).twin;
}

// A page after the bytes that changed in the pair were stored into it.
PageArray merged(PageArray page, const PagePair& pair) {
    for (std::size_t i = 0; i < page_bytes; ++i) {
        if (pair.page[i] != pair.twin[i]) page[i] = pair.page[i];
    }
    return page;
}

struct Way {
    const char* name;
    ByteInstructions instructions;
    bool is_possible;
};

// As os/cpu.hpp, which this layer does not include.
#if defined(__x86_64__)
const bool has_shuffle = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("popcnt");
const bool has_compress = __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi") &&
                          __builtin_cpu_supports("bmi2");
#else
const bool has_shuffle = false;
const bool has_compress = false;
#endif

class DifferenceTest : public testing::TestWithParam<Way> {
protected:
    void SetUp() override {
        if (!GetParam().is_possible) GTEST_SKIP() << "this processor lacks its instructions";
    }

    DifferenceCode code_{GetParam().instructions};
    DifferenceRoom room_{};
};

INSTANTIATE_TEST_SUITE_P(Ways,
                         DifferenceTest,
                         testing::Values(Way{"words", {}, true},
                                         Way{"shuffles", {true, false}, has_shuffle},
                                         Way{"compression", {true, true}, has_compress}),
                         [](const auto& way) { return std::string(way.param.name); });

template <typename Check>
void for_each_pair(const Check& check) {
    test::Random random(1);
    for (std::size_t pattern = 0; pattern < page_patterns.size(); ++pattern) {
        for (int round = 0; round < test::effort(100, 10); ++round) {
            check(make_pair(pattern, random), random);
            if (testing::Test::HasFailure()) {
                ADD_FAILURE() << page_patterns[pattern] << ", round " << round;
                return;
            }
        }
    }
}

TEST_P(DifferenceTest, has_the_bytes_of_its_definition) {
    for_each_pair([this](const PagePair& pair, test::Random&) {
        EXPECT_EQ(copy_of(code_.make(room_, pair.page, pair.twin)), defined_difference(pair));
    });
}

TEST_P(DifferenceTest, is_accepted_by_the_parser_and_stores_the_changed_bytes_alone) {
    for_each_pair([this](const PagePair& pair, test::Random& random) {
        // In memory of exactly its length, so that AddressSanitizer finds a read behind it.
        const Bytes sent = copy_of(code_.make(room_, pair.page, pair.twin));
        const auto received = Difference::parse(sent);
        ASSERT_TRUE(received.has_value());
        PageArray home = random_page(random);
        const PageArray expected = merged(home, pair);
        struct alignas(page_bytes) {
            PageArray bytes;
        } shared{home};

        code_.apply(home, *received);
        EXPECT_EQ(home, expected);
        code_.apply_shared(shared.bytes, *received);
        EXPECT_EQ(shared.bytes, expected);
    });
}

TEST_P(DifferenceTest, of_a_page_with_one_unchanged_byte_a_line_is_the_longest) {
    test::Random random(2);
    const PagePair pair = make_pair(6, random);
    EXPECT_EQ(code_.make(room_, pair.page, pair.twin).bytes().size(), difference_bytes_max);
}

TEST_P(DifferenceTest, of_two_nodes_merge_in_any_order) {
    test::Random random(3);
    for (int round = 0; round < 50; ++round) {
        PagePair one(random);
        PagePair two = one;
        for (std::size_t i = 0; i < page_bytes; ++i) {
            const std::uint64_t chance = random.below(3);
            if (chance == 0) one.write(i);
            if (chance == 1) two.write(i);
        }
        const Bytes of_one = copy_of(code_.make(room_, one.page, one.twin));
        const Bytes of_two = copy_of(code_.make(room_, two.page, two.twin));
        PageArray home = one.twin;
        const PageArray expected = merged(merged(home, one), two);
        for (const Bytes* each :
             {round % 2 == 0 ? &of_one : &of_two, round % 2 == 0 ? &of_two : &of_one}) {
            code_.apply(home, *Difference::parse(*each));
        }
        EXPECT_EQ(home, expected);
    }
}

#if defined(__x86_64__)

// Another writer of the page's unchanged bytes, which stores between any two instructions of the
// tested code (the processor's trap flag): a byte that is loaded and stored back loses its store.
// It writes to the first lines alone, since it runs so often; the pair differs there alone.
struct SteppedWriter {
    inline static constexpr std::size_t bytes = 8 * line_bytes;
    inline static std::byte* page = nullptr;
    inline static const PagePair* pair = nullptr;
    inline static std::byte newest{};
    inline static std::uint64_t stores = 0;
    inline static bool has_lost = false;

    static void begin(const PagePair& of_pair, PageSpan of_page) noexcept {
        pair = &of_pair;
        page = of_page.data();
        stores = 0;
        has_lost = false;
        store(0);
    }

    static void store(int) noexcept {
        const std::byte last = newest;
        newest = static_cast<std::byte>(++stores);
        for (std::size_t i = 0; i < bytes; ++i) {
            if (pair->page[i] != pair->twin[i]) continue;
            has_lost = has_lost || (stores > 1 && page[i] != last);
            page[i] = newest;
        }
    }
};

void step_through(const DifferenceCode& code, PageSpan page, Difference difference) {
    asm volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "cc", "memory");
    code.apply(page, difference);
    asm volatile("pushfq\n andq $~0x100, (%%rsp)\n popfq" ::: "cc", "memory");
}

// Writes in the first lines alone.
PagePair make_stepped_pair(std::size_t pattern, test::Random& random) {
    PagePair pair = make_pair(pattern, random);
    std::copy(pair.twin.begin() + SteppedWriter::bytes, pair.twin.end(),
              pair.page.begin() + SteppedWriter::bytes);
    return pair;
}

// The writer has the processor's traps while this lives.
class TrapHandler {
public:
    TrapHandler() {
        struct sigaction action {};

        action.sa_handler = SteppedWriter::store;
        EXPECT_EQ(sigaction(SIGTRAP, &action, &before_), 0);
    }

    TrapHandler(const TrapHandler&) = delete;
    TrapHandler& operator=(const TrapHandler&) = delete;

    ~TrapHandler() { EXPECT_EQ(sigaction(SIGTRAP, &before_, nullptr), 0); }

private:
    struct sigaction before_ {};
};

TEST_P(DifferenceTest, is_applied_without_a_store_to_an_unchanged_byte) {
    const TrapHandler handler;
    test::Random random(4);
    for (const std::size_t pattern : {3U, 5U, 7U, 9U}) {
        const PagePair pair = make_stepped_pair(pattern, random);
        PageArray home = pair.twin;
        SteppedWriter::begin(pair, home);
        step_through(code_, home, code_.make(room_, pair.page, pair.twin));
        EXPECT_GT(SteppedWriter::stores, 4U);
        EXPECT_FALSE(SteppedWriter::has_lost) << page_patterns[pattern];
        PageArray others = pair.twin;
        std::fill_n(others.begin(), SteppedWriter::bytes, SteppedWriter::newest);
        EXPECT_EQ(home, merged(others, pair)) << page_patterns[pattern];
    }
}

#endif

Bytes valid_difference() {
    test::Random random(5);
    PagePair pair(random);
    write_run(pair, 60, 80);
    write_run(pair, 4000, 3);
    return defined_difference(pair);
}

TEST(DifferenceParser, refuses_a_difference_that_is_cut_or_longer) {
    Bytes bytes = valid_difference();
    ASSERT_TRUE(Difference::parse(bytes).has_value());
    for (std::size_t count = 1; count < bytes.size(); ++count) {
        EXPECT_FALSE(Difference::parse(std::span(bytes).first(count)).has_value()) << count;
    }
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(Difference::parse(bytes).has_value());
}

TEST(DifferenceParser, refuses_masks_that_no_difference_has) {
    const auto is_refused = [](std::size_t place, std::uint64_t word) {
        Bytes bytes = valid_difference();
        std::memcpy(bytes.data() + place, &word, sizeof word);
        return !Difference::parse(bytes).has_value();
    };
    Bytes none;
    append(none, 0);
    append(none, 0);
    EXPECT_FALSE(Difference::parse(none).has_value()) << "a head without a line";
    EXPECT_TRUE(is_refused(0, 0)) << "no line, and bytes";
    EXPECT_TRUE(is_refused(8, 2 | 8)) << "a whole line that did not change";
    EXPECT_TRUE(is_refused(16, 0)) << "a changed line without a changed byte";
    Bytes no_byte;
    append(no_byte, 1);
    append(no_byte, 0);
    append(no_byte, 0);
    EXPECT_FALSE(Difference::parse(no_byte).has_value()) << "a changed line of no byte, at the end";
    Bytes all;
    append(all, 1);
    append(all, 0);
    append(all, ~std::uint64_t{0});
    all.resize(all.size() + line_bytes);
    EXPECT_FALSE(Difference::parse(all).has_value()) << "a whole line that is not marked so";
}

std::vector<Bytes> parts_of(Difference difference, std::size_t bytes_max) {
    std::vector<Bytes> parts;
    Bytes room(bytes_max);
    DifferenceParts rest(difference);
    for (Difference part = rest.next(room); !part.is_empty(); part = rest.next(room)) {
        parts.push_back(copy_of(part));
    }
    return parts;
}

// Stores the parts in an order of chance. Returns their bytes without heads.
std::size_t apply_in_any_order(PageArray& home, std::vector<Bytes> parts, test::Random& random) {
    const DifferenceCode code{{}};
    std::size_t bytes = 0;
    while (!parts.empty()) {
        std::swap(parts[random.below(parts.size())], parts.back());
        const auto part = Difference::parse(parts.back());
        EXPECT_TRUE(part.has_value());
        if (part) code.apply(home, *part);
        bytes += parts.back().size() - difference_head_bytes;
        parts.pop_back();
    }
    return bytes;
}

TEST(DifferenceParts, stand_alone_within_their_bound) {
    const DifferenceCode code{{}};
    for (const std::size_t bytes_max :
         {DifferenceParts::part_bytes_min, std::size_t{1000}, std::size_t{1024}}) {
        for_each_pair([&](const PagePair& pair, test::Random& random) {
            DifferenceRoom room{};
            const Difference difference = code.make(room, pair.page, pair.twin);
            PageArray home = random_page(random);
            const PageArray expected = merged(home, pair);
            const std::size_t bytes =
                apply_in_any_order(home, parts_of(difference, bytes_max), random);
            EXPECT_EQ(home, expected);
            const std::size_t all = difference.bytes().size();
            EXPECT_EQ(bytes, all == 0 ? 0 : all - difference_head_bytes)
                << "each line is in one part";
        });
    }
}

TEST(DifferenceParts, of_any_difference_are_five_at_most_in_1000_bytes) {
    test::Random random(6);
    const DifferenceCode code{{}};
    DifferenceRoom room{};
    const PagePair pair = make_pair(6, random);
    EXPECT_EQ(parts_of(code.make(room, pair.page, pair.twin), 1000).size(), 5U);
}

TEST(WrittenBytes, of_two_nodes_have_the_bytes_that_both_wrote) {
    const DifferenceCode code{{}};
    test::Random random(7);
    PagePair one(random);
    PagePair two(random);
    write_run(one, 0, 130);
    write_run(one, 1000, 8);
    write_run(one, 3008, 1);
    write_run(one, 4095, 1);
    write_run(two, 120, 100);
    write_run(two, 1008, 8);
    write_run(two, 3008, 1);
    write_run(two, 4095, 1);
    DifferenceRoom rooms[2]{};
    const WrittenBytes both = WrittenBytes(code.make(rooms[0], one.page, one.twin)) &
                              WrittenBytes(code.make(rooms[1], two.page, two.twin));
    EXPECT_EQ(both.count(), 12U);
    const ByteRun first = both.run_from(0);
    EXPECT_EQ(first.first, 120U);
    EXPECT_EQ(first.count, 10U);
    EXPECT_EQ(both.run_from(125).first, 125U);
    EXPECT_EQ(both.run_from(125).count, 5U);
    EXPECT_EQ(both.run_from(130).first, 3008U);
    EXPECT_EQ(both.run_from(130).count, 1U);
    const ByteRun last = both.run_from(3009);
    EXPECT_EQ(last.first, 4095U);
    EXPECT_EQ(last.count, 1U);
    EXPECT_EQ(both.run_from(page_bytes).count, 0U);
}

TEST(WrittenBytes, of_neighbours_on_one_page_have_none_in_common) {
    const DifferenceCode code{{}};
    test::Random random(8);
    PagePair one(random);
    PagePair two(random);
    for (std::size_t i = 0; i < page_bytes; i += 2) one.write(i);
    for (std::size_t i = 1; i < page_bytes; i += 2) two.write(i);
    DifferenceRoom rooms[2]{};
    const WrittenBytes of_one(code.make(rooms[0], one.page, one.twin));
    const WrittenBytes of_two(code.make(rooms[1], two.page, two.twin));
    EXPECT_EQ(of_one.count(), page_bytes / 2);
    EXPECT_TRUE((of_one & of_two).is_empty());
    EXPECT_EQ((of_one & of_two).run_from(0).count, 0U);
    EXPECT_TRUE(WrittenBytes(Difference()).is_empty());
}

}  // namespace
}  // namespace acp::pages
