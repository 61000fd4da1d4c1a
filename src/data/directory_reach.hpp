// SPDX-License-Identifier: BSD-3-Clause
// Reads and changes directories and tables on any rank for a swap (data/directory_exchange.hpp).
// Any thread; each call blocks while it waits for other nodes.
// Tests: tests/conformance/hashed_test.cpp, tests/unit/data/directory_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "base/status.hpp"
#include "data/ask.hpp"
#include "data/directory_exchange.hpp"
#include "data/remote_call.hpp"
#include "gma/gma.hpp"

#include "allocator/table_operations.hpp"

namespace acp::data {

class DirectoryReach {
public:
    //   gma  outlives this
    explicit DirectoryReach(gma::Gma& gma) noexcept : gma_(gma) {}

    // A directory that is in use.
    base::Status read(GlobalAddress directory, DirectoryHead& head) {
        auto status = read_any(directory, head);
        if (status.is_ok() && head.mark != DirectoryHead::mark_of_directories)
            return base::Status::bare(base::Code::stale);
        return status;
    }

    // Reads a consistent copy of the bytes there.
    base::Status read_any(GlobalAddress directory, DirectoryHead& head) {
        DirectoryHead again;
        auto status = get(gma_, &head, directory, sizeof head);
        while (status.is_ok()) {
            status = get(gma_, &again, directory, sizeof again);
            if (std::memcmp(&head, &again, sizeof head) == 0) break;
            head = again;
        }
        return status;
    }

    base::Status read_list(const DirectoryBody& body, std::vector<GlobalAddress>& tables) {
        tables.resize(body.tables);
        return get(gma_, tables.data(), body.list, body.tables * sizeof(GlobalAddress));
    }

    base::Status give(const std::vector<GlobalAddress>& tables,
                      std::uint64_t from,
                      std::uint64_t to) {
        return on_tables<allocator::GiveTable>(tables, {base::Code::stale, base::Code::peer},
                                               [&](GlobalAddress table) {
                                                   return allocator::TableToGive{{table, from}, to};
                                               });
    }

    // Uses all tables that exist and can be reached. Errors: stale.
    base::Status use(const std::vector<GlobalAddress>& tables, std::uint64_t id) {
        return use_heeding(tables, id, {base::Code::peer});
    }

    // Tests whether all tables exist and can be reached. Errors: stale, peer.
    base::Status look_for(const std::vector<GlobalAddress>& tables, std::uint64_t id) {
        return use_heeding(tables, id, {});
    }

    base::Result<bool> change_state(GlobalAddress directory, std::uint64_t from, std::uint64_t to) {
        auto before = gma_.fetch<std::uint64_t, memory::Operation::compare_swap>(
            directory + offsetof(DirectoryHead, state), {to, from});
        if (!before.is_ok()) return std::move(before).failure();
        return before.value() == from;
    }

private:
    base::Status use_heeding(const std::vector<GlobalAddress>& tables,
                             std::uint64_t id,
                             std::initializer_list<base::Code> unheeded) {
        return on_tables<allocator::UseTable>(tables, unheeded, [&](GlobalAddress table) {
            return allocator::OneTable{{table, id}};
        });
    }

    // Runs an operation on all tables in parallel; one on another node takes one round trip.
    //   input(table)  of the operation
    template <typename Operation, typename MakeInput>
    base::Status on_tables(const std::vector<GlobalAddress>& tables,
                           std::initializer_list<base::Code> unheeded,
                           const MakeInput& input) {
        typename Operation::Output nothing;
        Asks asks(gma_);
        for (const GlobalAddress table : tables) {
            if (table == 0) continue;
            const auto process = static_cast<std::uint32_t>(gma_.space().layout().process(table));
            asks.add(RemoteCall<Operation>::request(process, input(table), {}, nothing));
        }
        return asks.wait(unheeded);
    }

    gma::Gma& gma_;
};

}  // namespace acp::data
