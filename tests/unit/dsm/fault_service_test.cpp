// SPDX-License-Identifier: BSD-3-Clause
// The fault service beside the work that all trackers share (tracker_conformance.hpp): it repairs
// faults without a context and those of threads that fault together, and reports refusals of the
// kernel.
#include "dsm/fault_service.hpp"

#include <array>
#include <csignal>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/child_process.hpp"
#include "support/scoped_watchdog.hpp"
#include "tracked_scene.hpp"

namespace acp::dsm::test {
namespace {

// As a program's own handler calls it that has no context.
bool repair_without_context(volatile char* address) {
    siginfo_t info{};
    info.si_signo = SIGSEGV;
    info.si_code = SEGV_ACCERR;
    info.si_addr = const_cast<char*>(address);
    return os::handle_fault(info, nullptr);
}

TEST(FaultService, reads_an_absent_page_and_writes_a_mapped_one_if_the_access_is_unknown) {
    TrackedScene scene(TrackerKind::protect, 40);
    EXPECT_TRUE(repair_without_context(scene.page(20)));
    EXPECT_EQ(scene.mapped().state(20), MappedState::is_protected);
    EXPECT_EQ(*scene.page(20), TrackedScene::initial(20 * page_bytes));
    EXPECT_TRUE(repair_without_context(scene.page(20)));
    EXPECT_EQ(scene.mapped().state(20), MappedState::written);
    EXPECT_EQ(scene.mapped().state(1), MappedState::absent);
    EXPECT_EQ(scene.faults(), 2U);
    EXPECT_FALSE(repair_without_context(scene.page(40)));
}

// A source that breaks its promise: the file has no bytes for the page.
class EmptySource final : public PageSource {
public:
    void bring(PageRange /*pages*/) noexcept override {}

    void bring_with(PageNumber /*page*/, std::span<const PageRange> /*others*/) noexcept override {}

    [[nodiscard]] bool try_bring(PageNumber /*page*/) noexcept override { return false; }

    [[nodiscard]] bool is_untracked(PageNumber /*page*/) const noexcept override { return false; }
};

TEST(FaultService, ends_the_process_by_a_sentence_if_the_kernel_refuses) {
    auto file = must(os::create_memory_file("acp-test", 4 * page_bytes));
    auto pages = must(os::Mapping::map_shared(file.get(), 4 * page_bytes));
    const TrackedMemory memory{pages.data(), 4};
    MappedPages<> mapped(4);
    auto tracker = Tracker::start(TrackerKind::sync, memory, mapped);
    if (!tracker.is_ok()) GTEST_SKIP() << tracker.failure().message();
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    acp::test::ChildProcess child([&] {
        const DefaultActions defaults;
        // A child does not inherit the tracker of its parent.
        auto own = must(os::Mapping::map_shared(file.get(), 4 * page_bytes));
        const TrackedMemory own_memory{own.data(), 4};
        MappedPages<> own_mapped(4);
        auto own_tracker = must(Tracker::start(TrackerKind::sync, own_memory, own_mapped));
        EmptySource source;
        PageFaultCounters counters;
        FaultService service(own_memory, own_mapped, source, counters);
        dup2(ends[1], STDERR_FILENO);
        if (!service.start(*own_tracker).is_ok()) return 1;
        return static_cast<int>(*static_cast<volatile char*>(own_memory.at(3)));
    });
    EXPECT_EQ(child.exit_code(), 128 + SIGBUS);
    std::array<char, 300> line{};
    ASSERT_GT(read(ends[0], line.data(), line.size() - 1), 0);
    const std::string said = line.data();
    EXPECT_NE(said.find("page 3 cannot be mapped: ioctl(UFFDIO_CONTINUE)"), std::string::npos)
        << said;
    close(ends[0]);
    close(ends[1]);
}

TEST(FaultService, serves_threads_that_touch_the_same_absent_pages) {
    const acp::test::ScopedWatchdog watchdog("threads that touch the same absent pages");
    for (const TrackerKind kind : {TrackerKind::async, TrackerKind::sync, TrackerKind::protect}) {
        auto file = must(os::create_memory_file("acp-test", page_bytes));
        auto page = must(os::Mapping::map_shared(file.get(), page_bytes));
        MappedPages<> one(1);
        if (!Tracker::start(kind, {page.data(), 1}, one).is_ok()) continue;
        TrackedScene scene(kind, 100);
        std::vector<std::thread> threads;
        for (std::uint64_t number = 0; number < 4; ++number) {
            threads.emplace_back([&scene, number] {
                for (PageNumber i = 0; i < scene.count(); ++i) *(scene.page(i) + number) = 'w';
            });
        }
        for (std::thread& thread : threads) thread.join();
        const PageList written = scene.harvest();
        EXPECT_EQ(written.pages().size(), 100U);
        for (PageNumber i = 0; i < scene.count(); ++i) {
            EXPECT_EQ(std::string(scene.plain(i), 4), "wwww") << i;
            EXPECT_EQ(scene.plain(i)[4], TrackedScene::initial(i * page_bytes + 4));
        }
    }
}

}  // namespace
}  // namespace acp::dsm::test
