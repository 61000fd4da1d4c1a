// SPDX-License-Identifier: BSD-3-Clause
// What the members of a team on one node show each other: each has a block of shared memory in which it publishes, and all others of the node
// read it there. A call on a team is a number of rounds, the same on all members of the node; in a round some of them publish, each at
// most once, and some of these are read by others. Knows no waiting: a member asks until what it needs is there.
//
// Of what is published each part has one reader or several. A single reader leaves a zero in each line, for the owner's sake (sync/lines.hpp).
//
// A block has room for `depth` rounds. So a member may publish in a round when all members of the node have finished the round `depth` before
// it: nobody reads any more what it overwrites.
//
// A member that dies or is stopped has published or not, finished or not; nothing that it leaves blocks the words of others.
// For the one thread that is in a call on the team. Tests: tests/unit/team/board_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "os/cpu.hpp"
#include "sync/lines.hpp"
#include "team/signature.hpp"

namespace acp::team {

inline constexpr std::uint32_t board_depth = 8;
inline constexpr std::uint64_t board_chunk_bytes = 32768;  // the most that is published in a round
inline constexpr std::uint64_t trouble_text_bytes = 440;
inline constexpr std::uint32_t board_places_max = 1024;  // members on a node
inline constexpr std::uint32_t nobody = ~std::uint32_t{0};

using RoundNumber = std::uint64_t;

// One round of one member: a cache line, so that what is short comes with its flag. Written by the block's owner, read by those of its node.
struct alignas(64) BoardLine {
    static constexpr std::uint64_t inline_bytes_max = 40;

    std::atomic<RoundNumber> round{0};  // the one that is published here; written last
    Signature signature;
    std::array<std::byte, inline_bytes_max> bytes{};  // the payload, if it fits
};

static_assert(sizeof(BoardLine) == 64);

// Why a team is broken, as another member tells it. Written by any member, by Board::tell or put_signal, of which mostly one does; read by
// the owner.
struct alignas(64) Trouble {
    std::atomic<std::uint64_t> code{0};           // of base::Code; written last; 0: none
    std::array<char, trouble_text_bytes> text{};  // ends with 0
};

// The block of a member. Its chunks follow. All zero at the start.
struct BoardBlock {
    std::array<BoardLine, board_depth> lines;
    alignas(64) std::atomic<RoundNumber> finished{
        0};  // by the owner: it reads nothing any more of this round and those before
    // A bit for each place whose member has freed the team, set by that one.
    alignas(64) std::array<std::atomic<std::uint64_t>, board_places_max / 64> departed{};
    Trouble trouble;
};

static_assert(sizeof(BoardBlock) == 64 * (board_depth + 1) + board_places_max / 8 + 448);

inline constexpr std::uint64_t board_bytes = sizeof(BoardBlock) + board_depth * board_chunk_bytes;

// Copies out of a block, what another member has published or a part of it.
//   is_alone  nobody else reads the lines that it lies in
inline void copy_out(char* target, char* shown, std::uint64_t bytes, bool is_alone) noexcept {
    if (is_alone && bytes > BoardLine::inline_bytes_max) {
        sync::take_lines(target, shown, bytes, bytes);
    } else if (bytes != 0) {
        std::memcpy(target, shown, bytes);
    }
}

class Board {
public:
    // Who has the fence between a word that is published and the look whether somebody sleeps until it is.
    enum class Fence : std::uint8_t {
        by_sleeper,  // who goes to sleep has the CPUs of all pass a barrier (os::expedite)
        by_each      // where the kernel refuses that
    };

    //   blocks  of the members of the node, by their place; outlive this
    //   own     the caller's place
    Board(std::vector<char*> blocks, std::uint32_t own, Fence fence)
        : blocks_(std::move(blocks)), own_(own), is_fence_by_each_(fence == Fence::by_each) {}

    [[nodiscard]] std::uint32_t size() const noexcept {
        return static_cast<std::uint32_t>(blocks_.size());
    }

    // The next round of this node.
    RoundNumber begin_round() noexcept { return ++round_; }

    // Whether the caller may publish in a round.
    [[nodiscard]] bool has_room(RoundNumber round) noexcept {
        if (round <= known_finished_ + board_depth) return true;
        RoundNumber least = round;  // where the caller is alone on its node
        for (std::uint32_t place = 0; place < size(); ++place) {
            if (place == own_) continue;
            // acquire: what the other one read, it read before; partner: finish()
            least = std::min(least, block(place).finished.load(std::memory_order_acquire));
        }
        known_finished_ = least;
        return round <= known_finished_ + board_depth;
    }

    // All others have published in a round that is the first one of its call: they have finished those before.
    void note_all_came(RoundNumber round) noexcept {
        known_finished_ = std::max(known_finished_, round - 1);
    }

    // For people: the place of a member for which a caller without room waits, or nobody.
    [[nodiscard]] std::uint32_t place_behind(RoundNumber round) const noexcept {
        return first_place([&](std::uint32_t place) {
            return block(place).finished.load(std::memory_order_relaxed) + board_depth < round;
        });
    }

    // For people: the place of a member that has not published in a round in which all do, or nobody.
    [[nodiscard]] std::uint32_t place_missing(RoundNumber round) const noexcept {
        return first_place([&](std::uint32_t place) {
            return line_of(place, round).round.load(std::memory_order_relaxed) < round;
        });
    }

    // Where the caller puts what it publishes in a round for which it has room.
    [[nodiscard]] char* room(RoundNumber round, std::uint64_t bytes) const noexcept {
        return payload(own_, round, bytes);
    }

    // After this others must be rung.
    void publish(RoundNumber round, const Signature& signature) noexcept {
        BoardLine& line = line_of(own_, round);
        line.signature = signature;
        store(line.round, round);
        // The next one comes here from the others' caches while the caller waits for them.
        os::prefetch_for_write(&line_of(own_, round + 1));
    }

    // Whether a member has published in a round.
    [[nodiscard]] bool is_published(std::uint32_t place, RoundNumber round) const noexcept {
        // acquire: what was published; partner: publish()
        return line_of(place, round).round.load(std::memory_order_acquire) == round;
    }

    // What a member has published, which stays until the caller has finished the round.
    [[nodiscard]] const Signature& signature(std::uint32_t place,
                                             RoundNumber round) const noexcept {
        return line_of(place, round).signature;
    }

    // Its only reader may store zeros there (sync/lines.hpp).
    [[nodiscard]] char* published(std::uint32_t place,
                                  RoundNumber round,
                                  std::uint64_t bytes) const noexcept {
        return payload(place, round, bytes);
    }

    // The caller reads nothing any more of this round and those before. After this others must be rung.
    void finish(RoundNumber round) noexcept { store(block(own_).finished, round); }

    // The caller touches the block of a member no more. After this that one must be rung.
    void depart_from(std::uint32_t place) noexcept {
        // seq_cst: before the look at the bell
        block(place).departed[own_ / 64].fetch_or(bit_of(own_), std::memory_order_seq_cst);
    }

    // The place of another member that may still touch the caller's block, or nobody.
    [[nodiscard]] std::uint32_t place_not_departed() const noexcept {
        return first_place([&](std::uint32_t place) {
            // acquire: what that one did with the block; partner: depart_from()
            const auto bits = block(own_).departed[place / 64].load(std::memory_order_acquire);
            return (bits & bit_of(place)) == 0;
        });
    }

    // Tells another member of the node why the team is broken. Takes no memory. After this that one must be rung.
    void tell(std::uint32_t place, std::uint64_t code, std::string_view why) noexcept {
        Trouble& trouble = block(place).trouble;
        why.copy(trouble.text.data(), trouble.text.size() - 1);
        // seq_cst: after the text, and before the look at the bell; partner: Team::look()
        trouble.code.exchange(code, std::memory_order_seq_cst);
    }

    [[nodiscard]] const Trouble& own_trouble() const noexcept { return block(own_).trouble; }

private:
    // The first place of another member that is as is_so says, or nobody.
    template <typename IsSo>
    [[nodiscard]] std::uint32_t first_place(const IsSo& is_so) const noexcept {
        for (std::uint32_t place = 0; place < size(); ++place) {
            if (place != own_ && is_so(place)) return place;
        }
        return nobody;
    }

    [[nodiscard]] static constexpr std::uint64_t bit_of(std::uint32_t place) noexcept {
        return std::uint64_t{1} << place % 64;
    }

    template <typename Word, typename Value>
    void store(std::atomic<Word>& word, Value value) noexcept {
        if (is_fence_by_each_) [[unlikely]] {
            word.exchange(value, std::memory_order_seq_cst);  // partner: Bell::announce()
            return;
        }
        word.store(value, std::memory_order_release);
        // The processor is held by the sleeper's barrier, the compiler by this; partner: os::expedite() of the sleeper.
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }

    [[nodiscard]] BoardBlock& block(std::uint32_t place) const noexcept {
        return *reinterpret_cast<BoardBlock*>(blocks_[place]);
    }

    [[nodiscard]] BoardLine& line_of(std::uint32_t place, RoundNumber round) const noexcept {
        return block(place).lines[round % board_depth];
    }

    [[nodiscard]] char* payload(std::uint32_t place,
                                RoundNumber round,
                                std::uint64_t bytes) const noexcept {
        if (bytes <= BoardLine::inline_bytes_max)
            return reinterpret_cast<char*>(line_of(place, round).bytes.data());
        return blocks_[place] + sizeof(BoardBlock) + round % board_depth * board_chunk_bytes;
    }

    std::vector<char*> blocks_;
    std::uint32_t own_;
    bool is_fence_by_each_;
    RoundNumber round_ = 0;
    RoundNumber known_finished_ = 0;  // all others have finished it
};

}  // namespace acp::team
