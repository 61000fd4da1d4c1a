// SPDX-License-Identifier: BSD-3-Clause
// Keys and values longer than a message: moved between ranks, and visited by a walk while another
// rank erases or replaces their entries, so that other entries have that memory when the walk reads
// it.
#include <map>
#include <string>
#include <vector>

#include <acp.h>

#include "conformance/hashed_fixture.hpp"

namespace acp::test {
namespace {

class HashedLongTest : public HashedTest {};

// The longest key whose value can be changed by a number, and the longest value that
// acp_replace_map compares.
constexpr std::size_t longest_counted = 968;
constexpr std::size_t longest_compared = 968;

// Keys that together with their counts are longer than a message.
TEST_F(HashedLongTest, a_multisets_long_keys_are_merged_and_moved_between_all_ranks) {
    const std::string both = "both " + std::string(longest_counted - 5, 'k');
    const std::string other = "other" + std::string(longest_counted - 5, 'k');
    const std::string brief = "brief";
    const auto count_of = [](acp_multiset_t set, const std::string& key) {
        return acp_retrieve_multiset(set, key.data(), key.size());
    };
    for (int home = 0; home < procs_; ++home) {
        const int next = (home + 1) % procs_;
        for (int caller = 0; caller < procs_; ++caller) {
            const auto make_at = [&](int rank) {
                return [rank] { return acp_create_multiset(1, &rank, 1, rank); };
            };
            const auto with_both = [&](const auto& use) {
                with_shared<acp_multiset_t>(
                    make_at(home), acp_destroy_multiset, [&](acp_multiset_t from) {
                        with_shared<acp_multiset_t>(make_at(next), acp_destroy_multiset,
                                                    [&](acp_multiset_t into) { use(into, from); });
                    });
            };
            with_both([&](acp_multiset_t into, acp_multiset_t from) {
                if (rank_ == home) {
                    EXPECT_EQ(acp_add_multiset(from, both.data(), both.size(), 3), 3U);
                    EXPECT_EQ(acp_add_multiset(from, other.data(), other.size(), 5), 5U);
                    EXPECT_EQ(acp_add_multiset(from, brief.data(), brief.size(), 2), 2U);
                }
                if (rank_ == next) {
                    EXPECT_EQ(acp_add_multiset(into, both.data(), both.size(), 4), 4U);
                }
                sync_ranks();
                if (rank_ == caller) {
                    EXPECT_EQ(acp_merge_multiset(into, from), 0) << acp_error_message();
                }
                sync_ranks();
                EXPECT_EQ(count_of(into, both), 7U) << "the counts are added";
                EXPECT_EQ(count_of(into, other), 5U) << acp_error_message();
                EXPECT_EQ(count_of(into, brief), 2U);
                EXPECT_EQ(acp_size_multiset(from), 3U);
                sync_ranks();
                if (rank_ == caller) {
                    EXPECT_EQ(acp_move_multiset(into, from), 0) << acp_error_message();
                }
                sync_ranks();
                EXPECT_EQ(count_of(into, both), 10U);
                EXPECT_EQ(count_of(into, other), 10U);
                EXPECT_EQ(count_of(into, brief), 4U);
                EXPECT_EQ(acp_size_multiset(into), 3U);
                EXPECT_EQ(acp_size_multiset(from), 0U);
                EXPECT_EQ(count_of(from, other), 0U);
            });
        }
    }
}

// The limits do not depend on the node of the entry.
TEST_F(HashedLongTest, limits_of_keys_and_of_compared_values_are_the_same_on_all_nodes) {
    const std::string key(longest_counted, 'k');
    const std::string long_key(longest_counted + 1, 'k');
    with_map(2, [&](acp_map_t map) {
        for (std::size_t i = 0; i < 2 * static_cast<std::size_t>(procs_); ++i) {
            const std::string own = own_key(i);
            const std::string fits = own + key.substr(own.size());
            const std::string exceeds = own + long_key.substr(own.size());
            EXPECT_EQ(acp_fetch_add_map(map, fits.data(), fits.size(), 1, nullptr), 1)
                << acp_error_message();
            EXPECT_EQ(acp_fetch_add_map(map, exceeds.data(), exceeds.size(), 1, nullptr), -1);
            expect_refused(ACP_ERR_LIMIT, {"acp_fetch_add_map", "969 bytes", "968 bytes"});
            std::uint64_t expected = 0;
            EXPECT_EQ(acp_compare_exchange_map(map, exceeds.data(), exceeds.size(), &expected, 1),
                      -1);
            expect_refused(ACP_ERR_LIMIT, {"acp_compare_exchange_map", "968 bytes"});
            for (const std::size_t bytes : {longest_compared, longest_compared + 1}) {
                std::string value(bytes, 'v');
                ASSERT_EQ(insert(map, own + std::to_string(bytes), value), 1);
                const std::string at = own + std::to_string(bytes);
                const acp_entry_t entry{at.data(), at.size(), value.data(), bytes, 0, 0};
                const bool is_longer = bytes > longest_compared;
                EXPECT_EQ(acp_replace_map(map, &entry, "x", 1), is_longer ? -1 : 1)
                    << acp_error_message();
                if (is_longer)
                    expect_refused(ACP_ERR_LIMIT, {"acp_replace_map", "969 bytes", "968 bytes"});
            }
        }
    });
}

// One of many keys is too long to be counted: the call counts none of them.
TEST_F(HashedLongTest, a_key_too_long_to_be_counted_is_reported_with_place_length_and_limit) {
    constexpr std::size_t count = 3'000;
    constexpr std::size_t which = 2'500;
    const int home = 0;
    with_shared<acp_multiset_t>(
        [&] { return acp_create_multiset(1, &home, 1, home); }, acp_destroy_multiset,
        [&](acp_multiset_t set) {
            std::vector<std::string> keys;
            std::vector<acp_entry_t> entries(count);
            for (std::size_t i = 0; i < count; ++i) {
                keys.push_back("key " + std::to_string(i));
                if (i == which) keys.back().resize(2'000, 'k');
            }
            for (std::size_t i = 0; i < count; ++i) {
                entries[i].key = keys[i].data();
                entries[i].key_size = keys[i].size();
                entries[i].number = 1;
            }
            EXPECT_EQ(acp_add_many_multiset(set, count, entries.data()), -1);
            expect_refused(ACP_ERR_LIMIT, {"acp_add_many_multiset", "entry 2500", "2000 bytes",
                                           "968 bytes are the most"});
            sync_ranks();
            EXPECT_EQ(acp_size_multiset(set), 0U);
        });
}

// A walk over two entries that reads them one by one. While it visits the first entry, the other
// one is erased or replaced, and the next entry that is inserted reuses its memory.
class ChangedWalk {
public:
    static constexpr std::size_t long_bytes = 20'000;

    ChangedWalk(int rank, bool is_replaced)
        : rank_(rank), is_replaced_(is_replaced), map_(acp_create_map(1, &rank, 1, rank)) {
        for (const char* key : {"one", "two"}) insert(key, long_bytes);
    }

    ~ChangedWalk() {
        for (const acp_ga_t block : held_) EXPECT_EQ(acp_free(block), 0);
        EXPECT_EQ(acp_destroy_map(map_), 0) << acp_error_message();
    }

    ChangedWalk(const ChangedWalk&) = delete;
    ChangedWalk& operator=(const ChangedWalk&) = delete;

    void run() {
        EXPECT_GE(acp_for_each_local_map(map_, visit, this), 1) << acp_error_message();
        EXPECT_EQ(visits_[first_], 1);
        // An entry that exists during the whole walk is visited once, an erased entry is not
        // visited, and an inserted entry may be.
        EXPECT_EQ(visits_[other_], is_replaced_ ? 1 : 0);
        EXPECT_LE(visits_["new"], 1);
    }

private:
    static int visit(const void* key,
                     std::size_t key_size,
                     const void* value,
                     std::size_t value_size,
                     void* walk) {
        static_cast<ChangedWalk*>(walk)->note({static_cast<const char*>(key), key_size},
                                              {static_cast<const char*>(value), value_size});
        return 0;
    }

    void note(const std::string& key, const std::string& value) {
        EXPECT_EQ(value, std::string(bytes_[key], key.front()))
            << key << " with " << value.size() << " bytes";
        ++visits_[key];
        if (first_.empty()) {
            first_ = key;
            other_ = key == "one" ? "two" : "one";
            change();
        }
    }

    void change() {
        const acp_ga_t record = record_of(other_);
        if (is_replaced_) {
            insert(other_, 10);
        } else {
            EXPECT_EQ(acp_remove_map(map_, other_.data(), other_.size()), 1);
        }
        free_only(record);
        const std::string heir = is_replaced_ ? other_ : "new";
        insert(heir, is_replaced_ ? long_bytes + 100 : long_bytes);
        EXPECT_EQ(record_of(heir), record) << "it has other memory, and nothing is tested";
    }

    // Allocates blocks of one size until it gets `record`, and frees that one: the next allocation
    // of this size reuses it.
    void free_only(acp_ga_t record) {
        acp_heap_stat_t stat{};
        // Reclaims erased entries.
        EXPECT_EQ(acp_heap_stat(rank_, &stat), 0);
        for (acp_ga_t block = 0; block != record; held_.push_back(block)) {
            block = acp_malloc(long_bytes + 100, rank_);
            ASSERT_NE(block, ACP_GA_NULL) << acp_error_message();
        }
        held_.pop_back();
        EXPECT_EQ(acp_free(record), 0);
    }

    void insert(const std::string& key, std::size_t bytes) {
        const std::string value(bytes, key.front());
        EXPECT_GE(acp_insert_or_assign_map(map_, key.data(), key.size(), value.data(), bytes), 0)
            << acp_error_message();
        bytes_[key] = bytes;
    }

    [[nodiscard]] acp_ga_t record_of(const std::string& key) const {
        return acp_find_map(map_, key.data(), key.size()).it.elem;
    }

    int rank_;
    bool is_replaced_;
    acp_map_t map_;
    std::map<std::string, std::size_t> bytes_;
    std::map<std::string, int> visits_;
    std::string first_;
    std::string other_;
    std::vector<acp_ga_t> held_;
};

TEST_F(HashedLongTest, an_entry_whose_memory_is_reused_before_its_read_is_visited_again) {
    for (int turn = 0; turn < procs_; ++turn) {
        if (turn == rank_) {
            ChangedWalk(rank_, false).run();
            ChangedWalk(rank_, true).run();
        }
        sync_ranks();
    }
}

// The walk takes an entry whose key has another hash for one whose memory was reused, and visits it
// again; it must not do so for ever.
TEST_F(HashedLongTest, a_walk_that_meets_an_overwritten_long_key_ends) {
    const std::string key(20'000, 'k');
    for (int home = 0; home < procs_; ++home) {
        if (rank_ != 0) continue;
        const acp_map_t map = acp_create_map(1, &home, 4, home);
        ASSERT_EQ(acp_insert_if_absent_map(map, key.data(), key.size(), "v", 1), 1)
            << acp_error_message();
        acp_map_it_t it = acp_begin_map(map);
        const acp_ga_t bytes = acp_dereference_map_it(it).first.ga;
        ASSERT_EQ(acp_wait(acp_put(bytes + 100, "x", 1, ACP_HANDLE_NULL), -1), ACP_OK);
        acp_entry_t entry{};
        std::vector<std::uint64_t> room(4'000);
        EXPECT_EQ(acp_scan_map(&it, 1, &entry, room.data(), room.size() * 8), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_SYSTEM) << acp_error_message();
        const acp_map_t other = acp_create_map(1, &home, 4, home);
        EXPECT_EQ(acp_merge_map(other, map), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_SYSTEM) << acp_error_message();
        EXPECT_EQ(acp_destroy_map(other), 0);
        EXPECT_EQ(acp_destroy_map(map), 0);
    }
    sync_ranks();
}

}  // namespace
}  // namespace acp::test
