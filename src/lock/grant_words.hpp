// SPDX-License-Identifier: BSD-3-Clause
// The grant words of a process (sync/grant_word.hpp), in its heap: a thread borrows one for each wait
// for a lock of another node. A thread of another node may set a word long after the wait, so the
// memory of a word is never freed; there are as many as threads have waited at once. One object
// per epoch. Any thread.
// Tests: tests/lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "gma/gma.hpp"
#include "sync/grant_word.hpp"

namespace acp::lock {

struct GrantWordAtPlace {
    memory::GlobalAddress address = 0;
    std::atomic<std::uint64_t>* word = nullptr;
};

class GrantWords {
public:
    //   both outlive this
    GrantWords(gma::Gma& gma, data::Allocator& allocator) noexcept
        : gma_(gma), allocator_(allocator) {}

    // Returns a word that no other thread has. Errors: memory, unsupported (the job has no heaps).
    base::Result<GrantWordAtPlace> borrow();

    void give_back(const GrantWordAtPlace& idle) noexcept;

private:
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
        if (place_.word != nullptr) words_.give_back(place_);
    }

    // Begins the wait. Errors: those of GrantWords::borrow.
    base::Status begin() {
        auto place = words_.borrow();
        if (!place.is_ok()) return std::move(place).failure();
        place_ = place.value();
        number_ = sync::GrantWord<>(*place_.word).begin();
        return {};
    }

    // Both are 0 before the wait begins.
    [[nodiscard]] memory::GlobalAddress address() const noexcept { return place_.address; }

    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

    // False also if no wait has begun.
    [[nodiscard]] bool is_granted() const noexcept {
        return place_.word != nullptr && sync::GrantWord<>(*place_.word).is_granted();
    }

    // Whether the grant followed a death.
    [[nodiscard]] bool has_died() const noexcept {
        return sync::GrantWord<>(*place_.word).has_died();
    }

private:
    GrantWords& words_;
    GrantWordAtPlace place_;
    std::uint64_t number_ = 0;
};

}  // namespace acp::lock
