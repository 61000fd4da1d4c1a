// SPDX-License-Identifier: BSD-3-Clause
// Views and vector clocks. Each fiber's own time starts at 1, so that it has seen nothing of the
// others.
#include "support/weak_memory.hpp"

#include <algorithm>
#include <utility>

namespace acp::test::sched {

namespace {

bool is_acquire(std::memory_order order) noexcept {
    return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}

bool is_release(std::memory_order order) noexcept {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}

std::uint32_t last_of(std::size_t count) noexcept {
    return static_cast<std::uint32_t>(count - 1);
}

}  // namespace

void WeakMemory::Seen::join(const Seen& other) {
    for (std::size_t i = 0; i < times.size(); ++i) times[i] = std::max(times[i], other.times[i]);
    if (stores.size() < other.stores.size()) stores.resize(other.stores.size());
    for (std::size_t i = 0; i < other.stores.size(); ++i) {
        stores[i] = std::max(stores[i], other.stores[i]);
    }
}

std::uint32_t& WeakMemory::Seen::store_of(std::uint32_t word) {
    if (stores.size() <= word) stores.resize(word + 1);
    return stores[word];
}

WeakMemory::Seen& WeakMemory::seen_by(int fiber) {
    Seen& seen = fibers_[static_cast<std::size_t>(fiber)];
    std::uint32_t& own = seen.times[static_cast<std::size_t>(fiber)];
    own = std::max(own, 1U);
    return seen;
}

WeakMemory::Word& WeakMemory::word_of(const void* address, std::uint64_t value) {
    const auto [found, is_new] = words_.try_emplace(address);
    Word& word = found->second;
    if (is_new) {
        word.number = last_of(words_.size());
        word.stores.push_back({value, {}});
    }
    return word;
}

std::uint64_t WeakMemory::load(int fiber,
                               const void* address,
                               std::uint64_t newest,
                               std::memory_order order,
                               std::uint64_t chance) {
    if (fiber == outside) return newest;
    Word& word = word_of(address, newest);
    Seen& seen = seen_by(fiber);
    std::uint32_t oldest = seen.store_of(word.number);
    if (order == std::memory_order_seq_cst) {
        oldest = std::max(oldest, ordered_.store_of(word.number));
    }
    std::uint32_t read = last_of(word.stores.size());
    // The newest half of the times, the one before in a quarter, and so on.
    for (; read > oldest && chance % 2 == 0; chance /= 2) --read;
    seen.store_of(word.number) = read;
    if (is_acquire(order)) seen.join(word.stores[read].released);
    return word.stores[read].value;
}

void WeakMemory::append(int fiber, Word& word, std::uint64_t value, Seen released) {
    word.stores.push_back({value, std::move(released)});
    const std::uint32_t number = last_of(word.stores.size());
    if (fiber == outside) {
        for (Seen& seen : fibers_) seen.store_of(word.number) = number;
    } else {
        seen_by(fiber).store_of(word.number) = number;
    }
}

void WeakMemory::order_store(int fiber, Word& word, std::memory_order order) {
    if (fiber == outside || order == std::memory_order_seq_cst) {
        ordered_.store_of(word.number) = last_of(word.stores.size());
    }
}

// Only atomic stores become visible: in this model a fence alone orders no plain data, which is
// stricter than C++.
void WeakMemory::fence(int fiber) {
    if (fiber == outside) return;
    Seen& seen = seen_by(fiber);
    ordered_.stores.resize(std::max(ordered_.stores.size(), seen.stores.size()));
    seen.stores.resize(ordered_.stores.size());
    for (std::size_t i = 0; i < seen.stores.size(); ++i) {
        ordered_.stores[i] = seen.stores[i] = std::max(ordered_.stores[i], seen.stores[i]);
    }
}

void WeakMemory::store(int fiber,
                       const void* address,
                       std::uint64_t old,
                       std::uint64_t value,
                       std::memory_order order) {
    Word& word = word_of(address, old);
    append(fiber, word, value, {});
    order_store(fiber, word, order);
    if (fiber == outside || !is_release(order)) return;
    Seen& seen = seen_by(fiber);
    word.stores.back().released = seen;
    ++seen.times[static_cast<std::size_t>(fiber)];
}

void WeakMemory::update(int fiber,
                        const void* address,
                        std::uint64_t old,
                        std::uint64_t value,
                        std::memory_order order) {
    Word& word = word_of(address, old);
    // The update continues the release sequence of the store that it reads.
    const Seen before = word.stores.back().released;
    if (fiber != outside && is_acquire(order)) seen_by(fiber).join(before);
    append(fiber, word, value, before);
    order_store(fiber, word, order);
    if (fiber == outside || !is_release(order)) return;
    Seen& seen = seen_by(fiber);
    word.stores.back().released.join(seen);
    ++seen.times[static_cast<std::size_t>(fiber)];
}

std::string WeakMemory::plain(int fiber, const void* address, bool is_write) {
    if (fiber == outside) return "";
    const auto self = static_cast<std::size_t>(fiber);
    const Seen& seen = seen_by(fiber);
    PlainUse& use = plain_[address];
    if (use.writer != outside &&
        use.write_time > seen.times[static_cast<std::size_t>(use.writer)]) {
        return "fiber " + std::to_string(fiber) + " uses plain data that fiber " +
               std::to_string(use.writer) + " wrote and did not hand over";
    }
    if (!is_write) {
        use.reads[self] = seen.times[self];
        return "";
    }
    for (std::size_t i = 0; i < use.reads.size(); ++i) {
        if (use.reads[i] > seen.times[i]) {
            return "fiber " + std::to_string(fiber) + " writes plain data that fiber " +
                   std::to_string(i) + " may still read";
        }
    }
    use = {fiber, seen.times[self], {}};
    return "";
}

}  // namespace acp::test::sched
