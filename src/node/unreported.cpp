// SPDX-License-Identifier: BSD-3-Clause
// The seqlock of the entry, and its sentence.
#include "node/unreported.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace acp::node {

namespace {

// The entry's turn is odd during its lifetime.
class Writing {
public:
    explicit Writing(UnreportedEntry& entry) noexcept
        : entry_(entry), turn_(entry.turn.load(std::memory_order_relaxed)) {
        // relaxed: every later store is a release, so a reader that sees one of them also sees the
        // odd turn when it checks again
        entry_.turn.store(turn_ + 1, std::memory_order_relaxed);
    }

    // release: partner is the first load of the entry in read()
    ~Writing() { entry_.turn.store(turn_ + 2, std::memory_order_release); }

    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;

private:
    UnreportedEntry& entry_;
    std::uint32_t turn_;
};

}  // namespace

void Unreported::add(std::uint64_t more, std::string_view message) noexcept {
    try {
        if (count == 0) first = message;
    } catch (const std::bad_alloc&) {
        first.clear();
    }
    count += more;
}

void UnreportedPlace::clear() noexcept {
    // relaxed: a reader that still loads 1 reads the last complete entry
    has_any_.store(0, std::memory_order_relaxed);
}

void UnreportedPlace::write(std::uint64_t count, std::string_view first) noexcept {
    {
        const Writing writing(entry_);
        const std::size_t bytes = std::min(first.size(), unreported_bytes_max);
        entry_.count.store(count, std::memory_order_release);
        entry_.bytes.store(static_cast<std::uint32_t>(bytes), std::memory_order_release);
        for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
            std::uint64_t word = 0;
            std::memcpy(&word, first.data() + at, std::min(sizeof word, bytes - at));
            entry_.text[at / sizeof word].store(word, std::memory_order_release);
        }
    }
    has_any_.store(1, std::memory_order_release);  // partner: read()
}

void UnreportedPlace::write_count(std::uint64_t count) noexcept {
    const Writing writing(entry_);
    entry_.count.store(count, std::memory_order_release);
}

Unreported UnreportedPlace::read() const {
    constexpr int tries_max = 16;
    constexpr auto acquire = std::memory_order_acquire;  // partners: the stores of write()
    if (has_any_.load(acquire) == 0) return {};
    std::array<char, unreported_bytes_max> text{};
    for (int i = 0; i < tries_max; ++i) {
        const std::uint32_t turn = entry_.turn.load(acquire);
        const std::uint64_t count = entry_.count.load(acquire);
        const std::size_t bytes = std::min<std::size_t>(entry_.bytes.load(acquire), text.size());
        for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
            const std::uint64_t word = entry_.text[at / sizeof word].load(acquire);
            std::memcpy(text.data() + at, &word, sizeof word);
        }
        if (turn % 2 != 0 || entry_.turn.load(acquire) != turn) continue;
        return {count, std::string(text.data(), bytes)};
    }
    return {};
}

std::string describe(const Unreported& unreported) {
    constexpr std::string_view unheard = " failed that no acp_complete or acp_wait has reported";
    return (unreported.count == 1 ? "1 command" + std::string(unheard) + ": "
                                  : std::to_string(unreported.count) + " commands" +
                                        std::string(unheard) + "; the first: ") +
           unreported.first;
}

}  // namespace acp::node
