// SPDX-License-Identifier: BSD-3-Clause
// Prepares both directories, then runs the steps.
#include "data/hashed_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "data/ask.hpp"
#include "data/directory_reach.hpp"
#include "data/remote_call.hpp"

namespace acp::data {

using base::Result;
using base::Status;

// The separate list of a body: it has room for a table on each rank, so that it is made once.
Result<allocator::MadeTableList> HashedExchange::make_list(const ContainerName& name,
                                                           const DirectoryHead& own,
                                                           std::uint32_t which,
                                                           std::uint32_t tables) {
    gma::Gma& gma = hashed_.tables().gma();
    Allocator& allocator = hashed_.tables().allocator();
    const std::uint32_t process = hashed_.tables().process_of(name.directory);
    const std::uint32_t room = std::max(gma.space().segment().shape().procs, tables);
    auto made = RemoteCall<allocator::MakeTableList>(gma, allocator)
                    .run(process, {{name.directory, own.id}, which, room});
    if (!made.is_ok()) return std::move(made).failure();
    if (made.value().output.list == 0)
        return allocator.no_room(process, room * sizeof(GlobalAddress));
    // A faulty process of another node may have made it.
    if (made.value().output.room < tables) {
        return Status(base::Code::system, "its list of tables has room for " +
                                              std::to_string(made.value().output.room) + " of " +
                                              std::to_string(tables) +
                                              " tables: it was made by a faulty request");
    }
    return made.value().output;
}

// Writes a directory's content after the swap into its unused body. The body's list is kept if it
// has room for the tables.
Status HashedExchange::prepare(const ContainerName& name,
                               const DirectoryHead& own,
                               const ContainerName& other_name,
                               const Directory& other) {
    gma::Gma& gma = hashed_.tables().gma();
    const std::size_t which = 1 - exchange_state::body_in(own.state);
    DirectoryBody body = other.body;
    body.id = table::identity::after(body.id);
    body.list = own.bodies[which].list;
    body.room = own.bodies[which].room;
    if (body.tables > body.room) {
        auto list = make_list(name, own, static_cast<std::uint32_t>(which), body.tables);
        if (!list.is_ok()) return std::move(list).failure();
        body.list = list.value().list;
        body.room = static_cast<std::uint32_t>(list.value().room);
    }
    const auto write = [&](std::size_t at, const void* from, std::uint64_t bytes) {
        return put(gma, name.directory + at, from, bytes);
    };
    auto status = put(gma, body.list, other.tables.data(), body.tables * sizeof(GlobalAddress));
    if (status.is_ok())
        status = write(offsetof(DirectoryHead, bodies) + which * sizeof body, &body, sizeof body);
    const std::array<std::uint64_t, 2> partner{other_name.directory, other.head.state};
    static_assert(offsetof(DirectoryHead, partner_state) ==
                  offsetof(DirectoryHead, partner) + sizeof(std::uint64_t));
    return status.is_ok() ? write(offsetof(DirectoryHead, partner), partner.data(), sizeof partner)
                          : std::move(status);
}

// Retries if another process has settled one of them since.
Status HashedExchange::run(const ContainerName& one, const ContainerName& other) {
    if (one.directory == other.directory) {
        auto status = hashed_.begin_use(one);
        return status.is_ok() ? hashed_.begin_use(other) : std::move(status);
    }
    Directories& directories = hashed_.directories();
    DirectoryReach reach(hashed_.tables().gma());
    for (;;) {
        auto first = directories.fetch(one);
        if (!first.is_ok()) return std::move(first).failure();
        auto second = directories.fetch(other);
        if (!second.is_ok()) return std::move(second).failure();
        const Directory& of_one = first.value();
        const Directory& of_other = second.value();
        auto status = reach.look_for(of_one.tables, of_one.body.id);
        if (status.is_ok()) status = reach.look_for(of_other.tables, of_other.body.id);
        if (status.is_ok()) status = prepare(one, of_one.head, other, of_other);
        if (status.is_ok()) status = prepare(other, of_other.head, one, of_one);
        if (!status.is_ok()) return status;
        auto is_done = DirectoryExchange(reach).run({one.directory, of_one.head.state},
                                                    {other.directory, of_other.head.state});
        directories.forget(one.directory);
        directories.forget(other.directory);
        if (!is_done.is_ok()) return std::move(is_done).failure();
        if (is_done.value()) return {};
    }
}

}  // namespace acp::data
