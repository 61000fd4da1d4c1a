// SPDX-License-Identifier: BSD-3-Clause
// Survivors use the memory of a dead rank whose node lives: its starter memory, the blocks of its
// heap, and the containers there. The last rank dies; each survivor has blocks and containers of
// its own there, and all survivors count up common words.
#include <array>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "faults/checked_rank.hpp"

namespace acp::test {
namespace {

constexpr int victim = 3;
constexpr std::size_t survivors = 3;
constexpr std::size_t short_bytes = 64;
constexpr std::size_t long_bytes = 300'000;
constexpr std::uint64_t additions = 100;
constexpr int elements = 20;

// The blocks and containers that the victim makes for one survivor.
struct Share {
    acp_ga_t block;
    acp_list_t list;
    acp_vector_t vector;
    acp_deque_t deque;
    acp_map_t map;
    acp_multiset_t bag;
};

// The content of the start of the victim's starter memory.
struct Estate {
    std::array<Share, survivors> shares;
    acp_map_t spread;  // over all ranks
    acp_ga_t counter;  // a word in its heap
    acp_ga_t secret;   // registered private memory
    std::uint64_t sum;
    // Survivors that have done their work.
    std::uint64_t finished;
    // Survivors that no longer need the victim's node.
    std::uint64_t left;
};

// Behind the Estate, starter memories have room for the bytes of each survivor.
constexpr std::size_t room_at = 65'536;

void must_end(acp_handle_t handle, const std::string& what) {
    must(acp_wait(handle, -1) == ACP_OK, what);
}

acp_ga_t in_estate(std::size_t offset) {
    return acp_query_starter_ga(victim) + offset;
}

std::uint64_t word_at(acp_ga_t address) {
    std::uint64_t word = 0;
    must_end(acp_get(&word, address, sizeof word, ACP_HANDLE_NULL), "acp_get of a word");
    return word;
}

void leave_share(Share& share) {
    const int home = victim;
    share.block = acp_malloc(long_bytes, victim);
    share.list = acp_create_list(victim);
    share.vector = acp_create_vector(0, victim);
    share.deque = acp_create_deque(0, victim);
    share.map = acp_create_map(1, &home, 4, victim);
    share.bag = acp_create_multiset(1, &home, 4, victim);
    for (int i = 0; i < elements; ++i) {
        must(acp_push_back_list(share.list, &i, sizeof i, victim) == 0 &&
                 acp_push_back_vector(share.vector, &i, sizeof i) == 0 &&
                 acp_push_back_deque(share.deque, &i, sizeof i) == 0 &&
                 acp_insert_if_absent_map(share.map, &i, sizeof i, &i, sizeof i) == 1 &&
                 acp_insert_multiset(share.bag, &i, sizeof i).rank == 0,
             "filling the containers");
    }
}

[[noreturn]] void die_and_leave(const std::vector<std::byte>& secret) {
    auto& estate = *static_cast<Estate*>(acp_query_address(acp_query_starter_ga(victim)));
    for (Share& share : estate.shares) leave_share(share);
    estate.spread = acp_create_map(4, nullptr, 4, 0);
    const int first = -1;  // a container that no call has used dies with its maker
    must(acp_insert_if_absent_map(estate.spread, &first, sizeof first, &first, 4) == 1,
         "the first key of the map over all ranks");
    estate.counter = acp_calloc(1, 8, victim);
    estate.secret =
        acp_query_ga(acp_register_memory(const_cast<std::byte*>(secret.data()), secret.size(), 0),
                     secret.data());
    must(acp_sync() == 0, "acp_sync");
    raise(SIGKILL);
    _exit(4);
}

class Heir {
public:
    Heir() : own_(acp_query_starter_ga(acp_rank()) + room_at) {
        must_end(acp_get(&estate_, in_estate(0), sizeof estate_, ACP_HANDLE_NULL), "acp_get");
        share_ = estate_.shares[static_cast<std::size_t>(acp_rank())];
    }

    void work() {
        use_bytes(in_estate(room_at) + static_cast<std::size_t>(acp_rank()) * long_bytes);
        use_bytes(share_.block);
        count(in_estate(offsetof(Estate, sum)));
        count(estate_.counter);
        use_list();
        use_sequences();
        use_map();
        use_bag();
        use_spread_map();
        use_heap();
        expect_secret_gone();
    }

    // Each survivor checks the work of all; the one on the victim's node leaves last.
    void leave() {
        add_one(offsetof(Estate, finished));
        await(offsetof(Estate, finished), survivors);
        must(word_at(in_estate(offsetof(Estate, sum))) == survivors * additions &&
                 word_at(estate_.counter) == survivors * additions,
             "the sums of all survivors");
        if (acp_rank() != victim - 1) {
            (void)acp_wait(acp_add8(own_, in_estate(offsetof(Estate, left)), 1, ACP_HANDLE_NULL),
                           -1);
        } else {
            await(offsetof(Estate, left), survivors - 1);
        }
    }

private:
    void add_one(std::size_t offset) {
        must_end(acp_add8(own_, in_estate(offset), 1, ACP_HANDLE_NULL), "acp_add8");
    }

    static void await(std::size_t offset, std::uint64_t value) {
        while (word_at(in_estate(offset)) < value) usleep(100);  // lint: a pause between looks
    }

    // Copies bytes there and back, by plain pointers and by global addresses.
    void use_bytes(acp_ga_t there) {
        for (const std::size_t bytes : {std::size_t{8}, short_bytes, long_bytes}) {
            std::vector<char> sent(bytes);
            for (std::size_t i = 0; i < bytes; ++i) sent[i] = static_cast<char>(i * 7 + bytes);
            std::vector<char> got(bytes);
            must_end(acp_put(there, sent.data(), bytes, ACP_HANDLE_NULL), "acp_put");
            must_end(acp_get(got.data(), there, bytes, ACP_HANDLE_NULL), "acp_get");
            must(got == sent, "the bytes put to " + std::to_string(bytes));
            auto* own = static_cast<char*>(acp_query_address(own_));
            must_end(acp_copy(own_, there, bytes, ACP_HANDLE_NULL), "acp_copy from it");
            must(std::memcmp(own, sent.data(), bytes) == 0, "the bytes copied from it");
            must_end(acp_put_copied(there, own, bytes, ACP_HANDLE_NULL), "acp_put_copied");
            must_end(acp_copy(there, own_, bytes, ACP_HANDLE_NULL), "acp_copy to it");
        }
    }

    void count(acp_ga_t word) {
        for (std::uint64_t i = 0; i < additions; ++i) {
            if (i % 2 == 0) {
                must_end(acp_add8(own_, word, 1, ACP_HANDLE_NULL), "acp_add8");
                continue;
            }
            auto* old = static_cast<std::uint64_t*>(acp_query_address(own_));
            std::uint64_t expected = 0;
            do {
                expected = word_at(word);
                must_end(acp_cas8(own_, word, expected, expected + 1, ACP_HANDLE_NULL), "acp_cas8");
            } while (*old != expected);
        }
    }

    void use_list() const {
        const int key = 1000;
        must(acp_push_back_list(share_.list, &key, sizeof key, victim) == 0 &&
                 acp_push_front_list(share_.list, &key, sizeof key, acp_rank()) == 0,
             "pushing to the list");
        int count = 0;
        acp_list_it_t it = acp_begin_list(share_.list);
        for (; it.elem != acp_end_list(share_.list).elem; it = acp_increment_list_it(it)) {
            int value = -1;
            must(acp_read_list(it, &value, sizeof value) == sizeof value &&
                     value == (count == 0 || count == elements + 1 ? key : count - 1),
                 "walking over the list");
            ++count;
        }
        must(count == elements + 2, "the list's elements");
        (void)acp_erase_list(acp_begin_list(share_.list));
        int value = -1;
        must(acp_take_front_list(share_.list, &value, sizeof value) == sizeof value && value == 0,
             "taking from the list");
        must(acp_size_list(share_.list) == static_cast<std::size_t>(elements), "acp_size_list");
        must(acp_destroy_list(share_.list) == 0, "acp_destroy_list");
    }

    void use_sequences() const {
        const std::vector<int> more(5'000, 5);  // the body grows
        const std::size_t bytes = more.size() * sizeof(int);
        int value = -1;
        must(acp_push_back_vector(share_.vector, more.data(), bytes) == 0 &&
                 acp_read_vector(share_.vector, 4, &value, sizeof value) == sizeof value &&
                 value == 1,
             "a vector's bytes");
        must(acp_insert_vector(acp_begin_vector(share_.vector), &value, sizeof value).index == 0 &&
                 acp_erase_vector(acp_begin_vector(share_.vector), sizeof value).index == 0,
             "inserting into and erasing from a vector");
        must(acp_size_vector(share_.vector) == bytes + elements * sizeof(int), "acp_size_vector");
        must(acp_destroy_vector(share_.vector) == 0, "acp_destroy_vector");
        must(acp_push_front_deque(share_.deque, more.data(), bytes) == 0 &&
                 acp_take_back_deque(share_.deque, &value, sizeof value) == sizeof value &&
                 value == elements - 1,
             "a deque's bytes");
        must(acp_destroy_deque(share_.deque) == 0, "acp_destroy_deque");
    }

    void use_map() const {
        for (int key = 0; key < 10 * elements; ++key) {  // the table grows
            const int is_new = acp_insert_if_absent_map(share_.map, &key, sizeof key, &key, 4);
            must(is_new == (key < elements ? 0 : 1), "acp_insert_if_absent_map");
        }
        int count = 0;
        for (acp_map_it_t it = acp_begin_map(share_.map); it.elem != ACP_GA_NULL;
             it = acp_increment_map_it(it)) {
            ++count;
        }
        must(count == 10 * elements, "walking over a map");
        for (int key = 0; key < 10 * elements; ++key) {
            int value = -1;
            std::size_t bytes = sizeof value;
            must(
                acp_retrieve_map(share_.map, &key, sizeof key, &value, &bytes) == 1 && value == key,
                "acp_retrieve_map");
            must(acp_find_map(share_.map, &key, sizeof key).success == 1, "acp_find_map");
            if (key % 2 == 0) {
                must(acp_remove_map(share_.map, &key, sizeof key) == 1, "acp_remove_map");
            }
        }
        must(acp_size_map(share_.map) == 5U * elements, "acp_size_map");
        must(acp_clear_map(share_.map) == 0, "acp_clear_map");
        must(acp_destroy_map(share_.map) == 0, "acp_destroy_map");
    }

    void use_bag() const {
        const int key = 1;
        must(acp_insert_multiset(share_.bag, &key, sizeof key).rank == 0 &&
                 acp_retrieve_multiset(share_.bag, &key, sizeof key) == 2,
             "counting in a multiset");
        must(acp_destroy_multiset(share_.bag) == 0, "acp_destroy_multiset");
    }

    // A map over all ranks: some of its entries lie on the victim.
    void use_spread_map() const {
        for (int i = 0; i < 50; ++i) {
            const int key = 100 * acp_rank() + i;
            int value = 0;
            std::size_t bytes = sizeof value;
            must(acp_insert_if_absent_map(estate_.spread, &key, sizeof key, &key, 4) == 1 &&
                     acp_retrieve_map(estate_.spread, &key, sizeof key, &value, &bytes) == 1 &&
                     value == key,
                 "a map over all ranks");
        }
    }

    void use_heap() const {
        must(acp_free(share_.block) == 0, "acp_free of the dead rank's block");
        const acp_ga_t block = acp_malloc(long_bytes, victim);
        must(block != ACP_GA_NULL, "acp_malloc in the dead rank's heap");
        const acp_ga_t longer = acp_realloc(block, 2 * long_bytes);
        must(longer != ACP_GA_NULL && acp_free(longer) == 0, "acp_realloc there");
        const acp_list_t list = acp_create_list(victim);
        must(list.ga != ACP_GA_NULL && acp_destroy_list(list) == 0, "acp_create_list there");
    }

    // Private memory of the victim is lost with its process.
    void expect_secret_gone() {
        char bytes[short_bytes] = {};
        const auto expect_peer = [](acp_handle_t handle, const char* what) {
            must(acp_wait(handle, -1) == ACP_ERR_PEER &&
                     std::string(acp_error_message()).find("rank 3") != std::string::npos,
                 what);
        };
        expect_peer(acp_put(estate_.secret, bytes, sizeof bytes, ACP_HANDLE_NULL), "acp_put");
        expect_peer(acp_get(bytes, estate_.secret, sizeof bytes, ACP_HANDLE_NULL), "acp_get");
        expect_peer(acp_copy(own_, estate_.secret, long_bytes, ACP_HANDLE_NULL), "acp_copy");
        expect_peer(acp_copy(estate_.secret, own_, long_bytes, ACP_HANDLE_NULL), "acp_copy");
        expect_peer(acp_copy(in_estate(room_at), estate_.secret, 8, ACP_HANDLE_NULL), "acp_copy");
        expect_peer(acp_add8(own_, estate_.secret, 1, ACP_HANDLE_NULL), "acp_add8");
    }

    acp_ga_t own_;
    Estate estate_{};
    Share share_{};
};

void run() {
    std::vector<std::byte> secret(acp_rank() == victim ? long_bytes : 0);
    if (acp_rank() == victim) die_and_leave(secret);
    must(acp_sync() == 0, "acp_sync");
    // After this call every survivor's node has detected the death.
    must(acp_sync() == -1 && acp_errno() == ACP_ERR_PEER, "acp_sync with a dead rank");
    Heir heir;
    heir.work();
    heir.leave();
}

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    return acp::test::run_checked(argc, argv, "memory of a dead rank", [&] { acp::test::run(); });
}
