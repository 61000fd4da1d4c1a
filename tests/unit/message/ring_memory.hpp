// SPDX-License-Identifier: BSD-3-Clause
// Rings for tests: one whose memory both ends have mapped, and one whose ends are on two nodes, so
// that what an end stores arrives as puts, later. And numbered records, whose content shows whether
// they are whole.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "message/mapped_path.hpp"
#include "message/ring.hpp"

#include "support/random.hpp"
#include "unit/heap/heap_memory.hpp"

namespace acp::message {

using heap::SharedPages;

// The record with a number: its length, tag and bytes follow from it.
struct NumberedRecord {
    NumberedRecord(std::uint64_t number, std::uint64_t bytes_max)
        : random(number), bytes(length(bytes_max)), tag(static_cast<std::uint8_t>(number % 128)) {}

    void write(char* target) {
        for (std::uint64_t i = 0; i < bytes; i += 8) {
            const std::uint64_t word = random.next();
            std::memcpy(target + i, &word, std::min<std::uint64_t>(8, bytes - i));
        }
    }

    // Returns "" or the error.
    [[nodiscard]] std::string check(const ReceivedRecord& found) {
        if (found.bytes != bytes || found.tag != tag) {
            return "a record of " + std::to_string(found.bytes) + " bytes, tag " +
                   std::to_string(found.tag) + ", instead of " + std::to_string(bytes) + ", tag " +
                   std::to_string(tag);
        }
        std::string content(bytes, '\0');
        write(content.data());
        return std::memcmp(content.data(), found.data, bytes) == 0 ? "" : "other bytes";
    }

    test::Random random;
    std::uint64_t bytes;
    std::uint8_t tag;

private:
    // Mostly short ones, and now and then each length.
    std::uint64_t length(std::uint64_t bytes_max) {
        const std::uint64_t kind = random.below(8);
        if (kind < 4) return random.below(std::min<std::uint64_t>(bytes_max, 56) + 1);
        if (kind < 7) return random.below(std::min<std::uint64_t>(bytes_max, 300) + 1);
        return random.below(8) == 0 ? bytes_max : random.below(bytes_max + 1);
    }
};

// Sends a record, by a copy or in place, in a larger room than it needs. False: the ring is full.
template <typename Sender>
bool send_record(Sender& sender, NumberedRecord record, bool in_place, std::uint64_t bytes_max) {
    if (in_place) {
        char* const room = sender.reserve(std::min(bytes_max, record.bytes * 2 + 100));
        if (room == nullptr) return false;
        record.write(room);
        (void)sender.commit(record.bytes, record.tag);
        return true;
    }
    std::vector<char> content(record.bytes);
    record.write(content.data());
    return sender.send(content.data(), record.bytes, record.tag) != SendAttempt::full;
}

// Both ends in memory that both have mapped.
template <template <class> class Atomic = std::atomic>
struct MappedRing {
    using Path = MappedPath<Atomic>;

    explicit MappedRing(std::uint64_t record_bytes) : shape(record_bytes), pages(shape.bytes()) {}

    [[nodiscard]] Path to_receiver() {
        return {pages.data(), receiver_bell, Path::Fence::by_sleeper};
    }

    [[nodiscard]] Path to_sender() { return {pages.data(), sender_bell, Path::Fence::by_sleeper}; }

    // Empty: the other end sees each store at once.
    void deliver() {}

    void deliver_all() {}

    void expect_no_zeros() {}

    // A word of the ring, in place.
    [[nodiscard]] std::uint64_t& word(std::uint64_t offset) {
        return *reinterpret_cast<std::uint64_t*>(pages.data() + offset);
    }

    RingShape shape;
    SharedPages pages;
    typename Path::PeerBell receiver_bell;
    typename Path::PeerBell sender_bell;
};

// The puts in flight from one node to another.
struct Network {
    struct Put {
        std::uint64_t offset;
        std::vector<char> bytes;
        bool is_addition;
    };

    std::deque<Put> puts;
    char* target = nullptr;

    void deliver_one() {
        const Put& put = puts.front();
        if (put.is_addition) {
            std::uint64_t old = 0;
            std::uint64_t word = 0;
            std::memcpy(&old, target + put.offset, sizeof old);
            if (expects_zeros) {
                EXPECT_EQ(old, 0U) << "a header is added to a word that is not 0";
            }
            std::memcpy(&word, put.bytes.data(), sizeof word);
            word += old;
            std::memcpy(target + put.offset, &word, sizeof word);
        } else {
            std::memcpy(target + put.offset, put.bytes.data(), put.bytes.size());
        }
        puts.pop_front();
    }

    void deliver_some(test::Random& random) {
        for (auto count = random.below(puts.size() + 1); count > 0; --count) deliver_one();
    }

    bool expects_zeros = true;
};

// A path whose stores are puts, in order.
class PutPath {
public:
    using Word = std::atomic<std::uint64_t>;

    PutPath(char* home, Network& network, RingShape shape, bool has_journal)
        : home_(home), network_(&network), shape_(shape), has_journal_(has_journal) {}

    [[nodiscard]] Word& word(std::uint64_t offset) const {
        return *reinterpret_cast<Word*>(home_ + offset);
    }

    [[nodiscard]] char* room(std::uint64_t offset) const { return home_ + offset; }

    void place(std::uint64_t offset, const void* source, std::uint64_t bytes) const {
        EXPECT_NE(bytes, 0U) << "an empty payload may have no source";
        const char* const first = static_cast<const char*>(source);
        network_->puts.push_back({offset, {first, first + bytes}, false});
    }

    void store(std::uint64_t offset, std::uint64_t value) const {
        const bool is_journal =
            offset >= shape_.journal_offset(0) && offset < shape_.credit_offset(0);
        if (has_journal_ || !is_journal) put(offset, value, false);
    }

    [[nodiscard]] bool publish(std::uint64_t offset, std::uint64_t value) const {
        put(offset, value, offset < shape_.record_bytes());
        return false;
    }

    [[nodiscard]] bool ring() const { return false; }

    [[nodiscard]] static bool may_send() { return true; }

    // True although puts may be in flight: this network keeps the order, so a header that is sent
    // again arrives after its payload.
    [[nodiscard]] static bool is_idle() { return true; }

private:
    void put(std::uint64_t offset, std::uint64_t value, bool is_addition) const {
        std::vector<char> bytes(sizeof value);
        std::memcpy(bytes.data(), &value, sizeof value);
        network_->puts.push_back({offset, std::move(bytes), is_addition});
    }

    char* home_;
    Network* network_;
    RingShape shape_;
    bool has_journal_;
};

// The ends on two nodes, each with memory of its own.
template <bool has_journal>
struct DistantRing {
    using Path = PutPath;

    explicit DistantRing(std::uint64_t record_bytes)
        : shape(record_bytes), at_sender(shape.bytes()), at_receiver(shape.bytes()) {
        to_receiver_.target = at_receiver.data();
        to_sender_.target = at_sender.data();
    }

    [[nodiscard]] Path to_receiver() {
        return {at_sender.data(), to_receiver_, shape, has_journal};
    }

    [[nodiscard]] Path to_sender() { return {at_receiver.data(), to_sender_, shape, has_journal}; }

    void deliver() {
        to_receiver_.deliver_some(random);
        to_sender_.deliver_some(random);
    }

    void deliver_all() {
        while (!to_receiver_.puts.empty()) to_receiver_.deliver_one();
        while (!to_sender_.puts.empty()) to_sender_.deliver_one();
    }

    [[nodiscard]] std::uint64_t& word(std::uint64_t offset) {
        char* const home = (offset < shape.credit_offset(0) ? at_receiver : at_sender).data();
        return *reinterpret_cast<std::uint64_t*>(home + offset);
    }

    void expect_no_zeros() { to_receiver_.expects_zeros = false; }

    RingShape shape;
    SharedPages at_sender;
    SharedPages at_receiver;
    test::Random random{1};

private:
    Network to_receiver_;
    Network to_sender_;
};

struct RingNames {
    template <typename Ring>
    static std::string GetName(int number) {
        return std::array<const char*, 3>{
            "mapped", "distant", "distant_without_journal"}[static_cast<std::size_t>(number)];
    }
};

// A ring with its ends, opened.
template <typename Ring>
struct OpenRing : Ring {
    static constexpr RingKey key{0x6b657931};

    explicit OpenRing(std::uint64_t record_bytes) : Ring(record_bytes) {
        (void)receiver.open(key);
        this->deliver_all();
    }

    // Receives the next record. Returns "" if it is the record with this number, which is then
    // released; else the error.
    std::string take(std::uint64_t number, std::uint64_t bytes_max) {
        const ReceivedRecord found = receiver.receive();
        if (found.data == nullptr) return "nothing";
        std::string wrong = NumberedRecord(number, bytes_max).check(found);
        (void)receiver.release();
        return wrong;
    }

    RingSender<typename Ring::Path> sender{this->to_receiver(), this->shape, key};
    RingReceiver<typename Ring::Path> receiver{this->to_sender(), this->shape, key};
};

}  // namespace acp::message
