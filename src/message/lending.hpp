// SPDX-License-Identifier: BSD-3-Clause
// A long message between two ranks of a node that both have its memory mapped: single-copy. The
// sender exposes its buffer, and the receiver copies from it. If the receiver's buffer is mapped by
// both too, the receiver opens the message, and both copy: each piece is copied by the end that
// claims it first, the receiver from the front, the sender from the back whenever it polls the
// channel. While the sender sleeps or computes, the receiver copies alone. The receiver waits for a
// sender that is stopped within a piece. For a sender that is dead (none of its threads runs) it
// copies the last piece again.
//
// Contract, per word of LendingWords, all in memory of the sender:
//   opened, target, wanted  Written by the receiver, `opened` last, with release: the number of the
//                           message that `target` and `wanted` describe.
//   taken                   The number of the last message that the receiver has taken. Written by
//                           its channel (Receiving::end_loan), not here.
//   claims                  The message's number, pieces claimed from the front, and from the back.
//                           Each claim is a compare-exchange. The receiver initializes the word
//                           before it writes the other words of a message, so that the
//                           compare-exchange of a sender that has read words of two messages fails.
//   begun                   The number, and how many pieces the sender has claimed or is about to
//                           claim. The sender writes it before it claims.
//   copied                  The number, and how many pieces the sender has copied. Written by the
//                           sender, with release; initialized by the receiver, with `claims`.
//   revoked                 Not 0: the sender's buffers may have changed, so a message that is not
//                           taken yet is invalid. Written by a sender that gives its end up; the
//                           receiver reads it after its last copy.
// Messages are numbered from 1. The receiver begins a message when the one before is complete or
// given up. Knows no channel and no process. One thread at each end.
//
// Overwritten words: each end keeps its own claims in private memory. The receiver ignores claims
// that it has not made, or that the sender has not begun: it closes the message, so that no claim
// can succeed, and waits only for a piece that the sender reports as being copied. The sender
// stores `copied` again at every poll.
// Tests: tests/unit/message/lending_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "base/fence.hpp"
#include "message/ring_layout.hpp"

namespace acp::message {

template <template <class> class Atomic = std::atomic>
struct LendingWords {
    using Word = Atomic<std::uint64_t>;

    alignas(line_bytes) Word opened{0};
    // The receiver's buffer, as an offset in the memory that both have mapped.
    Word target{0};
    Word wanted{0};  // the bytes wanted; at most the length of the message
    Word taken{0};
    alignas(line_bytes) Word claims{0};
    alignas(line_bytes) Word copied{0};
    Word begun{0};
    Word revoked{0};
};

// The content of `claims` and `copied`.
struct PieceCount {
    static constexpr unsigned count_bits = 20;
    static constexpr std::uint64_t count_max = (std::uint64_t{1} << count_bits) - 1;
    static constexpr std::uint64_t number_mask = (std::uint64_t{1} << (64 - 2 * count_bits)) - 1;

    std::uint64_t number = 0;  // the message's number modulo 2^24
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

// The content of `begun`.
struct BegunPieces {
    std::uint64_t number = 0;  // the message's number modulo 2^44
    std::uint64_t count = 0;

    [[nodiscard]] static constexpr BegunPieces of(std::uint64_t word) noexcept {
        return {word >> PieceCount::count_bits, word & PieceCount::count_max};
    }

    [[nodiscard]] constexpr std::uint64_t word() const noexcept {
        return number << PieceCount::count_bits | count;
    }

    [[nodiscard]] constexpr bool is_of(std::uint64_t message) const noexcept {
        return number == message << PieceCount::count_bits >> PieceCount::count_bits;
    }
};

// Divides a message into pieces of 64 KiB; of more, if there would be 2^19 pieces or more. A
// message of 0 bytes has no piece.
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
    // Copies pieces of a message while it is open and pieces are unclaimed. True: it has copied
    // some, and the caller must notify the receiver.
    //   may_copy(place, bytes)    whether these bytes are in the memory that both have mapped; if
    //                             not, words were overwritten, and nothing is copied
    //   copy(place, from, bytes)  copies to a place in that memory
    template <typename MayCopy, typename Copy>
    bool help(LendingWords<Atomic>& words,
              std::uint64_t number,
              const LentBuffer& message,
              const MayCopy& may_copy,
              const Copy& copy) noexcept {
        // acquire: makes the receiver's description of the message visible; partner:
        // Borrower::open()
        if (words.opened.load(std::memory_order_acquire) != number) return false;
        // acquire: if these words belong to a later message, the claims read below do too; partner:
        // Borrower::open()
        const std::uint64_t target = words.target.load(std::memory_order_acquire);
        const std::uint64_t wanted = words.wanted.load(std::memory_order_acquire);
        if (wanted > message.bytes || !may_copy(target, wanted)) [[unlikely]]
            return false;
        if (std::exchange(number_, number) != number) copied_ = 0;
        const std::uint64_t copied_before = copied_;
        const LentPieces pieces(wanted);
        while (claim(words, pieces.count())) {
            const std::uint64_t piece = pieces.count() - 1 - copied_;
            copy(target + pieces.begin(piece), message.data + pieces.begin(piece),
                 pieces.bytes(piece));
            ++copied_;
            tell_copied(words);
        }
        // Repairs `copied` if it was overwritten, and takes back in `begun` a claim that failed.
        if (PieceCount::of(words.copied.load(std::memory_order_relaxed)).back != copied_)
            tell_copied(words);
        const std::uint64_t begun = BegunPieces{number_, copied_}.word();
        if (words.begun.load(std::memory_order_relaxed) != begun)
            words.begun.store(begun, std::memory_order_relaxed);
        return copied_ != copied_before;
    }

    // After this the sender's buffers may change. Must not run concurrently with help().
    static void revoke(LendingWords<Atomic>& words) noexcept {
        words.revoked.store(1, std::memory_order_relaxed);
        // Orders it before later writes to a buffer; partner: Borrower::is_revoked()
        base::fence(std::memory_order_seq_cst);
    }

private:
    // Claims the last unclaimed piece. False: there is none, or the claims are not those of this
    // message.
    [[nodiscard]] bool claim(LendingWords<Atomic>& words, std::uint64_t pieces) const noexcept {
        std::uint64_t seen = words.claims.load(std::memory_order_relaxed);
        for (;;) {
            PieceCount claims = PieceCount::of(seen);
            if (!claims.is_of(number_) || claims.back != copied_ ||
                claims.front + claims.back >= pieces) {
                return false;
            }
            ++claims.back;
            words.begun.store(BegunPieces{number_, claims.back}.word(), std::memory_order_relaxed);
            // release: a thread that reads the claim also reads the new `begun`; partner:
            // Borrower::go_on()
            if (words.claims.compare_exchange_weak(seen, claims.word(), std::memory_order_release,
                                                   std::memory_order_relaxed)) {
                return true;
            }
        }
    }

    void tell_copied(LendingWords<Atomic>& words) const noexcept {
        // release: publishes the bytes; partner: Borrower::copied()
        words.copied.store(PieceCount{number_, 0, copied_}.word(), std::memory_order_release);
    }

    std::uint64_t number_ = 0;  // the number of the last message in help()
    std::uint64_t copied_ = 0;  // pieces of that message
};

// The state of a loan.
enum class LoanState : std::uint8_t {
    waits,       // the sender is still copying its last piece
    whole,       // the receiver has all bytes that it wanted
    overwritten  // the words are impossible: nothing more is copied
};

// The receiver's end; handles one message at a time.
template <template <class> class Atomic = std::atomic>
class Borrower {
public:
    [[nodiscard]] bool is_busy() const noexcept { return words_ != nullptr; }

    // Begins a message, which only the receiver copies until open().
    //   words   the sender's; must stay until go_on() or take_over() has returned the final state
    //   wanted  how many of its first bytes to copy; not 0
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
        front_ = back_ = 0;
        is_closed_ = false;
        // relaxed, both: published by open(). All claimed pieces of earlier messages are copied, so
        // the sender stores nothing now. A value that it stored for a message with the same number
        // modulo 2^24 is overwritten here.
        words.copied.store(PieceCount{number, 0, 0}.word(), std::memory_order_relaxed);
        words.claims.store(PieceCount{number, 0, 0}.word(), std::memory_order_relaxed);
    }

    // Lets the sender help, after begin().
    //   place   the target, as an offset in the memory that both have mapped
    //   wanted  as in begin()
    void open(std::uint64_t place, std::uint64_t wanted) noexcept {
        // release: publishes the initialized claims; partner: Lender::help()
        words_->target.store(place, std::memory_order_release);
        words_->wanted.store(wanted, std::memory_order_release);
        // release: publishes target and wanted; partner: Lender::help()
        words_->opened.store(number_, std::memory_order_release);
    }

    // Copies all unclaimed pieces. Unless it returns `waits`, the message is over.
    //   copy(to, from, bytes)  copies a piece
    template <typename Copy>
    [[nodiscard]] LoanState go_on(const Copy& copy) noexcept {
        if (is_closed_) return after_close();
        // acquire, here and below: makes visible that the sender has begun its claims; partner:
        // Lender::claim()
        std::uint64_t seen = words_->claims.load(std::memory_order_acquire);
        for (;;) {
            PieceCount claims = PieceCount::of(seen);
            if (!may_be(claims)) [[unlikely]] {
                close_claims();
                return after_close();
            }
            back_ = claims.back;
            if (front_ + back_ == pieces_.count()) break;
            ++claims.front;
            if (!words_->claims.compare_exchange_weak(
                    seen, claims.word(), std::memory_order_acquire, std::memory_order_acquire))
                continue;
            seen = claims.word();
            copy_piece(copy, front_++);
        }
        if (copied() != back_) return LoanState::waits;
        words_ = nullptr;
        return LoanState::whole;
    }

    // go_on() for a dead sender: copies the pieces that the sender has claimed and not copied.
    template <typename Copy>
    LoanState take_over(const Copy& copy) noexcept {
        const LoanState state = go_on(copy);
        if (state != LoanState::waits) return state;
        if (!is_closed_) {
            for (std::uint64_t i = copied(); i < back_; ++i)
                copy_piece(copy, pieces_.count() - 1 - i);
        }
        words_ = nullptr;
        return is_closed_ ? LoanState::overwritten : LoanState::whole;
    }

    // Gives a message up: claims all pieces that are left, and waits for the sender's last piece.
    //   may_wait()  called between two polls of that piece; false: the sender is dead
    template <typename MayWait>
    void close(const MayWait& may_wait) noexcept {
        close_claims();
        while (is_sender_copying() && may_wait()) continue;
        words_ = nullptr;
    }

    // Whether the sender has revoked its messages, which makes the copied bytes invalid. Call it
    // after the last copy.
    [[nodiscard]] static bool is_revoked(const LendingWords<Atomic>& words) noexcept {
        // Orders the reads of the buffer before the load below; partner: Lender::revoke()
        base::fence(std::memory_order_acquire);
        return words.revoked.load(std::memory_order_relaxed) != 0;
    }

private:
    template <typename Copy>
    void copy_piece(const Copy& copy, std::uint64_t piece) const noexcept {
        copy(target_ + pieces_.begin(piece), source_ + pieces_.begin(piece), pieces_.bytes(piece));
    }

    // Whether these claims are possible, given both ends' own records.
    [[nodiscard]] bool may_be(const PieceCount& claims) const noexcept {
        return claims.is_of(number_) && claims.front == front_ &&
               front_ + claims.back <= pieces_.count() && claims.back <= begun();
    }

    // Makes further claims impossible.
    void close_claims() noexcept {
        is_closed_ = true;
        // acquire: makes visible that the sender has begun its claims; partner: Lender::claim()
        (void)words_->claims.exchange(PieceCount{number_, pieces_.count(), 0}.word(),
                                      std::memory_order_acq_rel);
    }

    [[nodiscard]] LoanState after_close() noexcept {
        if (is_sender_copying()) return LoanState::waits;
        words_ = nullptr;
        return LoanState::overwritten;
    }

    // After close_claims(). A sender whose claim came too late takes it back in `begun`.
    [[nodiscard]] bool is_sender_copying() const noexcept { return copied() != begun(); }

    // How many pieces of the message the sender has copied.
    [[nodiscard]] std::uint64_t copied() const noexcept {
        // acquire: makes the pieces' bytes visible; partner: Lender::tell_copied()
        const PieceCount copied = PieceCount::of(words_->copied.load(std::memory_order_acquire));
        return copied.is_of(number_) ? copied.back : 0;
    }

    // How many pieces the sender has claimed or is about to claim.
    [[nodiscard]] std::uint64_t begun() const noexcept {
        // relaxed: ordered by the load of the claims
        const BegunPieces begun = BegunPieces::of(words_->begun.load(std::memory_order_relaxed));
        return begun.is_of(number_) ? begun.count : 0;
    }

    LendingWords<Atomic>* words_ = nullptr;  // nullptr: no message is in flight
    std::uint64_t number_ = 0;
    const char* source_ = nullptr;
    char* target_ = nullptr;
    LentPieces pieces_{0};
    std::uint64_t front_ = 0;  // pieces claimed by this end
    std::uint64_t back_ = 0;   // pieces claimed by the sender, as of the last poll
    bool is_closed_ = false;
};

}  // namespace acp::message
