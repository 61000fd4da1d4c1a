// SPDX-License-Identifier: BSD-3-Clause
// The containers whose entries all ranks move to and fro while one of them is killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <acp.h>

#include "hashed/kill_board.hpp"

namespace acp::test {

class Movers {
public:
    using Must = std::function<void(bool is_so, const std::string& what)>;

    Movers(KillBoard& board, Must must) : board_(board), must_(std::move(must)) {}

    // A thread that takes a lock of another node keeps a word of its heap for such locks until
    // acp_finalize. The calls that move entries take such locks, so the word must be there before
    // the blocks of heaps are counted.
    void take_far_locks() {
        for (int rank = 0; rank < kill_ranks; ++rank) {
            const acp_lock_t lock = acp_create_lock(rank);
            must_(acp_lock(lock) == 0, "acp_lock");
            must_(acp_unlock(lock) == 0, "acp_unlock");
            must_(acp_free_lock(lock) == 0, "acp_free_lock");
        }
    }

    //   place()  returns a rank for a directory
    template <typename Place>
    void make(const std::vector<int>& ranks, const Place& place) {
        const auto count = static_cast<int>(ranks.size());
        for (std::size_t i = 0; i < 2; ++i) {
            board_.moved_maps[i] = acp_create_map(count, ranks.data(), 1, place());
            board_.moved_multimaps[i] = acp_create_multimap(count, ranks.data(), 1, place());
        }
        for (std::uint64_t key = 0; key < keys; ++key) {
            must_(acp_insert_if_absent_map(board_.moved_maps[0], &key, sizeof key, nullptr, 0) == 1,
                  "an entry of a map that is moved");
            must_(acp_insert_multimap(board_.moved_multimaps[0], &key, sizeof key, &key, sizeof key)
                          .elem != ACP_GA_NULL,
                  "an entry of a multimap that is moved");
        }
    }

    //   into  0 or 1
    void move_maps(std::uint64_t into) {
        const auto& maps = board_.moved_maps;
        must_(acp_move_map(maps[into], maps[1 - into]) == 0, "acp_move_map");
    }

    void move_multimaps(std::uint64_t into) {
        const auto& maps = board_.moved_multimaps;
        if (acp_move_multimap(maps[into], maps[1 - into]) == 0) return;
        must_(acp_errno() == ACP_ERR_PEER, "acp_move_multimap");
        board_.refused_moves.fetch_add(1, std::memory_order_relaxed);
    }

    // Each entry was moved once. If the victim was killed in a move, the next moves of these
    // multimaps were refused, one for each of the two, and its last entry may be in both.
    void verify() {
        move_maps(0);
        must_(acp_size_map(board_.moved_maps[1]) == 0, "a map whose entries were moved");
        must_(acp_size_map(board_.moved_maps[0]) == keys, "a map into which all were moved");
        for (int i = 0; i < 3; ++i) move_multimaps(0);
        const int refused = board_.refused_moves.load(std::memory_order_relaxed);
        must_(refused <= 2, "more than one refused move for each multimap");
        must_(acp_size_multimap(board_.moved_multimaps[1]) == 0, "a multimap that was moved");
        const std::size_t entries = acp_size_multimap(board_.moved_multimaps[0]);
        must_(entries == keys || (refused != 0 && entries == keys + 1),
              "moves leave " + std::to_string(entries) + " entries of a multimap, after " +
                  std::to_string(refused) + " refusals");
    }

    void destroy() {
        for (const acp_map_t map : board_.moved_maps)
            must_(acp_destroy_map(map) == 0, "acp_destroy_map of a moved map");
        for (const acp_multimap_t map : board_.moved_multimaps)
            must_(acp_destroy_multimap(map) == 0, "acp_destroy_multimap of a moved multimap");
    }

private:
    static constexpr std::uint64_t keys = 6;

    KillBoard& board_;
    Must must_;
};

}  // namespace acp::test
