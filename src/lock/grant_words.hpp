// SPDX-License-Identifier: BSD-3-Clause
// The grant words of a process (sync/grant_word.hpp), in its heap: a thread borrows one for each wait
// for a lock of another node. A thread of another node may set a word long after the wait, so the
// memory of a word is never freed; there are as many as threads have waited at once. Behind the word
// is room for the bytes that are bound to a lock. One object per epoch. Any thread.
// Tests: tests/unit/lock/grant_words_test.cpp, tests/lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "gma/gma.hpp"
#include "sync/grant_word.hpp"

#include "operations/lock_operations.hpp"

namespace acp::lock {

struct GrantWordAtPlace {
    memory::GlobalAddress address = 0;
    sync::GrantRoom* room = nullptr;
};

// A grant word of which a wait has begun.
struct BegunWait {
    GrantWordAtPlace place;
    std::uint64_t number = 0;
};

class GrantWords {
public:
    //   both outlive this
    GrantWords(gma::Gma& gma, data::Allocator& allocator) noexcept
        : gma_(gma), allocator_(allocator) {}

    // Begins a wait in a word that no other thread has. Passes over words whose room a thread of another
    // wait may still write (sync::GrantWord::begin).
    // Errors: memory, unsupported (the job has no heaps).
    base::Result<BegunWait> begin();

    void give_back(const GrantWordAtPlace& idle) noexcept;

private:
    base::Result<GrantWordAtPlace> make();

    gma::Gma& gma_;
    data::Allocator& allocator_;
    std::mutex mutex_;
    std::vector<GrantWordAtPlace> idle_;  // has room for all words
    std::size_t made_ = 0;
};

// One wait of the calling thread.
class BorrowedGrantWord {
public:
    explicit BorrowedGrantWord(GrantWords& words) noexcept : words_(words) {}

    BorrowedGrantWord(const BorrowedGrantWord&) = delete;
    BorrowedGrantWord& operator=(const BorrowedGrantWord&) = delete;

    ~BorrowedGrantWord() {
        if (wait_.number != 0) words_.give_back(wait_.place);
    }

    // Begins the wait. Errors: those of GrantWords::begin.
    base::Status begin() {
        auto begun = words_.begin();
        if (!begun.is_ok()) return std::move(begun).failure();
        wait_ = begun.value();
        return {};
    }

    // Both are 0 before the wait begins.
    [[nodiscard]] memory::GlobalAddress address() const noexcept { return wait_.place.address; }

    [[nodiscard]] std::uint64_t number() const noexcept { return wait_.number; }

    // False also if no wait has begun.
    [[nodiscard]] bool is_granted() const noexcept {
        return wait_.number != 0 && sync::GrantWord<>(wait_.place.room->word).is_granted();
    }

    // Whether the grant followed a death.
    [[nodiscard]] bool has_died() const noexcept {
        return sync::GrantWord<>(wait_.place.room->word).has_died();
    }

    // The bytes that the grant carried; empty if it carried none. The wait is granted.
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
        const sync::GrantRoom& room = *wait_.place.room;
        const bool has_bytes =
            room.number == wait_.number && room.bytes <= operations::lock_bytes_max;
        return {reinterpret_cast<const std::byte*>(&room + 1), has_bytes ? room.bytes : 0};
    }

private:
    GrantWords& words_;
    BegunWait wait_;
};

}  // namespace acp::lock
