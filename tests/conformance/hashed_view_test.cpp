// SPDX-License-Identifier: BSD-3-Clause
// Finds in containers in which the calling thread has found keys before: the thread caches what it
// needs for a lookup (data/table_view.hpp), and must still see every later change of the container.
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <semaphore>
#include <string>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "conformance/hashed_fixture.hpp"

namespace acp::test {
namespace {

acp_map_ib_t find(acp_map_t map, const std::string& key) {
    return acp_find_map(map, key.data(), key.size());
}

class HashedViewTest : public HashedTest {
protected:
    static acp_map_t make(int rank, int slots = 2) {
        const acp_map_t map = acp_create_map(1, &rank, slots, rank);
        EXPECT_NE(map.ga, ACP_GA_NULL) << acp_error_message();
        return map;
    }

    // Calls use(map) with a map whose entries all lie on one rank, and with one that spreads them
    // over all ranks.
    template <typename Use>
    void with_each_map(int rank, const Use& use) {
        with_map_of_rank(rank, use);
        with_map(2, use);
    }

    // Finds a key often enough that the thread caches a view of the map.
    static void find_often(acp_map_t map, const std::string& key, int wanted) {
        for (int i = 0; i < 20; ++i) ASSERT_EQ(find(map, key).success, wanted) << key;
    }
};

TEST_F(HashedViewTest, finds_see_what_any_rank_changes) {
    with_each_map(0, [this](acp_map_t map) {
        const auto by_rank = [this](int rank, const auto& change) {
            sync_ranks();
            if (rank_ == rank % procs_) change();
            sync_ranks();
        };
        find_often(map, "key", 0);
        by_rank(1, [&] { EXPECT_EQ(insert(map, "key", "value"), 1) << acp_error_message(); });
        find_often(map, "key", 1);
        EXPECT_EQ(value_of(map, "key"), "value");
        by_rank(2, [&] { EXPECT_EQ(assign(map, "key", "another value"), 0); });
        EXPECT_EQ(value_of(map, "key"), "another value");
        EXPECT_EQ(find(map, "key").it.value_size, 13U);
        by_rank(0, [&] { EXPECT_EQ(assign(map, "key", "8 bytes."), 0); });
        EXPECT_EQ(value_of(map, "key"), "8 bytes.");
        by_rank(3, [&] { EXPECT_EQ(remove(map, "key"), 1); });
        find_often(map, "key", 0);
        EXPECT_EQ(value_of(map, "key"), std::nullopt);
    });
}

TEST_F(HashedViewTest, no_room_of_some_bytes_is_refused_whether_the_map_is_known_or_not) {
    with_each_map(0, [this](acp_map_t map) {
        if (rank_ == 0) {
            EXPECT_EQ(insert(map, "key", "value"), 1) << acp_error_message();
        }
        sync_ranks();
        for (const int finds : {0, 1}) {
            if (finds != 0) find_often(map, "key", 1);
            for (const char* const key : {"key", "other"}) {
                std::size_t bytes = 10;
                EXPECT_EQ(acp_retrieve_map(map, key, std::strlen(key), nullptr, &bytes), -1);
                EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
                EXPECT_EQ(bytes, 10U);
                acp_entry_t entry{key, std::strlen(key), nullptr, 10, 0, 0};
                EXPECT_EQ(acp_find_many_map(map, 1, &entry), -1);
                EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
                EXPECT_EQ(entry.value_size, 10U);
            }
            std::size_t bytes = 0;
            EXPECT_EQ(acp_retrieve_map(map, "key", 3, nullptr, &bytes), 1) << acp_error_message();
            EXPECT_EQ(bytes, 5U);
            acp_entry_t entry{"key", 3, nullptr, 0, 0, 0};
            EXPECT_EQ(acp_find_many_map(map, 1, &entry), 1) << acp_error_message();
            EXPECT_EQ(entry.value_size, 5U);
        }
        sync_ranks();
    });
}

TEST_F(HashedViewTest, finds_continue_while_the_table_grows) {
    with_each_map(0, [this](acp_map_t map) {
        constexpr std::uint64_t entries = 3'000;
        for (std::uint64_t i = 0; i < entries; ++i) {
            ASSERT_EQ(insert(map, own_key(i), std::to_string(i)), 1) << acp_error_message();
            const std::uint64_t earlier = i * 2'654'435'761 % (i + 1);
            ASSERT_EQ(find(map, own_key(earlier)).success, 1) << earlier;
            ASSERT_EQ(value_of(map, own_key(earlier)), std::to_string(earlier));
            ASSERT_EQ(find(map, own_key(entries + i)).success, 0);
        }
        sync_ranks();
        EXPECT_EQ(acp_size_map(map), entries * static_cast<std::uint64_t>(procs_));
    });
}

TEST_F(HashedViewTest, an_iterator_of_a_find_is_walked_on_from_and_used_as_any_other) {
    with_each_map(procs_ - 1, [this](acp_map_t map) {
        for (std::uint64_t i = 0; i < 100; ++i) {
            ASSERT_EQ(insert(map, own_key(i), std::to_string(i)), 1) << acp_error_message();
        }
        sync_ranks();
        const auto all = content_of(map);
        std::vector<std::string> in_order;
        for (acp_map_it_t it = acp_begin_map(map); it.elem != ACP_GA_NULL;
             it = acp_increment_map_it(it)) {
            in_order.push_back(bytes_of(acp_dereference_map_it(it).first));
        }
        ASSERT_EQ(in_order.size(), all.size());
        for (std::size_t i = 0; i < in_order.size(); ++i) {
            const acp_map_ib_t found = find(map, in_order[i]);
            ASSERT_EQ(found.success, 1);
            EXPECT_EQ(bytes_of(acp_dereference_map_it(found.it).first), in_order[i]);
            const acp_map_it_t next = acp_increment_map_it(found.it);
            ASSERT_EQ(next.elem == ACP_GA_NULL, i + 1 == in_order.size()) << acp_error_message();
            if (next.elem != ACP_GA_NULL) {
                EXPECT_EQ(bytes_of(acp_dereference_map_it(next).first), in_order[i + 1]);
            }
        }
        const acp_map_ib_t absent = find(map, "no such key");
        EXPECT_EQ(absent.success, 0);
        EXPECT_EQ(acp_increment_map_it(absent.it).elem, ACP_GA_NULL) << "the end stays the end";
        sync_ranks();
        const acp_map_ib_t own = find(map, own_key(7));
        EXPECT_GE(acp_erase_map(own.it).rank, 0) << acp_error_message();
        EXPECT_EQ(find(map, own_key(7)).success, 0);
    });
}

TEST_F(HashedViewTest, a_destroyed_map_is_refused_though_another_one_has_its_address) {
    const acp_map_t map = make(rank_);
    ASSERT_EQ(insert(map, "key", "of the first"), 1);
    find_often(map, "key", 1);
    ASSERT_EQ(acp_destroy_map(map), 0) << acp_error_message();
    EXPECT_EQ(find(map, "key").success, -1);
    expect_refused(ACP_ERR_STALE, {"acp_find_map"});
    const acp_map_t other = make(rank_);
    ASSERT_EQ(insert(other, "key", "of the second"), 1);
    find_often(other, "key", 1);
    EXPECT_EQ(find(map, "key").success, -1) << "also where it begins at the same address";
    EXPECT_EQ(value_of(other, "key"), "of the second");
    ASSERT_EQ(acp_destroy_map(other), 0);
}

// Another thread makes the map, destroys it after this thread has found a key in it, and makes
// another map at the same address.
TEST_F(HashedViewTest, a_map_that_another_thread_makes_at_the_same_address_is_another_one) {
    acp_map_t map{};
    acp_map_t other{};
    std::binary_semaphore is_made(0);
    std::binary_semaphore is_found(0);
    std::thread maker([&] {
        map = make(rank_);
        EXPECT_EQ(insert(map, "key", "of the first"), 1);
        is_made.release();
        is_found.acquire();
        EXPECT_EQ(acp_destroy_map(map), 0) << acp_error_message();
        other = make(rank_);
        // Views of both maps would use one cache entry, whose index is the map's identity modulo 8.
        for (int i = 0; i < 1'000 && (other.ga != map.ga || other.id % 8 != map.id % 8); ++i) {
            EXPECT_EQ(acp_destroy_map(other), 0);
            other = make(rank_);
        }
        EXPECT_EQ(insert(other, "key", "of the second"), 1);
        EXPECT_EQ(insert(other, "other", "8 bytes."), 1);
    });
    is_made.acquire();
    find_often(map, "key", 1);
    is_found.release();
    maker.join();
    ASSERT_EQ(other.ga, map.ga);
    ASSERT_EQ(other.id % 8, map.id % 8);
    EXPECT_EQ(find(map, "key").success, -1);
    expect_refused(ACP_ERR_STALE, {"acp_find_map"});
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(value_of(other, "key"), "of the second");
        ASSERT_EQ(value_of(other, "other"), "8 bytes.");
        ASSERT_EQ(find(map, "other").success, -1);
    }
    EXPECT_EQ(insert(map, "another", "value"), -1);
    EXPECT_EQ(find(other, "another").success, 0);
    EXPECT_EQ(acp_destroy_map(other), 0);
}

// This thread and another one have views of a map of an ended epoch: no find may read that epoch's
// memory, where the words of the map may still lie, or those of another one.
TEST_F(HashedViewTest, a_map_of_an_epoch_that_has_ended_is_none) {
    for (const bool is_by_reset : {true, true, false}) {
        const acp_map_t map = make(rank_);
        acp_set_t set = acp_create_set(1, &rank_, 2, rank_);
        ASSERT_EQ(insert(map, "key", "of then"), 1);
        ASSERT_NE(acp_insert_set(set, "key", 3).elem, ACP_GA_NULL);
        find_often(map, "key", 1);
        for (int i = 0; i < 20; ++i) ASSERT_EQ(acp_find_set(set, "key", 3).success, 1);
        std::binary_semaphore is_found(0);
        std::binary_semaphore is_next(0);
        std::binary_semaphore is_looked_at(0);
        const auto expect_none = [&](const char* who) {
            EXPECT_NE(acp_malloc(8, rank_), ACP_GA_NULL) << "the thread goes the short way again";
            EXPECT_EQ(find(map, "key").success, -1) << who;
            EXPECT_TRUE(acp_errno() == ACP_ERR_STALE || acp_errno() == ACP_ERR_ADDRESS)
                << acp_error_message();
            EXPECT_EQ(acp_find_set(set, "key", 3).success, -1) << who;
            char value = 0;
            std::size_t bytes = 1;
            EXPECT_EQ(acp_retrieve_map(map, "key", 3, &value, &bytes), -1) << who;
            EXPECT_EQ(insert(map, "key", "of now"), -1) << who;
        };
        std::thread other([&] {
            find_often(map, "key", 1);
            is_found.release();
            is_next.acquire();
            expect_none("another thread, before there are maps");
            is_looked_at.release();
            is_next.acquire();
            expect_none("another thread");
        });
        is_found.acquire();
        if (is_by_reset) {
            ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
        } else {
            ASSERT_EQ(acp_finalize(), 0) << acp_error_message();
            EXPECT_EQ(find(map, "key").success, -1);
            EXPECT_EQ(acp_errno(), ACP_ERR_STATE);
            ASSERT_EQ(acp_init(nullptr, nullptr), 0) << acp_error_message();
            ASSERT_EQ(acp_rank(), rank_);
        }
        is_next.release();
        is_looked_at.acquire();
        expect_none("the thread that has begun the epoch, before there are maps");
        const acp_map_t now = make(rank_);
        ASSERT_EQ(insert(now, "key", "of now"), 1) << acp_error_message();
        find_often(now, "key", 1);
        expect_none("the thread that has begun the epoch");
        is_next.release();
        other.join();
        EXPECT_EQ(value_of(now, "key"), "of now");
        EXPECT_EQ(acp_destroy_map(now), 0);
        sync_ranks();
    }
}

TEST_F(HashedViewTest, maps_that_are_swapped_are_found_swapped) {
    const acp_map_t one = make(rank_);
    const acp_map_t other = make((rank_ + 1) % procs_, 16);
    ASSERT_EQ(insert(one, "key", "of one"), 1);
    ASSERT_EQ(insert(other, "key", "of the other"), 1);
    for (int i = 0; i < 5; ++i) {
        find_often(one, "key", 1);
        find_often(other, "key", 1);
        EXPECT_EQ(value_of(one, "key"), i % 2 == 0 ? "of one" : "of the other");
        EXPECT_EQ(value_of(other, "key"), i % 2 == 0 ? "of the other" : "of one");
        ASSERT_EQ(acp_swap_map(one, other), 0) << acp_error_message();
    }
    EXPECT_EQ(acp_destroy_map(one), 0);
    EXPECT_EQ(acp_destroy_map(other), 0);
}

// A thread's view of one table may still be valid after the number of tables has changed.
TEST_F(HashedViewTest, maps_of_different_numbers_of_tables_are_found_after_each_swap) {
    const acp_map_t one = make(rank_);
    const acp_map_t all = acp_create_map(0, nullptr, 1, rank_);
    ASSERT_NE(all.ga, ACP_GA_NULL) << acp_error_message();
    constexpr std::uint64_t entries = 40;
    for (std::uint64_t i = 0; i < entries; ++i) {
        ASSERT_EQ(insert(one, own_key(i), "of one"), 1) << acp_error_message();
        ASSERT_EQ(insert(all, own_key(i), "of all"), 1) << acp_error_message();
    }
    for (std::uint64_t round = 0; round < 12; ++round) {
        const bool is_swapped = round % 2 != 0;
        // Some rounds look up few keys only.
        const std::uint64_t step = round % 3 == 0 ? 1 : 13;
        for (std::uint64_t i = round; i < entries; i += step) {
            ASSERT_EQ(value_of(one, own_key(i)), is_swapped ? "of all" : "of one") << i;
            ASSERT_EQ(value_of(all, own_key(i)), is_swapped ? "of one" : "of all") << i;
            ASSERT_EQ(find(all, own_key(i)).success, 1);
            ASSERT_EQ(find(one, own_key(entries + i)).success, 0);
            ASSERT_EQ(acp_insert_if_absent_map(one, own_key(i).data(), own_key(i).size(), "", 0), 0)
                << "a change belongs where the find looks";
        }
        ASSERT_EQ(acp_swap_map(one, all), 0) << acp_error_message();
    }
    EXPECT_EQ(acp_destroy_map(one), 0);
    EXPECT_EQ(acp_destroy_map(all), 0);
}

// The parent has views of a container with one table, and of one with a table on each rank.
TEST_F(HashedViewTest, a_forked_child_is_refused_though_its_parent_has_views) {
    const acp_map_t one = make(rank_);
    const acp_map_t all = acp_create_map(0, nullptr, 1, rank_);
    ASSERT_NE(all.ga, ACP_GA_NULL) << acp_error_message();
    constexpr std::uint64_t entries = 40;  // some on each rank
    for (const acp_map_t map : {one, all}) {
        for (std::uint64_t i = 0; i < entries; ++i) {
            ASSERT_EQ(insert(map, own_key(i), "value"), 1) << acp_error_message();
            find_often(map, own_key(i), 1);
        }
    }
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        int wrong = 0;
        for (const acp_map_t map : {one, all}) {
            for (std::uint64_t i = 0; i < entries; ++i) {
                const std::string key = own_key(i);
                std::array<char, 8> value{};
                std::size_t bytes = value.size();
                wrong += find(map, key).success == -1 && acp_errno() == ACP_ERR_FORKED ? 0 : 1;
                wrong += acp_retrieve_map(map, key.data(), key.size(), value.data(), &bytes) == -1
                             ? 0
                             : 1;
                wrong += insert(map, key, "of the child") == -1 ? 0 : 1;
                wrong += remove(map, key) == -1 ? 0 : 1;
            }
        }
        _exit(wrong == 0 ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    for (const acp_map_t map : {one, all}) {
        for (std::uint64_t i = 0; i < entries; ++i) find_often(map, own_key(i), 1);
        EXPECT_EQ(acp_destroy_map(map), 0) << acp_error_message();
    }
}

TEST_F(HashedViewTest, more_containers_than_a_thread_caches_are_distinguished) {
    std::vector<acp_map_t> maps;
    for (int i = 0; i < 40; ++i) {
        maps.push_back(make(rank_));
        ASSERT_EQ(insert(maps.back(), "number", std::to_string(i)), 1) << acp_error_message();
    }
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < 40; ++i) {
            const auto which = static_cast<std::size_t>(i * 7 % 40);
            ASSERT_EQ(value_of(maps[which], "number"), std::to_string(which));
            ASSERT_EQ(find(maps[which], "other").success, 0);
        }
    }
    // A handle with another kind or another identity does not name the map.
    acp_set_t as_set{};
    as_set.ga = maps[0].ga;
    as_set.id = maps[0].id;
    EXPECT_EQ(acp_find_set(as_set, "number", 6).success, -1);
    acp_map_t forged = maps[0];
    forged.id += 8;
    EXPECT_EQ(find(forged, "number").success, -1);
    for (const acp_map_t& map : maps) EXPECT_EQ(acp_destroy_map(map), 0);
}

TEST_F(HashedViewTest, all_threads_find_also_those_that_start_later) {
    const acp_map_t map = make((rank_ + 1) % procs_);
    for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(insert(map, own_key(static_cast<std::uint64_t>(i)), std::to_string(i)), 1);
    }
    std::atomic<int> wrong{0};
    for (int generation = 0; generation < 2; ++generation) {
        // More threads than a heap has thread caches.
        std::vector<std::thread> threads;
        for (int t = 0; t < 30; ++t) {
            threads.emplace_back([&, t] {
                for (std::uint64_t i = 0; i < 500; ++i) {
                    const std::uint64_t which = (i + static_cast<std::uint64_t>(t)) % 50;
                    if (value_of(map, own_key(which)) != std::to_string(which)) ++wrong;
                    if (find(map, own_key(which + 50)).success != 0) ++wrong;
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(acp_destroy_map(map), 0);
}

// The maps in which the signal handler below looks up a key, and how often it found a wrong value.
std::array<acp_map_t, 12> handler_maps;
std::atomic<int> handler_calls{0};
std::atomic<int> handler_faults{0};

extern "C" void acp_test_find_in_handler(int) {
    const int which = handler_calls.fetch_add(1) % 12;
    char value = 0;
    std::size_t bytes = 1;
    const auto& map = handler_maps[static_cast<std::size_t>(which)];
    if (acp_retrieve_map(map, "which", 5, &value, &bytes) != 1 || value != 'a' + which) {
        handler_faults.fetch_add(1);
    }
}

TEST_F(HashedViewTest, a_signal_handler_finds_in_the_midst_of_a_find) {
    for (std::size_t i = 0; i < handler_maps.size(); ++i) {
        handler_maps[i] = make(rank_);
        ASSERT_EQ(insert(handler_maps[i], "which", std::string(1, static_cast<char>('a' + i))), 1);
    }
    handler_calls = 0;
    handler_faults = 0;
    struct sigaction action = {};
    struct sigaction before = {};
    action.sa_handler = acp_test_find_in_handler;
    action.sa_flags = SA_RESTART;
    ASSERT_EQ(sigaction(SIGPROF, &action, &before), 0);
    constexpr itimerval often{{0, 100}, {0, 100}};
    ASSERT_EQ(setitimer(ITIMER_PROF, &often, nullptr), 0);
    for (int i = 0; i < 200 || handler_calls.load() < 40; ++i) {
        for (std::size_t m = 0; m < handler_maps.size(); ++m) {
            const std::string wanted(1, static_cast<char>('a' + m));
            for (int k = 0; k < 50; ++k) ASSERT_EQ(value_of(handler_maps[m], "which"), wanted);
        }
    }
    constexpr itimerval never{};
    ASSERT_EQ(setitimer(ITIMER_PROF, &never, nullptr), 0);
    ASSERT_EQ(sigaction(SIGPROF, &before, nullptr), 0);
    EXPECT_EQ(handler_faults.load(), 0) << "of " << handler_calls.load();
    for (const acp_map_t& map : handler_maps) EXPECT_EQ(acp_destroy_map(map), 0);
}

}  // namespace
}  // namespace acp::test
