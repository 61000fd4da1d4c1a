// SPDX-License-Identifier: BSD-3-Clause
// The right to drive the forwarder and the link (to call their poll()). One thread of the process
// has it at a time, and no thread waits for it. A thread that finds it taken does other work or
// sleeps, although mail may have arrived after the holder's poll. So the holder learns, when it
// gives the right back, that another thread wanted it, and wakes the sleepers. It is a token and
// not a lock: it is never held over a sleep. Any thread. When the holder dies, its process has
// died.
// Tests: tests/unit/gma/driver_role_test.cpp, under the seeded scheduler.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::gma {

template <template <class> class Atomic = std::atomic>
class DriverRole {
public:
    // Takes the right if it is free, and holds it until give() or its own end.
    class Hold {
    public:
        explicit Hold(DriverRole& role) noexcept : role_(role.take() ? &role : nullptr) {}

        // After an exception the right is free again; the next give() wakes threads that had wanted
        // it.
        ~Hold() {
            if (role_ != nullptr) {
                (void)give();
            }
        }

        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

        // Whether the right was free.
        explicit operator bool() const noexcept { return role_ != nullptr; }

        // Gives the right back. True when another thread wanted it since and may be asleep: the
        // caller wakes all waiting threads, so that they poll again.
        [[nodiscard]] bool give() noexcept {
            DriverRole* role = role_;
            role_ = nullptr;
            // seq_cst, both: store, then load; partner: take()
            role->is_taken_.store(0, std::memory_order_seq_cst);
            return role->is_wanted_.load(std::memory_order_seq_cst) != 0 &&
                   role->is_wanted_.exchange(0, std::memory_order_seq_cst) != 0;
        }

    private:
        DriverRole* role_;
    };

    // Whether a thread has it: a guess.
    [[nodiscard]] bool is_held() const noexcept {
        return is_taken_.load(std::memory_order_relaxed) != 0;
    }

private:
    // When another thread has it, that one learns that it was wanted after it gives it back, unless
    // it has done so already: then the second attempt takes it. seq_cst: store then load, on both
    // sides.
    bool take() noexcept {
        if (is_taken_.exchange(1, std::memory_order_seq_cst) == 0) {
            return true;
        }
        is_wanted_.store(1, std::memory_order_seq_cst);
        return is_taken_.exchange(1, std::memory_order_seq_cst) == 0;
    }

    Atomic<std::uint32_t> is_taken_{0};
    Atomic<std::uint32_t> is_wanted_{0};  // a thread found it taken and may go to sleep
};

}  // namespace acp::gma
