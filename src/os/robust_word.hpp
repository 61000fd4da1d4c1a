// SPDX-License-Identifier: BSD-3-Clause
// A 32-bit word in shared memory that shows the end of the thread that holds it. The kernel sets a
// bit in the word when the thread ends without releasing it: also when its process is killed, and
// when another thread of the process runs another program by exec. The kernel does so before the
// new program has any memory. So a thread that accesses memory of the process and then reads the
// word knows whether it accessed the old program's memory. The mechanism is the kernel's robust
// list of futexes. Knows nothing of processes: to represent a process, a thread that lives as long
// as the process holds the word.
// Tests: tests/unit/os/robust_word_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::os {

// The kernel sets this bit in a word whose holder has ended.
inline constexpr std::uint32_t holder_ended_bit = 0x40000000U;

// Whether the holder has ended without releasing the word.
//   value  the word, loaded with acquire. If false, loads and system calls made before that load
//          preceded the holder's end.
[[nodiscard]] constexpr bool has_holder_ended(std::uint32_t value) noexcept {
    return (value & holder_ended_bit) != 0;
}

// Holds a word for the thread that constructs it, which must also destroy it. While it lives it
// replaces the C library's robust list of the thread: if the thread is killed, robust mutexes that
// it holds are not marked. For the library's own threads. At most one per thread.
class RobustHold {
public:
    // Takes the word whatever its value is: the caller must know that no other thread holds it.
    //   word  in memory that stays mapped until the object or the process is gone
    explicit RobustHold(std::atomic<std::uint32_t>& word) noexcept;
    // Releases the word, which becomes 0.
    ~RobustHold();
    RobustHold(const RobustHold&) = delete;
    RobustHold& operator=(const RobustHold&) = delete;

    // false: the kernel keeps no robust lists (an emulator, a sandbox); the word is 0 and shows
    // nothing.
    [[nodiscard]] bool is_held() const noexcept { return is_held_; }

private:
    // The layout that the kernel reads (struct robust_list_head): a ring of entries, each at a
    // fixed distance from its word.
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
