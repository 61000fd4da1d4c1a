// SPDX-License-Identifier: BSD-3-Clause
// The memory through which the members of a team on one node exchange data. Each member owns a block of shared memory and publishes payloads
// in it; the other members of the node read them there. A collective call is a sequence of rounds, the same for all members of the node. In a
// round a member publishes at most once, and other members read what they need of that. Knows no waiting: the caller asks has_room() or
// is_published() until it is true.
//
// A line of a payload has one reader or several. A single reader stores a zero into each line that it has read, which makes the owner's next
// write to it cheaper (sync/lines.hpp).
//
// Invariant: a block has room for board_depth rounds, and a member publishes in a round only when all members of the node have finished the
// round board_depth before it. So nobody reads any more what it overwrites.
//
// There is no lock that a dead or stopped member could hold: it has published or not, and finished or not, and others can use their words.
// For the one thread that is in a call on the team. Tests: tests/unit/team/board_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "os/cpu.hpp"
#include "sync/lines.hpp"
#include "team/signature.hpp"
#include "team/trouble.hpp"

namespace acp::team {

inline constexpr std::uint32_t board_depth = 8;
inline constexpr std::uint64_t board_chunk_bytes = 32768;  // the longest payload of a round
inline constexpr std::uint32_t board_places_max = 1024;    // members on a node
inline constexpr std::uint32_t nobody = ~std::uint32_t{0};

using RoundNumber = std::uint64_t;

// What one member publishes in one round: a cache line, so that a short payload comes with the number that says it is there. Writer: the
// block's owner; readers: the members of its node.
struct alignas(64) BoardLine {
    static constexpr std::uint64_t inline_bytes_max = 40;

    std::atomic<RoundNumber> round{0};  // the last one published here; stored after the rest
    Signature signature;
    std::array<std::byte, inline_bytes_max> bytes{};  // the payload, if it fits
};

static_assert(sizeof(BoardLine) == 64);

// The block of a member. A chunk for each round follows, for payloads that do not fit into a line. All zero at the start.
struct BoardBlock {
    std::array<BoardLine, board_depth> lines;
    // The owner reads nothing any more that was published in this round or earlier ones. Writer: the owner.
    alignas(64) std::atomic<RoundNumber> finished{0};
    // Of the team of all ranks: the call in which all ranks meet that the owner is in (team/meeting_mark.hpp). Writer: the owner. Readers: all
    // processes of the job.
    std::atomic<std::uint64_t> meeting{0};
    // A bit for each place: its member has freed the team, and touches this block no more. Writer: that member.
    alignas(64) std::array<std::atomic<std::uint64_t>, board_places_max / 64> departed{};
    Trouble trouble;
};

static_assert(sizeof(BoardBlock) == 64 * (board_depth + 1) + board_places_max / 8 + 448);

inline constexpr std::uint64_t board_bytes = sizeof(BoardBlock) + board_depth * board_chunk_bytes;

// Copies a payload that another member has published, or a part of it, out of that member's block.
//   shown     where it lies in the block (Board::published)
//   is_alone  the caller is the only reader of these lines
inline void copy_out(char* target, char* shown, std::uint64_t bytes, bool is_alone) noexcept {
    if (is_alone && bytes > BoardLine::inline_bytes_max) {
        sync::take_lines(target, shown, bytes, bytes);
    } else if (bytes != 0) {
        std::memcpy(target, shown, bytes);
    }
}

class Board {
public:
    // Which thread executes the full fence between the store that publishes and the look whether a thread sleeps (sync/bell.hpp).
    enum class Fence : std::uint8_t {
        by_sleeper,  // a thread that goes to sleep executes a barrier on all CPUs (os::expedite)
        by_each      // each publisher executes its own, where the kernel refuses that barrier
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
        RoundNumber least = round;  // the result where the caller is alone on its node
        for (std::uint32_t place = 0; place < size(); ++place) {
            if (place == own_) continue;
            // acquire: the other member's reads come before what the caller writes next; partner: finish()
            least = std::min(least, block(place).finished.load(std::memory_order_acquire));
        }
        known_finished_ = least;
        return round <= known_finished_ + board_depth;
    }

    // The caller has seen that all others have published in `round`, the first round of a call. So they have
    // finished all earlier rounds, and has_room() need not look.
    void note_all_came(RoundNumber round) noexcept {
        known_finished_ = std::max(known_finished_, round - 1);
    }

    // For diagnostics: the place of a member that a caller without room waits for, or nobody.
    [[nodiscard]] std::uint32_t place_behind(RoundNumber round) const noexcept {
        return first_place([&](std::uint32_t place) {
            return block(place).finished.load(std::memory_order_relaxed) + board_depth < round;
        });
    }

    // For diagnostics: the place of a member that has not published yet in a round in which all do, or nobody.
    [[nodiscard]] std::uint32_t place_missing(RoundNumber round) const noexcept {
        return first_place([&](std::uint32_t place) {
            return line_of(place, round).round.load(std::memory_order_relaxed) < round;
        });
    }

    // Where the caller puts its payload before it calls publish(). It must have room in the round (has_room).
    [[nodiscard]] char* room(RoundNumber round, std::uint64_t bytes) const noexcept {
        return payload(own_, round, bytes);
    }

    // The caller must ring the other members of the node afterwards.
    void publish(RoundNumber round, const Signature& signature) noexcept {
        BoardLine& line = line_of(own_, round);
        line.signature = signature;
        store(line.round, round);
    }

    // Whether a member has published in a round.
    [[nodiscard]] bool is_published(std::uint32_t place, RoundNumber round) const noexcept {
        // acquire: the payload and the signature are visible; partner: publish()
        return line_of(place, round).round.load(std::memory_order_acquire) == round;
    }

    // The signature of the call in which a member has published. It stays there until the caller has finished the round.
    [[nodiscard]] const Signature& signature(std::uint32_t place,
                                             RoundNumber round) const noexcept {
        return line_of(place, round).signature;
    }

    // The payload that a member has published; stays as signature() does. Its only reader may store zeros there (sync/lines.hpp).
    [[nodiscard]] char* published(std::uint32_t place,
                                  RoundNumber round,
                                  std::uint64_t bytes) const noexcept {
        return payload(place, round, bytes);
    }

    // The caller reads nothing any more of this round and earlier ones. It must ring the other members of the node afterwards.
    void finish(RoundNumber round) noexcept { store(block(own_).finished, round); }

    // The caller no longer touches the block of a member. It must ring that member afterwards.
    void depart_from(std::uint32_t place) noexcept {
        // seq_cst: the store comes before the look at that member's bell; partner: Bell::announce()
        block(place).departed[own_ / 64].fetch_or(bit_of(own_), std::memory_order_seq_cst);
    }

    // The place of another member that may still touch the caller's block, or nobody.
    [[nodiscard]] std::uint32_t place_not_departed() const noexcept {
        return first_place([&](std::uint32_t place) {
            // acquire: all that the other member did with the block comes before; partner: depart_from()
            const auto bits = block(own_).departed[place / 64].load(std::memory_order_acquire);
            return (bits & bit_of(place)) == 0;
        });
    }

    // Of a member of the node: where it is told why the team is broken.
    [[nodiscard]] Trouble& trouble(std::uint32_t place) const noexcept {
        return block(place).trouble;
    }

private:
    // The first place of another member for which is_so(place) is true, or nobody.
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
        // The store must come before the look at the bells. This keeps the compiler from exchanging them; the barrier of a sleeper
        // (os::expedite) keeps the CPU from it.
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
    RoundNumber known_finished_ = 0;  // the last round that all others are known to have finished
};

}  // namespace acp::team
