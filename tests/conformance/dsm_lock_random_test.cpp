// SPDX-License-Identifier: BSD-3-Clause
// Random programs that guard bytes of shared pages by locks: two threads of each rank enter critical
// sections on ranges of 4 bytes to 5 pages, those up to 992 bytes travel, while they write other bytes of
// the same pages in epochs that barriers end. A holder must see all bytes of the section before; in an
// epoch without sections every rank reads them without a lock. Homes move, ranges are bound to other
// locks, locks are held across barriers, pages are prefetched, flushed early, fenced and evicted. Totals
// are exact. support/random_programs.hpp names the seeds.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include <acp.h>

#include "support/random.hpp"
#include "support/random_programs.hpp"

namespace acp::test {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t pages_max = 12;

// Mixes numbers; the same on all ranks.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
    std::uint64_t x = a * 0x9e3779b97f4a7c15U + b * 0xbf58476d1ce4e5b9U + c * 0x94d049bb133111ebU;
    x ^= x >> 31;
    x *= 0xd6e8feb86659fd93U;
    return x ^ x >> 32;
}

// A range that a lock guards: the number of sections, and bytes that follow from it.
struct Guarded {
    std::uint64_t first = 0;
    std::uint64_t bytes = 0;
    std::size_t lock = 0;
    std::uint32_t total = 0;  // sections of all ranks in the epochs before

    [[nodiscard]] static std::uint8_t value(std::uint32_t section, std::uint64_t i) {
        return section == 0 ? 0 : static_cast<std::uint8_t>(mixed(section, i, 7));
    }
};

class DsmLockRandomTest : public RandomProgramTest {
protected:
    void run_program(std::uint64_t seed) {
        seed_ = seed;
        Random random(seed);
        pages_ = random.between(1, pages_max);
        actors_ = actors();
        area_ = static_cast<std::uint8_t*>(acp_alloc_dsm(pages_ * page));
        ASSERT_NE(area_, nullptr) << acp_error_message();
        choose_places(random);
        bind_all();
        epochs_ = random.between(2, 7);
        // Epochs begin with 1.
        run_epochs(
            epochs_,
            [&](std::uint64_t ended) {
                if (ended != 0) end_epoch(ended);
            },
            [&](std::uint64_t before, std::uint32_t actor) {
                if (!HasFailure()) act(before + 1, actor);
            });
        end_epoch(epochs_);
        for (const acp_lock_t lock : locks_) {
            EXPECT_EQ(acp_bind_dsm(lock, nullptr, 0), 0) << acp_error_message();
        }
        if (rank_ == 0) {
            for (const acp_lock_t lock : locks_)
                EXPECT_EQ(acp_free_lock(lock), 0) << acp_error_message();
        }
        for (const Guarded& guarded : guarded_)
            expect_section(guarded, guarded.total, "at the end");
        ASSERT_EQ(acp_free_dsm(area_), 0) << acp_error_message();
    }

private:
    // Chooses ranges without a common byte, and words beside them.
    void choose_places(Random& random) {
        guarded_.clear();
        words_.clear();
        std::vector<bool> is_used(pages_ * page);
        const auto is_free = [&](std::uint64_t first, std::uint64_t bytes) {
            return first + bytes <= is_used.size() &&
                   std::none_of(is_used.begin() + static_cast<std::ptrdiff_t>(first),
                                is_used.begin() + static_cast<std::ptrdiff_t>(first + bytes),
                                [](bool used) { return used; });
        };
        const auto use = [&](std::uint64_t first, std::uint64_t bytes) {
            std::fill_n(is_used.begin() + static_cast<std::ptrdiff_t>(first), bytes, true);
        };
        const std::uint64_t count = random.between(1, 5);
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t bytes = random.chance(40)
                                            ? random.between(ACP_BIND_BYTES_MAX + 1, 5 * page)
                                        : random.chance(50) ? random.between(4, 40)
                                        : random.chance(50) ? random.between(4, ACP_BIND_BYTES_MAX)
                                                            : 8;
            const std::uint64_t first =
                random.chance(30) ? random.between(1, pages_) * page -
                                        std::min<std::uint64_t>(bytes, random.between(1, 9))
                                  : random.below(pages_ * page);
            if (!is_free(first, bytes)) continue;
            use(first, bytes);
            guarded_.push_back({first, bytes, guarded_.size(), 0});
        }
        for (std::uint64_t i = 0; i < pages_ * 10; ++i) {
            const std::uint64_t first = random.below(pages_ * page / 8) * 8;
            if (!is_free(first, 8)) continue;
            use(first, 8);
            words_.push_back(first);
        }
        values_.assign(words_.size(), 0);
        locks_.clear();
        for (std::size_t i = 0; i < guarded_.size(); ++i) {
            acp_lock_t lock{ACP_GA_NULL};
            const int home = static_cast<int>(mixed(seed_, i) % static_cast<unsigned>(procs_));
            if (rank_ == home) lock = acp_create_lock(home);
            lock.ga = exchange(lock.ga)[static_cast<std::size_t>(home)];
            locks_.push_back(lock);
        }
    }

    void bind_all() {
        for (const Guarded& guarded : guarded_) {
            EXPECT_EQ(acp_bind_dsm(locks_[guarded.lock], area_ + guarded.first, guarded.bytes), 0)
                << acp_error_message();
        }
    }

    // What follows from seed and epoch, alike on all ranks.
    [[nodiscard]] bool is_quiet(std::uint64_t epoch) const {
        return mixed(seed_, epoch, 1) % 4 == 0;
    }

    // The actor that alone takes a lock in an epoch, and holds it across the barrier; actors_: none.
    [[nodiscard]] std::uint32_t keeper_of(std::uint64_t epoch, std::size_t guarded) const {
        const std::uint64_t chance = mixed(seed_, epoch, guarded + 1000);
        const bool is_kept = epoch != 0 && epoch < epochs_ && !is_quiet(epoch) &&
                             !is_quiet(epoch + 1) && chance % 5 == 0;
        return is_kept ? static_cast<std::uint32_t>((chance >> 8) % actors_) : actors_;
    }

    [[nodiscard]] std::uint32_t sections_of(std::uint64_t epoch,
                                            std::uint32_t actor,
                                            std::size_t guarded) const {
        if (is_quiet(epoch) || keeper_of(epoch, guarded) != actors_) return 0;
        const std::uint64_t chance = mixed(seed_ + epoch, actor, guarded);
        return chance % 3 == 0 ? static_cast<std::uint32_t>(chance >> 8) % 4 : 0;
    }

    [[nodiscard]] std::uint32_t owner_of(std::uint64_t epoch, std::size_t word) const {
        return static_cast<std::uint32_t>(mixed(seed_, epoch, word + 100) % actors_);
    }

    [[nodiscard]] bool is_written(std::uint64_t epoch, std::size_t word) const {
        return mixed(seed_, epoch, word + 300) % 3 == 0;
    }

    void act(std::uint64_t epoch, std::uint32_t actor) {
        Random random(mixed(seed_, epoch, actor + 50));
        for (std::size_t i = 0; i < guarded_.size(); ++i) {
            if (keeper_of(epoch - 1, i) != actor) continue;
            change(guarded_[i]);
            EXPECT_EQ(acp_unlock(locks_[guarded_[i].lock]), 0) << acp_error_message();
        }
        std::vector<std::size_t> sections;
        for (std::size_t i = 0; i < guarded_.size(); ++i)
            sections.insert(sections.end(), sections_of(epoch, actor, i), i);
        for (std::size_t i = sections.size(); i > 1; --i)
            std::swap(sections[i - 1], sections[random.below(i)]);
        if (is_quiet(epoch)) {
            for (const Guarded& guarded : guarded_)
                if (random.chance(60)) expect_section(guarded, guarded.total, "without a lock");
        }
        for (std::size_t word = 0; word < words_.size(); ++word) {
            if (owner_of(epoch, word) == actor) use_word(epoch, word);
            if (!sections.empty() && random.chance(40)) {
                enter(sections.back(), random);
                sections.pop_back();
            }
            if (random.chance(2)) move_early(random);
        }
        for (const std::size_t guarded : sections) enter(guarded, random);
        for (std::size_t i = 0; i < guarded_.size(); ++i) {
            if (keeper_of(epoch, i) != actor) continue;
            take(i, random);
            change(guarded_[i]);
        }
    }

    void use_word(std::uint64_t epoch, std::size_t word) {
        std::uint64_t seen = 0;
        std::memcpy(&seen, area_ + words_[word], 8);
        if (seen != values_[word]) fail("of no lock", words_[word]);
        if (!is_written(epoch, word)) return;
        const std::uint64_t value = mixed(epoch, word);
        std::memcpy(area_ + words_[word], &value, 8);
    }

    void take(std::size_t guarded, Random& random) {
        const acp_lock_t lock = locks_[guarded_[guarded].lock];
        int taken = ACP_NONE;
        while (taken == ACP_NONE) {
            taken = random.chance(60)   ? acp_lock(lock)
                    : random.chance(50) ? acp_try_lock(lock)
                                        : acp_lock_timeout(lock, 50'000);
        }
        if (taken != 0) ADD_FAILURE() << acp_error_message();
    }

    void enter(std::size_t guarded, Random& random) {
        take(guarded, random);
        change(guarded_[guarded]);
        EXPECT_EQ(acp_unlock(locks_[guarded_[guarded].lock]), 0) << acp_error_message();
    }

    // The holder checks the bytes, and counts its sections.
    void change(const Guarded& guarded) {
        std::uint8_t* const at = area_ + guarded.first;
        std::uint32_t section = 0;
        std::memcpy(&section, at, 4);
        if (section < guarded.total) fail("a section was lost", guarded.first);
        expect_section(guarded, section, "under the lock");
        ++section;
        std::memcpy(at, &section, 4);
        for (std::uint64_t i = 4; i < guarded.bytes; ++i) at[i] = Guarded::value(section, i);
    }

    void expect_section(const Guarded& guarded, std::uint32_t section, const char* where) {
        std::uint32_t seen = 0;
        std::memcpy(&seen, area_ + guarded.first, 4);
        if (seen != section) fail(where, guarded.first);
        for (std::uint64_t i = 4; i < guarded.bytes; ++i)
            if (area_[guarded.first + i] != Guarded::value(section, i))
                fail(where, guarded.first + i);
    }

    // Changes no value that a read returns.
    void move_early(Random& random) {
        const std::uint64_t first = random.below(pages_ * page);
        const std::uint64_t bytes = random.between(1, pages_ * page - first);
        const std::uint64_t call = random.below(3);
        EXPECT_EQ(call == 0   ? acp_prefetch_dsm(area_ + first, bytes)
                  : call == 1 ? acp_flush_dsm(area_ + first, bytes)
                              : acp_fence_dsm(area_ + first, bytes),
                  0)
            << acp_error_message();
    }

    // By one thread of each rank.
    void end_epoch(std::uint64_t epoch) {
        const std::uint64_t way = mixed(seed_, epoch, 3);
        if (way % 6 == 0) {
            const int home = static_cast<int>((way >> 8) % static_cast<unsigned>(procs_));
            EXPECT_EQ(acp_set_home_dsm(area_ + way % (pages_ * page), 1, home), 0)
                << acp_error_message();
        } else {
            EXPECT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        }
        for (std::size_t word = 0; word < words_.size(); ++word)
            if (is_written(epoch, word)) values_[word] = mixed(epoch, word);
        bool is_any_kept = false;
        for (std::size_t i = 0; i < guarded_.size(); ++i) {
            for (std::uint32_t actor = 0; actor < actors_; ++actor)
                guarded_[i].total += sections_of(epoch, actor, i);
            // A keeper counts before the barrier and behind it.
            if (keeper_of(epoch, i) != actors_) ++guarded_[i].total;
            if (keeper_of(epoch - 1, i) != actors_) ++guarded_[i].total;
            is_any_kept = is_any_kept || keeper_of(epoch, i) != actors_;
        }
        if (!is_any_kept && mixed(seed_, epoch, 5) % 4 == 0) bind_others();
    }

    // Each range gets the lock of the next one.
    void bind_others() {
        for (const acp_lock_t lock : locks_)
            EXPECT_EQ(acp_bind_dsm(lock, nullptr, 0), 0) << acp_error_message();
        for (Guarded& guarded : guarded_) guarded.lock = (guarded.lock + 1) % locks_.size();
        bind_all();
    }

    void fail(const char* where, std::uint64_t place) {
        if (HasFailure()) return;
        ADD_FAILURE() << "wrong byte " << where << ": rank " << rank_ << ", page " << place / page
                      << ", byte " << place % page;
    }

    std::uint64_t seed_ = 0;
    std::uint64_t pages_ = 0;
    std::uint64_t epochs_ = 0;
    std::uint32_t actors_ = 0;
    std::uint8_t* area_ = nullptr;
    std::vector<Guarded> guarded_;
    std::vector<std::uint64_t> words_;   // places of unbound words
    std::vector<std::uint64_t> values_;  // their values before the epoch
    std::vector<acp_lock_t> locks_;
};

TEST_F(DsmLockRandomTest,
       each_holder_sees_all_sections_before_and_each_barrier_brings_the_last_one) {
    run_programs(40, 2 * pages_max * page, [&](std::uint64_t seed) { run_program(seed); });
}

}  // namespace
}  // namespace acp::test
