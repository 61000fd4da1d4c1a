// SPDX-License-Identifier: BSD-3-Clause
// The checks of requests, and their execution on directories.
#include "allocator/directory_operations.hpp"

#include <cstring>
#include <string>

#include "base/format.hpp"

namespace acp::allocator {

using base::Code;
using memory::GlobalAddress;
using table::BlockNumber;
using table::Effect;
using Start = table::DirectoryStart<std::atomic>;

std::string container_named(const DirectoryName& name) {
    return "the container is " + base::hex(name.directory);
}

BlockNumber find_directory(OwnedTables& owner, const DirectoryName& name) noexcept {
    const BlockNumber block = owner.at(name.directory);
    if (block == 0 || !owner.tables()->is_directory(block)) return 0;
    DirectoryHead head;
    std::memcpy(&head, owner.tables()->memory_of(block), sizeof head);
    return head.id == name.id ? block : 0;
}

bool MakeDirectory::check_fields(const Call& call) noexcept {
    return call->head.bodies[0].tables <= tables_max;
}

Code MakeDirectory::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    DirectoryHead head = call->head;
    const std::uint64_t tables = head.bodies[0].tables;
    const std::uint64_t list_bytes = tables * sizeof(GlobalAddress);
    const std::uint64_t lists_bytes = head.bodies.size() * list_bytes;
    BlockNumber made = 0;
    (void)owner.tables().with_room([&] {
        made = owner.tables()->make_directory(
            sizeof head + lists_bytes, call->maker, [&](BlockNumber block, char* rest) {
                GlobalAddress list = owner.address_of(block) + sizeof head;
                for (DirectoryBody& body : head.bodies) {
                    body.list = list;
                    body.room = call->head.bodies[0].tables;
                    list += list_bytes;
                }
                const char* const from = reinterpret_cast<const char*>(&head);
                std::memcpy(rest, from + sizeof(Start), sizeof head - sizeof(Start));
                std::memset(rest + sizeof head - sizeof(Start), 0, lists_bytes);
            });
        return made != 0 ? Effect::done : Effect::no_room;
    });
    owner.tables()->keep();
    reply->directory = owner.address_of(made);
    return Code::ok;
}

Code DestroyDirectory::on(Owner& owner, BlockNumber directory) noexcept {
    return owner.tables().destroy_directory(directory) ? Code::ok : Code::stale;
}

bool MakeTableList::check_fields(const Call& call) noexcept {
    return call->which < 2 && call->room >= 1 && call->room <= tables_max;
}

Code MakeTableList::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    const BlockNumber directory = find_directory(owner, call->name);
    if (directory == 0) return Code::stale;
    const std::uint64_t bytes = call->room * sizeof(GlobalAddress);
    const BlockNumber list =
        linked_block(owner, directory, call->which == 0 ? &Start::more : &Start::more_too, bytes,
                     [&](BlockNumber /*block*/, char* memory) { std::memset(memory, 0, bytes); });
    reply->list = owner.address_of(list);
    reply->room = list == 0 ? 0
                            : owner.tables().heap().owned_bytes(table::offset_of(list)) /
                                  sizeof(GlobalAddress);
    return Code::ok;
}

}  // namespace acp::allocator
