// SPDX-License-Identifier: BSD-3-Clause
// Blocks of a heap that are lent to a process: it was given the block for bytes on their way, and nobody else knows of it. A loan names
// the block and the process; it ends when the block becomes a container's or is free again. Whoever finds the process gone ends
// its loans and frees the blocks. A call on behalf of the process holds the loan while it uses the block, and nobody ends it meanwhile;
// after the loan was ended for a process that was taken for dead, what that one still asks for is refused. A loan is taken off when its
// block is about to be freed, so that who is killed at that leaves either the loan or a block of which it has told
// (table/freeing.hpp).
// A block that takes the place of another one of the program is lent until it has the content; then the loan goes over to the other one,
// in one step: were the process killed, one of the two would stay.
// A container that nobody has used yet is lent to the process that made it: its first use ends that loan, whoever uses it.
// Written by the gateway of the heap's node on behalf of processes of other nodes, and by whoever finds one of these gone. Zero
// bytes are no loans. Atomic: as heap/heap.hpp. Any thread; nobody waits.
// Tests: tests/unit/heap/loans_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/offset.hpp"
#include "heap/size_classes.hpp"

namespace acp::heap {

// What is lent: a block of bytes, or a container that nobody has used yet, by the block it begins with.
enum class Lent : std::uint64_t { bytes, container };

template <template <class> class Atomic = std::atomic>
class Loans {
public:
    //   memory  bytes(count), zero at first, aligned to 8
    //   count   the most loans at the same time
    Loans(char* memory, std::uint32_t count) noexcept
        : ender_(reinterpret_cast<Atomic<std::uint64_t>*>(memory)),
          words_(ender_ + 1),
          count_(count) {}

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint32_t count) noexcept {
        return (std::uint64_t{count} + 1) * sizeof(Atomic<std::uint64_t>);
    }

    // false: there is no room for another loan.
    //   process  < processes_max
    [[nodiscard]] bool lend(Offset block, std::uint32_t process, Lent what = Lent::bytes) noexcept {
        for (std::uint32_t i = 0; i < count_; ++i) {
            std::uint64_t none = 0;
            // release: partner is end_all(), which has the block freed
            if (words_[i].load(std::memory_order_relaxed) == 0 &&
                words_[i].compare_exchange_strong(none, packed(block, process, what),
                                                  std::memory_order_release,
                                                  std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }

    // Ends a loan: the block is the caller's. false: the block is not lent to the process, or not any more, or held.
    [[nodiscard]] bool end(Offset block, std::uint32_t process) noexcept {
        return change(packed(block, process), 0);
    }

    // Hands a loan over to another block: from then on that one is lent, and the first one is the caller's. false: as end().
    [[nodiscard]] bool hand_over(Offset block, Offset to, std::uint32_t process) noexcept {
        return change(packed(block, process), packed(to, process));
    }

    // Keeps others from ending a loan until let_go() or end_held(). false: as end().
    [[nodiscard]] bool hold(Offset block, std::uint32_t process) noexcept {
        return change(packed(block, process), packed(block, process) | held);
    }

    void let_go(Offset block, std::uint32_t process) noexcept {
        (void)change(packed(block, process) | held, packed(block, process));
    }

    void end_held(Offset block, std::uint32_t process) noexcept {
        (void)change(packed(block, process) | held, 0);
    }

    // Frees a block that is lent to the calling process. false: as end().
    //   free(block, unlink)  frees it, and calls unlink() just before
    template <typename Free>
    [[nodiscard]] bool end_own(Offset block, std::uint32_t process, const Free& free) {
        for (std::uint32_t i = 0; i < count_; ++i) {
            std::uint64_t loan = packed(block, process);
            if (words_[i].load(std::memory_order_relaxed) != loan || !begin_to_end(i, loan))
                continue;
            end_at(i, free);
            return true;
        }
        return false;
    }

    // Ends the loans of processes that are gone. false: another one that lives is at it.
    //   own                  number of the caller among those that do so
    //   is_dead(number)      whether such a one is dead
    //   is_gone(process)
    //   free(block, unlink, what, process)  as end_own(); may put it off, and does not call unlink() then
    template <typename IsDead, typename IsGone, typename Free>
    bool end_all(std::uint32_t own,
                 const IsDead& is_dead,
                 const IsGone& is_gone,
                 const Free& free) {
        std::uint64_t ender = ender_->load(std::memory_order_acquire);
        if (ender != 0 && !is_dead(static_cast<std::uint32_t>(ender - 1))) return false;
        // acq_rel: what the one before has done
        if (!ender_->compare_exchange_strong(ender, std::uint64_t{own} + 1,
                                             std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {
            return false;
        }
        for (std::uint32_t i = 0; i < count_; ++i) {
            std::uint64_t loan = words_[i].load(std::memory_order_acquire);
            if (loan == 0 || (loan & held) != 0 || !is_gone(process_in(loan))) continue;
            if ((loan & ending) != 0 || begin_to_end(i, loan)) end_at(i, free);
        }
        ender_->store(0, std::memory_order_release);
        return true;
    }

    // Ends the loan of a container, which is used from now on. false: it is being ended, for its process is gone.
    [[nodiscard]] bool end_by_use(Offset block, std::uint32_t process) noexcept {
        const std::uint64_t lent = packed(block, process, Lent::container);
        for (std::uint32_t i = 0; i < count_; ++i) {
            std::uint64_t loan = words_[i].load(std::memory_order_acquire);
            if ((loan & ~ending) != lent) continue;
            // acq_rel: either this call ends it, or another one that uses it, or whoever finds the process gone
            return loan == lent &&
                   (words_[i].compare_exchange_strong(loan, 0, std::memory_order_acq_rel,
                                                      std::memory_order_acquire) ||
                    loan != (lent | ending));
        }
        return true;
    }

    // Whether the block is lent to any process.
    [[nodiscard]] bool has(Offset block) const noexcept {
        for (std::uint32_t i = 0; i < count_; ++i) {
            const std::uint64_t loan = words_[i].load(std::memory_order_acquire);
            if (loan != 0 && block_in(loan) == block) return true;
        }
        return false;
    }

    static constexpr std::uint32_t processes_max = (1U << 25) - 1;  // ranks of a job

private:
    static constexpr std::uint32_t number_bits = 36;  // of a block, in granules
    static constexpr std::uint64_t number_mask = (std::uint64_t{1} << number_bits) - 1;
    static constexpr std::uint64_t held = std::uint64_t{1} << 63;
    // Its block is about to be freed: by the process, or should that be dead, by whoever ends all.
    static constexpr std::uint64_t ending = std::uint64_t{1} << 62;
    static constexpr std::uint32_t what_shift = 61;  // a Lent

    [[nodiscard]] static constexpr std::uint64_t packed(Offset block,
                                                        std::uint32_t process,
                                                        Lent what = Lent::bytes) noexcept {
        return static_cast<std::uint64_t>(what) << what_shift |
               (std::uint64_t{process} + 1) << number_bits | block / granule_bytes;
    }

    [[nodiscard]] static constexpr Lent what_in(std::uint64_t loan) noexcept {
        return static_cast<Lent>(loan >> what_shift & 1);
    }

    [[nodiscard]] static constexpr Offset block_in(std::uint64_t loan) noexcept {
        return (loan & number_mask) * granule_bytes;
    }

    [[nodiscard]] static constexpr std::uint32_t process_in(std::uint64_t loan) noexcept {
        return static_cast<std::uint32_t>((loan >> number_bits & processes_max) - 1);
    }

    [[nodiscard]] bool begin_to_end(std::uint32_t index, std::uint64_t loan) noexcept {
        // acq_rel: of several who end a loan one frees the block
        return words_[index].compare_exchange_strong(loan, loan | ending, std::memory_order_acq_rel,
                                                     std::memory_order_relaxed);
    }

    template <typename Free>
    void end_at(std::uint32_t index, const Free& free) {
        const std::uint64_t loan = words_[index].load(std::memory_order_relaxed);
        free(
            block_in(loan), [&] { words_[index].store(0, std::memory_order_release); },
            what_in(loan), process_in(loan));
    }

    bool change(std::uint64_t loan, std::uint64_t instead) noexcept {
        for (std::uint32_t i = 0; i < count_; ++i) {
            if (words_[i].load(std::memory_order_relaxed) != loan) continue;
            // acq_rel: of several who end a loan one has the block
            return words_[i].compare_exchange_strong(loan, instead, std::memory_order_acq_rel,
                                                     std::memory_order_relaxed);
        }
        return false;
    }

    Atomic<std::uint64_t>* ender_;  // who ends the loans of processes that are gone: its number + 1
    Atomic<std::uint64_t>* words_;
    std::uint32_t count_;
};

}  // namespace acp::heap
