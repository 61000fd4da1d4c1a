// SPDX-License-Identifier: BSD-3-Clause
// A node of processes with pools for tests: memory that forked processes share, and hosts of all of
// them.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "base/fence.hpp"

#include "pm/near_outlet.hpp"
#include "pm/receive_pool.hpp"
#include "support/random.hpp"
#include "unit/heap/heap_memory.hpp"

namespace acp::pm {

using heap::SharedPages;

// The memory of one process: its note and its bell. Only receivers have pools.
template <template <class> class AtomicOf>
struct TestProcess {
    alignas(64) sync::WriterNote<AtomicOf> note;
    alignas(64) sync::Bell<AtomicOf> bell;
    alignas(64) std::atomic<std::uint32_t> is_gone{0};
};

template <template <class> class AtomicOf>
class TestHost {
public:
    using Path = InletPath<AtomicOf>;

    TestHost(TestProcess<AtomicOf>* all, std::uint32_t count, std::uint32_t process)
        : all_(all), count_(count), process_(process) {}

    [[nodiscard]] std::uint32_t process() const { return process_; }

    [[nodiscard]] static typename sync::WriteLease<AtomicOf>::Fence fence() {
        return sync::WriteLease<AtomicOf>::Fence::by_each;
    }

    static void barrier() { base::fence(std::memory_order_seq_cst); }

    [[nodiscard]] bool connect(Path& path, const Hello& hello, std::uint32_t /*index*/) const {
        path.set_near(all_[hello.process].bell);
        return true;
    }

    [[nodiscard]] bool writes(std::uint32_t process, std::uint64_t place) const {
        for (std::uint32_t i = 0; i < count_; ++i) {
            const bool is_meant = process == i || (process == nobody && !is_gone(i));
            if (is_meant && all_[i].note.says(place)) return true;
        }
        return false;
    }

    [[nodiscard]] bool is_gone(std::uint32_t process) const {
        return all_[process].is_gone.load() != 0;
    }

    void wake(std::uint32_t process) { wakes += process < count_ ? 1 : 0; }

    void ring_all() { ++rings; }

    std::uint64_t wakes = 0;
    std::uint64_t rings = 0;

private:
    TestProcess<AtomicOf>* all_;
    std::uint32_t count_;
    std::uint32_t process_;
};

// `count` processes, of which process 0 receives.
template <template <class> class AtomicOf = std::atomic>
class TestNode {
public:
    using Host = TestHost<AtomicOf>;
    using Pool = ReceivePool<Host, AtomicOf>;
    using Outlet = NearOutlet<Host, AtomicOf>;

    explicit TestNode(std::uint32_t count)
        : count_(count), processes_(count * sizeof(TestProcess<AtomicOf>)), pages_(pool_bytes) {
        for (std::uint32_t i = 0; i < count; ++i) {
            new (&process(i)) TestProcess<AtomicOf>;
            hosts_.push_back(std::make_unique<Host>(&process(0), count, i));
        }
        pool_ = std::make_unique<Pool>(host(0), pages_.data());
        for (std::uint32_t i = 0; i < count; ++i) {
            outlets_.push_back(std::make_unique<Outlet>(
                host(i), typename Outlet::OutletPlace{0, pages_.data(), &process(i).note,
                                                      &process(0).bell}));
        }
    }

    [[nodiscard]] TestProcess<AtomicOf>& process(std::uint32_t index) {
        return reinterpret_cast<TestProcess<AtomicOf>*>(processes_.data())[index];
    }

    [[nodiscard]] Host& host(std::uint32_t index) { return *hosts_[index]; }

    [[nodiscard]] Pool& pool() { return *pool_; }

    [[nodiscard]] Outlet& outlet(std::uint32_t from) { return *outlets_[from]; }

    [[nodiscard]] std::uint32_t count() const { return count_; }

    // A word of the pool's memory.
    [[nodiscard]] std::uint64_t& word(std::uint64_t offset) {
        return *reinterpret_cast<std::uint64_t*>(pages_.data() + offset);
    }

    [[nodiscard]] std::uint64_t& note_word(std::uint32_t of, std::uint32_t which) {
        return reinterpret_cast<std::uint64_t*>(&process(of).note)[which];
    }

    // Time advances as between two calls of a waiting receiver.
    void tend() { pool_->tend(now_ns += 250'000); }

    std::uint64_t now_ns = 1'000'000'000;

private:
    std::uint32_t count_;
    SharedPages processes_;
    SharedPages pages_;
    std::vector<std::unique_ptr<Host>> hosts_;
    std::unique_ptr<Pool> pool_;
    std::vector<std::unique_ptr<Outlet>> outlets_;
};

// A message whose length and bytes follow from its number and sender.
struct NumberedMessage {
    NumberedMessage(std::uint32_t from, std::uint64_t number, std::uint64_t bytes_max)
        : source(from), random(from * std::uint64_t{1'000'003} + number) {
        const std::uint64_t most =
            random.below(8) == 0 ? bytes_max : std::min<std::uint64_t>(bytes_max, 120);
        bytes = random.below(most + 1);
    }

    void write(char* target) {
        for (std::uint64_t i = 0; i < bytes; i += 8) {
            const std::uint64_t word = random.next();
            std::memcpy(target + i, &word, std::min<std::uint64_t>(8, bytes - i));
        }
    }

    // Checks a message. "": it is right; else the error.
    template <typename Message>
    [[nodiscard]] std::string check(const Message& found) {
        if (found.source != source) return "of process " + std::to_string(found.source);
        if (found.bytes != bytes) {
            return std::to_string(found.bytes) + " bytes instead of " + std::to_string(bytes);
        }
        std::string content(bytes, '\0');
        write(content.data());
        return std::memcmp(content.data(), found.data, bytes) == 0 ? "" : "other bytes";
    }

    std::uint32_t source;
    test::Random random;
    std::uint64_t bytes = 0;
};

// Numbered messages from each process to process 0; none may be lost, doubled, or out of order.
template <typename Node>
class Exchange {
public:
    explicit Exchange(Node& node, std::uint64_t bytes_max = message_bytes_max)
        : node_(node), bytes_max_(bytes_max), sent_(node.count()), received_(node.count()) {}

    // False: there is no room now.
    bool send(std::uint32_t from) {
        NumberedMessage message(from, sent_[from], bytes_max_);
        char* const room =
            node_.outlet(from).reserve(std::min(bytes_max_, message.bytes + message.bytes / 2));
        if (room == nullptr) return false;
        message.write(room);
        node_.outlet(from).commit(message.bytes);
        ++sent_[from];
        ++under_way_;
        return true;
    }

    // False: there is no message.
    bool receive() {
        const auto found = node_.pool().receive();
        if (found.data == nullptr) return false;
        EXPECT_LT(found.source, node_.count());
        if (found.source >= node_.count()) return false;
        std::uint64_t& number = received_[found.source];
        EXPECT_LT(number, sent_[found.source]);
        EXPECT_EQ(NumberedMessage(found.source, number, bytes_max_).check(found), "")
            << "message " << number << " of process " << found.source;
        ++number;
        --under_way_;
        node_.pool().release();
        return !testing::Test::HasFailure();
    }

    // The number of messages sent and not received.
    [[nodiscard]] std::uint64_t under_way() const { return under_way_; }

    [[nodiscard]] std::uint64_t sent(std::uint32_t from) const { return sent_[from]; }

    [[nodiscard]] std::uint64_t received(std::uint32_t from) const { return received_[from]; }

    // Receives until no message is in flight; fails after tends_max calls of tend() without a
    // message.
    void receive_all(int tends_max) {
        for (int tends = 0; under_way_ > 0 && !testing::Test::HasFailure();) {
            if (receive()) {
                tends = 0;
                continue;
            }
            ASSERT_LT(tends++, tends_max) << under_way_ << " messages do not come";
            node_.tend();
            for (std::uint32_t i = 0; i < node_.count(); ++i) node_.outlet(i).serve();
        }
    }

private:
    Node& node_;
    std::uint64_t bytes_max_;
    std::vector<std::uint64_t> sent_;
    std::vector<std::uint64_t> received_;
    std::uint64_t under_way_ = 0;
};

}  // namespace acp::pm
