// SPDX-License-Identifier: BSD-3-Clause
// Kept registrations: a use takes one that holds its range and allows its accesses, no two uses share
// one, the least recently used ones are ended, and what the program does to its pages does no harm.
#include "gma/registration_cache.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "unit/local/test_owner.hpp"

namespace acp::gma::test {
namespace {

using base::Code;
using OwnRange = RegistrationCache::OwnRange;
using Use = RegistrationCache::Use;

constexpr std::uint64_t page = 4096;

class RegistrationCacheTest : public testing::Test {
protected:
    [[nodiscard]] OwnRange range(std::uint64_t offset,
                                 std::uint64_t bytes,
                                 bool is_written = false) {
        return {memory_.data() + offset, bytes, is_written};
    }

    Use begin(const OwnRange& range) {
        auto use = cache_.begin(range);
        EXPECT_TRUE(use.is_ok()) << use.failure().message();
        return use.is_ok() ? use.value() : Use{};
    }

    // A use that has ended.
    Use keep(const OwnRange& range) {
        const Use use = begin(range);
        cache_.keep(use.number);
        return use;
    }

    [[nodiscard]] std::uint32_t live() const { return owner_.registry->live(); }

    node::Segment node_ = local::test::make_node(1, 1);
    local::test::Owner owner_{node_, 0};
    std::vector<char> memory_ = std::vector<char>(1 << 20, 'm');
    RegistrationCache cache_{*owner_.registry};
};

TEST_F(RegistrationCacheTest, gives_an_address_of_the_ranges_first_byte) {
    const Use use = begin(range(100, 50'000));
    EXPECT_EQ(owner_.direct(use.address), memory_.data() + 100);
    EXPECT_EQ(owner_.find(use.address, 50'000), Code::ok);
    EXPECT_NE(owner_.find(use.address, 50'001), Code::ok);
}

TEST_F(RegistrationCacheTest, registers_once_for_uses_of_the_same_memory_and_of_its_parts) {
    (void)keep(range(0, 100'000));
    for (std::uint64_t i = 0; i < 100; ++i) {
        const Use use = keep(range(i, 100'000 - 2 * i));
        EXPECT_EQ(owner_.direct(use.address), memory_.data() + i);
    }
    EXPECT_EQ(live(), 1U);
    (void)keep(range(0, 100'001));
    EXPECT_EQ(live(), 2U) << "a byte behind the end";
    (void)keep(range(99'999, 1));
    EXPECT_EQ(live(), 2U) << "the last byte";
}

TEST_F(RegistrationCacheTest, gives_each_use_a_registration_of_its_own) {
    const Use one = begin(range(0, 5000));
    const Use other = begin(range(0, 5000));
    const Use part = begin(range(100, 1000));
    EXPECT_NE(one.number, other.number);
    cache_.revoke(one.number);
    EXPECT_EQ(owner_.find(one.address, 5000), Code::stale);
    EXPECT_EQ(owner_.find(other.address, 5000), Code::ok);
    EXPECT_EQ(owner_.find(part.address, 1000), Code::ok);
}

TEST_F(RegistrationCacheTest, keeps_a_registration_for_each_of_many_uses_of_the_same_memory) {
    for (int i = 0; i < 3; ++i) {
        std::vector<Use> uses;
        for (int k = 0; k < 30; ++k) uses.push_back(begin(range(0, 5000)));
        EXPECT_EQ(live(), 30U);
        for (const Use& use : uses) cache_.keep(use.number);
    }
}

TEST_F(RegistrationCacheTest, does_not_let_others_write_what_was_registered_to_be_read) {
    void* const only_read = mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(only_read, MAP_FAILED);
    auto* const memory = static_cast<char*>(only_read);
    (void)keep({memory, page, false});
    const auto refused = cache_.begin({memory, page, true});
    ASSERT_FALSE(refused.is_ok());
    EXPECT_EQ(refused.failure().code(), Code::argument);
    ASSERT_EQ(munmap(only_read, page), 0);
    (void)keep(range(0, 5000, true));
    const std::uint32_t before = live();
    (void)keep(range(0, 5000, false));
    EXPECT_EQ(live(), before) << "what may be written may be read";
}

TEST_F(RegistrationCacheTest, ends_the_registration_whose_last_use_is_the_oldest) {
    const Use first = keep(range(0, 5000));
    const Use second = keep(range(1, 5000));
    for (std::uint64_t i = 2; i < RegistrationCache::kept_max + 1; ++i) {
        (void)keep(range(i, 5000));
        ASSERT_EQ(keep(range(0, 5000)).address, first.address);
    }
    EXPECT_EQ(live(), RegistrationCache::kept_max + 1);
    (void)keep(range(300'000, 5000));
    EXPECT_EQ(owner_.find(first.address, 5000), Code::ok);
    EXPECT_EQ(owner_.find(second.address, 5000), Code::stale);
    EXPECT_EQ(live(), RegistrationCache::kept_max + 1);
}

TEST_F(RegistrationCacheTest, serves_more_uses_at_once_than_it_keeps) {
    std::vector<Use> uses;
    for (std::uint64_t i = 0; i < 3 * RegistrationCache::kept_max; ++i)
        uses.push_back(begin(range(i, 5000)));
    for (const Use& use : uses) EXPECT_EQ(owner_.find(use.address, 5000), Code::ok);
    for (const Use& use : uses) cache_.keep(use.number);
    (void)keep(range(900'000, 5000));
    EXPECT_EQ(live(), RegistrationCache::kept_max + 1);
    EXPECT_EQ(cache_.end_kept(), RegistrationCache::kept_max + 1);
    EXPECT_EQ(live(), 0U);
    EXPECT_EQ(cache_.end_kept(), 0U);
}

TEST_F(RegistrationCacheTest, hides_revoked_and_ended_memory_and_registers_it_anew) {
    const Use revoked = begin(range(0, 5000));
    cache_.revoke(revoked.number);
    EXPECT_EQ(owner_.find(revoked.address, 5000), Code::stale);
    const Use ended = begin(range(0, 5000));
    EXPECT_EQ(live(), 1U) << "the revoked one was ended for a new one";
    cache_.end(ended.number);
    EXPECT_EQ(owner_.find(ended.address, 5000), Code::stale);
    EXPECT_EQ(live(), 0U);
    EXPECT_EQ(owner_.find(begin(range(0, 5000)).address, 5000), Code::ok);
}

TEST_F(RegistrationCacheTest, makes_room_where_the_address_layout_is_full) {
    for (std::uint64_t i = 0; i < 8; ++i) (void)keep(range(i, 5000));
    while (owner_.registry->add(memory_.data(), 64, 0).is_ok()) continue;
    EXPECT_EQ(owner_.find(keep(range(0, 7000)).address, 7000), Code::ok);
    (void)cache_.end_kept();
    while (owner_.registry->add(memory_.data(), 64, 0).is_ok()) continue;
    for (int i = 0; i < 3; ++i) {
        const auto refused = cache_.begin(range(0, 8000));
        ASSERT_FALSE(refused.is_ok());
        EXPECT_EQ(refused.failure().code(), Code::limit);
    }
}

TEST_F(RegistrationCacheTest, refuses_memory_that_is_not_mapped) {
    for (int i = 0; i < 1000; ++i) {
        const auto refused = cache_.begin({nullptr, 5000, false});
        ASSERT_FALSE(refused.is_ok());
        EXPECT_EQ(refused.failure().code(), Code::argument);
    }
    EXPECT_EQ(live(), 0U);
}

// A registration names addresses: whatever pages the program puts there are the ones that a copy
// accesses.
TEST_F(RegistrationCacheTest, finds_the_pages_that_the_program_has_put_in_place_since) {
    constexpr int rights = PROT_READ | PROT_WRITE;
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void* const start = mmap(nullptr, 4 * page, rights, flags, -1, 0);
    ASSERT_NE(start, MAP_FAILED);
    auto* const memory = static_cast<char*>(start);
    const OwnRange all{memory, 2 * page, true};
    const auto byte = [this](const Use& use) { return *owner_.direct(use.address); };

    std::memset(memory, 'a', 2 * page);
    EXPECT_EQ(byte(keep(all)), 'a');
    ASSERT_EQ(munmap(memory, 2 * page), 0);
    ASSERT_EQ(mmap(memory, 2 * page, rights, flags | MAP_FIXED, -1, 0), start);
    EXPECT_EQ(byte(keep(all)), '\0') << "other pages";
    std::memset(memory, 'b', 2 * page);
    ASSERT_EQ(madvise(memory, 2 * page, MADV_DONTNEED), 0);
    EXPECT_EQ(byte(keep(all)), '\0') << "madvise";
    std::memset(memory + 2 * page, 'c', 2 * page);
    ASSERT_EQ(mremap(memory + 2 * page, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, memory),
              start);
    EXPECT_EQ(byte(keep(all)), 'c') << "mremap";
    const pid_t child = fork();
    if (child == 0) {
        memory[0] = 'd';
        _exit(0);
    }
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(byte(keep(all)), 'c') << "fork";
    memory[0] = 'e';
    EXPECT_EQ(byte(keep(all)), 'e') << "fork, and a copy on write";
    EXPECT_EQ(live(), 1U);
    munmap(memory, 2 * page);
}

TEST_F(RegistrationCacheTest, lends_no_registration_to_two_threads_at_once) {
    std::array<std::atomic<int>, 4 * RegistrationCache::kept_max> users{};
    std::atomic<bool> is_shared{false};
    const auto work = [&](std::uint64_t seed) {
        for (std::uint64_t i = 0; i < 2000; ++i) {
            const std::uint64_t offset = (seed + i * i) % 300;
            const auto use = cache_.begin(range(offset, 5000, i % 3 == 0));
            if (!use.is_ok()) continue;
            const std::uint32_t number = use.value().number;
            if (users[number].fetch_add(1) != 0) is_shared = true;
            users[number].fetch_sub(1);
            if (i % 50 == 0) {
                cache_.revoke(number);
            } else if (i % 51 == 0) {
                cache_.end(number);
            } else {
                cache_.keep(number);
            }
        }
    };
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i) threads.emplace_back(work, i * 1000);
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(is_shared);
    (void)cache_.end_kept();
    EXPECT_EQ(live(), 0U);
}

}  // namespace
}  // namespace acp::gma::test
