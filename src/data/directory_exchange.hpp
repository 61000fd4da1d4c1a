// SPDX-License-Identifier: BSD-3-Clause
// Swaps the content of two hashed containers, so that a process that is killed at any instruction
// leaves both unchanged, or both swapped. A directory has two bodies; its state says which one is
// in use, and the progress of a swap. Knows the steps and no memory: Reach reads and changes
// directories and tables. Any thread.
//
// Contract:
// - The unused body of each directory gets the content of the other directory, with the next
//   identity of the tables; and each gets the address and the state of the other one. Then
//   1. the state of the second directory becomes joined,
//   2. that of the first becomes decided: this is the linearization point of the swap,
//   3. all tables get their next identities, so that a call of a process that still takes them for
//      the other container's is refused, and the process reads the directory,
//   4. the second directory's body changes with its state, then the first one's.
// - A process that reads a directory that is joined or decided settles it: it completes a decided
//   swap, and takes back one that is not decided. No process waits, and nothing is lost.
// - Any number of processes may settle at once, also late: no state of a directory recurs, and a
//   table's identity only after 2^24 swaps, so repeating a step changes nothing. A process that
//   takes a swap back changes the state of the first directory before that of the second, so that a
//   process that was about to decide fails.
// - Tables of unreachable ranks are skipped, and so are destroyed tables.
// Source: the order of two-phase commitment, as in T. Harris, K. Fraser, I. Pratt, DISC 2002.
// Tests: tests/unit/data/directory_exchange_test.cpp.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.hpp"

#include "allocator/directory_operations.hpp"
#include "table/words.hpp"

namespace acp::data {

using allocator::DirectoryBody;
using allocator::DirectoryHead;
using memory::GlobalAddress;

// The bits of DirectoryHead::state; above them is a number that grows.
namespace exchange_state {
inline constexpr std::uint64_t second_body = 1;  // the body in use
inline constexpr std::uint64_t joined = 2;
inline constexpr std::uint64_t decided = 4;
inline constexpr std::uint64_t step = 8;

// The state of a new directory. No two directories have the same one, whatever the memory held
// before.
[[nodiscard]] constexpr std::uint64_t first(std::uint64_t id) noexcept {
    return id & ~(step - 1);
}

[[nodiscard]] constexpr bool is_settled(std::uint64_t state) noexcept {
    return (state & (joined | decided)) == 0;
}

// The index of the body in use.
[[nodiscard]] constexpr std::size_t body_in(std::uint64_t state) noexcept {
    return static_cast<std::size_t>(state & second_body);
}

[[nodiscard]] constexpr std::uint64_t taken_back(std::uint64_t state) noexcept {
    return (state & ~(joined | decided)) + step;
}

[[nodiscard]] constexpr std::uint64_t exchanged(std::uint64_t state) noexcept {
    return taken_back(state) ^ second_body;
}
}  // namespace exchange_state

// Reach has
//   Status read(GlobalAddress directory, DirectoryHead& head)
//       copies a directory consistently; stale, address: none is there
//   Status read_list(const DirectoryBody& body, std::vector<GlobalAddress>& tables)
//   Status give(const std::vector<GlobalAddress>& tables, std::uint64_t from, std::uint64_t to)
//       changes the identity of the reachable tables that have the identity `from`
//   Result<bool> change_state(GlobalAddress directory, std::uint64_t from, std::uint64_t to)
//       false: the state was another one
template <typename Reach>
class DirectoryExchange {
public:
    // A directory that was read, settled.
    struct End {
        GlobalAddress directory = 0;
        std::uint64_t state = 0;
    };

    explicit DirectoryExchange(Reach& reach) noexcept : reach_(reach) {}

    // Swaps two directories whose unused bodies are prepared. false: the state of one of them has
    // changed, and nothing was swapped. Errors: those of Reach. If the swap was decided before the
    // error, the next reader of a directory completes it.
    base::Result<bool> run(const End& first, const End& second) {
        const std::uint64_t joined = second.state | exchange_state::joined;
        auto has_joined = reach_.change_state(second.directory, second.state, joined);
        if (!has_joined.is_ok() || !has_joined.value()) return has_joined;
        auto is_decided = reach_.change_state(first.directory, first.state,
                                              first.state | exchange_state::decided);
        if (!is_decided.is_ok()) return is_decided;
        if (!is_decided.value()) {
            auto is_back =
                reach_.change_state(second.directory, joined, exchange_state::taken_back(joined));
            return is_back.is_ok() ? base::Result<bool>(false) : std::move(is_back);
        }
        DirectoryHead head;
        auto status = reach_.read(first.directory, head);
        if (status.is_ok()) status = settle(first.directory, head);
        return status.is_ok() ? base::Result<bool>(true) : base::Result<bool>(std::move(status));
    }

    // Settles a directory that was read; its state is a new one afterwards.
    base::Status settle(GlobalAddress directory, const DirectoryHead& head) {
        if ((head.state & exchange_state::decided) != 0) return complete(directory, head);
        return (head.state & exchange_state::joined) != 0 ? settle_joined(directory, head)
                                                          : base::Status();
    }

private:
    base::Status settle_joined(GlobalAddress directory, const DirectoryHead& head) {
        DirectoryHead first;
        auto status = reach_.read(head.partner, first);
        const bool is_gone = status.code() == base::Code::stale ||
                             status.code() == base::Code::address;  // it was settled before that
        if (!status.is_ok() && !is_gone) return status;
        if (!is_gone && first.state == (head.partner_state | exchange_state::decided))
            return complete(head.partner, first);
        if (!is_gone && first.state == head.partner_state) {
            auto is_back = reach_.change_state(head.partner, first.state,
                                               exchange_state::taken_back(first.state));
            if (!is_back.is_ok()) return std::move(is_back).failure();
            if (!is_back.value()) return {};  // it may have been decided: the caller retries
        }
        return change(directory, head.state, exchange_state::taken_back(head.state));
    }

    //   first, head  the directory that is decided
    base::Status complete(GlobalAddress first, const DirectoryHead& head) {
        const std::size_t in_use = exchange_state::body_in(head.state);
        const DirectoryBody& own = head.bodies[in_use];
        const DirectoryBody& others = head.bodies[1 - in_use];
        std::vector<GlobalAddress> own_tables;
        std::vector<GlobalAddress> others_tables;
        auto status = reach_.read_list(own, own_tables);
        if (status.is_ok()) status = reach_.read_list(others, others_tables);
        DirectoryHead now;
        if (status.is_ok()) status = reach_.read(first, now);
        if (!status.is_ok()) return status;
        if (now.state != head.state) return {};  // the lists may belong to a later swap
        status = reach_.give(own_tables, own.id, table::identity::after(own.id));
        if (!status.is_ok()) return status;
        status = reach_.give(others_tables, table::identity::before(others.id), others.id);
        if (!status.is_ok()) return status;
        status = change(head.partner, head.partner_state | exchange_state::joined,
                        exchange_state::exchanged(head.partner_state));
        if (!status.is_ok() && status.code() != base::Code::peer) return status;
        return change(first, head.state, exchange_state::exchanged(head.state));
    }

    base::Status change(GlobalAddress directory, std::uint64_t from, std::uint64_t to) {
        auto changed = reach_.change_state(directory, from, to);
        return changed.is_ok() ? base::Status() : std::move(changed).failure();
    }

    Reach& reach_;
};

}  // namespace acp::data
