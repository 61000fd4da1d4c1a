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
//   begun                   number, and how many pieces the sender has claimed or is about to claim: written by it, before it claims
//   copied                  number, and how many pieces the sender has copied: written by it, with release; begun by the receiver, with the claims
//   revoked                 not 0: the sender's buffers may be changed by now, and no message is whole that is not taken yet. Written by the
//                           sender that gives its end up; the receiver looks at it after its last copy
// Numbers of messages grow from 1 on; the receiver begins a message when the one before is whole or given up. Knows no channel and no
// process. One thread at each end.
//
// When words are overwritten: each end knows for itself what it has claimed. Claims that the receiver has not made, or that the sender has not
// begun, are none: the receiver then closes the message (no claim is possible any more) and waits for nothing but a piece that the sender says it
// copies. The sender stores `copied` again whenever it looks. Tests: tests/unit/message/lending_test.cpp.
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
    Word target{
        0};  // where the bytes are to go, in bytes from the start of the memory that both have mapped
    Word wanted{0};  // how many: perhaps fewer than the message has
    Word taken{0};
    alignas(line_bytes) Word claims{0};
    alignas(line_bytes) Word copied{0};
    Word begun{0};
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

// What `begun` says.
struct BegunPieces {
    std::uint64_t number = 0;  // of the message, modulo 2^44
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
    bool help(LendingWords<Atomic>& words,
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
        // What was overwritten is mended, and what this end did not claim after all is taken back.
        if (PieceCount::of(words.copied.load(std::memory_order_relaxed)).back != copied_)
            tell_copied(words);
        const std::uint64_t begun = BegunPieces{number_, copied_}.word();
        if (words.begun.load(std::memory_order_relaxed) != begun)
            words.begun.store(begun, std::memory_order_relaxed);
        return copied_ != copied_before;
    }

    // The sender's buffers may be changed after this. Not while help() runs.
    static void revoke(LendingWords<Atomic>& words) noexcept {
        words.revoked.store(1, std::memory_order_relaxed);
        // Orders it before what is written to a buffer afterwards; partner: Borrower::is_revoked()
        base::fence(std::memory_order_seq_cst);
    }

private:
    // Claims the last piece that nobody has claimed. false: there is none, or the claims are not those of this message.
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
            // release: who sees the claim sees that it was begun; partner: Borrower::go_on()
            if (words.claims.compare_exchange_weak(seen, claims.word(), std::memory_order_release,
                                                   std::memory_order_relaxed)) {
                return true;
            }
        }
    }

    void tell_copied(LendingWords<Atomic>& words) const noexcept {
        // release: the bytes are there; partner: Borrower::copied()
        words.copied.store(PieceCount{number_, 0, copied_}.word(), std::memory_order_release);
    }

    std::uint64_t number_ = 0;  // of the message that was helped last
    std::uint64_t copied_ = 0;  // pieces of it
};

// How far a loan has come.
enum class LoanState : std::uint8_t {
    waits,       // for the sender's last piece
    whole,       // the receiver has all that it wanted
    overwritten  // the words say what cannot be, and nothing is copied any more
};

// The receiver's end, of one message at a time.
template <template <class> class Atomic = std::atomic>
class Borrower {
public:
    [[nodiscard]] bool is_busy() const noexcept { return words_ != nullptr; }

    // A message that the receiver alone copies.
    //   words   of the sender; stay until go_on() or take_over() says how the message has ended
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
        front_ = back_ = 0;
        is_closed_ = false;
        // relaxed, both: published by open(). No piece of an earlier message is claimed and not copied, so that the sender stores nothing now; and
        // what it stored for a message of the same number modulo 2^24 is not taken for pieces of this one.
        words.copied.store(PieceCount{number, 0, 0}.word(), std::memory_order_relaxed);
        words.claims.store(PieceCount{number, 0, 0}.word(), std::memory_order_relaxed);
    }

    // After begin(): lets the sender help.   place  of the target, in the memory that both have mapped; wanted as above
    void open(std::uint64_t place, std::uint64_t wanted) noexcept {
        // release: the claims were begun first; partner: Lender::help()
        words_->target.store(place, std::memory_order_release);
        words_->wanted.store(wanted, std::memory_order_release);
        // release: partner is Lender::help()
        words_->opened.store(number_, std::memory_order_release);
    }

    // Copies what nobody has claimed. Unless it waits, the message is over.
    //   copy(to, from, bytes)
    template <typename Copy>
    [[nodiscard]] LoanState go_on(const Copy& copy) noexcept {
        if (is_closed_) return after_close();
        // acquire, also below: that the sender has begun what it claims; partner: Lender::claim()
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

    // The same where the sender is dead: what it has claimed and not copied is copied again.
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

    // Gives a message up, of which nothing is copied any more afterwards: claims what is left, and waits for the sender's last piece.
    //   may_wait()  is called between two looks at it; false: the sender is dead
    template <typename MayWait>
    void close(const MayWait& may_wait) noexcept {
        close_claims();
        while (is_sender_copying() && may_wait()) continue;
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

    // Whether both ends can have made these claims.
    [[nodiscard]] bool may_be(const PieceCount& claims) const noexcept {
        return claims.is_of(number_) && claims.front == front_ &&
               front_ + claims.back <= pieces_.count() && claims.back <= begun();
    }

    // No piece can be claimed after this.
    void close_claims() noexcept {
        is_closed_ = true;
        // acquire: that the sender has begun what it has claimed; partner: Lender::claim()
        (void)words_->claims.exchange(PieceCount{number_, pieces_.count(), 0}.word(),
                                      std::memory_order_acq_rel);
    }

    [[nodiscard]] LoanState after_close() noexcept {
        if (is_sender_copying()) return LoanState::waits;
        words_ = nullptr;
        return LoanState::overwritten;
    }

    // After close_claims(). One that has begun a claim which was too late takes that back.
    [[nodiscard]] bool is_sender_copying() const noexcept { return copied() != begun(); }

    // How many pieces of the message the sender has copied.
    [[nodiscard]] std::uint64_t copied() const noexcept {
        // acquire: their bytes are there; partner: Lender::tell_copied()
        const PieceCount copied = PieceCount::of(words_->copied.load(std::memory_order_acquire));
        return copied.is_of(number_) ? copied.back : 0;
    }

    // How many it has claimed or is about to claim.
    [[nodiscard]] std::uint64_t begun() const noexcept {
        // relaxed: ordered by the load of the claims
        const BegunPieces begun = BegunPieces::of(words_->begun.load(std::memory_order_relaxed));
        return begun.is_of(number_) ? begun.count : 0;
    }

    LendingWords<Atomic>* words_ = nullptr;  // nullptr: no message is under way
    std::uint64_t number_ = 0;
    const char* source_ = nullptr;
    char* target_ = nullptr;
    LentPieces pieces_{0};
    std::uint64_t front_ = 0;  // pieces that this end has claimed
    std::uint64_t back_ = 0;   // pieces that the sender had claimed at the last look
    bool is_closed_ = false;
};

}  // namespace acp::message
