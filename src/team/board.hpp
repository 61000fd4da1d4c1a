// SPDX-License-Identifier: BSD-3-Clause
// The memory through which the members of a team on one node exchange data. Each member owns a
// block of shared memory and publishes payloads in it; the other members of the node read them
// there. A collective call is a sequence of rounds, the same for all members of the node. In a
// round a member publishes at most once, and other members read the parts of it that they need. A
// board never waits: the caller polls has_room() or is_published().
//
// A line of a payload has one reader or several. A single reader stores a zero into each line that
// it has read, which makes the owner's next write to it cheaper (sync/lines.hpp).
//
// Invariant: a block has room for board_depth rounds, and a member publishes in a round only when
// all members of the node have finished the round board_depth before it. So no member is still
// reading the payload that it overwrites.
//
// There is no lock that a dead or stopped member could hold: a member has stored its round in a
// word or has not, and other members act on either value.
//
// For the one thread that is in a call on the team. Tests: tests/unit/team/board_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "node/segment.hpp"
#include "os/cpu.hpp"
#include "sync/lines.hpp"
#include "team/signature.hpp"
#include "team/trouble.hpp"

namespace acp::team {

inline constexpr std::uint32_t board_depth = 8;
inline constexpr std::uint64_t board_chunk_bytes = 32768;  // the longest payload of a round
inline constexpr std::uint32_t board_places_max = 1024;    // members on a node
inline constexpr std::uint32_t nobody = ~std::uint32_t{0};

// Bytes of the board of a member of a team.
inline constexpr std::uint64_t world_board_bytes = std::uint64_t{258} * 1024;

inline constexpr node::ClaimedRange world_board{
    .name = "what the team of all ranks shows its members",
    .bytes = [](const node::Shape& shape) -> std::uint64_t {
        return shape.procs == 1 ? 0 : world_board_bytes;
    }};

using RoundNumber = std::uint64_t;

// The publication of one member in one round: a cache line, so that a short payload arrives
// together with its round number. Writer: the block's owner; readers: the members of its node.
struct alignas(64) BoardLine {
    static constexpr std::uint64_t inline_bytes_max = 40;

    // the last round published in this line; stored after the rest
    std::atomic<RoundNumber> round{0};
    Signature signature;
    std::array<std::byte, inline_bytes_max> bytes{};  // the payload, if it fits
};

static_assert(sizeof(BoardLine) == 64);

// The call of all ranks that a process is in (team/meeting_mark.hpp).
struct BoardMeeting {
    std::atomic<std::uint64_t> word{0};
    node::SharedText<5> call{};  // its name; valid while the word says that there is one
};

// The last calls that a member has begun on the team, by their number. A member records each call;
// only a thread that is about to sleep in a call reads those of the other members of its node.
// Writer: the block's owner.
class CallRecord {
public:
    // Records the call `number`, which is one more than that of the last call.
    void note(std::uint64_t number, const Signature& signature) noexcept {
        Entry& entry = entry_of(number);
        // release, all: a reader that sees a later one of these stores sees the earlier ones;
        // partner: find()
        entry.number.store(0, std::memory_order_relaxed);
        entry.what.store(signature.what, std::memory_order_release);
        entry.bytes.store(signature.bytes, std::memory_order_release);
        entry.number.store(number, std::memory_order_release);
    }

    // The call `number`; nullopt: it is not begun, or is too long ago.
    [[nodiscard]] std::optional<Signature> find(std::uint64_t number) const noexcept {
        const Entry& entry = entry_of(number);
        // acquire, all: a signature of a later call shows the 0 that was stored before it; partner:
        // note()
        if (entry.number.load(std::memory_order_acquire) != number) return std::nullopt;
        Signature signature;
        signature.what = entry.what.load(std::memory_order_acquire);
        signature.bytes = entry.bytes.load(std::memory_order_acquire);
        if (entry.number.load(std::memory_order_relaxed) != number) return std::nullopt;
        return signature;
    }

private:
    struct Entry {
        std::atomic<std::uint64_t> number{0};  // 0: the entry is being written
        std::atomic<std::uint64_t> what{0};
        std::atomic<std::uint64_t> bytes{0};
    };

    [[nodiscard]] Entry& entry_of(std::uint64_t number) noexcept {
        return entries_[number % entries_.size()];
    }

    [[nodiscard]] const Entry& entry_of(std::uint64_t number) const noexcept {
        return entries_[number % entries_.size()];
    }

    std::array<Entry, 8> entries_{};
};

// The block of a member. Behind it is a chunk for each round, for payloads that do not fit into a
// line. All zero at the start.
struct BoardBlock {
    std::array<BoardLine, board_depth> lines;
    // The owner has finished reading this round and all earlier ones. Writer: the owner.
    alignas(64) std::atomic<RoundNumber> finished{0};
    // Used in the team of all ranks only. Writer: the owner. Readers: all processes of the job.
    BoardMeeting meeting;
    alignas(64) CallRecord calls;
    // A bit for each place: the member there has left the team, and no longer accesses this block.
    // Writer: that member.
    alignas(64) std::array<std::atomic<std::uint64_t>, board_places_max / 64> departed{};
    Trouble trouble;
};

static_assert(sizeof(BoardBlock) == std::size_t{64} * (board_depth + 1) + sizeof(CallRecord) +
                                        board_places_max / 8 + 448);

inline constexpr std::uint64_t board_bytes = sizeof(BoardBlock) + board_depth * board_chunk_bytes;

// Copies a published payload, or a part of it, out of the block of another member.
//   shown     its address in the block (Board::published)
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
    // Which thread executes the full fence between the store that publishes and the check for
    // sleepers (sync/bell.hpp).
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

    // Begins the next round and returns its number.
    RoundNumber begin_round() noexcept { return ++round_; }

    // Whether the caller may publish in a round.
    [[nodiscard]] bool has_room(RoundNumber round) noexcept {
        if (round <= known_finished_ + board_depth) return true;
        RoundNumber least = round;  // stays so if the caller is alone on its node
        for (std::uint32_t place = 0; place < size(); ++place) {
            if (place == own_) continue;
            // acquire: the other member has stopped reading what the caller overwrites next;
            // partner: finish()
            least = std::min(least, block(place).finished.load(std::memory_order_acquire));
        }
        known_finished_ = least;
        return round <= known_finished_ + board_depth;
    }

    // The caller has seen that all other members have published in `round`, the first round of a
    // call. Then they have finished all earlier rounds, and has_room() need not read their words.
    void note_all_came(RoundNumber round) noexcept {
        known_finished_ = std::max(known_finished_, round - 1);
    }

    // For diagnostics: the place of a member that has not finished a round for which the caller
    // needs room; or nobody (the constant).
    [[nodiscard]] std::uint32_t place_behind(RoundNumber round) const noexcept {
        return first_place([&](std::uint32_t place) {
            return block(place).finished.load(std::memory_order_relaxed) + board_depth < round;
        });
    }

    // For diagnostics, in a round in which all members publish: the place of a member that has not;
    // or nobody (the constant).
    [[nodiscard]] std::uint32_t place_missing(RoundNumber round) const noexcept {
        return first_place([&](std::uint32_t place) {
            return line_of(place, round).round.load(std::memory_order_relaxed) < round;
        });
    }

    // Where the caller writes its payload before publish(). The caller must have room in the round
    // (has_room).
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
        // acquire: makes the payload and the signature visible; partner: publish()
        return line_of(place, round).round.load(std::memory_order_acquire) == round;
    }

    // The signature of the call in which a member has published. It stays valid until the caller
    // has finished the round.
    [[nodiscard]] const Signature& signature(std::uint32_t place,
                                             RoundNumber round) const noexcept {
        return line_of(place, round).signature;
    }

    // The payload that a member has published; valid as long as signature(). Its only reader may
    // store zeros in it (sync/lines.hpp).
    [[nodiscard]] char* published(std::uint32_t place,
                                  RoundNumber round,
                                  std::uint64_t bytes) const noexcept {
        return payload(place, round, bytes);
    }

    // The caller has finished reading this round and earlier ones. It must ring the other members
    // of the node afterwards.
    void finish(RoundNumber round) noexcept { store(block(own_).finished, round); }

    // Records a call that the caller begins.
    void note_call(const Signature& signature) noexcept {
        ++calls_;
        if (size() != 0) block(own_).calls.note(calls_, signature);  // a team of one has no block
    }

    // The number of calls that the caller has begun.
    [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }

    // The call that a member has begun as its call `number`; nullopt: not yet, or it is long ago.
    [[nodiscard]] std::optional<Signature> call(std::uint32_t place,
                                                std::uint64_t number) const noexcept {
        return block(place).calls.find(number);
    }

    // The caller no longer accesses the block of a member. It must ring that member afterwards.
    void depart_from(std::uint32_t place) noexcept {
        // seq_cst: orders the store before the check of that member's bell; partner:
        // Bell::announce()
        block(place).departed[own_ / 64].fetch_or(bit_of(own_), std::memory_order_seq_cst);
    }

    // The place of another member that may still access the caller's block; or nobody (the
    // constant).
    [[nodiscard]] std::uint32_t place_not_departed() const noexcept {
        return first_place([&](std::uint32_t place) {
            // acquire: all accesses of the other member to the block precede it; partner:
            // depart_from()
            const auto bits = block(own_).departed[place / 64].load(std::memory_order_acquire);
            return (bits & bit_of(place)) == 0;
        });
    }

    // The failure record of a member of the node: other members write it, that member reads it.
    [[nodiscard]] Trouble& trouble(std::uint32_t place) const noexcept {
        return block(place).trouble;
    }

private:
    // The first place of another member for which is_so(place) is true; or nobody (the constant).
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
        // The store must precede the check of the bells. This fence stops the compiler from
        // exchanging them; the barrier of a sleeper (os::expedite) stops the CPU.
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
    std::uint64_t calls_ = 0;
    // the last round that all other members are known to have finished
    RoundNumber known_finished_ = 0;
};

}  // namespace acp::team
