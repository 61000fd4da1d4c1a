// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks work on one map, one multimap and one multiset until one of them is
// killed. The survivors continue for a while, verify all of their own keys, walk over all entries,
// and destroy the containers. Each rank has a model of its own keys, which no other rank changes;
// of other keys it checks that their values are whole.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "hashed/kill_board.hpp"
#include "hashed/movers.hpp"
#include "support/board.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr std::uint64_t own_keys = 24;
constexpr int operations_after_kill = 200;
// The number of entries of each map of a pair.
constexpr std::uint64_t keys_of_pair = 12;

std::string key_of(int rank, std::uint64_t number) {
    return "rank " + std::to_string(rank) + " key " + std::to_string(number);
}

// A value from which its key can be read, and whether it is whole. Some are longer than a message.
std::string value_for(const std::string& key, std::uint64_t number) {
    const std::size_t more = number % 10 == 0 ? 700 + number % 2'000 : number % 60;
    return key + " = " + std::to_string(number) + " " + std::string(more, 'v');
}

bool is_value_for(const std::string& key, const std::string& value) {
    const std::string start = key + " = ";
    if (value.rfind(start, 0) != 0) return false;
    return value == value_for(key, std::strtoull(value.c_str() + start.size(), nullptr, 10));
}

class Worker {
public:
    explicit Worker(KillBoard& board)
        : board_(board),
          rank_(acp_rank()),
          random_(board.seed + static_cast<std::uint64_t>(rank_)) {}

    int run() {
        // Published by enter().
        note().process.store(getpid(), std::memory_order_relaxed);
        movers_.take_far_locks();
        must(acp_sync() == 0, "acp_sync");
        const std::uint64_t blocks = blocks_of_heap(rank_);
        note().blocks_before.store(blocks, std::memory_order_relaxed);
        // If no rank can read this heap after the kill, it counts as unchanged.
        note().blocks_after.store(blocks, std::memory_order_relaxed);
        must(acp_sync() == 0, "acp_sync");
        if (rank_ == 0) make_containers();
        must(acp_sync() == 0, "acp_sync");
        enter(KillPhase::working);
        while (board_.is_struck.load(std::memory_order_acquire) == 0 && is_well_) operate();
        for (int i = 0; i < operations_after_kill && is_well_; ++i) operate();
        if (is_well_) enter(KillPhase::rested);
        await_survivors(KillPhase::rested);
        if (is_well_) verify();
        await_notice();
        if (is_well_) enter(KillPhase::verified);
        await_survivors(KillPhase::verified);
        if (rank_ == first_survivor() && is_well_) {
            use_unused();
            // Its calls also reclaim the victim's unfinished entries.
            verify_sizes();
            verify_pairs();
            movers_.verify();
            destroy_containers();
        }
        if (is_well_) enter(KillPhase::destroyed);
        await_survivors(KillPhase::destroyed);
        for (int rank = 0; rank < kill_ranks; ++rank) {
            if (can_reach(rank)) (void)blocks_of_heap(rank);
        }
        if (is_well_) enter(KillPhase::cleaned);
        await_survivors(KillPhase::cleaned);
        if (rank_ == first_survivor()) look_at_heaps();
        if (is_well_) enter(KillPhase::looked);
        await_survivors(KillPhase::looked);
        acp_finalize();
        return is_well_ ? 0 : 5;
    }

private:
    KillNote& note() { return board_.ranks[rank_]; }

    void enter(KillPhase phase) { note().phase.store(phase, std::memory_order_release); }

    // Notes the first failure.
    void must(bool is_so, const std::string& what) {
        if (is_so || !is_well_) return;
        is_well_ = false;
        std::snprintf(note().message, sizeof note().message, "%s: %s", what.c_str(),
                      acp_error_message());
        enter(KillPhase::failed);
    }

    [[nodiscard]] int first_survivor() const { return board_.victim == 0 ? 1 : 0; }

    void await_survivors(KillPhase phase) {
        for (int rank = 0; rank < kill_ranks; ++rank) {
            while (rank != board_.victim &&
                   board_.ranks[rank].phase.load(std::memory_order_acquire) < phase) {
                usleep(200);  // lint: a pause between looks
            }
        }
    }

    // Waits until the library has detected the death: containers that are destroyed before would
    // leak the blocks that the victim was linking.
    void await_notice() {
        const int met = acp_sync();
        must(met != 0 && acp_errno() == ACP_ERR_PEER, "acp_sync after a death");
    }

    std::uint64_t blocks_of_heap(int rank) {
        acp_heap_stat_t stat{};
        must(acp_heap_stat(rank, &stat) == 0, "acp_heap_stat");
        return stat.blocks;
    }

    // The directory of each container lies on a random rank among those that have its tables.
    void make_containers() {
        std::vector<int> ranks;
        for (int rank = 0; rank < kill_ranks; ++rank) {
            if (rank != board_.victim || board_.has_tables_on_victim != 0) ranks.push_back(rank);
        }
        const auto count = static_cast<int>(ranks.size());
        const auto place = [&] { return ranks[random_.below(ranks.size())]; };
        board_.unused = acp_create_map(0, nullptr, 1, first_survivor());
        board_.map = acp_create_map(count, ranks.data(), 1, place());
        board_.multimap = acp_create_multimap(count, ranks.data(), 1, place());
        board_.multiset = acp_create_multiset(count, ranks.data(), 1, place());
        must(board_.unused.ga != ACP_GA_NULL && board_.map.ga != ACP_GA_NULL &&
                 board_.multimap.ga != ACP_GA_NULL && board_.multiset.ga != ACP_GA_NULL,
             "making the containers");
        for (auto& pair : board_.pairs) {
            for (int which = 0; which < 2; ++which) {
                pair[which] = acp_create_map(which == 0 ? count : 1, ranks.data(), 1, place());
                fill(pair[which], which);
            }
        }
        movers_.make(ranks, place);
    }

    void fill(acp_map_t map, int which) {
        for (std::uint64_t number = 0; number < keys_of_pair; ++number) {
            const std::string key = key_of(which, number);
            must(acp_insert_if_absent_map(map, key.data(), key.size(), nullptr, 0) == 1,
                 "an entry of a pair");
        }
    }

    void swap_pair() {
        auto& pair = board_.pairs[rank_];
        must(acp_swap_map(pair[0], pair[1]) == 0, "acp_swap_map");
    }

    // Each pair is either swapped or not, whenever the rank was killed.
    void verify_pairs() {
        for (const auto& pair : board_.pairs) {
            // Completes the victim's swap, if it was in one.
            for (const acp_map_t map : pair)
                must(acp_size_map(map) == keys_of_pair, "the size of a swapped map");
            const std::string first = key_of(0, 0);
            const int is_swapped = acp_find_map(pair[1], first.data(), first.size()).success;
            for (int which = 0; which < 2 && is_well_; ++which) {
                const acp_map_t map = pair[is_swapped == 1 ? 1 - which : which];
                for (std::uint64_t number = 0; number < keys_of_pair; ++number) {
                    const std::string key = key_of(which, number);
                    must(acp_find_map(map, key.data(), key.size()).success == 1,
                         "a swapped map without " + key);
                }
            }
            must(acp_swap_map(pair[0], pair[1]) == 0, "acp_swap_map after a death");
        }
    }

    [[nodiscard]] bool can_reach(int rank) const {
        return rank != board_.victim || board_.has_tables_on_victim != 0;
    }

    // This map is first used after the death: its tables on the survivors work.
    void use_unused() {
        int stored = 0;
        for (std::uint64_t number = 0; number < own_keys; ++number) {
            const std::string key = key_of(rank_, number);
            const int done =
                acp_insert_if_absent_map(board_.unused, key.data(), key.size(), nullptr, 0);
            must(done == 1 || acp_errno() == ACP_ERR_PEER, "an entry of a map that is used late");
            stored += done == 1 ? 1 : 0;
        }
        must(stored > 0, "a map that is used late takes no entry");
        must(acp_destroy_map(board_.unused) == 0, "acp_destroy_map of a map that was used late");
    }

    void destroy_containers() {
        must(acp_destroy_map(board_.map) == 0, "acp_destroy_map");
        must(acp_destroy_multimap(board_.multimap) == 0, "acp_destroy_multimap");
        must(acp_destroy_multiset(board_.multiset) == 0, "acp_destroy_multiset");
        for (const auto& pair : board_.pairs) {
            for (const acp_map_t map : pair)
                must(acp_destroy_map(map) == 0, "acp_destroy_map of a swapped map");
        }
        movers_.destroy();
    }

    void look_at_heaps() {
        for (int rank = 0; rank < kill_ranks; ++rank) {
            if (!can_reach(rank)) continue;
            must(acp_heap_check(rank) == 0, "acp_heap_check of rank " + std::to_string(rank));
            board_.ranks[rank].blocks_after.store(blocks_of_heap(rank), std::memory_order_relaxed);
        }
    }

    void operate() {
        const std::string key = key_of(rank_, random_.below(own_keys));
        if (random_.below(4) == 0) swap_pair();
        if (random_.below(8) == 0) movers_.move_maps(random_.below(2));
        if (random_.below(8) == 0) movers_.move_multimaps(random_.below(2));
        switch (random_.below(4)) {
            case 0:
            case 1:
                return work_on_map(key);
            case 2:
                return work_on_multimap(key);
            default:
                if (random_.below(16) == 0) (void)scanned();
                return random_.below(2) == 0 ? work_on_multiset(key) : count_shared();
        }
    }

    void work_on_map(const std::string& key) {
        const std::string value = value_for(key, random_.below(1'000));
        const bool is_there = map_.count(key) != 0;
        switch (random_.below(4)) {
            case 0: {
                const int done = acp_insert_if_absent_map(board_.map, key.data(), key.size(),
                                                          value.data(), value.size());
                must(done == (is_there ? 0 : 1), "acp_insert_if_absent_map of " + key);
                map_.emplace(key, value);
                return;
            }
            case 1:
                must(acp_insert_or_assign_map(board_.map, key.data(), key.size(), value.data(),
                                              value.size()) == (map_.count(key) == 0 ? 1 : 0),
                     "acp_insert_or_assign_map of " + key);
                map_[key] = value;
                return;
            case 2:
                must(acp_remove_map(board_.map, key.data(), key.size()) == (is_there ? 1 : 0),
                     "acp_remove_map of " + key);
                map_.erase(key);
                return;
            default:
                expect_value(key);
        }
    }

    void expect_value(const std::string& key) {
        std::string value(4'096, '\0');
        std::size_t bytes = value.size();
        const int found =
            acp_retrieve_map(board_.map, key.data(), key.size(), value.data(), &bytes);
        const auto wanted = map_.find(key);
        must(found == (wanted != map_.end() ? 1 : 0), "acp_retrieve_map of " + key);
        if (found != 1 || !is_well_) return;
        value.resize(std::min(bytes, value.size()));
        must(value == wanted->second, "the value of " + key + " is another one: " + value);
    }

    // The values of a key, read by iterators.
    std::multiset<std::string> values_of(const std::string& key) {
        std::multiset<std::string> values;
        const acp_multimap_ib_t found = acp_find_multimap(board_.multimap, key.data(), key.size());
        must(found.success != -1, "acp_find_multimap of " + key);
        for (acp_multimap_it_t it = found.it; found.success == 1 && it.elem != ACP_GA_NULL;
             it = acp_increment_key_multimap_it(it)) {
            std::string value(4'096, '\0');
            std::size_t bytes = value.size();
            must(acp_read_multimap_it(it, value.data(), &bytes) == 1,
                 "acp_read_multimap_it of " + key);
            values.insert(value.substr(0, bytes));
        }
        return values;
    }

    void work_on_multimap(const std::string& key) {
        auto& values = multimap_[key];
        if (values.size() < 6 && random_.below(3) != 0) {
            const std::string value = value_for(key, random_.below(1'000));
            const acp_multimap_it_t it = acp_insert_multimap(
                board_.multimap, key.data(), key.size(), value.data(), value.size());
            must(it.elem != ACP_GA_NULL, "acp_insert_multimap of " + key);
            values.insert(value);
        } else if (random_.below(2) == 0) {
            must(acp_remove_multimap(board_.multimap, key.data(), key.size()) ==
                     static_cast<std::int64_t>(values.size()),
                 "acp_remove_multimap of " + key);
            values.clear();
        } else {
            must(acp_count_multimap(board_.multimap, key.data(), key.size()) ==
                     static_cast<std::int64_t>(values.size()),
                 "acp_count_multimap of " + key);
        }
    }

    void work_on_multiset(const std::string& key) {
        std::uint64_t& count = multiset_[key];
        if (random_.below(2) == 0) {
            const std::uint64_t number = 1 + random_.below(3);
            count += number;
            must(acp_add_multiset(board_.multiset, key.data(), key.size(), number) == count,
                 "acp_add_multiset of " + key);
        } else if (random_.below(4) == 0) {
            must(acp_remove_all_multiset(board_.multiset, key.data(), key.size()) ==
                     (count != 0 ? 1 : 0),
                 "acp_remove_all_multiset of " + key);
            count = 0;
        } else {
            must(acp_remove_multiset(board_.multiset, key.data(), key.size()) ==
                     (count != 0 ? 1 : 0),
                 "acp_remove_multiset of " + key);
            count -= count != 0 ? 1 : 0;
        }
    }

    // Each rank removes at most what it has added, so the count is the sum of the ranks' own
    // counts.
    void count_shared() {
        const std::uint64_t which = random_.below(shared_keys);
        const std::string key = "shared " + std::to_string(which);
        auto& after = note().shared_after[which];
        auto& before = note().shared_before[which];
        const std::int64_t own = after.load(std::memory_order_relaxed);
        const bool is_up = own == 0 || random_.below(2) == 0;
        after.store(is_up ? own + 1 : own - 1, std::memory_order_release);
        if (is_up) {
            must(acp_add_multiset(board_.multiset, key.data(), key.size(), 1) >
                     static_cast<std::uint64_t>(own),
                 "acp_add_multiset of " + key);
        } else {
            must(acp_remove_multiset(board_.multiset, key.data(), key.size()) == 1,
                 "acp_remove_multiset of " + key);
        }
        before.store(is_up ? own + 1 : own - 1, std::memory_order_release);
    }

    void verify() {
        for (std::uint64_t number = 0; number < own_keys; ++number) {
            const std::string key = key_of(rank_, number);
            expect_value(key);
            must(values_of(key) == multimap_[key], "the multimap's values of " + key);
            must(acp_retrieve_multiset(board_.multiset, key.data(), key.size()) == multiset_[key],
                 "the multiset's count of " + key);
        }
        for (std::uint64_t which = 0; which < shared_keys; ++which) verify_shared(which);
        walk();
    }

    void verify_shared(std::uint64_t which) {
        const std::string key = "shared " + std::to_string(which);
        std::int64_t least = 0;
        std::int64_t most = 0;
        for (const KillNote& one : board_.ranks) {
            const std::int64_t before = one.shared_before[which].load(std::memory_order_acquire);
            const std::int64_t after = one.shared_after[which].load(std::memory_order_acquire);
            least += std::min(before, after);
            most += std::max(before, after);
        }
        const auto count = static_cast<std::int64_t>(
            acp_retrieve_multiset(board_.multiset, key.data(), key.size()));
        must(least <= count && count <= most,
             "the count of " + key + " is " + std::to_string(count) + " and should be " +
                 std::to_string(least) + " to " + std::to_string(most));
    }

    std::string bytes_of(const acp_element_t& element) {
        std::string bytes(element.size, '\0');
        if (element.size == 0) return bytes;
        const acp_handle_t got = acp_get(bytes.data(), element.ga, element.size, ACP_HANDLE_NULL);
        must(acp_wait(got, -1) == ACP_OK, "acp_get of an entry");
        return bytes;
    }

    std::map<std::string, std::string> scanned() {
        std::map<std::string, std::string> content;
        acp_entry_t entries[20];
        std::vector<char> room(64 * 1024);
        acp_map_it_t it = acp_begin_map(board_.map);
        for (std::int64_t count = 1; count > 0 && is_well_;) {
            count = acp_scan_map(&it, std::size(entries), entries, room.data(), room.size());
            must(count >= 0, "acp_scan_map");
            for (std::int64_t i = 0; i < count; ++i) {
                const std::string key(static_cast<const char*>(entries[i].key),
                                      entries[i].key_size);
                const std::string value(static_cast<const char*>(entries[i].value),
                                        entries[i].value_size);
                must(is_value_for(key, value), "a scan has a value that is not whole: " + value);
                content.emplace(key, value);
            }
        }
        return content;
    }

    // No rank changes an entry now: a walk visits every entry once, with a whole value.
    void walk() {
        std::map<std::string, std::string> in_map;
        for (acp_map_it_t it = acp_begin_map(board_.map); it.elem != ACP_GA_NULL && is_well_;
             it = acp_increment_map_it(it)) {
            const acp_pair_t entry = acp_dereference_map_it(it);
            const std::string key = bytes_of(entry.first);
            const std::string value = bytes_of(entry.second);
            must(is_value_for(key, value), "the map's value of " + key + " is not whole: " + value);
            must(in_map.emplace(key, value).second, "the map has twice: " + key);
        }
        must(scanned() == in_map, "a scan finds other entries than iterators");
        std::map<std::string, std::multiset<std::string>> in_multimap;
        for (acp_multimap_it_t it = acp_begin_multimap(board_.multimap);
             it.elem != ACP_GA_NULL && is_well_; it = acp_increment_multimap_it(it)) {
            const acp_pair_t entry = acp_dereference_multimap_it(it);
            const std::string key = bytes_of(entry.first);
            const std::string value = bytes_of(entry.second);
            must(is_value_for(key, value),
                 "the multimap's value of " + key + " is not whole: " + value);
            in_multimap[key].insert(value);
        }
        entries_of_map_ = in_map.size();
        entries_of_multimap_ = 0;
        for (const auto& [key, values] : in_multimap) entries_of_multimap_ += values.size();
        std::set<std::string> in_multiset;
        for (acp_multiset_it_t it = acp_begin_multiset(board_.multiset);
             it.elem != ACP_GA_NULL && is_well_; it = acp_increment_multiset_it(it)) {
            const std::string key = bytes_of(acp_dereference_multiset_it(it));
            must(in_multiset.insert(key).second, "the multiset has twice: " + key);
        }
        entries_of_multiset_ = in_multiset.size();
        for (std::uint64_t number = 0; number < own_keys; ++number) {
            const std::string key = key_of(rank_, number);
            must(in_map.count(key) == map_.count(key), "a walk over the map, and " + key);
            must(in_multimap[key] == multimap_[key], "a walk over the multimap, and " + key);
            must(in_multiset.count(key) == (multiset_[key] != 0 ? 1U : 0U),
                 "a walk over the multiset, and " + key);
        }
    }

    // The library has detected the death, and no rank changes an entry.
    void verify_sizes() {
        must(acp_size_map(board_.map) == entries_of_map_, "acp_size_map");
        must(acp_size_multimap(board_.multimap) == entries_of_multimap_, "acp_size_multimap");
        must(acp_size_multiset(board_.multiset) == entries_of_multiset_, "acp_size_multiset");
    }

    KillBoard& board_;
    int rank_;
    Random random_;
    bool is_well_ = true;
    Movers movers_{board_, [this](bool is_so, const std::string& what) { must(is_so, what); }};
    std::map<std::string, std::string> map_;
    std::map<std::string, std::multiset<std::string>> multimap_;
    std::map<std::string, std::uint64_t> multiset_;
    // Counted by a walk.
    std::size_t entries_of_map_ = 0;
    std::size_t entries_of_multimap_ = 0;
    std::size_t entries_of_multiset_ = 0;
};

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    acp::test::arm_watchdog(100, "a rank that works on containers");
    const auto board = acp::test::Board<acp::test::KillBoard>::open();
    if (acp_init(&argc, &argv) != 0) {
        std::fprintf(stderr, "%s\n", acp_error_message());
        return 1;
    }
    return acp::test::Worker(*board).run();
}
