// SPDX-License-Identifier: BSD-3-Clause
// One alarm per member: a binary heap with the earliest alarm on top, in which each member knows
// its place. An alarm that is postponed stays where it is until it rings early: most alarms are
// postponed with every datagram, and that must cost nothing. Knows no clock. One thread.
// Tests: tests/unit/datagram/timer_heap_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "datagram/endpoint.hpp"

namespace acp::datagram {

// Base class of members. A member must not be copied or moved while it is in a heap.
struct Timed {
    static constexpr std::uint32_t nowhere = ~0U;
    std::uint32_t place = nowhere;
};

template <typename Member>
class TimerHeap {
public:
    // Sets an alarm. It rings at `at` or earlier, never later; `never` leaves an alarm as it is.
    // There may be no more members than reserve() made room for.
    void set(Member& member, Time at) noexcept {
        if (member.place == Timed::nowhere) {
            if (at == never) return;
            entries_.push_back({at, &member});
            member.place = static_cast<std::uint32_t>(entries_.size() - 1);
            rise(member.place);
        } else if (at < entries_[member.place].at) {
            entries_[member.place].at = at;
            rise(member.place);
        }
    }

    void remove(Member& member) noexcept {
        const std::uint32_t place = member.place;
        if (place == Timed::nowhere) return;
        member.place = Timed::nowhere;
        const Entry last = entries_.back();
        entries_.pop_back();
        if (place == entries_.size()) return;
        put(place, last);
        rise(place);
        sink(last.member->place);
    }

    [[nodiscard]] Time next() const noexcept { return entries_.empty() ? never : entries_[0].at; }

    // Removes and returns a member whose alarm is at or before `now`; nullptr if there is none.
    [[nodiscard]] Member* ring(Time now) noexcept {
        if (next() > now || entries_.empty()) return nullptr;
        Member* member = entries_[0].member;
        remove(*member);
        return member;
    }

    // Makes room for this many members. Throws std::bad_alloc; then the room is what it was.
    void reserve(std::size_t members) {
        if (members > entries_.capacity()) {
            entries_.reserve(std::max(members, 2 * entries_.capacity()));
        }
    }

private:
    struct Entry {
        Time at;
        Member* member;
    };

    void put(std::uint32_t place, const Entry& entry) noexcept {
        entries_[place] = entry;
        entry.member->place = place;
    }

    void rise(std::uint32_t place) noexcept {
        const Entry entry = entries_[place];
        while (place > 0) {
            const std::uint32_t parent = (place - 1) / 2;
            if (entries_[parent].at <= entry.at) break;
            put(place, entries_[parent]);
            place = parent;
        }
        put(place, entry);
    }

    void sink(std::uint32_t place) noexcept {
        const Entry entry = entries_[place];
        const auto count = static_cast<std::uint32_t>(entries_.size());
        for (;;) {
            std::uint32_t child = 2 * place + 1;
            if (child >= count) break;
            if (child + 1 < count && entries_[child + 1].at < entries_[child].at) ++child;
            if (entries_[child].at >= entry.at) break;
            put(place, entries_[child]);
            place = child;
        }
        put(place, entry);
    }

    std::vector<Entry> entries_;
};

}  // namespace acp::datagram
