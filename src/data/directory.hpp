// SPDX-License-Identifier: BSD-3-Clause
// The directories of hashed containers. A container is named by its directory, a block in the heap
// of one rank: its kind, how it hashes keys, and the address of the table on each of its ranks.
// Each process keeps copies of directories that it has used; a table has the container's identity
// in its mark, so a call that was sent to a wrong table by an outdated copy is refused there, and
// the directory is read again. If a process was killed while it swapped two containers, the next
// reader of a directory settles the swap (data/directory_exchange.hpp). A copy is a seqlock: it is
// read without a lock, and a reader that detects a change retries.
// Tests: tests/unit/data/directory_test.cpp, tests/conformance/hashed_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/fence.hpp"
#include "base/status.hpp"
#include "data/allocator.hpp"
#include "data/directory_exchange.hpp"
#include "gma/gma.hpp"
#include "hash/hash_function.hpp"

#include "allocator/directory_operations.hpp"

namespace acp::data {

enum class ContainerKind : std::uint32_t { map = 1, multimap, set, multiset };

// The content of a container's handle.
struct ContainerName {
    GlobalAddress directory = 0;
    std::uint64_t id = 0;  // 0: unknown
    ContainerKind kind = ContainerKind::map;
};

class DirectoryReach;

// "map", for messages.
[[nodiscard]] const char* name_of(ContainerKind kind) noexcept;

// One process's copy of a directory.
struct Directory {
    DirectoryHead head;
    DirectoryBody body;  // the body in use
    std::vector<GlobalAddress> tables;
};

// Which of the tables a key of this hash belongs to.   Source: the paper, section 3.1; contract row
// 39
[[nodiscard]] constexpr std::uint64_t table_of(std::uint64_t hash,
                                               std::uint64_t slots,
                                               std::uint64_t tables) noexcept {
    return tables == 1 ? 0 : hash / slots % tables;
}

[[nodiscard]] inline std::uint64_t hash_of_key(hash::HashFunction function,
                                               std::uint64_t seed,
                                               std::span<const std::byte> key) noexcept {
    return hash::hash_of(function, seed, key) & ((std::uint64_t{1} << hash::key_hash_bits) - 1);
}

// The table of a key.
struct TablePlace {
    GlobalAddress table = 0;
    std::uint64_t id = 0;      // identity of the table while it belongs to the container
    std::uint64_t hash = 0;    // has hash::key_hash_bits
    std::uint64_t index = 0;   // number of the table in the container
    std::uint64_t slots = 1;   // initial number of the table's slots
    std::uint64_t tables = 0;  // number of the container's tables
    // The heap of the table, and the table's block; nullptr: it is on another node, or no table can
    // be there.
    allocator::NodeHeap* heap = nullptr;
    table::BlockNumber block = 0;
    hash::HashFunction function = hash::HashFunction::xxh3;  // hashes the container's keys
    std::uint64_t seed = 0;
};

// The copies of one process.
class Directories {
public:
    static constexpr std::uint32_t kept_max = 256;

    //   gma, allocator  outlive this
    Directories(gma::Gma& gma, Allocator& allocator);
    ~Directories();
    Directories(const Directories&) = delete;
    Directories& operator=(const Directories&) = delete;

    // Finds the table of a key in a copy. false: there is no copy; fetch() makes one.
    [[nodiscard, gnu::always_inline]] bool find(const ContainerName& name,
                                                std::span<const std::byte> key,
                                                TablePlace& place) const noexcept {
        // acquire: pairs with the release in keep()
        const Copy* const copies = copies_.load(std::memory_order_acquire);
        if (copies == nullptr) [[unlikely]]
            return false;
        const Copy& copy = copies[index_of(name.directory)];
        // acquire: the words of this version; partner: keep()
        const std::uint64_t version = copy.version.load(std::memory_order_acquire);
        if (version % 2 != 0 || !copy.is_of(name)) [[unlikely]]
            return false;
        place.function = static_cast<hash::HashFunction>(relaxed(copy.hash));
        place.seed = relaxed(copy.seed);
        place.hash = hash_of_key(place.function, place.seed, key);
        place.id = relaxed(copy.table_id);
        // acquire: with this count the array has that length; partner: write()
        const std::uint64_t count = copy.table_count.load(std::memory_order_acquire);
        place.slots = relaxed(copy.slots);
        place.index = table_of(place.hash, place.slots, count);
        place.tables = count;
        copy.tables.load(std::memory_order_acquire)[place.index].tell(place);
        // acquire: the loads above come before the one below
        base::fence(std::memory_order_acquire);
        return copy.version.load(std::memory_order_relaxed) == version;
    }

    // Finds a table by its number in a copy; place.hash is not set. false: there is no copy. If
    // `index` is not below place.tables there is no table, and place.table is 0.
    [[nodiscard]] bool find_table(const ContainerName& name,
                                  std::uint64_t index,
                                  TablePlace& place) const noexcept {
        const Copy* const copies = copies_.load(std::memory_order_acquire);  // acquire: see find()
        if (copies == nullptr) return false;
        const Copy& copy = copies[index_of(name.directory)];
        const std::uint64_t version = copy.version.load(std::memory_order_acquire);
        if (version % 2 != 0 || !copy.is_of(name)) return false;
        const std::uint64_t count = copy.table_count.load(std::memory_order_acquire);
        place = {0, relaxed(copy.table_id), 0, index, relaxed(copy.slots), count};
        if (index < count) copy.tables.load(std::memory_order_acquire)[index].tell(place);
        base::fence(std::memory_order_acquire);
        return copy.version.load(std::memory_order_relaxed) == version;
    }

    // Reads a directory and keeps a copy; the container is in use from then on. Blocks where it is
    // of another node.
    // Errors: address (no directory is there), stale (destroyed, or another container is there),
    // argument (of another kind), peer, memory.
    base::Result<Directory> fetch(const ContainerName& name);

    // Destroys a container: first its tables, then its directory. If the process is killed in
    // between, the directory still exists, and any process that knows the container can destroy the
    // rest. If several destroy it, one succeeds. Errors: those of fetch().
    base::Status destroy(const ContainerName& name);

    // Destroys the tables that exist.
    void destroy_tables(const Directory& directory) noexcept;

    // The table of a key, or of a number, by a directory that fetch() has read.
    [[nodiscard]] TablePlace place_in(const Directory& directory,
                                      std::span<const std::byte> key) const noexcept;
    void set_table(TablePlace& place, GlobalAddress table) const noexcept;

    // Forgets a copy.
    void forget(GlobalAddress directory) noexcept;

private:
    // A table in a copy: its part of a TablePlace.
    struct KnownTable {
        std::atomic<std::uint64_t> address{0};
        std::atomic<allocator::NodeHeap*> heap{nullptr};
        std::atomic<std::uint64_t> block{0};

        void tell(TablePlace& place) const noexcept {
            place.table = relaxed(address);
            place.heap = relaxed(heap);
            place.block = relaxed(block);
        }
    };

    // A seqlock: its words are written under lock_ while the version is odd.
    struct alignas(64) Copy {
        std::atomic<std::uint64_t> version{0};
        std::atomic<std::uint64_t> directory{0};  // 0: none
        std::atomic<std::uint64_t> id{0};
        std::atomic<std::uint64_t> table_id{0};
        std::atomic<std::uint64_t> seed{0};
        std::atomic<std::uint64_t> slots{1};
        std::atomic<std::uint64_t> table_count{1};
        std::atomic<std::uint32_t> hash{0};
        std::atomic<std::uint32_t> kind{0};
        // array of room_of_tables elements; never freed while this lives, because a slow reader may
        // still read it
        std::atomic<KnownTable*> tables{nullptr};
        std::uint64_t room_of_tables = 0;

        // One comparison of differences that are 0 on a match: a compiler assumes that each of
        // several comparisons often fails, and then optimizes the calls behind them for size.
        [[nodiscard]] bool is_of(const ContainerName& name) const noexcept {
            const std::uint64_t none = name.directory == 0 ? 1 : 0;
            // acquire: partner is write(), whose first version has tables
            const std::uint64_t other_directory =
                directory.load(std::memory_order_acquire) ^ name.directory;
            const std::uint64_t other_id = name.id == 0 ? 0 : relaxed(id) ^ name.id;
            const std::uint32_t other_kind = relaxed(kind) ^ static_cast<std::uint32_t>(name.kind);
            return (none | other_directory | other_id | other_kind) == 0;
        }
    };

    template <typename Word>
    [[nodiscard]] static Word relaxed(const std::atomic<Word>& word) noexcept {
        return word.load(std::memory_order_relaxed);
    }

    [[nodiscard]] static std::uint32_t index_of(GlobalAddress directory) noexcept {
        return static_cast<std::uint32_t>((directory * 0x9e3779b97f4a7c15) >> 56);
    }

    // The progress of a container's first use.
    enum class Use : std::uint8_t { not_yet, begun, whole };

    // Reads a directory, and settles an exchange that it is in.
    base::Status read(const ContainerName& name, Directory& directory, Use& use);
    base::Status read_once(DirectoryReach& reach,
                           const ContainerName& name,
                           Directory& directory,
                           Use& use);
    base::Status begin_use(const ContainerName& name, const Directory& directory);
    base::Status end_first_use(const ContainerName& name, const Directory& directory);
    template <typename Operation>
    base::Status run(const ContainerName& name, const Directory& directory);
    void keep(GlobalAddress address, const Directory& directory);
    void open_heaps(const Directory& directory);
    //   room  nullptr, or the new array for the tables of the copy
    void write(Copy& copy,
               KnownTable* room,
               GlobalAddress address,
               const Directory& directory) const noexcept;

    gma::Gma& gma_;
    Allocator& allocator_;
    std::mutex lock_;
    std::vector<std::unique_ptr<KnownTable[]>> rooms_;  // arrays of all copies, also replaced ones
    // kept_max copies, allocated with the first one: a program without containers saves 32 KiB
    std::unique_ptr<Copy[]> made_;
    std::atomic<Copy*> copies_{nullptr};  // made_.get(), or nullptr
};

static_assert(sizeof(Directories) <= 256, "every rank has it, also one without containers");

}  // namespace acp::data
