// SPDX-License-Identifier: BSD-3-Clause
// A 32-bit word in shared memory that tells of the end of the thread that holds it. The kernel sets a bit in it when the
// thread ends in any way but by letting go: also when its process is killed, and when another thread of the process runs
// another program by exec. It does so before the new program has any memory, so whoever looked at the word after it
// had reached memory of the process knows whether that was the old program's. The kernel's robust list of futexes is
// what does this. Knows nothing of processes: who wants to know of a process lets a thread hold the word that
// lives as long as it. Tests: tests/unit/os/robust_word_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::os {

// Set by the kernel in a word whose holder has ended.
inline constexpr std::uint32_t holder_ended_bit = 0x40000000U;

// Whether the holder has ended without letting go.
//   value  of the word, loaded with acquire: what is loaded or asked of the kernel before it came before the end when false
[[nodiscard]] constexpr bool has_holder_ended(std::uint32_t value) noexcept {
    return (value & holder_ended_bit) != 0;
}

// Holds a word for the thread that makes it, which destroys it too. Replaces the thread's robust list of the C library
// meanwhile: a robust mutex that the thread holds when it is killed is not marked. For the library's own threads. One at
// a time in a thread.
class RobustHold {
public:
    // Takes the word, whatever it says: that nobody else holds it is the caller's knowledge.
    //   word  in memory that stays mapped until the object or the process is gone
    explicit RobustHold(std::atomic<std::uint32_t>& word) noexcept;
    // Lets go: the word becomes 0.
    ~RobustHold();
    RobustHold(const RobustHold&) = delete;
    RobustHold& operator=(const RobustHold&) = delete;

    // false: the kernel keeps no robust lists (an emulator, a sandbox); the word is 0 and tells nothing.
    [[nodiscard]] bool is_held() const noexcept { return is_held_; }

private:
    // As the kernel reads it (struct robust_list_head): a ring of entries, each a fixed distance from its word.
    struct Entry {
        Entry* next;
    };

    struct List {
        Entry entries;
        long word_offset;
        Entry* pending;
    };

    std::atomic<std::uint32_t>& word_;
    Entry entry_{};
    List list_{};
    void* former_list_ = nullptr;
    bool is_held_ = false;
};

}  // namespace acp::os
