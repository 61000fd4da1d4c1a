// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks work on containers of the first and the last rank, two at a time, until
// each is killed. Those two, the hosts, survive; with two nodes each of them has one host. Each
// rank also makes and destroys containers of its own there, and publishes its current one to the
// host of its node, so that a killed rank leaves no other container. Rank 0 kills the others, one
// every few milliseconds, and works with them. At the end the hosts wait until both nodes have
// detected all deaths, and destroy the containers, and rank 0 prints how many blocks each heap has
// more than before. Arguments: the seed. Prints "kills=N left=N".
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "leaks/long_vectors.hpp"
#include "leaks/own_container.hpp"
#include "leaks/swapped_pairs.hpp"
#include "support/clock.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr std::uint64_t keys = 40;
constexpr std::size_t text_max = 3'000;
constexpr std::size_t long_text_bytes = 1'300'000;

// The shared containers of both hosts.
struct Containers {
    acp_map_t map;
    acp_multimap_t multimap;
    acp_set_t set;
    acp_multiset_t multiset;
    std::array<acp_list_t, 2> lists;
    std::array<acp_vector_t, 2> vectors;
    std::array<acp_deque_t, 2> deques;
    LongVectors long_vectors;
};

// The host that has each rank's block, with which the rank replaces blocks until it is killed.
constexpr int home_of_block(int rank, int last) {
    return rank % 2 == 0 ? 0 : last;
}

constexpr std::size_t ranks_max = 64;

// The content of the start of each rank's starter memory. Writers: the rank `process`, the other
// host `step`, the ranks of a host's node `owned`, rank 0 the other fields.
struct Start {
    Containers containers;
    std::array<Own, ranks_max> owned;  // published containers of the host's node
    acp_ga_t block;                    // the rank's block on home_of_block()
    SwappedPairs pairs;                // the rank's
    std::uint64_t process;
    volatile std::uint64_t may_work;
    volatile std::uint64_t step;  // step of the other host
};

// Random calls; a kill in any of them leaves no block.
class Work {
public:
    Work(const Containers& containers, std::uint64_t seed)
        : containers_(containers),
          random_(seed),
          text_(text_max, 'x'),
          long_text_(long_text_bytes, 'l') {}

    void operate() {
        const std::string key = "key " + std::to_string(random_.below(keys));
        switch (random_.below(9)) {
            case 0:
                return on_map(key);
            case 1:
                return on_multimap(key);
            case 2:
                return on_set(key);
            case 3:
                return on_multiset(key);
            case 4:
                return on_list(random_.below(2));
            case 5:
                return on_vector(containers_.vectors[random_.below(2)]);
            case 6:
                return containers_.long_vectors.operate(random_);
            case 7:
                return on_long_value();
            default:
                return on_deque(containers_.deques[random_.below(2)]);
        }
    }

private:
    // Some texts are longer than a message.
    std::size_t any_size() { return 1 + random_.below(random_.below(4) == 0 ? text_max : 90); }

    void on_map(const std::string& key) {
        const int done = random_.below(3) != 0
                             ? acp_insert_or_assign_map(containers_.map, key.data(), key.size(),
                                                        text_.data(), any_size())
                             : acp_remove_map(containers_.map, key.data(), key.size());
        must(done >= 0, "a call on the map");
    }

    // The gateway of another node frees the value, and gives its memory back later. All ranks use one
    // key, or the heap would be full.
    void on_long_value() {
        const std::string key = "long value";
        const int done = random_.below(3) != 0
                             ? acp_insert_or_assign_map(containers_.map, key.data(), key.size(),
                                                        long_text_.data(), long_text_.size())
                             : acp_remove_map(containers_.map, key.data(), key.size());
        must(done >= 0 || acp_errno() == ACP_ERR_MEMORY, "a call on a long value of the map");
    }

    void on_multimap(const std::string& key) {
        if (random_.below(4) != 0) {
            must(acp_insert_multimap(containers_.multimap, key.data(), key.size(), text_.data(),
                                     any_size())
                         .elem != ACP_GA_NULL,
                 "acp_insert_multimap");
        } else {
            must(acp_remove_multimap(containers_.multimap, key.data(), key.size()) >= 0,
                 "acp_remove_multimap");
        }
    }

    void on_set(std::string key) {
        if (random_.below(4) == 0) key += text_.substr(0, 1'500);
        const int done = random_.below(2) == 0
                             ? acp_insert_if_absent_set(containers_.set, key.data(), key.size())
                             : acp_remove_set(containers_.set, key.data(), key.size());
        must(done >= 0, "a call on the set");
    }

    void on_multiset(const std::string& key) {
        if (random_.below(2) == 0) {
            must(acp_add_multiset(containers_.multiset, key.data(), key.size(), 2) != UINT64_MAX,
                 "acp_add_multiset");
        } else {
            must(acp_remove_multiset(containers_.multiset, key.data(), key.size()) >= 0,
                 "acp_remove_multiset");
        }
    }

    void on_list(std::size_t which) {
        const acp_list_t list = containers_.lists[which];
        const int host = which == 0 ? 0 : acp_procs() - 1;
        const bool is_front = random_.below(2) == 0;
        if (random_.below(2) == 0) {
            const int done = is_front ? acp_push_front_list(list, text_.data(), any_size(), host)
                                      : acp_push_back_list(list, text_.data(), any_size(), host);
            must(done == 0, "pushing to the list");
        } else {
            std::array<char, text_max> taken;  // NOLINT: written as far as read
            const std::int64_t bytes = is_front ? acp_take_front_list(list, taken.data(), text_max)
                                                : acp_take_back_list(list, taken.data(), text_max);
            must(bytes >= 0 || bytes == ACP_NONE, "taking from the list");
        }
    }

    void on_vector(acp_vector_t vector) {
        if (random_.below(2) == 0) {
            must(acp_append_vector(vector, text_.data(), any_size()) >= 0, "acp_append_vector");
        } else {
            std::array<char, text_max> taken;  // NOLINT: written as far as read
            must(acp_take_back_vector(vector, taken.data(), any_size()) >= 0,
                 "acp_take_back_vector");
        }
    }

    void on_deque(acp_deque_t deque) {
        std::array<char, text_max> taken;  // NOLINT: written as far as read
        switch (random_.below(4)) {
            case 0:
                return must(acp_push_front_deque(deque, text_.data(), any_size()) == 0,
                            "acp_push_front_deque");
            case 1:
                return must(acp_append_deque(deque, text_.data(), any_size()) >= 0,
                            "acp_append_deque");
            case 2:
                return must(acp_take_front_deque(deque, taken.data(), any_size()) >= 0,
                            "acp_take_front_deque");
            default:
                return must(acp_take_back_deque(deque, taken.data(), any_size()) >= 0,
                            "acp_take_back_deque");
        }
    }

    const Containers& containers_;
    Random random_;
    std::string text_;
    std::string long_text_;
};

class Rank {
public:
    explicit Rank(std::uint64_t seed)
        : seed_(seed),
          rank_(acp_rank()),
          last_(acp_procs() - 1),
          start_(*static_cast<Start*>(acp_query_address(acp_query_starter_ga(rank_)))) {
        must(acp_procs() <= static_cast<int>(ranks_max), "too many ranks");
        start_.owned.fill(Own{});
    }

    int run() {
        start_.process = static_cast<std::uint64_t>(getpid());
        for (const int host : hosts()) before_.push_back(blocks_of(host));
        must(acp_sync() == 0, "acp_sync");
        if (rank_ == 0) {
            make_containers();
            for (int rank = 1; rank <= last_; ++rank) {
                put(rank, 0, &start_.containers, sizeof(Containers));
                const acp_ga_t block = acp_malloc(100, home_of_block(rank, last_));
                must(block != ACP_GA_NULL, "acp_malloc");
                put(rank, offsetof(Start, block), &block, sizeof block);
                if (rank == last_) continue;
                SwappedPairs& pairs = pairs_.emplace_back();
                pairs.make(rank % 2 == 0 ? 0 : last_, rank % 3 == 0 ? 0 : last_);
                put(rank, offsetof(Start, pairs), &pairs, sizeof pairs);
            }
        }
        must(acp_sync() == 0, "acp_sync");
        if (rank_ != 0 && rank_ != last_) be_killed();
        if (rank_ == 0) kill_all();
        if (rank_ == last_) await(start_.step, 1);
        await_notice();
        return conclude();
    }

private:
    [[nodiscard]] std::array<int, 2> hosts() const { return {0, last_}; }

    static std::uint64_t blocks_of(int rank) {
        acp_heap_stat_t stat{};
        must(acp_heap_stat(rank, &stat) == 0, "acp_heap_stat");
        return stat.blocks;
    }

    static void put(int rank, std::size_t offset, const void* from, std::size_t bytes) {
        must(acp_wait(acp_put(acp_query_starter_ga(rank) + offset, from, bytes, ACP_HANDLE_NULL),
                      -1) == ACP_OK,
             "acp_put");
    }

    static void await(const volatile std::uint64_t& word, std::uint64_t value) {
        int code = ACP_ERR_PEER;  // each death ends a wait
        while (code == ACP_ERR_PEER) {
            code = acp_wait_word(&word, sizeof word, ACP_WORD_EQUAL, value, -1);
        }
        must(code == ACP_OK, "acp_wait_word");
    }

    void make_containers() {
        const std::array<int, 2> ranks = hosts();
        Containers& made = start_.containers;
        made.map = acp_create_map(2, ranks.data(), 1, 0);
        made.multimap = acp_create_multimap(2, ranks.data(), 1, last_);
        made.set = acp_create_set(2, ranks.data(), 1, 0);
        made.multiset = acp_create_multiset(2, ranks.data(), 1, last_);
        must(made.map.ga != ACP_GA_NULL && made.multimap.ga != ACP_GA_NULL &&
                 made.set.ga != ACP_GA_NULL && made.multiset.ga != ACP_GA_NULL,
             "making hashed containers");
        for (std::size_t i = 0; i < 2; ++i) {
            made.lists[i] = acp_create_list(ranks[i]);
            made.vectors[i] = acp_create_vector(0, ranks[i]);
            made.deques[i] = acp_create_deque(0, ranks[i]);
            must(made.lists[i].ga != ACP_GA_NULL && made.vectors[i].ga != ACP_GA_NULL &&
                     made.deques[i].ga != ACP_GA_NULL,
                 "making a list, a vector or a deque");
        }
        made.long_vectors.make(ranks);
    }

    [[noreturn]] void be_killed() {
        await(start_.may_work, 1);
        const std::uint64_t seed = seed_ + static_cast<std::uint64_t>(rank_);
        Work work(start_.containers, seed);
        const int host = is_here(0) ? 0 : last_;
        OwnContainer own(acp_query_starter_ga(host) + offsetof(Start, owned) +
                             static_cast<std::uint64_t>(rank_) * sizeof(Own),
                         seed + 1);
        acp_ga_t block = start_.block;
        for (Random random(seed + 2); true;) {
            switch (random.below(7)) {
                case 0:
                    block = acp_realloc(block, std::size_t{1} << random.below(17));
                    must(block != ACP_GA_NULL, "acp_realloc");
                    break;
                case 1:
                    start_.pairs.swap_vectors();
                    break;
                case 2:
                    start_.pairs.swap_deques();
                    break;
                case 3:
                case 4:
                    own.operate();
                    break;
                default:
                    work.operate();
            }
        }
    }

    // Whether a rank is on this rank's node.
    [[nodiscard]] static bool is_here(int rank) {
        return acp_query_address(acp_query_starter_ga(rank)) != nullptr;
    }

    // Destroys the published containers of this node's ranks.
    void destroy_owned() const {
        for (const Own& own : start_.owned) OwnContainer::destroy(own);
    }

    // Two victims work at a time.
    void kill_all() {
        Random random(seed_);
        Work work(start_.containers, random.next());
        std::vector<pid_t> processes(static_cast<std::size_t>(last_));
        for (int rank = 1; rank < last_; ++rank) {
            std::uint64_t process = 0;
            const acp_ga_t from = acp_query_starter_ga(rank) + offsetof(Start, process);
            must(acp_wait(acp_get(&process, from, sizeof process, ACP_HANDLE_NULL), -1) == ACP_OK,
                 "acp_get");
            processes[static_cast<std::size_t>(rank)] = static_cast<pid_t>(process);
        }
        // Victims of both nodes alternate.
        std::vector<int> order;
        for (int low = 1, high = last_ - 1; low <= high; ++low, --high) {
            order.push_back(low);
            if (low != high) order.push_back(high);
        }
        const std::uint64_t go = 1;
        put(order[0], offsetof(Start, may_work), &go, sizeof go);
        for (std::size_t i = 0; i < order.size(); ++i) {
            if (i + 1 < order.size()) {
                put(order[i + 1], offsetof(Start, may_work), &go, sizeof go);
            }
            const std::int64_t until =
                now_ns() + static_cast<std::int64_t>(200'000 + random.below(3'000'000));
            while (now_ns() < until) work.operate();
            must(kill(processes[static_cast<std::size_t>(order[i])], SIGKILL) == 0, "kill");
        }
        put(last_, offsetof(Start, step), &go, sizeof go);
    }

    // Waits until the node of this host has detected all deaths. A node's agent reaps a process
    // after it has reported its end; the report reaches another node some milliseconds later.
    void await_notice() {
        // No call returns whether a rank of another node is dead.
        constexpr int report_pauses = 5'000;
        for (int rank = 1; rank < last_; ++rank) {
            while (!is_noticed(rank)) usleep(100);  // lint: a pause between looks
        }
        for (int i = 0; i < report_pauses; ++i) usleep(100);  // lint: a pause between looks
    }

    [[nodiscard]] bool is_noticed(int rank) const {
        const acp_ga_t from = acp_query_starter_ga(rank) + offsetof(Start, process);
        std::uint64_t process = 0;
        must(acp_wait(acp_get(&process, from, sizeof process, ACP_HANDLE_NULL), -1) == ACP_OK,
             "reading the memory of a dead rank");
        return kill(static_cast<pid_t>(process), 0) != 0;
    }

    // The hosts proceed in steps, since acp_sync fails after a death. A host that reads the state
    // of a heap reclaims retired entries and elements there.
    int conclude() {
        destroy_owned();
        if (rank_ == last_) {
            tell(0, 1);
            await(start_.step, 2);
            for (const int host : hosts()) (void)blocks_of(host);
            tell(0, 2);
            await(start_.step, 3);
            (void)acp_finalize();
            return 0;
        }
        await(start_.step, 1);
        for (const SwappedPairs& pairs : pairs_) pairs.look_and_destroy();
        destroy_containers();
        for (const int host : hosts()) (void)blocks_of(host);
        tell(last_, 2);
        await(start_.step, 2);
        std::uint64_t left = 0;
        std::string where;
        for (std::size_t i = 0; i < 2; ++i) {
            must(acp_heap_check(hosts()[i]) == 0, "acp_heap_check");
            std::uint64_t now = blocks_of(hosts()[i]);
            for (int rank = 1; rank <= last_; ++rank) {
                if (home_of_block(rank, last_) == hosts()[i]) --now;
            }
            left += now - before_[i];
            where += " " + std::to_string(now - before_[i]);
        }
        std::printf("kills=%d left=%llu heaps:%s\n", last_ - 1,
                    static_cast<unsigned long long>(left), where.c_str());
        std::fflush(stdout);
        tell(last_, 3);
        (void)acp_finalize();
        return 0;
    }

    static void tell(int host, std::uint64_t step) {
        put(host, offsetof(Start, step), &step, sizeof step);
    }

    void destroy_containers() {
        const Containers& made = start_.containers;
        made.long_vectors.look_and_destroy();
        must(acp_destroy_map(made.map) == 0, "acp_destroy_map");
        must(acp_destroy_multimap(made.multimap) == 0, "acp_destroy_multimap");
        must(acp_destroy_set(made.set) == 0, "acp_destroy_set");
        must(acp_destroy_multiset(made.multiset) == 0, "acp_destroy_multiset");
        for (std::size_t i = 0; i < 2; ++i) {
            must(acp_destroy_list(made.lists[i]) == 0, "acp_destroy_list");
            must(acp_destroy_vector(made.vectors[i]) == 0, "acp_destroy_vector");
            must(acp_destroy_deque(made.deques[i]) == 0, "acp_destroy_deque");
        }
    }

    std::uint64_t seed_;
    int rank_;
    int last_;
    Start& start_;
    std::vector<std::uint64_t> before_;
    std::vector<SwappedPairs> pairs_;  // those of all killed ranks; rank 0 only
};

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    acp::test::arm_watchdog(100, "a job whose ranks are killed one after the other");
    if (acp_init(&argc, &argv) != 0 || argc != 2) {
        std::fprintf(stderr, "usage: leak_victims SEED; %s\n", acp_error_message());
        return 1;
    }
    return acp::test::Rank(std::strtoull(argv[1], nullptr, 0)).run();
}
