// SPDX-License-Identifier: BSD-3-Clause
// A merge takes the bytes that other nodes wrote into a page and its twin, while a thread writes other
// bytes of the same words: none of them is lost, a reader sees whole words alone, and a process that is
// killed or stopped before any store leaves a page that differs from its twin by own writes alone.
#include "pages/page_merge.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <vector>

#include "support/interleave.hpp"

namespace acp::pages {
namespace {

namespace sched = acp::test::sched;

constexpr std::array<std::size_t, 3> changed = {0, 7, page_words - 1};
constexpr std::uint64_t before = 0x1111111111111100U;
constexpr std::uint64_t after = 0x1111111122220000U;  // another byte 1, 2 and 3

template <template <class> class Atomic>
struct MergeScene {
    MergeScene() : page(page_words), twin(page_words), newest(page_words, before) {
        for (std::size_t i = 0; i < page_words; ++i) {
            page[i].store(before, std::memory_order_relaxed);
            twin[i].store(before, std::memory_order_relaxed);
        }
        for (const std::size_t i : changed) newest[i] = after;
    }

    [[nodiscard]] PageMerge<Atomic> merge() { return {page.data(), twin.data(), newest.data()}; }

    // Byte 0 of a word, as a thread stores it beside the others.
    void write(std::size_t i, std::uint64_t value) { store_bytes(page[i], value, 0xff); }

    std::vector<Atomic<std::uint64_t>> page;
    std::vector<Atomic<std::uint64_t>> twin;
    std::vector<std::uint64_t> newest;
};

TEST(PageMerge, has_the_bits_of_each_byte_that_is_not_zero) {
    EXPECT_EQ(bits_of_bytes(0), 0U);
    EXPECT_EQ(bits_of_bytes(1), 0xffU);
    EXPECT_EQ(bits_of_bytes(0x8000000000000000U), 0xff00000000000000U);
    EXPECT_EQ(bits_of_bytes(0x0100ff0000800010U), 0xff00ff0000ff00ffU);
    EXPECT_EQ(bits_of_bytes(~std::uint64_t{0}), ~std::uint64_t{0});
}

TEST(PageMerge, takes_the_bytes_that_differ_from_the_twin_alone) {
    MergeScene<std::atomic> scene;
    scene.write(0, 0x77);
    scene.write(3, 0x78);
    EXPECT_EQ(scene.merge().merge(), changed.size());
    EXPECT_EQ(scene.page[0].load(), after | 0x77);
    EXPECT_EQ(scene.twin[0].load(), after);
    EXPECT_EQ(scene.page[3].load(), before | 0x78);
    EXPECT_EQ(scene.twin[3].load(), before);
    EXPECT_EQ(scene.page[page_words - 1].load(), after);
    EXPECT_EQ(scene.merge().merge(), 0U);
}

TEST(PageMerge, copies_all_words) {
    struct alignas(page_bytes) Page {
        std::array<std::byte, page_bytes> bytes{};
    };

    Page from;
    Page to;
    for (std::size_t i = 0; i < page_bytes; ++i) from.bytes[i] = static_cast<std::byte>(i * 7);
    copy_words(to.bytes, from.bytes);
    EXPECT_EQ(to.bytes, from.bytes);
}

TEST(PageMerge, leaves_a_page_whose_differences_are_own_writes_wherever_it_dies) {
    sched::for_each_death(0, 2, [](const sched::Options& options) {
        MergeScene<sched::Atomic> scene;
        const sched::Outcome outcome = sched::run(
            options, {[&] { (void)scene.merge().merge(); },
                      [&] {
                          for (const std::size_t i : changed) {
                              scene.write(i, 0x55);
                              const std::uint64_t seen =
                                  scene.page[i].load(std::memory_order_relaxed);
                              EXPECT_TRUE(seen == (before | 0x55) || seen == (after | 0x55))
                                  << std::hex << seen;
                          }
                      }});
        EXPECT_EQ(outcome.failure, "");
        scene.merge().finish();
        scene.merge().finish();
        for (std::size_t i = 0; i < page_words; ++i) {
            const std::uint64_t difference = scene.page[i].peek() ^ scene.twin[i].peek();
            const bool is_own = std::find(changed.begin(), changed.end(), i) != changed.end();
            EXPECT_EQ(difference, is_own ? 0x55U : 0U) << i;
        }
        return outcome.is_victim_hit;
    });
}

}  // namespace
}  // namespace acp::pages
