// SPDX-License-Identifier: BSD-3-Clause
// A long message between two ranks of a node whose buffers both have mapped: no copy in between. The sender lends its buffer, and the receiver
// copies out of it. If the receiver's buffer is mapped by both as well, it opens the message, and then both copy, each piece by whoever
// claims it first: the receiver from the front; the sender, if it polls the channel just then, from the back. A sender that sleeps or computes copies
// nothing, and the receiver copies all. One that is stopped within a piece is waited for. One that is dead, of which no thread runs any more, is not: its
// last piece is copied again.
//
// Contract, per word of LendingWords, all in memory of the sender:
//   opened, target, wanted  written by the receiver. `opened` last, with release: the number of the message of which the others speak
//   taken                   the number of the last message that the receiver has taken: by its channel (Receiving::end_loan), not here
//   claims                  number, pieces claimed from the front, pieces claimed from the back. Each claim is a compare-exchange. The receiver
//                           begins them before it writes the other words of a message, so that the compare-exchange of a sender
//                           that has read words of two messages fails.
//   copied                  number, and how many pieces the sender has copied: written by it, with release; begun by the receiver, with the claims
//   revoked                 not 0: the sender's buffers may be changed by now, and no message is whole that is not taken yet. Written by the
//                           sender that gives its end up; the receiver looks at it after its last copy
// Numbers of messages grow from 1 on; the receiver begins a message when the one before is whole. Knows no channel and no process.
// One thread at each end. Tests: tests/unit/message/lending_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/fence.hpp"
#include "message/ring_layout.hpp"

namespace acp::message {

template <template <class> class Atomic = std::atomic>
struct LendingWords {
    using Word = Atomic<std::uint64_t>;

    alignas(line_bytes) Word opened{0};
    Word target{
        0};  // where the bytes are to go, in bytes from the start of the memory that both have mapped
    Word wanted{0};  // how many: perhaps fewer than the message has
    Word taken{0};
    alignas(line_bytes) Word claims{0};
    alignas(line_bytes) Word copied{0};
    Word revoked{0};
};

// What `claims` and `copied` say.
struct PieceCount {
    static constexpr unsigned count_bits = 20;
    static constexpr std::uint64_t count_max = (std::uint64_t{1} << count_bits) - 1;
    static constexpr std::uint64_t number_mask = (std::uint64_t{1} << (64 - 2 * count_bits)) - 1;

    std::uint64_t number = 0;  // of the message, modulo 2^24
    std::uint64_t front = 0;
    std::uint64_t back = 0;

    [[nodiscard]] static constexpr PieceCount of(std::uint64_t word) noexcept {
        return {word >> (2 * count_bits), word >> count_bits & count_max, word & count_max};
    }

    [[nodiscard]] constexpr std::uint64_t word() const noexcept {
        return (number & number_mask) << (2 * count_bits) | front << count_bits | back;
    }

    [[nodiscard]] constexpr bool is_of(std::uint64_t message) const noexcept {
        return number == (message & number_mask);
    }
};

// Divides a message into pieces of 64 KiB, or of more where there would be 2^19 and more of them. A message of 0 bytes has none.
class LentPieces {
public:
    static constexpr std::uint64_t bytes_min = 64 << 10;

    explicit constexpr LentPieces(std::uint64_t bytes) noexcept
        : bytes_(bytes),
          piece_bytes_((bytes / (bytes_min * (PieceCount::count_max / 2)) + 1) * bytes_min) {}

    [[nodiscard]] constexpr std::uint64_t count() const noexcept {
        return (bytes_ + piece_bytes_ - 1) / piece_bytes_;
    }

    [[nodiscard]] constexpr std::uint64_t begin(std::uint64_t piece) const noexcept {
        return piece * piece_bytes_;
    }

    [[nodiscard]] constexpr std::uint64_t bytes(std::uint64_t piece) const noexcept {
        return std::min(piece_bytes_, bytes_ - begin(piece));
    }

private:
    std::uint64_t bytes_;
    std::uint64_t piece_bytes_;
};

// The buffer of a message.
struct LentBuffer {
    const char* data = nullptr;
    std::uint64_t bytes = 0;
};

// The sender's end.
template <template <class> class Atomic = std::atomic>
class Lender {
public:
    // Copies pieces of a message as long as it is open and any is left. true: it has copied some, and the receiver is to be told.
    //   may_copy(place, bytes)    whether so much lies there in the memory that both have mapped; if not, the words were overwritten, and
    //                             nothing is copied
    //   copy(place, from, bytes)  copies to a place in that memory
    template <typename MayCopy, typename Copy>
    static bool help(LendingWords<Atomic>& words,
                     std::uint64_t number,
                     const LentBuffer& message,
                     const MayCopy& may_copy,
                     const Copy& copy) noexcept {
        // acquire: what the receiver says of the message is there; partner: Borrower::open()
        if (words.opened.load(std::memory_order_acquire) != number) return false;
        // acquire: if these are of a later message already, so are the claims below; partner: Borrower::open()
        const std::uint64_t target = words.target.load(std::memory_order_acquire);
        const std::uint64_t wanted = words.wanted.load(std::memory_order_acquire);
        if (wanted > message.bytes || !may_copy(target, wanted)) [[unlikely]]
            return false;
        const LentPieces pieces(wanted);
        bool has_copied = false;
        std::uint64_t seen = words.claims.load(std::memory_order_relaxed);
        for (;;) {
            PieceCount claims = PieceCount::of(seen);
            if (!claims.is_of(number) || claims.front + claims.back >= pieces.count()) break;
            const std::uint64_t piece = pieces.count() - 1 - claims.back;
            ++claims.back;
            // relaxed: a claim hands nothing over
            if (!words.claims.compare_exchange_weak(seen, claims.word(), std::memory_order_relaxed,
                                                    std::memory_order_relaxed))
                continue;
            seen = claims.word();
            copy(target + pieces.begin(piece), message.data + pieces.begin(piece),
                 pieces.bytes(piece));
            // release: the bytes are there; partner: Borrower::copied()
            words.copied.store(PieceCount{claims.number, 0, claims.back}.word(),
                               std::memory_order_release);
            has_copied = true;
        }
        return has_copied;
    }

    // The sender's buffers may be changed after this. Not while help() runs.
    static void revoke(LendingWords<Atomic>& words) noexcept {
        words.revoked.store(1, std::memory_order_relaxed);
        // Orders it before what is written to a buffer afterwards; partner: Borrower::is_revoked()
        base::fence(std::memory_order_seq_cst);
    }
};

// The receiver's end, of one message at a time.
template <template <class> class Atomic = std::atomic>
class Borrower {
public:
    [[nodiscard]] bool is_busy() const noexcept { return words_ != nullptr; }

    // A message that the receiver alone copies.
    //   words   of the sender; stay until go_on() or take_over() says that the message is whole
    //   wanted  its first bytes, not 0
    void begin(LendingWords<Atomic>& words,
               std::uint64_t number,
               const char* source,
               char* target,
               std::uint64_t wanted) noexcept {
        words_ = &words;
        number_ = number;
        source_ = source;
        target_ = target;
        pieces_ = LentPieces(wanted);
        // relaxed, both: published by open(). No piece of an earlier message is claimed and not copied, so that the sender stores nothing now; and
        // what it stored for a message of the same number modulo 2^24 is not taken for pieces of this one.
        words.copied.store(PieceCount{number & PieceCount::number_mask, 0, 0}.word(),
                           std::memory_order_relaxed);
        words.claims.store(PieceCount{number & PieceCount::number_mask, 0, 0}.word(),
                           std::memory_order_relaxed);
    }

    // After begin(): lets the sender help.   place  of the target, in the memory that both have mapped; wanted as above
    void open(std::uint64_t place, std::uint64_t wanted) noexcept {
        // release: the claims were begun first; partner: Lender::help()
        words_->target.store(place, std::memory_order_release);
        words_->wanted.store(wanted, std::memory_order_release);
        // release: partner is Lender::help()
        words_->opened.store(number_, std::memory_order_release);
    }

    // Copies what nobody has claimed. true: the message is whole. Else the sender copies its last piece yet.
    //   copy(to, from, bytes)
    template <typename Copy>
    [[nodiscard]] bool go_on(const Copy& copy) noexcept {
        std::uint64_t seen = words_->claims.load(std::memory_order_relaxed);
        for (;;) {
            PieceCount claims = PieceCount::of(seen);
            if (claims.front + claims.back >= pieces_.count()) break;
            const std::uint64_t piece = claims.front++;
            // relaxed: a claim hands nothing over
            if (!words_->claims.compare_exchange_weak(
                    seen, claims.word(), std::memory_order_relaxed, std::memory_order_relaxed))
                continue;
            seen = claims.word();
            copy_piece(copy, piece);
        }
        const std::uint64_t back = PieceCount::of(seen).back;
        if (back != copied()) return false;
        words_ = nullptr;
        return true;
    }

    // The same where the sender is dead: what it has claimed and not copied is copied again.
    template <typename Copy>
    void take_over(const Copy& copy) noexcept {
        if (go_on(copy)) return;
        const std::uint64_t back = std::min(
            PieceCount::of(words_->claims.load(std::memory_order_relaxed)).back, pieces_.count());
        for (std::uint64_t i = copied(); i < back; ++i) copy_piece(copy, pieces_.count() - 1 - i);
        words_ = nullptr;
    }

    // Gives a message up, of which nothing is copied any more afterwards: claims what is left, and waits for the sender's last piece.
    //   may_wait()  is called between two looks at it; false: the sender is dead
    template <typename MayWait>
    void close(const MayWait& may_wait) noexcept {
        std::uint64_t seen = words_->claims.load(std::memory_order_relaxed);
        for (;;) {
            PieceCount claims = PieceCount::of(seen);
            if (claims.front + claims.back >= pieces_.count()) break;
            claims.front = pieces_.count() - claims.back;
            if (words_->claims.compare_exchange_weak(seen, claims.word(), std::memory_order_relaxed,
                                                     std::memory_order_relaxed)) {
                break;
            }
        }
        const std::uint64_t back = std::min(PieceCount::of(seen).back, pieces_.count());
        while (copied() < back && may_wait()) continue;
        words_ = nullptr;
    }

    // Whether what was copied of a message may be something else, after the last copy.
    [[nodiscard]] static bool is_revoked(const LendingWords<Atomic>& words) noexcept {
        // The reads of the buffer come before the one below; partner: Lender::revoke()
        base::fence(std::memory_order_acquire);
        return words.revoked.load(std::memory_order_relaxed) != 0;
    }

private:
    template <typename Copy>
    void copy_piece(const Copy& copy, std::uint64_t piece) const noexcept {
        copy(target_ + pieces_.begin(piece), source_ + pieces_.begin(piece), pieces_.bytes(piece));
    }

    // How many pieces of the message the sender has copied.
    [[nodiscard]] std::uint64_t copied() const noexcept {
        // acquire: their bytes are there; partner: Lender::help()
        const PieceCount copied = PieceCount::of(words_->copied.load(std::memory_order_acquire));
        return copied.is_of(number_) ? copied.back : 0;
    }

    LendingWords<Atomic>* words_ = nullptr;  // nullptr: no message is under way
    std::uint64_t number_ = 0;
    const char* source_ = nullptr;
    char* target_ = nullptr;
    LentPieces pieces_{0};
};

}  // namespace acp::message
