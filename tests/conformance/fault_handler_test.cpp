// SPDX-License-Identifier: BSD-3-Clause
// Calls made in the handler of a fault that the program's own access raised: pages that are fetched
// from another rank when they are first touched, where memory was protected (SIGSEGV) and where the
// file behind it was too short (SIGBUS). A fault inside a call of ACP is the program's mistake
// (acp(7)); yet a call in its handler must not clear the hazard line of the command that it
// interrupted.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/clock.hpp"
#include "support/kind_test.hpp"

namespace acp::test {
namespace {

constexpr std::size_t page_count = 24;

std::size_t page_bytes() {
    static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

// Memory of this process whose pages are fetched from another rank at their first access. One
// object at a time.
class FetchedPages {
public:
    //   arena  its first pages are the content; each process has one more page, where fetched pages
    // arrive
    FetchedPages(const Arena& arena, int owner, int caller, int signal_number)
        : arena_(arena), owner_(owner), caller_(caller), file_(memfd_create("fetched", 0)) {
        if (signal_number == SIGSEGV) lengthen();
        memory_ = static_cast<std::byte*>(
            mmap(nullptr, bytes(), rights(signal_number), MAP_SHARED, file_, 0));
        EXPECT_NE(memory_, MAP_FAILED);
        current = this;

        struct sigaction action {};

        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO;
        EXPECT_EQ(sigaction(signal_number, &action, &before_), 0);
        signal_ = signal_number;
    }

    FetchedPages(const FetchedPages&) = delete;
    FetchedPages& operator=(const FetchedPages&) = delete;

    ~FetchedPages() {
        EXPECT_EQ(sigaction(signal_, &before_, nullptr), 0);
        current = nullptr;
        EXPECT_EQ(munmap(memory_, bytes()), 0);
        close(file_);
    }

    [[nodiscard]] std::byte* memory() const { return memory_; }

    [[nodiscard]] int faults() const { return faults_; }

private:
    static std::size_t bytes() { return page_count * page_bytes(); }

    static int rights(int signal_number) {
        return signal_number == SIGSEGV ? PROT_NONE : PROT_READ | PROT_WRITE;
    }

    void lengthen() { EXPECT_EQ(ftruncate(file_, static_cast<off_t>(bytes())), 0); }

    // Fills the page through a second mapping, so that no thread reads a half-filled page.
    void fill(std::size_t at, const std::byte* content) const {
        EXPECT_EQ(pwrite(file_, content, page_bytes(), static_cast<off_t>(at)),
                  static_cast<ssize_t>(page_bytes()));
    }

    void fetch(std::size_t at) {
        ++faults_;
        const std::size_t landing = bytes();
        acp_complete(acp_copy(arena_.at(caller_, landing), arena_.at(owner_, at), page_bytes(),
                              ACP_HANDLE_NULL));
        fill(at, arena_.local().data() + landing);
        if (signal_ == SIGSEGV) {
            EXPECT_EQ(mprotect(memory_ + at, page_bytes(), PROT_READ | PROT_WRITE), 0);
        }
    }

    static void on_fault(int number, siginfo_t* info, void* /*context*/) {
        const int kept = errno;
        const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
        const auto begin = reinterpret_cast<std::uintptr_t>(current->memory_);
        if (address < begin ||
            // Another fault: the process ends by it.
            address >= begin + bytes()) {
            (void)std::signal(number, SIG_DFL);
            return;
        }
        current->fetch((address - begin) / page_bytes() * page_bytes());
        errno = kept;
    }

    static FetchedPages* current;

    const Arena& arena_;
    int owner_;
    int caller_;
    int file_;
    int signal_ = 0;
    std::byte* memory_ = nullptr;

    struct sigaction before_ {};

    int faults_ = 0;
};

FetchedPages* FetchedPages::current = nullptr;

class FaultHandlerTest : public KindTest {
protected:
    // Reads all pages in order; each raises one fault, since its handler lengthens the file by one
    // page.
    void expect_content(const FetchedPages& pages, int owner) const {
        std::vector<std::byte> expected(page_count * page_bytes());
        fill_pattern(expected, 1, owner);
        for (std::size_t page = 0; page < page_count; ++page) {
            const std::size_t at = page * page_bytes();
            EXPECT_EQ(std::memcmp(pages.memory() + at, expected.data() + at, page_bytes()), 0)
                << page;
        }
        EXPECT_EQ(pages.faults(), static_cast<int>(page_count));
    }
};

TEST_P(FaultHandlerTest, may_copy_the_page_that_was_touched) {
    if (!reaches(next())) GTEST_SKIP() << "this mode does not reach registered memory";
    const Arena arena(GetParam(), (page_count + 1) * page_bytes());
    fill_pattern(arena.local().first(page_count * page_bytes()), 1, rank_);
    sync_ranks();
    for (const int number : {SIGSEGV, SIGBUS}) {
        const FetchedPages pages(arena, next(), rank_, number);
        expect_content(pages, next());
    }
    sync_ranks();
}

TEST_P(FaultHandlerTest, may_call_while_other_threads_of_the_process_do) {
    if (!reaches(next())) GTEST_SKIP() << "this mode does not reach registered memory";
    const Arena arena(GetParam(), (page_count + 1) * page_bytes() + 64);
    fill_pattern(arena.local().first(page_count * page_bytes()), 1, rank_);
    sync_ranks();
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        const std::size_t word = (page_count + 1) * page_bytes();
        while (!is_over.load()) {
            acp_complete(acp_copy(arena.at(rank_, word), arena.at(rank_at(1), word + 8), 8,
                                  ACP_HANDLE_NULL));
        }
    });
    for (int round = 0; round < 3; ++round) {
        const FetchedPages pages(arena, next(), rank_, SIGSEGV);
        expect_content(pages, next());
    }
    is_over.store(true);
    other.join();
    sync_ranks();
}

// Makes a call in the handler of a fault that a command of this thread has raised, and records
// whether acp_unregister_memory of the command's target returned in that time.
class InterruptedPut {
public:
    static void on_fault(int /*number*/, siginfo_t* /*info*/, void* /*context*/) {
        const int kept = errno;
        acp_complete(acp_copy(other, other + 8, 8, ACP_HANDLE_NULL));
        is_inside.store(true);
        const std::int64_t until_ns = now_ns() + 100 * millisecond_ns;
        while (!is_given_back.load() && now_ns() < until_ns) std::this_thread::yield();
        was_given_back = is_given_back.load();
        mprotect(page, page_bytes(), PROT_READ | PROT_WRITE);
        errno = kept;
    }

    static inline acp_ga_t other = 0;
    static inline void* page = nullptr;
    static inline std::atomic<bool> is_inside{false};
    static inline std::atomic<bool> is_given_back{false};
    static inline bool was_given_back = false;
};

using InterruptedTest = RankedTest;

TEST_F(InterruptedTest, command_stays_named_while_its_fault_handler_makes_a_call) {
    const char* const bypass = std::getenv("ACP_BYPASS");
    if (bypass != nullptr && std::string_view(bypass) == "off") {
        GTEST_SKIP()
            << "the caller's thread is inside no memory: the service thread moves the bytes";
    }
    alignas(64) static std::byte memory[4096];
    for (const std::size_t size : {std::size_t{8}, std::size_t{64}, std::size_t{1000}}) {
        const acp_atkey_t key = acp_register_memory(memory, sizeof memory, 0);
        ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
        const acp_ga_t target = acp_query_ga(key, memory);
        InterruptedPut::other = acp_query_starter_ga(rank_);
        InterruptedPut::page =
            mmap(nullptr, page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(InterruptedPut::page, MAP_FAILED);
        InterruptedPut::is_inside = InterruptedPut::is_given_back = false;

        struct sigaction action {};

        struct sigaction before {};

        action.sa_sigaction = InterruptedPut::on_fault;
        action.sa_flags = SA_SIGINFO;
        ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
        std::thread owner([key] {
            while (!InterruptedPut::is_inside.load()) std::this_thread::yield();
            EXPECT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
            InterruptedPut::is_given_back.store(true);
        });
        const acp_handle_t put = acp_put(target, InterruptedPut::page, size, ACP_HANDLE_NULL);
        owner.join();
        ASSERT_EQ(sigaction(SIGSEGV, &before, nullptr), 0);
        EXPECT_FALSE(InterruptedPut::was_given_back) << size << " bytes";
        expect_done(put);
        ASSERT_EQ(munmap(InterruptedPut::page, page_bytes()), 0);
    }
    sync_ranks();
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         FaultHandlerTest,
                         ::testing::Values(Kind::starter, Kind::registered),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace acp::test
