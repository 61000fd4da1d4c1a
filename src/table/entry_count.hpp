// SPDX-License-Identifier: BSD-3-Clause
// How many entries a table has. A writer updates a counter after its change of an entry is visible.
// If it is killed in between, recovery marks the correction of the counters unknown
// (table/recovery.hpp), and the next entries() walks over the table and counts. Its result is
// stored if the table did not change during the walk: then the counters are valid again.
//
// The table did not change if, in this order, the counters were read, the entries were counted, no
// other participant named an array, and the counters were the same: a writer names its array from
// before its change until it has updated the counter. Any thread; no call waits. Tests:
// tests/unit/table/entry_count_test.cpp, kill_test.cpp, kill_changes_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "table/ground.hpp"
#include "table/growth.hpp"
#include "table/walk.hpp"

namespace acp::table {

template <template <class> class Atomic>
class EntryCount {
public:
    //   ground  outlives this
    explicit EntryCount(const Ground<Atomic>& ground) noexcept : ground_(ground) {}

    // Exact while no thread changes the table and all participants killed in it are recovered.
    // std::nullopt: the program has overwritten the table's words.
    [[nodiscard]] std::optional<std::uint64_t> entries(BlockNumber table) const {
        auto& head = ground_.head(table);
        // acquire: partner is Recovery; the dead participant's words are clear after it
        std::uint64_t correction = head.correction.load(std::memory_order_acquire);
        if ((correction & correction::unknown) == 0) [[likely]]
            return head.entries();
        const Counters before = counters_of(head);
        const std::optional<std::uint64_t> walked = walk(head);
        if (!walked) return walked;
        if (!is_any_changing() && counters_of(head) == before) {
            std::uint64_t sum = 0;
            for (const std::uint64_t counter : before) sum += counter;
            // Fails if another call has stored the same, or another participant was killed: then
            // the next call counts again.
            (void)head.correction.compare_exchange_strong(
                correction, correction::made_known(correction, *walked, sum),
                std::memory_order_relaxed, std::memory_order_relaxed);
        }
        return walked;
    }

private:
    using Counters = std::array<std::uint64_t, Head<Atomic>::counters>;

    // acquire: later reads are not older than this one; partner: a writer clears its hazard words
    // after it has counted
    [[nodiscard]] static Counters counters_of(const Head<Atomic>& head) noexcept {
        Counters counters{};
        for (std::size_t i = 0; i < counters.size(); ++i)
            counters[i] = head.counted[i].entries.load(std::memory_order_acquire);
        return counters;
    }

    // Whether another participant names an array. Also true if the kernel refuses the barrier,
    // because then this is unknown.
    [[nodiscard]] bool is_any_changing() const noexcept {
        const auto order_all = ground_.blocks().order_all();
        if (order_all != nullptr && !order_all()) return true;  // partner: Ground::name
        for (std::uint32_t i = 0; i < ground_.participants().count; ++i) {
            if (i == ground_.own()) continue;
            const auto& named = ground_.participants()[i].hazard[Participant<Atomic>::from_array];
            // seq_cst: see Ground::for_each_named
            if (named.load(std::memory_order_seq_cst) != 0) return true;
        }
        return false;
    }

    [[nodiscard]] std::optional<std::uint64_t> walk(const Head<Atomic>& head) const {
        std::uint64_t entries = 0;
        WalkPlace after;
        const auto visit = [&entries](const VisitedEntry& /*entry*/) {
            ++entries;
            return Visited::go_on;
        };
        Walked walked = Walked::more;
        while (walked == Walked::more) walked = TableWalk<Atomic>(ground_).step(head, after, visit);
        return walked == Walked::end ? std::optional(entries) : std::nullopt;
    }

    const Ground<Atomic>& ground_;
};

}  // namespace acp::table
