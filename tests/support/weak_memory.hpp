// SPDX-License-Identifier: BSD-3-Clause
// Memory as weakly ordered as C++ allows between fibers that run one after another: a load may
// return an older value of its word, unless an acquire of the loading fiber forbids it, and data
// races on plain data are found. seq_cst operations and fences have one order, in which they run: a
// seq_cst load returns no value older than the newest seq_cst store of its word, nor older than a
// store that a fiber had seen at its last seq_cst fence. Knows nothing of schedules. Does not model
// load-store reordering. For the scheduler's thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace acp::test::sched {

inline constexpr int fibers_max = 12;

class WeakMemory {
public:
    // outside: code that runs before, after or between the fibers. It sees the newest value of all
    // words, and all fibers see its stores.
    static constexpr int outside = -1;

    // The value a load returns; newest is the word's, chance decides among those allowed.
    std::uint64_t load(int fiber,
                       const void* address,
                       std::uint64_t newest,
                       std::memory_order order,
                       std::uint64_t chance);

    // A store; old is the word's value before.
    void store(int fiber,
               const void* address,
               std::uint64_t old,
               std::uint64_t value,
               std::memory_order order);

    // A read-modify-write, which always reads the newest.
    void update(int fiber,
                const void* address,
                std::uint64_t old,
                std::uint64_t value,
                std::memory_order order);

    // A seq_cst fence.
    void fence(int fiber);

    // Notes a use of plain data. Returns the race that it makes, or "".
    std::string plain(int fiber, const void* address, bool is_write);

private:
    // The view of a fiber or store: a vector clock, and for each word, by its number, the oldest
    // store that a load may still return.
    struct Seen {
        std::array<std::uint32_t, fibers_max> times{};
        std::vector<std::uint32_t> stores;

        void join(const Seen& other);
        [[nodiscard]] std::uint32_t& store_of(std::uint32_t word);
    };

    struct Store {
        std::uint64_t value = 0;
        Seen released;  // the view that an acquire gets which reads this store
    };

    struct Word {
        std::uint32_t number = 0;
        std::vector<Store> stores;  // its stores, in modification order
    };

    struct PlainUse {
        int writer = outside;
        std::uint32_t write_time = 0;
        std::array<std::uint32_t, fibers_max> reads{};  // per fiber, the time of its last
    };

    Word& word_of(const void* address, std::uint64_t value);
    void append(int fiber, Word& word, std::uint64_t value, Seen released);
    Seen& seen_by(int fiber);

    void order_store(int fiber, Word& word, std::memory_order order);

    std::array<Seen, fibers_max> fibers_;
    Seen ordered_;  // its `stores`: the oldest store that a seq_cst load may return
    std::unordered_map<const void*, Word> words_;
    std::unordered_map<const void*, PlainUse> plain_;
};

}  // namespace acp::test::sched
