// SPDX-License-Identifier: BSD-3-Clause
// The directories of hashed containers as typed operations (local/typed_operation.hpp): making,
// first use, destroying. A directory lies in the heap of one process, with the addresses of its
// tables behind it; a process that uses the container reads it (data/directory.hpp). Any thread.
// Tests: tests/unit/allocator/directory_operations_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "local/typed_operation.hpp"

#include "allocator/owned_tables.hpp"
#include "table/layout.hpp"

namespace acp::allocator {

// The part that two containers swap: the tables of the entries, and how keys are hashed.
struct DirectoryBody {
    std::uint64_t id = 0;  // identity of the tables: table::identity
    std::uint64_t seed = 0;
    std::uint64_t slots = 0;   // initial number per table
    std::uint64_t list = 0;    // global address of an array of `tables` addresses
    std::uint32_t tables = 0;  // 1 .. tables_max
    std::uint32_t room = 0;    // capacity of that array
    std::uint32_t hash = 0;    // a hash::HashFunction
    std::uint32_t unused = 0;
};

// A directory in memory; begins like a table::DirectoryStart. `state`, `partner` and
// `partner_state`: data/directory_exchange.hpp.
struct DirectoryHead {
    std::uint64_t more =
        0;  // link::to() the block of the first body's list, if that is a separate block
    std::uint64_t mark = 0;      // mark_of_directories; before its first use: table/first_use.hpp
    std::uint64_t more_too = 0;  // the same for the second body's list
    std::uint64_t lock = 0;      // link::to() the lock of calls that move entries, if there is one
    std::uint64_t id = 0;        // identity of the container, with which its tables are made
    std::uint32_t kind = 0;
    std::uint32_t unused = 0;
    std::uint64_t partner = 0;  // address of another directory
    std::uint64_t partner_state = 0;
    std::uint64_t state = 0;  // which body is in use, and the progress of a swap
    std::array<DirectoryBody, 2> bodies{};

    static constexpr std::uint64_t mark_of_directories =
        table::DirectoryStart<std::atomic>::mark_of_directories;
};

static_assert(sizeof(DirectoryBody) == 48);
static_assert(sizeof(DirectoryHead) == 72 + 2 * sizeof(DirectoryBody));
static_assert(offsetof(DirectoryHead, lock) == offsetof(table::DirectoryStart<std::atomic>, lock));
static_assert(offsetof(DirectoryHead, more_too) ==
              offsetof(table::DirectoryStart<std::atomic>, more_too));
static_assert(offsetof(DirectoryHead, mark) == offsetof(table::DirectoryStart<std::atomic>, mark));

inline constexpr std::uint64_t tables_max = std::uint64_t{1}
                                            << 24;  // more than a job may have ranks

struct DirectoryToMake {
    DirectoryHead head;  // has tables_max tables at most
    std::uint64_t maker = NodeHeap::nobody;
};

struct MadeDirectory {
    memory::GlobalAddress directory = 0;  // 0: there is no room
};

// Both bodies get lists with room for the tables of the first one; the operation sets list and
// room, and the words of DirectoryStart.
struct MakeDirectory : InHeapOperation<MakeDirectory, OwnedTables, DirectoryToMake, MadeDirectory> {
    static constexpr local::OperationName name{"directory.make", "making a container"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

struct DirectoryName {
    std::uint64_t directory = 0;  // its address
    std::uint64_t id = 0;
};

// "the container is 0x..."
[[nodiscard]] std::string container_named(const DirectoryName& name);

// 0: no directory of this identity is there.
[[nodiscard]] table::BlockNumber find_directory(OwnedTables& owner,
                                                const DirectoryName& name) noexcept;

// The base of operations on one directory: calls Operation::on(owner, directory) for the one that
// the input names. Code stale: none of this identity is there.
template <typename Operation>
struct DirectoryOperation : InHeapOperation<Operation, OwnedTables, DirectoryName, local::Nothing> {
    static base::Code run(OwnedTables& owner,
                          const local::OperationCall<DirectoryName>& call,
                          local::OperationReply<local::Nothing>& /*reply*/) noexcept {
        const table::BlockNumber found = find_directory(owner, call.input);
        return found != 0 ? Operation::on(owner, found) : base::Code::stale;
    }

    static std::string places_of(const DirectoryName& input) { return container_named(input); }
};

// Counts as the first use of the directory.
struct UseDirectory : DirectoryOperation<UseDirectory> {
    static constexpr local::OperationName name{"directory.use", "the first use of a container"};

    static base::Code on(Owner&, table::BlockNumber) noexcept { return base::Code::ok; }
};

// Frees the directory and its lists.
struct DestroyDirectory : DirectoryOperation<DestroyDirectory> {
    static constexpr local::OperationName name{"directory.destroy", "destroying a container"};
    static base::Code on(Owner& owner, table::BlockNumber directory) noexcept;
};

struct TableListToMake {
    DirectoryName name;
    std::uint32_t which = 0;  // the body
    std::uint32_t room = 0;   // 1 .. tables_max: capacity of the list, if the directory has none
};

struct MadeTableList {
    memory::GlobalAddress list = 0;  // 0: there is no room
    std::uint64_t room = 0;
};

// The separate list of a body, which is freed with the directory; makes it if there is none.
struct MakeTableList : InHeapOperation<MakeTableList, OwnedTables, TableListToMake, MadeTableList> {
    static constexpr local::OperationName name{"directory.list", "making a list of tables"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;

    static std::string places_of(const Input& input) { return container_named(input.name); }
};

// The block that a directory links by one of its links; makes it if there is none. 0: there is no
// room, also after NodeHeap::find_room().
//   write(block, memory)  see table::HashTable::linked_block
template <typename Write>
[[nodiscard]] table::BlockNumber linked_block(OwnedTables& owner,
                                              table::BlockNumber directory,
                                              table::HashTable<>::DirectoryLink which,
                                              std::uint64_t bytes,
                                              const Write& write) {
    table::BlockNumber block = 0;
    (void)owner.tables().with_room([&] {
        block = owner.tables()->linked_block(directory, which, bytes, write);
        return block != 0 ? table::Effect::done : table::Effect::no_room;
    });
    return block;
}

// The rows of this layer's directories.
inline constexpr const auto& directory_operations =
    local::rows_of<MakeDirectory, UseDirectory, DestroyDirectory, MakeTableList>;

}  // namespace acp::allocator
