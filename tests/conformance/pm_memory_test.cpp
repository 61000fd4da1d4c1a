// SPDX-License-Identifier: BSD-3-Clause
// Memory that a rank locks and other ranks write and read without its help, and that is unmapped
// and mapped anew between two locks.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "conformance/pm_fixture.hpp"
#include "support/random.hpp"
#include "support/refuse_memory.hpp"

namespace acp::test {
namespace {

std::size_t page() {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

char* map_at(void* place, std::size_t bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (place != nullptr ? MAP_FIXED_NOREPLACE : 0);
    void* const mapped = mmap(place, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    EXPECT_TRUE(mapped != MAP_FAILED && (place == nullptr || mapped == place));
    return static_cast<char*>(mapped);
}

class PmMemoryTest : public PmFixture {
protected:
    PmMemoryTest() : PmFixture(7) {}

    acp_ga_t lock(void* address, std::size_t bytes) {
        acp_ga_t first = ACP_GA_NULL;
        EXPECT_EQ(acp_lock_pm(pm_, address, bytes, &first), 0) << acp_error_message();
        return first;
    }

    void unlock(acp_ga_t first) { EXPECT_EQ(acp_unlock_pm(pm_, first), 0) << acp_error_message(); }

    const int next_ = (rank_ + 1) % procs_;
    const int previous_ = (rank_ + procs_ - 1) % procs_;
};

// Each rank writes to the next rank's memory, and reads the previous rank's.
TEST_F(PmMemoryTest, is_written_and_read_by_others) {
    constexpr std::size_t bytes = 300'000;
    std::vector<char> mine(bytes, static_cast<char>('a' + rank_));
    std::vector<char> written(bytes);
    std::vector<char> read(bytes);
    const acp_ga_t source = lock(mine.data(), bytes);
    const acp_ga_t inbox = lock(written.data(), bytes);
    const acp_ga_t target = lock(read.data(), bytes);
    const std::vector<std::uint64_t> inboxes = exchange(inbox);
    const std::vector<std::uint64_t> sources = exchange(source);
    for (const std::size_t size : {std::size_t{1}, std::size_t{8}, std::size_t{4096}, bytes}) {
        const acp_handle_t put =
            acp_write_pm(pm_, inboxes[static_cast<std::size_t>(next_)], source, size);
        const acp_handle_t got =
            acp_read_pm(pm_, target, sources[static_cast<std::size_t>(previous_)], size);
        expect_done(put);
        expect_done(got);
        EXPECT_EQ(acp_inquire(put), 0) << "it is done";
        sync_ranks();
        const std::string expected(size, static_cast<char>('a' + previous_));
        EXPECT_EQ(std::memcmp(written.data(), expected.data(), size), 0) << size;
        EXPECT_EQ(std::memcmp(read.data(), expected.data(), size), 0) << size;
        sync_ranks();
        std::fill(written.begin(), written.end(), '-');
        std::fill(read.begin(), read.end(), '-');
        sync_ranks();
    }
    unlock(source);
    unlock(inbox);
    unlock(target);
}

TEST_F(PmMemoryTest, is_locked_as_often_as_it_is_unlocked) {
    char* const place = map_at(nullptr, 4 * page());
    const acp_ga_t whole = lock(place, 4 * page());
    const acp_ga_t part = lock(place + page() + 100, 10);
    unlock(whole);
    // Another rank reads memory that is still covered by one of two locks.
    std::memcpy(place + page() + 100, "ten bytes!", 10);
    const std::vector<std::uint64_t> parts = exchange(part);
    std::string content(10, '-');
    const acp_ga_t target = lock(content.data(), content.size());
    expect_done(acp_read_pm(pm_, target, parts[static_cast<std::size_t>(next_)], 10));
    EXPECT_EQ(content, "ten bytes!");
    unlock(target);
    sync_ranks();
    unlock(part);
    expect_refused(acp_unlock_pm(pm_, part), ACP_ERR_STALE, "no memory that is locked");
    EXPECT_EQ(munmap(place, 4 * page()), 0);
}

TEST_F(PmMemoryTest, that_was_mapped_anew_is_locked_anew) {
    constexpr int rounds = 20;
    const std::size_t bytes = 8 * page();
    char* place = map_at(nullptr, bytes);
    acp_ga_t before = ACP_GA_NULL;
    std::string content(8, '-');
    const acp_ga_t target = lock(content.data(), content.size());
    for (int round = 0; round < rounds; ++round) {
        const acp_ga_t now = lock(place, bytes);
        EXPECT_NE(now, before) << "round " << round;
        std::memcpy(place, round % 2 == 0 ? "one more" : "and more", 8);
        const std::vector<std::uint64_t> all = exchange(now);
        const std::vector<std::uint64_t> all_before = exchange(before);
        expect_done(acp_read_pm(pm_, target, all[static_cast<std::size_t>(next_)], 8));
        EXPECT_EQ(content, round % 2 == 0 ? "one more" : "and more");
        if (round != 0) {
            // The address of the lock before is refused, though other memory lies there.
            expect_failure(acp_read_pm(pm_, target, all_before[static_cast<std::size_t>(next_)], 8),
                           ACP_ERR_STALE);
        }
        sync_ranks();
        unlock(now);
        before = now;
        if (round % 3 == 0) {
            EXPECT_EQ(munmap(place, bytes), 0);
            place = map_at(place, bytes);
        } else if (round % 3 == 1) {
            // A new mapping replaces the old one in one call.
            ASSERT_EQ(mmap(place, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                      place);
        } else {
            void* const moved =
                mremap(place, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, map_at(nullptr, bytes));
            ASSERT_NE(moved, MAP_FAILED);
            EXPECT_EQ(munmap(moved, bytes), 0);
            place = map_at(place, bytes);
        }
    }
    unlock(target);
    EXPECT_EQ(munmap(place, bytes), 0);
}

TEST_F(PmMemoryTest, that_is_gone_cannot_be_locked) {
    char* const place = map_at(nullptr, 2 * page());
    unlock(lock(place, 2 * page()));
    EXPECT_EQ(munmap(place + page(), page()), 0);
    acp_ga_t first = 77;
    expect_refused(acp_lock_pm(pm_, place, 2 * page(), &first), ACP_ERR_ARGUMENT, "not mapped");
    EXPECT_EQ(first, 77U);
    unlock(lock(place, page()));
    EXPECT_EQ(munmap(place, page()), 0);
    expect_refused(acp_lock_pm(pm_, place, page(), &first), ACP_ERR_ARGUMENT, "not mapped");
}

// An access by the unlocked address is refused, whether other memory lies there or none.
TEST_F(PmMemoryTest, that_was_unlocked_is_not_touched) {
    const std::size_t bytes = page();
    char content[8] = "written";
    char* const place = map_at(nullptr, bytes);
    const acp_ga_t mine = lock(content, sizeof content);
    for (const bool is_unmapped : {false, true}) {
        const acp_ga_t inbox = lock(place, bytes);
        const acp_ga_t target = exchange(inbox)[static_cast<std::size_t>(next_)];
        sync_ranks();
        unlock(inbox);
        std::memset(place, 0, bytes);
        if (is_unmapped) {
            EXPECT_EQ(munmap(place, bytes), 0);
        }
        sync_ranks();
        expect_failure(acp_write_pm(pm_, target, mine, sizeof content), ACP_ERR_STALE);
        sync_ranks();
        if (!is_unmapped) {
            EXPECT_EQ(place[0], 0);
        }
    }
    unlock(mine);
}

TEST_F(PmMemoryTest, of_many_places_comes_and_goes) {
    constexpr std::size_t places = 300;
    char* const place = map_at(nullptr, 2 * places * page());
    std::vector<acp_ga_t> locked;
    for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < places; ++i)
            locked.push_back(lock(place + 2 * i * page(), page()));
        for (const acp_ga_t first : locked) unlock(first);
        locked.clear();
    }
    EXPECT_EQ(munmap(place, 2 * places * page()), 0);
}

// The first message to a rank takes a lease of one of its rings, and allocates memory for it. If
// the allocation is refused, the message is not sent, and the next one is.
TEST_F(PmMemoryTest, that_is_refused_for_a_lease_is_reported_and_the_next_message_is_sent) {
    // The next number whose context this process has never opened.
    int fresh = 12;
    int refused = 0;
    for (const std::uint64_t count : {std::uint64_t{1}, all_from_there}) {
        for (std::uint64_t first = 1; first <= 2; ++first) {
            sync_ranks();
            ASSERT_EQ(acp_close_pm(pm_), 0) << acp_error_message();
            sync_ranks();
            pm_ = acp_open_pm(fresh++);
            ASSERT_NE(pm_, ACP_PM_NULL) << acp_error_message();
            sync_ranks();
            std::uint64_t seen = 0;
            void* buffer = nullptr;
            int has_room = 0;
            {
                const Refusal refusal(first, count);
                for (int i = 0; i < 100 && has_room == 0; ++i)
                    has_room = acp_get_buffer_pm(pm_, next_, sizeof first, &buffer);
                seen = Refusal::seen();
            }
            if (seen >= first) ++refused;
            // A rank may see the context of a rank on another node as closed for some calls after
            // that rank has opened it.
            bool may_be_refused = true;
            while (has_room != 1) {
                if (has_room < 0 && acp_errno() != ACP_ERR_STALE) {
                    ASSERT_TRUE(may_be_refused && acp_errno() == ACP_ERR_MEMORY)
                        << acp_error_message();
                    may_be_refused = false;
                }
                has_room = acp_get_buffer_pm(pm_, next_, sizeof first, &buffer);
            }
            std::memcpy(buffer, &first, sizeof first);
            ASSERT_EQ(acp_send_pm(pm_), 0) << acp_error_message();
            const void* data = nullptr;
            std::size_t size = 0;
            int source = -1;
            int has_come = 0;
            while (has_come == 0) has_come = acp_receive_pm(pm_, &data, &size, &source);
            ASSERT_EQ(has_come, 1) << acp_error_message();
            EXPECT_EQ(source, previous_);
            ASSERT_EQ(size, sizeof first);
            EXPECT_EQ(std::memcmp(data, &first, size), 0);
            EXPECT_EQ(acp_release_pm(pm_), 0) << acp_error_message();
            flush();
        }
    }
    EXPECT_GT(refused, 0);
}

TEST_F(PmMemoryTest, wrong_calls_are_refused) {
    char content[8] = {};
    acp_ga_t first = ACP_GA_NULL;
    expect_refused(acp_lock_pm(pm_, nullptr, 8, &first), ACP_ERR_ARGUMENT, "NULL");
    expect_refused(acp_lock_pm(pm_, content, 0, &first), ACP_ERR_ARGUMENT, "0 bytes");
    expect_refused(acp_lock_pm(pm_, content, 8, nullptr), ACP_ERR_ARGUMENT, "first is NULL");
    expect_refused(acp_lock_pm(pm_, content, SIZE_MAX, &first), ACP_ERR_ARGUMENT, "beyond the end");
    expect_refused(acp_lock_pm(pm_, content, std::size_t{1} << 62, &first), ACP_ERR_ARGUMENT, "");
    expect_refused(acp_lock_pm(ACP_PM_NULL, content, 8, &first), ACP_ERR_STALE, "no such context");
    expect_refused(acp_unlock_pm(pm_, ACP_GA_NULL), ACP_ERR_STALE, "no memory");
    expect_refused(acp_unlock_pm(ACP_PM_NULL, ACP_GA_NULL), ACP_ERR_STALE, "no such context");
    const acp_ga_t mine = lock(content, sizeof content);
    const acp_ga_t others = exchange(mine)[static_cast<std::size_t>(next_)];
    if (procs_ > 1) {
        EXPECT_EQ(acp_write_pm(pm_, mine, others, 8), ACP_HANDLE_NULL);
        const std::string of_next = " on rank " + std::to_string(next_) + " is not an address";
        expect_error(ACP_ERR_ARGUMENT, {"acp_write_pm(context ", ": source 0x", of_next});
        EXPECT_EQ(acp_read_pm(pm_, others, mine, 8), ACP_HANDLE_NULL);
        expect_error(ACP_ERR_ARGUMENT, {"acp_read_pm(context ", ": target 0x", of_next});
    }
    EXPECT_EQ(acp_write_pm(ACP_PM_NULL, others, mine, 8), ACP_HANDLE_NULL);
    EXPECT_EQ(acp_errno(), ACP_ERR_STALE);
    sync_ranks();
    unlock(mine);
}

}  // namespace
}  // namespace acp::test
