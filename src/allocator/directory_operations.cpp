// SPDX-License-Identifier: BSD-3-Clause
// Reads the arguments, works on the directory, writes the result.
#include "allocator/directory_operations.hpp"

#include <cstring>
#include <string>

#include "base/format.hpp"

#include "allocator/opened_tables.hpp"

namespace acp::allocator {

namespace directory_calls {
namespace {

using base::Code;
using local::OperationContext;
using memory::GlobalAddress;
using table::BlockNumber;
using table::Effect;
using Start = table::DirectoryStart<std::atomic>;
using Ran = local::NumberedOperation::Ran;

Ran run_make(OperationContext& context,
             OperationArguments arguments,
             OperationResult result) noexcept {
    DirectoryMake request;
    if (!take(arguments, request) || !arguments.empty() ||
        request.head.bodies[0].tables > tables_max) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    OpenedTables opened(context);
    const std::uint64_t tables = request.head.bodies[0].tables;
    const std::uint64_t list_bytes = tables * sizeof(GlobalAddress);
    const std::uint64_t lists_bytes = request.head.bodies.size() * list_bytes;
    BlockNumber made = 0;
    (void)opened.tables().with_room([&] {
        made = opened.tables()->make_directory(
            sizeof(DirectoryHead) + lists_bytes, request.maker, [&](BlockNumber block, char* rest) {
                GlobalAddress list = opened.address(block) + sizeof(DirectoryHead);
                for (DirectoryBody& body : request.head.bodies) {
                    body.list = list;
                    body.room = tables;
                    list += list_bytes;
                }
                const char* const head = reinterpret_cast<const char*>(&request.head);
                std::memcpy(rest, head + sizeof(Start), sizeof request.head - sizeof(Start));
                std::memset(rest + sizeof request.head - sizeof(Start), 0, lists_bytes);
            });
        return made != 0 ? Effect::done : Effect::no_room;
    });
    opened.tables()->keep();
    const GlobalAddress address = opened.address(made);
    std::memcpy(result.data(), &address, sizeof address);
    return {Code::ok, sizeof address};
}

// 0: no directory of this identity is there.
BlockNumber directory_of(OpenedTables& opened,
                         OperationContext& context,
                         OperationArguments arguments) {
    DirectoryName name;
    if (!take(arguments, name)) return 0;
    const BlockNumber block = table_at(context.space(), context.process(), name.directory);
    if (block == 0 || !opened.tables()->is_directory(block)) return 0;
    DirectoryHead head;
    std::memcpy(&head, opened.tables()->memory_of(block), sizeof head);
    return head.id == name.id ? block : 0;
}

Ran run_use(OperationContext& context,
            OperationArguments arguments,
            OperationResult /*result*/) noexcept {
    if (arguments.size() != sizeof(DirectoryName)) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    OpenedTables opened(context);
    return {directory_of(opened, context, arguments) != 0 ? Code::ok : Code::stale, 0};
}

Ran run_destroy(OperationContext& context,
                OperationArguments arguments,
                OperationResult /*result*/) noexcept {
    if (arguments.size() != sizeof(DirectoryName)) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    OpenedTables opened(context);
    const BlockNumber block = directory_of(opened, context, arguments);
    const bool is_done = block != 0 && opened.tables().destroy_directory(block);
    return {is_done ? Code::ok : Code::stale, 0};
}

std::string places_of_directory(OperationArguments arguments) {
    GlobalAddress address = 0;
    if (!take(arguments, address)) return "no container";
    return "the container is " + base::hex(address);
}

}  // namespace
}  // namespace directory_calls

const std::array<local::NumberedOperation, directory_operation_count>&
directory_operations() noexcept {
    static constexpr std::array<local::NumberedOperation, directory_operation_count> rows{{
        {directory_make_number, "making a container", sizeof(DirectoryMake),
         sizeof(memory::GlobalAddress), directory_calls::run_make},
        {directory_use_number, "the first use of a container", sizeof(DirectoryName), 0,
         directory_calls::run_use, directory_calls::places_of_directory},
        {directory_destroy_number, "destroying a container", sizeof(DirectoryName), 0,
         directory_calls::run_destroy, directory_calls::places_of_directory},
    }};
    return rows;
}

}  // namespace acp::allocator
