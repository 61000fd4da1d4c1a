// SPDX-License-Identifier: BSD-3-Clause
// That a scan lists exactly the written pages, whatever the pattern, and that no write escapes it.
#include "os/page_scan.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <vector>

#include "page_scene.hpp"
#include "support/child_process.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"

namespace acp::os {
namespace {

using acp::test::Random;
using base::Code;
using test::must;
using test::SharedPages;

using PageSet = std::set<std::uint64_t>;

// All written pages of [first, last), by calls with room for `room` runs; asserts the order.
PageSet scan_pages(const SharedPages& pages,
                   const PageScan& scan,
                   std::array<std::uint64_t, 2> range,
                   std::size_t room,
                   ScannedPages kind = ScannedPages::mapped) {
    std::vector<PageRun> runs(room);
    PageSet written;
    char* from = pages.at(range[0]);
    char* const to = pages.at(range[1]);
    while (from != to) {
        const auto step = must(scan.take_written(from, to, runs, kind));
        EXPECT_GT(step.scanned_to, from);
        EXPECT_LE(step.scanned_to, to);
        const char* last_end = from;
        for (const PageRun& run : step.runs) {
            EXPECT_GE(run.begin, last_end);
            EXPECT_GT(run.end, run.begin);
            EXPECT_LE(run.end, step.scanned_to);
            last_end = run.end;
            for (const char* page = run.begin; page != run.end; page += pages.page()) {
                EXPECT_TRUE(written.insert(pages.number_of(page)).second);
            }
        }
        from = step.scanned_to;
    }
    return written;
}

class PageScanTest : public testing::Test {
protected:
    void SetUp() override {
        if (!test::has_page_faults(PageFaultSupport::Kind::async)) {
            GTEST_SKIP() << probe_page_faults().reason;
        }
        scan_.emplace(must(PageScan::open()));
    }

    [[nodiscard]] const PageScan& scan() const { return *scan_; }

private:
    std::optional<PageScan> scan_;
};

// What the pages should be, beside the kernel's page table.
struct PageModel {
    PageSet mapped;
    PageSet written;

    // Forgets and returns the written pages of [first, last).
    PageSet take(std::array<std::uint64_t, 2> range) {
        const PageSet taken(written.lower_bound(range[0]), written.lower_bound(range[1]));
        for (const std::uint64_t i : taken) written.erase(i);
        return taken;
    }
};

// One random step on a run of pages, in both.
void change(const SharedPages& pages, PageModel& model, Random& random) {
    const std::uint64_t first = random.below(pages.pages());
    const std::uint64_t count =
        random.between(1, std::min<std::uint64_t>(9, pages.pages() - first));
    char* const at = pages.at(first);
    const std::uint64_t bytes = count * pages.page();
    const std::uint64_t kind = random.below(8);
    PageOutcome outcome;
    if (kind == 0) outcome = PageFaults::unmap_pages(at, bytes);
    if (kind == 1) outcome = pages.faults().protect(at, bytes);
    if (kind == 2 || kind == 3) outcome = pages.faults().map_pages(at, bytes, true);
    ASSERT_TRUE(outcome.is_ok()) << outcome.status().message();
    for (std::uint64_t i = first; i < first + count; ++i) {
        const bool is_mapped = model.mapped.count(i) != 0;
        if (kind == 0) model.mapped.erase(i);
        if (kind <= 1) model.written.erase(i);
        if (kind == 2 || kind == 3) model.mapped.insert(i);
        if (kind > 3 && is_mapped) {
            *(pages.watched(i) + random.below(pages.page())) = 'w';
            model.written.insert(i);
        }
    }
}

TEST_F(PageScanTest, lists_exactly_the_written_pages_of_random_patterns) {
    const std::uint64_t first_seed = acp::test::fresh_seed();
    const std::uint64_t seeds = acp::test::effort(1000, 50);
    for (std::uint64_t seed = first_seed; seed != first_seed + seeds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Random random(seed);
        const SharedPages pages(WriteTracking::async, random.between(1, 200));
        PageModel model;
        for (int epoch = 0; epoch < 4; ++epoch) {
            for (std::uint64_t left = random.below(60); left != 0; --left) {
                change(pages, model, random);
            }
            const std::uint64_t first = random.below(pages.pages());
            const std::uint64_t last = random.between(first + 1, pages.pages());
            const auto found = scan_pages(pages, scan(), {first, last}, random.between(1, 40));
            ASSERT_EQ(found, model.take({first, last}));
        }
        ASSERT_EQ(scan_pages(pages, scan(), {0, pages.pages()}, 7), model.written);
        ASSERT_TRUE(scan_pages(pages, scan(), {0, pages.pages()}, 7).empty());
    }
}

TEST_F(PageScanTest, lists_written_pages_without_protecting_them) {
    const SharedPages pages(WriteTracking::async, 20);
    ASSERT_TRUE(pages.faults().map_pages(pages.at(0), 20 * pages.page(), true).is_ok());
    for (const std::uint64_t i : {3U, 4U, 17U}) *pages.watched(i) = 'w';
    std::vector<PageRun> runs(8);
    for (int round = 0; round < 2; ++round) {
        const auto step = must(scan().find_written(pages.at(0), pages.at(20), runs));
        ASSERT_EQ(step.runs.size(), 2U);
        EXPECT_EQ(step.runs[0].begin, pages.at(3));
        EXPECT_EQ(step.runs[0].end, pages.at(5));
        EXPECT_EQ(step.runs[1].begin, pages.at(17));
        EXPECT_EQ(step.scanned_to, pages.at(20));
    }
    EXPECT_EQ(scan_pages(pages, scan(), {0, 20}, 8), (PageSet{3, 4, 17}));
    EXPECT_TRUE(must(scan().find_written(pages.at(0), pages.at(20), runs)).runs.empty());
}

TEST_F(PageScanTest, lists_absent_pages_on_request_unless_they_were_protected) {
    const SharedPages pages(WriteTracking::async, 4);
    ASSERT_TRUE(pages.faults().map_pages(pages.at(0), 3 * pages.page(), true).is_ok());
    *pages.watched(0) = 'w';
    *pages.watched(2) = 'w';
    ASSERT_TRUE(PageFaults::unmap_pages(pages.at(0), 2 * pages.page()).is_ok());
    EXPECT_EQ(scan_pages(pages, scan(), {0, 2}, 4), PageSet{});
    const PageSet found = scan_pages(pages, scan(), {0, 4}, 4, ScannedPages::mapped_or_absent);
    EXPECT_EQ(found, (PageSet{0, 2, 3}));  // 1: protected when it became absent; 3: never mapped
    EXPECT_TRUE(scan_pages(pages, scan(), {0, 4}, 4, ScannedPages::mapped_or_absent).empty());
}

TEST_F(PageScanTest, lists_written_pages_on_request_that_the_kernel_has_unmapped) {
    const SharedPages pages(WriteTracking::async, 8);
    ASSERT_TRUE(pages.faults().map_pages(pages.at(0), pages.bytes(), true).is_ok());
    for (const std::uint64_t i : {2U, 5U}) *pages.watched(i) = 'w';
    // The kernel takes pages away only where one mapping alone holds them: unmap the plain mapping first.
    char* const plain = const_cast<char*>(pages.plain(0));
    ASSERT_TRUE(PageFaults::unmap_pages(plain, pages.bytes()).is_ok());
    ASSERT_EQ(madvise(pages.at(0), pages.bytes(), MADV_PAGEOUT), 0);
    EXPECT_EQ(scan_pages(pages, scan(), {0, 8}, 8, ScannedPages::mapped_or_absent),
              (PageSet{2, 5}));
    EXPECT_EQ(*pages.plain(5), 'w');
}

TEST_F(PageScanTest, loses_no_write_of_a_thread_that_writes_at_the_same_time) {
    constexpr std::uint64_t count = 64;
    const SharedPages pages(WriteTracking::async, count);
    ASSERT_TRUE(pages.faults().map_pages(pages.at(0), pages.bytes(), true).is_ok());
    std::array<char, count> copies{};
    copies.fill(SharedPages::initial);
    const auto copy_written = [&] {
        for (const std::uint64_t i : scan_pages(pages, scan(), {0, count}, 16)) {
            copies[i] = __atomic_load_n(pages.at(i), __ATOMIC_RELAXED);  // any value; no order
        }
    };
    std::atomic<bool> has_ended{false};
    std::thread writer([&] {
        Random random(acp::test::fresh_seed());
        for (int i = acp::test::effort(100'000, 5'000); i != 0; --i) {
            const auto value = static_cast<char>(random.next());
            __atomic_store_n(pages.at(random.below(count)), value, __ATOMIC_RELAXED);
        }
        has_ended.store(true, std::memory_order_release);  // the writes; partner: the loop below
    });
    while (!has_ended.load(std::memory_order_acquire)) copy_written();
    writer.join();
    copy_written();
    for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(copies[i], *pages.plain(i)) << i;
}

TEST_F(PageScanTest, scans_at_most_one_step_in_a_call) {
    const std::uint64_t page = page_bytes();
    const SharedPages pages(WriteTracking::async, PageScan::step_bytes / page + 1);
    const std::uint64_t last = pages.pages() - 1;
    ASSERT_TRUE(pages.faults().map_pages(pages.at(last - 1), 2 * page, true).is_ok());
    *pages.watched(last - 1) = 'w';
    *pages.watched(last) = 'w';
    std::array<PageRun, 8> runs{};
    const auto step = must(scan().take_written(pages.at(0), pages.at(last + 1), runs));
    EXPECT_EQ(step.scanned_to, pages.at(last));
    ASSERT_EQ(step.runs.size(), 1U);
    EXPECT_EQ(step.runs[0].begin, pages.at(last - 1));
    EXPECT_EQ(scan_pages(pages, scan(), {0, last + 1}, 8), PageSet{last});
}

TEST_F(PageScanTest, refuses_ranges_that_are_not_watched_asynchronously) {
    const SharedPages sync(WriteTracking::sync, 1);
    const SharedPages pages(WriteTracking::async, 2);
    std::array<PageRun, 2> runs{};
    EXPECT_EQ(scan().take_written(sync.at(0), sync.at(1), runs).failure().code(), Code::state);
    char* const plain = const_cast<char*>(pages.plain(0));
    EXPECT_EQ(scan().take_written(plain, plain + pages.page(), runs).failure().code(), Code::state);
    const auto code_of = [&](char* begin, char* end, std::span<PageRun> room) {
        return scan().take_written(begin, end, room).failure().code();
    };
    EXPECT_EQ(code_of(pages.at(0) + 1, pages.at(1), runs), Code::argument);
    EXPECT_EQ(code_of(pages.at(1), pages.at(0), runs), Code::argument);
    EXPECT_EQ(code_of(pages.at(0), pages.at(0), runs), Code::argument);
    EXPECT_EQ(code_of(pages.at(0), pages.at(1), {}), Code::argument);
}

TEST_F(PageScanTest, is_refused_by_name_where_the_kernel_has_none) {
    acp::test::ChildProcess child([] {
        constexpr std::uint32_t scan_request = 0xc0606610;  // PAGEMAP_SCAN
        if (!test::refuse_call(SYS_ioctl, ENOTTY, scan_request)) return 1;
        const Status refused = PageScan::open().failure();
        const bool is_named = refused.message().find("PAGEMAP_SCAN") != std::string_view::npos;
        return refused.code() == Code::unsupported && is_named ? 0 : 2;
    });
    EXPECT_EQ(child.exit_code(), 0);
}

}  // namespace
}  // namespace acp::os
