// SPDX-License-Identifier: BSD-3-Clause
// A hash table in shared memory, under all associative containers: keys and values of any length,
// found, inserted, replaced and erased by any thread of any process of a node at once. One object
// serves one thread, for all tables of one heap; a table is named by the block that it begins with.
//
// Contract:
// - Each operation on a key takes effect at one moment between its call and its return (it is
//   linearizable). A find sees a whole value. A value of 8 bytes is replaced in place, and is added
//   to and compared atomically.
// - No thread waits for another one, not even on the same key: a thread that is stopped at any
//   instruction hinders no other. Finds store nothing that others read, except the hazard word in
//   which a thread names the block that it reads.
// - A process may be killed at any instruction: there is never half an entry, and recover()
//   completes its operation. It frees the blocks that the process held, also one that it was about
//   to free (table/freeing.hpp), and completes the destruction of a table. A table that was never
//   used is destroyed when the process that made it dies (table/first_use.hpp).
// - A table that may grow does so while it is used: each insertion moves a few buckets, and no
//   insertion waits for another one.
// - A call returns damaged if it reads words that contradict each other and do not change: the
//   program has overwritten such words. It reads and writes nothing outside of the heap, and ends.
// - Where there is no memory an insertion returns no_room, and the table stays as it was. A table
//   that cannot grow for that reason gets longer chains.
//
// Lookups are in table/finder.hpp and search.hpp, insertions in table/insertion.hpp, growth in
// table/growth.hpp; retired records are freed once no thread reads them (table/retired_blocks.hpp).
// Atomic: std::atomic, or one of a test that a scheduler runs or that kills the process between two
// accesses.
// Sources: the frozen bucket, Y. Liu, K. Zhang, M. Spear, PODC 2014; tentative insertion as in M.
// Herlihy, N. Shavit, M. Tzafrir, DISC 2008. Tests: tests/unit/table.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "table/counting.hpp"
#include "table/entry_count.hpp"
#include "table/finder.hpp"
#include "table/first_use.hpp"
#include "table/ground.hpp"
#include "table/growth.hpp"
#include "table/insertion.hpp"
#include "table/put_batch.hpp"
#include "table/reclaimer.hpp"
#include "table/search.hpp"
#include "table/walk.hpp"

namespace acp::table {

// How a table is made.
struct TableShape {
    std::uint64_t slots = 1;  // buckets at first, 1 .. 2^32
    bool may_grow = true;
    bool has_many = false;             // several entries may have one key (PutMode::add)
    std::uint64_t id = 0;              // the identity by which is_table() knows it
    std::uint64_t maker = no_process;  // the process it dies with, until its first use
    // The caller's block of Head::bytes(slots) zero bytes, which becomes the table; 0: make()
    // allocates it.
    BlockNumber block = 0;
};

template <template <class> class Atomic = std::atomic>
class HashTable {
public:
    using Shown = Participant<Atomic>;

    //   blocks        of the calling thread; outlives this
    //   participants  of the heap, zero at first; number `own` is the calling thread's alone
    //   batch         Ground::retire_batch
    HashTable(Blocks<Atomic>& blocks,
              Participants<Atomic> participants,
              std::uint32_t own,
              std::uint32_t batch = Reclaimer<Atomic>::usual_batch) noexcept
        : ground_(blocks, participants, own, batch) {}

    ~HashTable() = default;
    HashTable(const HashTable&) = delete;
    HashTable& operator=(const HashTable&) = delete;

    // Makes an empty table; recovery frees a block that this allocates if the process is killed
    // before keep(). 0: there is no room.
    [[nodiscard]] BlockNumber make(const TableShape& shape) {
        const BlockNumber table = shape.block != 0 ? shape.block : make_block(shape.slots);
        if (table == 0) return 0;
        auto& head = ground_.head(table);
        head.slots = shape.slots;
        head.slots_mask = Head<Atomic>::mask_of(shape.slots);
        head.may_grow = shape.may_grow ? 1 : 0;
        head.has_many = shape.has_many ? 1 : 0;
        head.id = shape.id;
        const BlockNumber array = number_of(heap::Offset{offset_of(table) + sizeof(Head<Atomic>)});
        ground_.array(array).buckets = shape.slots;
        head.arrays[0].store(link::to(array), std::memory_order_release);
        const std::uint64_t mark = Head<Atomic>::mark_of(table, shape.id);
        head.mark.store(first_mark(ground_.blocks(), table, mark, shape.maker),
                        std::memory_order_release);
        return table;
    }

    // Makes a directory of tables; like make().
    //   bytes                 of its block, at least sizeof(DirectoryStart)
    //   write(block, memory)  writes the bytes behind the DirectoryStart
    template <typename Write>
    [[nodiscard]] BlockNumber make_directory(std::uint64_t bytes,
                                             std::uint64_t maker,
                                             const Write& write) {
        const BlockNumber block =
            ground_.blocks().allocate(ground_.shown().block_made, bytes, line_bytes);
        if (block == 0) return 0;
        auto& start = ground_.directory(block);
        start.more.store(0, std::memory_order_relaxed);
        start.more_too.store(0, std::memory_order_relaxed);
        start.lock.store(0, std::memory_order_relaxed);
        write(block, reinterpret_cast<char*>(&start) + sizeof start);
        start.mark.store(
            first_mark(ground_.blocks(), block, DirectoryStart<Atomic>::mark_in_first_use, maker),
            std::memory_order_release);
        return block;
    }

    // Whether a directory begins there; like is_table().
    [[nodiscard]] bool is_directory(BlockNumber block) const {
        auto& mark = ground_.directory(block).mark;
        if (offset_of(block) % line_bytes != 0) return false;
        // Tests the marks in the order in which they change, since another thread may end the first
        // use in between.
        return is_there(ground_.blocks(), mark, block, DirectoryStart<Atomic>::mark_in_first_use) ||
               mark.load(std::memory_order_acquire) == DirectoryStart<Atomic>::mark_of_directories;
    }

    [[nodiscard]] const char* memory_of(BlockNumber directory) const noexcept {
        return ground_.address(directory);
    }

    // One of the links of a DirectoryStart.
    using DirectoryLink = Atomic<std::uint64_t> DirectoryStart<Atomic>::*;

    // The block that a directory links there; makes and links one if there is none, at once for all
    // other threads. It is freed with the directory, or if the process is killed before the link.
    // 0: there is no room.
    //   write(block, memory)  writes the bytes of a new block
    template <typename Write>
    [[nodiscard]] BlockNumber linked_block(BlockNumber directory,
                                           DirectoryLink which,
                                           std::uint64_t bytes,
                                           const Write& write) {
        auto& word = ground_.directory(directory).*which;
        // acquire: the bytes of the block; partner: Ground::link_block of the thread that linked it
        std::uint64_t linked = word.load(std::memory_order_acquire);
        if (linked == 0) {
            auto& shown = ground_.shown();
            const BlockNumber block =
                ground_.blocks().allocate(shown.block_made, bytes, line_bytes);
            if (block == 0) return 0;
            write(block, ground_.address(block));
            shown.table.store(directory, std::memory_order_relaxed);
            shown.table_id.store(DirectoryStart<Atomic>::mark_of_directories,
                                 std::memory_order_relaxed);
            (void)ground_.link_block(word, 0, link::to(block));
            linked = word.load(std::memory_order_acquire);
        }
        return link::next_in(linked);
    }

    // Destroys a directory and its second block, like destroy().
    bool destroy_directory(BlockNumber block);

    // Destroys a table or a directory that was never used. false: there is none of this maker.
    //   begun()  is called once no other thread can use or destroy it
    template <typename Begun>
    bool destroy_unused(BlockNumber block, std::uint32_t maker, const Begun& begun);

    // Called after the number of the table made last was stored: recover() no longer frees the
    // table.
    void keep() const noexcept { ground_.shown().block_made.store(0, std::memory_order_release); }

    // The part of this class that only finds.
    [[nodiscard]] Finder<Atomic> finder() const noexcept { return Finder<Atomic>(ground_); }

    // Whether a table of this identity begins there; this counts as its first use. Wrong only for a
    // block that holds something else and by chance has the table's mark of 64 bits.
    //   table  any number whose offset and sizeof(Head) bytes from there are in the heap
    [[nodiscard]] bool is_table(BlockNumber table, std::uint64_t id) const {
        return offset_of(table) % line_bytes == 0 &&
               is_there(ground_.blocks(), ground_.head(table).mark, table,
                        Head<Atomic>::mark_of(table, id));
    }

    // Changes the identity of a table: later calls with the earlier identity are refused. A
    // concurrent one takes effect as if it had come before. false: no table of the identity `from`
    // is there.
    //   to  `from`, or identity::after() it
    bool give(BlockNumber table, std::uint64_t from, std::uint64_t to) const {
        if (!is_table(table, from)) return false;
        std::uint64_t mark = Head<Atomic>::mark_of(table, from);
        return ground_.head(table).mark.compare_exchange_strong(
            mark, Head<Atomic>::mark_of(table, to), std::memory_order_acq_rel,
            std::memory_order_relaxed);
    }

    // Frees a table and its entries. No thread may use it any longer, and dead processes that did
    // must have been recovered. false: no table of this identity is there, or another thread
    // destroys it.
    bool destroy(BlockNumber table, std::uint64_t id);

    // destroy() in pieces, for a thread that others wait for: only begins it. The table is gone from
    // now on, and destroy_more() frees it.
    bool begin_to_destroy(BlockNumber table, std::uint64_t id);

    // Frees a part of the tables whose destruction this participant has begun. Returns whether more
    // is left.
    //   steps  the most entries and buckets that are freed; destroyed_least or more
    bool destroy_more(std::uint64_t steps = 256);

    // Whether this participant has begun to destroy a table and has not freed all of it.
    [[nodiscard]] bool is_being_destroyed(BlockNumber table) const;

    // So many steps free something: the first bucket of a chain, and the next one with its entries.
    static constexpr std::uint64_t destroyed_least = 2 + Bucket<Atomic>::slots_max;

    // See Finder.
    template <typename Visit>
    Effect find(BlockNumber table, const EntryKey& key, const Visit& visit) const {
        return finder().find(table, key, visit);
    }

    template <typename Visit>
    Effect find_record(BlockNumber table,
                       std::uint64_t hash,
                       const RecordName& record,
                       const Visit& visit) const {
        return finder().find_record(table, hash, record, visit);
    }

    // Inserts, assigns or replaces. Effects: as Insertion::put
    PutEffect put(BlockNumber table, const PutRequest& request) {
        const Changing<Atomic> changing(ground_, table);
        return Insertion<Atomic>(ground_).put(ground_.head(table), request);
    }

    // Puts on several keys. No other call is made on this object until the batch ends, except after
    // no_room.
    [[nodiscard]] PutBatch<Atomic> put_batch(BlockNumber table) const {
        return PutBatch<Atomic>(ground_, table);
    }

    // done, present, no_room, damaged
    Effect insert(BlockNumber table, const EntryKey& key, const EntryValue& value) {
        return put(table, {key, value, PutMode::insert}).effect;
    }

    // done, no_room, damaged
    Effect assign(BlockNumber table, const EntryKey& key, const EntryValue& value) {
        return put(table, {key, value, PutMode::assign}).effect;
    }

    // done, absent, no_room (for a bucket that must be moved first), damaged
    Effect erase(BlockNumber table, const EntryKey& key) {
        return erase_if(table, key.hash, [&](BlockNumber record) {
            return ground_.has_key(record, key.data, key.bytes);
        });
    }

    // Erases the entry with this record, if it is still linked.   hash  of its key
    Effect erase_record(BlockNumber table, std::uint64_t hash, const RecordName& record) {
        return erase_if(table, hash, [&](BlockNumber found) {
            return Search<Atomic>(ground_).is_it(found, record);
        });
    }

    // Adds to the count of a key, or takes from it: Counting::add, Counting::subtract.
    CountEffect add(BlockNumber table, const EntryKey& key, std::uint64_t number) {
        const Changing<Atomic> changing(ground_, table);
        return Counting<Atomic>(ground_).add(ground_.head(table), key, number);
    }

    CountEffect subtract(BlockNumber table, const EntryKey& key, std::uint64_t number) {
        const Changing<Atomic> changing(ground_, table);
        return Counting<Atomic>(ground_).subtract(ground_.head(table), key, number);
    }

    // Adds to the value of 8 bytes, and inserts `addend` as one where there is none. done (old:
    // before), absent (it was inserted), no_number, no_room, damaged
    Effect fetch_add_or_insert(BlockNumber table,
                               const EntryKey& key,
                               std::uint64_t addend,
                               std::uint64_t& old) {
        for (;;) {
            const Effect changed = fetch_add(table, key, addend, old);
            if (changed != Effect::absent) return changed;
            const Effect inserted = insert(table, key, {&addend, sizeof addend});
            old = 0;
            if (inserted == Effect::done) return Effect::absent;
            if (inserted != Effect::present) return inserted;
        }
    }

    // Visits entries that follow a place, at most those of one bucket: TableWalk::step.
    template <typename Visit>
    Walked walk(BlockNumber table,
                WalkPlace& after,
                const Visit& visit,
                bool is_single = false) const {
        return TableWalk<Atomic>(ground_).step(ground_.head(table), after, visit, is_single);
    }

    // Visits the entries of one key in the same way.
    //   wanted  how many visit takes: TableWalk::step_of_key
    template <typename Visit>
    Walked walk_key(BlockNumber table,
                    const EntryKey& key,
                    WalkPlace& after,
                    const Visit& visit,
                    std::uint32_t wanted = TableWalk<Atomic>::collected_max) const {
        const auto& head = ground_.head(table);
        if (!head.has_slots()) return Walked::damaged;
        const std::uint64_t position = position_of(table, key.hash);
        if (after.position != position) after = {position, 0};
        return TableWalk<Atomic>(ground_).step_of_key(head, key, position, after, visit, wanted);
    }

    // A block that holds, or is to hold, a key and a value.
    [[nodiscard]] EntryRecord<Atomic>& record(BlockNumber block) const noexcept {
        return ground_.record(block);
    }

    // The hash of the key of an entry at a position of a walk.
    [[nodiscard]] std::uint64_t hash_at(BlockNumber table, std::uint64_t position) const noexcept {
        return Positions(ground_.head(table).slots).hash_at(position);
    }

    [[nodiscard]] std::uint64_t position_of(BlockNumber table, std::uint64_t hash) const noexcept {
        return Positions(ground_.head(table).slots).of(hash & hash_mask);
    }

    // Adds to the value of 8 bytes. done (old: before), absent, no_number, damaged
    Effect fetch_add(BlockNumber table,
                     const EntryKey& key,
                     std::uint64_t addend,
                     std::uint64_t& old) const {
        return change_number(table, key, [&](Atomic<std::uint64_t>& number) {
            old = number.fetch_add(addend, std::memory_order_acq_rel);
            return Effect::done;
        });
    }

    // Replaces the value of 8 bytes if it is `expected`. done, present (expected: its value),
    // absent, no_number, damaged
    Effect compare_exchange(BlockNumber table,
                            const EntryKey& key,
                            std::uint64_t& expected,
                            std::uint64_t desired) const {
        return change_number(table, key, [&](Atomic<std::uint64_t>& number) {
            return number.compare_exchange_strong(expected, desired, std::memory_order_acq_rel,
                                                  std::memory_order_acquire)
                       ? Effect::done
                       : Effect::present;
        });
    }

    // How many entries there are, while no thread inserts or erases and the dead are recovered:
    // EntryCount. std::nullopt: the program has overwritten the table's words.
    [[nodiscard]] std::optional<std::uint64_t> entries(BlockNumber table) const {
        return EntryCount<Atomic>(ground_).entries(table);
    }

    // Whether several entries may have the same key.
    [[nodiscard]] bool has_many_of_a_key(BlockNumber table) const noexcept {
        return ground_.head(table).has_many_of_a_key();
    }

    // How many buckets the table has; while it grows, those of the larger array.
    [[nodiscard]] std::uint64_t buckets(BlockNumber table) const noexcept {
        const auto& head = ground_.head(table);
        return head.buckets(Root::unpacked(head.root.load(std::memory_order_acquire)).to);
    }

    // Frees the blocks that the calling thread has retired and that no hazard word names.
    void reclaim() { (void)Reclaimer<Atomic>(ground_).scan_whole(ground_.own()); }

    // Completes the operation of a dead participant, and frees the blocks that it held. Any live
    // process may call it; if that one is killed in the call, another one calls it again. false:
    // another live process is recovering that participant, or there was no memory.
    //   is_dead(number)  whether the process of a participant is dead
    template <typename IsDead>
    bool recover(std::uint32_t dead, const IsDead& is_dead);

private:
    // Allocates and clears the memory of a table. 0: there is no room.
    [[nodiscard]] BlockNumber make_block(std::uint64_t slots) {
        const std::uint64_t bytes = Head<Atomic>::bytes(slots);
        const BlockNumber block =
            ground_.blocks().allocate(ground_.shown().block_made, bytes, line_bytes);
        if (block != 0) ground_.blocks().clear(block, bytes);
        return block;
    }

    template <typename IsIt>
    Effect erase_if(BlockNumber table, std::uint64_t hash, const IsIt& is_it) {
        const Changing<Atomic> changing(ground_, table);
        auto& head = ground_.head(table);
        for (;;) {
            const Spot<Atomic> spot = Growth<Atomic>(ground_).spot_for_change(head, hash);
            if (spot.first == nullptr) return spot.failure();
            const auto entry = Search<Atomic>(ground_).look_for(
                head, spot, slot::fragment_of(hash), Search<Atomic>::Access::change, is_it);
            if (entry.is_late) continue;
            if (entry.is_damaged) return Effect::damaged;
            if (entry.slot == nullptr) return Effect::absent;
            if (!Reclaimer<Atomic>(ground_).unlink(*entry.slot, entry.word, slot::emptied))
                continue;
            head.count_erasure(ground_.own());
            return Effect::done;
        }
    }

    template <typename Do>
    Effect change_number(BlockNumber table, const EntryKey& key, const Do& do_it) const {
        const auto entry = Search<Atomic>(ground_).find(ground_.head(table), key);
        Effect result = entry.is_damaged ? Effect::damaged : Effect::absent;
        if (entry.slot != nullptr) {
            auto& record = ground_.record(slot::record_in(entry.word));
            result = record.is_number() ? do_it(record.number()) : Effect::no_number;
        }
        ground_.forget(Shown::record);
        return result;
    }

    Ground<Atomic> ground_;
};

}  // namespace acp::table

#include "table/destruction.hpp"
#include "table/recovery.hpp"
