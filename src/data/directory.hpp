// SPDX-License-Identifier: BSD-3-Clause
// The directories of hashed containers. A container is named by its directory, a block in the heap of one rank: its kind, how it
// hashes keys, and the address of the table on each of its ranks. Each process keeps copies of directories that it has used;
// a table knows the container's identity, so a call that a copy out of date has sent to a wrong table is refused there, and the
// directory is read again. An exchange of two containers that a process was killed in is settled by who reads a directory
// (data/directory_exchange.hpp).
// A copy is read without a lock, and whoever reads while it changes looks again.
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

// What a handle of a container says.
struct ContainerName {
    GlobalAddress directory = 0;
    std::uint64_t id = 0;  // 0: not known
    ContainerKind kind = ContainerKind::map;
};

class DirectoryReach;

// "map", for messages.
[[nodiscard]] const char* name_of(ContainerKind kind) noexcept;

// A directory as one process knows it.
struct Directory {
    DirectoryHead head;
    DirectoryBody body;  // of the two the one that is in use
    std::vector<GlobalAddress> tables;
};

// Which of the tables a key of this hash belongs to.   Source: the paper, section 3.1; contract row 39
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

// Where a key belongs.
struct TablePlace {
    GlobalAddress table = 0;
    std::uint64_t id = 0;      // of the table, as long as it is the container's
    std::uint64_t hash = 0;    // has hash::key_hash_bits
    std::uint64_t index = 0;   // of the table among those of the container
    std::uint64_t slots = 1;   // of the table at first
    std::uint64_t tables = 0;  // of the container
    // The heap that has the table, and the table's block; nullptr: it is of another node, or no table can be there.
    allocator::NodeHeap* heap = nullptr;
    table::BlockNumber block = 0;
    hash::HashFunction function = hash::HashFunction::xxh3;  // of the container's keys
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
        // acquire: what belongs to this version; partner: keep()
        const std::uint64_t version = copy.version.load(std::memory_order_acquire);
        if (version % 2 != 0 || !copy.is_of(name)) [[unlikely]]
            return false;
        place.function = static_cast<hash::HashFunction>(relaxed(copy.hash));
        place.seed = relaxed(copy.seed);
        place.hash = hash_of_key(place.function, place.seed, key);
        place.id = relaxed(copy.table_id);
        // acquire: whoever sees this count sees room for so many; partner: write()
        const std::uint64_t count = copy.table_count.load(std::memory_order_acquire);
        place.slots = relaxed(copy.slots);
        place.index = table_of(place.hash, place.slots, count);
        place.tables = count;
        copy.tables.load(std::memory_order_acquire)[place.index].tell(place);
        // acquire: the loads above come before the one below
        base::fence(std::memory_order_acquire);
        return copy.version.load(std::memory_order_relaxed) == version;
    }

    // Finds a table by its number in a copy; place.hash is not known. false: there is no copy. Where `index` is not below place.tables
    // there is no table, and place.table is 0.
    [[nodiscard]] bool find_table(const ContainerName& name,
                                  std::uint64_t index,
                                  TablePlace& place) const noexcept {
        const Copy* const copies = copies_.load(std::memory_order_acquire);  // as in find()
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

    // Reads a directory and keeps a copy; the container is in use from then on. Blocks where it is of another node.
    // Errors: address (no directory is there), stale (destroyed, or another container is there), argument (of another kind),
    // peer, memory.
    base::Result<Directory> fetch(const ContainerName& name);

    // Destroys a container: first its tables, then its directory. Where the process is killed in between, the directory is still there, and
    // whoever knows of the container destroys what is left of it. Of several that destroy it one succeeds. Errors: as of fetch().
    base::Status destroy(const ContainerName& name);

    // Destroys tables, those that are there.
    void destroy_tables(const Directory& directory) noexcept;

    // Where a key, or the table of a number, is, by a directory that fetch() has read.
    [[nodiscard]] TablePlace place_in(const Directory& directory,
                                      std::span<const std::byte> key) const noexcept;
    void set_table(TablePlace& place, GlobalAddress table) const noexcept;

    // Forgets a copy.
    void forget(GlobalAddress directory) noexcept;

private:
    // A table of a copy: what TablePlace says of it.
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

    // Its words are written under lock_, with an odd version meanwhile.
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
        // room_of_tables of them, never freed as long as this lives: who reads it may come late
        std::atomic<KnownTable*> tables{nullptr};
        std::uint64_t room_of_tables = 0;

        // By one comparison, whose words are 0 where they are as they should be: a compiler takes each of several for one that often
        // fails, and then makes the calls behind them small instead of fast.
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

    // How far a container is from its first use: none before the one after it has ended.
    enum class Use : std::uint8_t { not_yet, begun, whole };

    // Reads a directory, and settles an exchange that it is in.
    base::Status read(const ContainerName& name, Directory& directory, Use& use);
    base::Status read_once(DirectoryReach& reach,
                           const ContainerName& name,
                           Directory& directory,
                           Use& use);
    base::Status begin_use(const ContainerName& name, const Directory& directory);
    base::Status end_first_use(const ContainerName& name, const Directory& directory);
    base::Status ask_of_directory(std::uint32_t operation,
                                  const ContainerName& name,
                                  const Directory& directory);
    void keep(GlobalAddress address, const Directory& directory);
    void open_heaps(const Directory& directory);
    //   room  nullptr, or where the tables of the copy are kept from now on
    void write(Copy& copy,
               KnownTable* room,
               GlobalAddress address,
               const Directory& directory) const noexcept;

    gma::Gma& gma_;
    Allocator& allocator_;
    std::mutex lock_;
    std::vector<std::unique_ptr<KnownTable[]>> rooms_;  // of all copies, once used
    // kept_max of them, made with the first that is kept: a program without containers does without 32 KiB
    std::unique_ptr<Copy[]> made_;
    std::atomic<Copy*> copies_{nullptr};  // those, or nullptr
};

static_assert(sizeof(Directories) <= 256, "every rank has it, also one without containers");

}  // namespace acp::data
