// SPDX-License-Identifier: BSD-3-Clause
// What threads, system calls and children see of watched pages, with either way of write tracking,
// and what a process learns to which the kernel refuses the facility. Tests that change the process
// run in a child.
#include "os/page_faults.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "page_scene.hpp"
#include "support/child_process.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::os {
namespace {

using acp::test::ChildProcess;
using base::Code;
using test::must;
using test::SharedPages;

constexpr uid_t nobody = 65534;
constexpr int was_right = 11;
constexpr int was_wrong = 12;
constexpr std::array<WriteTracking, 2> both = {WriteTracking::async, WriteTracking::sync};

// Shared pages whose faults are counted and repaired: an absent page is mapped, a protected one is
// made writable.
class RepairedPages {
public:
    RepairedPages(WriteTracking tracking, std::uint64_t pages, bool is_mapped_protected = true)
        : pages_(tracking, pages),
          is_protected_(is_mapped_protected),
          mapped_(pages),
          range_(must(FaultRange::create(pages_.at(0), pages_.bytes(), repair, this))) {}

    SharedPages* operator->() noexcept { return &pages_; }

    // Faults since the last call.
    int faults() noexcept { return faults_.exchange(0); }

    // Makes a page absent.
    PageOutcome unmap(std::uint64_t i) {
        mapped_[i] = false;
        return PageFaults::unmap_pages(pages_.at(i), pages_.page());
    }

private:
    static bool repair(void* owner, const MemoryFault& fault) noexcept {
        auto& self = *static_cast<RepairedPages*>(owner);
        const std::uint64_t i = self.pages_.number_of(fault.address);
        ++self.faults_;
        if (fault.cause != FaultCause::absent) return false;
        if (self.mapped_[i].exchange(true)) {
            return self.pages_.faults().unprotect(self.pages_.at(i), self.pages_.page()).is_ok();
        }
        return self.pages_.faults()
            .map_pages(self.pages_.at(i), self.pages_.page(), self.is_protected_)
            .is_ok();
    }

    SharedPages pages_;
    bool is_protected_;
    std::vector<std::atomic<bool>> mapped_;
    std::atomic<int> faults_{0};
    FaultRange range_;
};

class PageFaultsTest : public testing::Test {
protected:
    void SetUp() override {
        if (!test::has_page_faults(PageFaultSupport::Kind::async)) {
            GTEST_SKIP() << probe_page_faults().reason;
        }
    }
};

TEST_F(PageFaultsTest, raise_a_signal_for_an_absent_page_although_the_file_has_its_bytes) {
    for (const WriteTracking tracking : both) {
        RepairedPages pages(tracking, 3);
        EXPECT_EQ(*pages->watched(1), SharedPages::initial);
        EXPECT_EQ(pages.faults(), 1);
        EXPECT_EQ(*pages->watched(1), SharedPages::initial);
        EXPECT_EQ(pages.faults(), 0);
    }
}

TEST_F(PageFaultsTest, raise_a_signal_for_a_write_to_a_protected_page_only_with_sync) {
    for (const WriteTracking tracking : both) {
        RepairedPages pages(tracking, 1);
        (void)*pages->watched(0);
        EXPECT_EQ(pages.faults(), 1);
        *pages->watched(0) = 'w';
        EXPECT_EQ(pages.faults(), tracking == WriteTracking::sync ? 1 : 0);
        EXPECT_EQ(*pages->plain(0), 'w');
        ASSERT_TRUE(pages->faults().protect(pages->at(0), pages->page()).is_ok());
        EXPECT_EQ(*pages->watched(0), 'w');
        EXPECT_EQ(pages.faults(), 0);
        *pages->watched(0) = 'x';
        EXPECT_EQ(pages.faults(), tracking == WriteTracking::sync ? 1 : 0);
    }
}

TEST_F(PageFaultsTest, keep_the_bytes_of_a_page_that_is_made_absent) {
    for (const WriteTracking tracking : both) {
        RepairedPages pages(tracking, 2, false);
        *pages->watched(0) = 'w';
        ASSERT_TRUE(pages.unmap(0).is_ok());
        EXPECT_EQ(*pages->plain(0), 'w');
        EXPECT_EQ(pages.faults(), 1);
        *pages->plain(0) = 'n';
        EXPECT_EQ(*pages->watched(0), 'n');
        EXPECT_EQ(pages.faults(), 1);
    }
}

TEST_F(PageFaultsTest, map_a_run_around_pages_that_are_mapped_already) {
    RepairedPages pages(WriteTracking::async, 9, false);
    for (const std::uint64_t i : {0U, 3U, 4U, 8U}) *pages->watched(i) = 'w';
    EXPECT_EQ(pages.faults(), 4);
    ASSERT_TRUE(pages->faults().map_pages(pages->at(0), pages->bytes(), true).is_ok());
    for (std::uint64_t i = 0; i < 9; ++i) (void)*pages->watched(i);
    EXPECT_EQ(pages.faults(), 0);
    EXPECT_EQ(*pages->watched(3), 'w');
}

TEST_F(PageFaultsTest, stop_mapping_at_the_first_page_without_bytes) {
    SharedPages pages(WriteTracking::async, 6, false);
    for (const std::uint64_t i : {0U, 1U, 2U, 5U}) *pages.plain(i) = 'b';
    const PageOutcome outcome = pages.faults().map_pages(pages.at(0), pages.bytes(), true);
    EXPECT_EQ(outcome.error, EFAULT);
    EXPECT_EQ(outcome.address, pages.at(3));
    EXPECT_EQ(outcome.bytes, 3 * pages.page());
    EXPECT_EQ(*pages.watched(2), 'b');
    const Status status = outcome.status();
    EXPECT_EQ(status.code(), Code::system);
    EXPECT_NE(status.message().find("UFFDIO_CONTINUE"), std::string::npos) << status.message();
}

TEST_F(PageFaultsTest, refuse_ranges_that_they_cannot_watch) {
    const SharedPages pages(WriteTracking::async, 2);
    auto other = must(PageFaults::open(WriteTracking::async));
    auto anonymous = must(Mapping::map_anonymous(page_bytes()));
    EXPECT_EQ(other.watch(pages.at(0) + 1, page_bytes()).code(), Code::argument);
    EXPECT_EQ(other.watch(pages.at(0), 0).code(), Code::argument);
    const Status busy = other.watch(pages.at(0), page_bytes());
    EXPECT_NE(busy.message().find("busy"), std::string::npos) << busy.message();
    char* const plain = const_cast<char*>(pages.plain(0));
    EXPECT_EQ(other.map_pages(plain, page_bytes(), false).error, ENOENT);
    EXPECT_EQ(other.protect(plain, page_bytes()).error, ENOENT);
    EXPECT_EQ(other.unprotect(plain, page_bytes()).error, ENOENT);
    EXPECT_EQ(other.watch(anonymous.data(), page_bytes()).code(), Code::unsupported);
    ChildProcess child([&] {  // a refused range stays inherited
        *anonymous.data() = 1;
        return 0;
    });
    EXPECT_EQ(child.exit_code(), 0);
}

TEST_F(PageFaultsTest, fail_system_calls_with_absent_buffers_and_track_those_with_protected_ones) {
    SharedPages pages(WriteTracking::async, 2);
    const int file = pages.file().get();
    EXPECT_EQ(pread(file, pages.at(0), 10, 0), -1);
    EXPECT_EQ(errno, EFAULT);
    ASSERT_TRUE(pages.faults().map_pages(pages.at(0), pages.page(), true).is_ok());
    EXPECT_EQ(pread(file, pages.at(0), 10, static_cast<off_t>(pages.page())), 10);
    std::array<PageRun, 4> runs{};
    const auto scan = must(PageScan::open());
    const auto step = must(scan.take_written(pages.at(0), pages.at(2), runs));
    ASSERT_EQ(step.runs.size(), 1U);
    EXPECT_EQ(step.runs[0].begin, pages.at(0));
}

// Each thread adds one to its own bytes of every page, whose repair stores the fetched bytes.
// Without the claim the second fetch of a page overwrites what the first thread has written since.
class ClaimedPages {
public:
    explicit ClaimedPages(std::uint64_t pages)
        : pages_(WriteTracking::async, pages, false),
          claims_(pages),
          range_(must(FaultRange::create(pages_.at(0), pages_.bytes(), fetch, this))) {}

    SharedPages* operator->() noexcept { return &pages_; }

private:
    static constexpr int absent = 0;
    static constexpr int is_fetched_now = 1;
    static constexpr int present = 2;

    static bool fetch(void* owner, const MemoryFault& fault) noexcept {
        auto& self = *static_cast<ClaimedPages*>(owner);
        const std::uint64_t i = self.pages_.number_of(fault.address);
        int expected = absent;
        // acquire and release: the bytes of the page, from the fetching thread to the other one
        if (!self.claims_[i].compare_exchange_strong(expected, is_fetched_now,
                                                     std::memory_order_acquire)) {
            while (self.claims_[i].load(std::memory_order_acquire) != present) sched_yield();
            return true;
        }
        std::memset(const_cast<char*>(self.pages_.plain(i)), 0, self.pages_.page());
        const bool is_mapped =
            self.pages_.faults().map_pages(self.pages_.at(i), self.pages_.page(), true).is_ok();
        self.claims_[i].store(present, std::memory_order_release);
        return is_mapped;
    }

    SharedPages pages_;
    std::vector<std::atomic<int>> claims_;
    FaultRange range_;
};

TEST_F(PageFaultsTest, keep_the_writes_of_two_threads_where_one_of_them_fetches_a_page) {
    const acp::test::ScopedWatchdog watchdog("two threads that fetch the same pages");
    constexpr std::uint64_t count = 2000;
    ClaimedPages pages(count);
    const auto write_all = [&](std::uint64_t offset) {
        for (std::uint64_t i = 0; i < count; ++i) {
            volatile char* const byte = pages->watched(i) + offset;
            *byte = static_cast<char>(*byte + 1);
        }
    };
    std::thread second([&] { write_all(64); });
    write_all(0);
    second.join();
    for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(*pages->plain(i), 1) << i;
        ASSERT_EQ(*(pages->plain(i) + 64), 1) << i;
    }
}

TEST_F(PageFaultsTest, serve_a_thread_on_an_alternative_stack_of_16_kib) {
    RepairedPages pages(WriteTracking::async, 4);
    std::thread([&] {
        std::vector<char> stack(16384);
        stack_t alternative{};
        alternative.ss_sp = stack.data();
        alternative.ss_size = stack.size();
        ASSERT_EQ(sigaltstack(&alternative, nullptr), 0);
        for (std::uint64_t i = 0; i < 4; ++i) (void)*pages->watched(i);
        alternative.ss_flags = SS_DISABLE;
        sigaltstack(&alternative, nullptr);
    }).join();
    EXPECT_EQ(pages.faults(), 4);
}

TEST_F(PageFaultsTest, are_not_inherited_by_a_child) {
    SharedPages pages(WriteTracking::async, 1);
    const auto end_with_cause = [](void* /*owner*/, const MemoryFault& fault) noexcept -> bool {
        _exit(fault.cause == FaultCause::unmapped ? was_right : was_wrong);
    };
    const auto range =
        must(FaultRange::create(pages.at(0), pages.bytes(), end_with_cause, nullptr));
    ChildProcess child([&] { return static_cast<int>(*pages.watched(0)); });
    EXPECT_EQ(child.exit_code(), was_right);
}

TEST_F(PageFaultsTest, work_for_a_user_without_privileges) {
    if (getuid() != 0) GTEST_SKIP() << "this process has none itself";
    ChildProcess child([] {
        // A change of the user makes /proc/self unreadable, as no exec follows.
        if (setuid(nobody) != 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) return was_wrong;
        RepairedPages pages(WriteTracking::async, 2);
        *pages->watched(1) = 'w';
        const bool is_async = probe_page_faults().kind == PageFaultSupport::Kind::async;
        return is_async && *pages->plain(1) == 'w' ? was_right : was_wrong;
    });
    EXPECT_EQ(child.exit_code(), was_right);
}

TEST_F(PageFaultsTest, say_that_a_sandbox_refuses_userfaultfd) {
    ChildProcess child([] {
        if (!test::refuse_call(SYS_userfaultfd, EPERM)) return was_wrong;
        const auto refused = PageFaults::open(WriteTracking::sync);
        const PageFaultSupport support = probe_page_faults();
        const bool is_right =
            !refused.is_ok() && support.kind == PageFaultSupport::Kind::none &&
            support.reason == refused.failure().message() &&
            support.reason.find("userfaultfd failed: Operation not permitted") != std::string::npos;
        return is_right ? was_right : was_wrong;
    });
    EXPECT_EQ(child.exit_code(), was_right);
}

TEST_F(PageFaultsTest, are_sync_where_the_kernel_lists_no_written_pages) {
    ChildProcess child([] {
        constexpr std::uint32_t scan_request = 0xc0606610;  // PAGEMAP_SCAN
        if (!test::refuse_call(SYS_ioctl, ENOTTY, scan_request)) return was_wrong;
        const PageFaultSupport support = probe_page_faults();
        const bool is_right = support.kind == PageFaultSupport::Kind::sync &&
                              support.reason.find("Linux 6.7") != std::string::npos;
        return is_right ? was_right : was_wrong;
    });
    EXPECT_EQ(child.exit_code(), was_right);
}

// Whether both descriptors are closed on exec, and none of them is a standard stream.
bool are_descriptors_right() {
    const auto faults = must(PageFaults::open(WriteTracking::async));
    const auto scan = must(PageScan::open());
    int right = 0;
    for (int number = 0; number < 20; ++number) {
        const int flags = fcntl(number, F_GETFD);
        if (flags < 0) continue;
        const auto link = "/proc/self/fd/" + std::to_string(number);
        const std::string name = std::filesystem::read_symlink(link).string();
        const bool is_own = name.find("userfaultfd") != std::string::npos ||
                            name.find("pagemap") != std::string::npos;
        if (is_own && number >= 3 && (flags & FD_CLOEXEC) != 0) ++right;
    }
    return right == 2;
}

TEST_F(PageFaultsTest, close_their_descriptors_on_exec_and_leave_standard_streams_free) {
    EXPECT_TRUE(are_descriptors_right());
    ChildProcess child([] {
        for (int stream = 0; stream < 3; ++stream) close(stream);
        return are_descriptors_right() ? was_right : was_wrong;
    });
    EXPECT_EQ(child.exit_code(), was_right);
}

TEST(PageFaultSupport, has_a_reason_for_all_but_the_best_kind_and_leaves_no_descriptor) {
    using std::filesystem::directory_iterator;
    const auto open_files = [] {
        return std::distance(directory_iterator("/proc/self/fd"), directory_iterator());
    };
    const auto before = open_files();
    const PageFaultSupport support = probe_page_faults();
    EXPECT_EQ(open_files(), before);
    EXPECT_EQ(support.reason.empty(), support.kind == PageFaultSupport::Kind::async);
}

}  // namespace
}  // namespace acp::os
