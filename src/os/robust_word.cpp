// SPDX-License-Identifier: BSD-3-Clause
// Uses set_robust_list: a list of one entry that the kernel walks when the thread ends.
#include "os/robust_word.hpp"

#include <cstddef>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace acp::os {

static_assert(holder_ended_bit == FUTEX_OWNER_DIED);

// Sets the list before the word: if the word had the thread's number without the list, the end of
// the thread would go unnoticed.
RobustHold::RobustHold(std::atomic<std::uint32_t>& word) noexcept : word_(word) {
    static_assert(sizeof(List) == sizeof(robust_list_head));
    static_assert(offsetof(List, word_offset) == offsetof(robust_list_head, futex_offset));
    static_assert(offsetof(List, pending) == offsetof(robust_list_head, list_op_pending));
    word_.store(0, std::memory_order_relaxed);
    std::size_t former_bytes = 0;
    if (syscall(SYS_get_robust_list, 0, &former_list_, &former_bytes) != 0) return;
    list_.entries.next = &entry_;
    entry_.next = &list_.entries;
    list_.word_offset = static_cast<long>(reinterpret_cast<std::uintptr_t>(&word_) -
                                          reinterpret_cast<std::uintptr_t>(&entry_));
    if (syscall(SYS_set_robust_list, &list_, sizeof list_) != 0) return;
    // release: partner is a thread that loads the word with acquire; it then sees what this process
    // wrote before
    word_.store(static_cast<std::uint32_t>(syscall(SYS_gettid)), std::memory_order_release);
    is_held_ = true;
}

// Clears the word before the list, for the same reason.
RobustHold::~RobustHold() {
    if (!is_held_) return;
    word_.store(0, std::memory_order_release);
    syscall(SYS_set_robust_list, former_list_, sizeof list_);
}

}  // namespace acp::os
