// SPDX-License-Identifier: BSD-3-Clause
// Fills the containers by requests, and makes the longest requests on them.
#include "unit/operations/steps/long_containers.hpp"

#include <algorithm>

#include "pages/difference.hpp"

namespace acp::operations::test {

using namespace acp::
    allocator;  // NOLINT(google-build-using-namespace): its requests are what this file is about

namespace {

template <typename Operation>
constexpr std::uint32_t number_of = local::operation_number<Operation>;

constexpr std::uint64_t id = 0x1e;
constexpr std::uint64_t staged_bytes = copied_bytes_max;
constexpr std::uint32_t waiters = 1'000;

Bytes with(Bytes bytes, const std::string& text) {
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    bytes.insert(bytes.end(), from, from + text.size());
    return bytes;
}

Bytes& append(Bytes& bytes, const Bytes& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return bytes;
}

std::string key_of(std::uint32_t i) {
    return "key " + std::to_string(i);
}

EntryRequest entry_of(const TableName& name, const std::string& key) {
    return {name, acp::test::hash_of(key) & table::hash_mask,
            static_cast<std::uint32_t>(key.size()), 8};
}

Bytes put_of(const TableName& name, const std::string& key, table::PutMode mode) {
    return with(bytes_of(entry_of(name, key), PutWords{mode, {}, 0}), key + "a value.");
}

// The difference of a page of which every eighth byte has changed, as many lines as a request takes.
Bytes longest_difference(std::uint32_t bytes_max) {
    std::array<std::byte, pages::page_bytes> zeros{};
    std::array<std::byte, pages::page_bytes> changed{};
    pages::DifferenceRoom room{};
    Bytes longest;
    for (std::size_t at = 0; at < pages::page_bytes; at += 16) {
        changed[at] = std::byte{1};
        const auto made = difference_code().make(room, changed, zeros);
        if (made.bytes().size() > bytes_max) break;
        longest.assign(made.bytes().begin(), made.bytes().end());
    }
    return longest;
}

}  // namespace

LongContainers::LongContainers(HostileScene& scene) : scene_(scene) {
    for (std::uint64_t& list : lists_) fill_list(list, positions_);
    fill_table(table_, false);
    fill_table(many_, true);
    stage_ = lend(2 * staged_bytes);
    fill_sequence(vector_, sequence::SequenceKind::vector);
    fill_sequence(deque_, sequence::SequenceKind::deque);
    fill_lock();
}

void LongContainers::ask(std::uint32_t number, const Bytes& bytes) {
    EXPECT_EQ(scene_.run({number, bytes}), Code::ok) << number;
}

LentBlock LongContainers::lend(std::uint64_t bytes) {
    ask(number_of<LendBlock>, bytes_of(ToLend{bytes, 0}));
    return scene_.told<LentBlock>();
}

void LongContainers::fill_list(std::uint64_t& list, std::vector<list::Position>& positions) {
    ask(number_of<MakeList>, bytes_of(NodeHeap::nobody));
    list = scene_.told<std::uint64_t>();
    positions.clear();
    for (std::uint32_t i = 0; i < elements_per_list; ++i) {
        ask(number_of<InsertElement>, with(bytes_of(ListInsert{list, {}, 0, 0}), "element"));
        positions.push_back(scene_.told<ListPlaced>().at);
    }
}

void LongContainers::fill_table(TableName& name, bool has_many) {
    TableToMake make;
    make.slots = 4;
    make.has_many = has_many ? 1 : 0;
    make.id = id;
    ask(number_of<MakeTable>, bytes_of(make));
    name = {scene_.told<std::uint64_t>(), id};
    for (std::uint32_t i = 0; i < entries_per_table; ++i)
        ask(number_of<PutEntry>, put_of(name, key_of(i), table::PutMode::insert));
}

void LongContainers::fill_sequence(SequenceName& name, sequence::SequenceKind kind) {
    ask(number_of<MakeSequence>, bytes_of(MakeSequence::Input{kind, 0, 2 * content_bytes}));
    name = {scene_.told<std::uint64_t>(), kind};
    for (std::uint64_t bytes = 0; bytes < content_bytes; bytes += staged_bytes)
        ask(number_of<PushBytes>, bytes_of(SequencePush{name, 0, stage_, staged_bytes}));
}

// A thread of process 2 holds the lock, and as many threads of process 0 as there are places have
// queued and left, but for the last one.
void LongContainers::fill_lock() {
    ask(number_of<MakeLock>, bytes_of(LockToMake{4'096}));
    lock_ = scene_.told<MadeLock>().lock;
    ask(number_of<TakeLock>, bytes_of(LockTake{{lock_, 2, 3, 0, 0}, 0, 0, 0}));
    for (std::uint32_t serial = 1; serial <= waiters; ++serial) {
        ask(number_of<TakeLock>, bytes_of(LockTake{{lock_, 0, 4, serial, 0}, 1, 0, 0}));
        EXPECT_EQ(scene_.told<LockReply>().outcome, sync::LockOutcome::queued);
        last_ticket_ = scene_.told<LockReply>().ticket;
        if (serial != waiters)
            ask(number_of<LeaveLock>, bytes_of(LockCall{lock_, 0, 4, serial, last_ticket_}));
    }
}

// The arguments that allocate as many blocks as an operation may.
Bytes LongContainers::blocks_of(std::uint64_t bytes) {
    Bytes arguments = bytes_of(ToAllocate());
    for (std::uint32_t i = 0; i < blocks_max; ++i) append(arguments, bytes_of(bytes));
    return arguments;
}

void LongContainers::add_heap_requests(std::vector<LongRequest>& all) {
    // For each size one block, so that the caches hold spans of all classes.
    Bytes sizes = bytes_of(ToAllocate());
    for (std::uint64_t i = 0; i < blocks_max; ++i) append(sizes, bytes_of(16 + i * 256));
    all.push_back({"blocks of all sizes", {number_of<AllocateBlocks>, sizes}});
    for (const std::uint64_t bytes : {16U, 1'000U, 5'000U}) {
        all.push_back({"blocks of " + std::to_string(bytes) + " bytes",
                       {number_of<AllocateBlocks>, blocks_of(bytes)}});
        ask(number_of<AllocateBlocks>, blocks_of(bytes));
        all.push_back({"blocks of " + std::to_string(bytes) + " bytes",
                       {number_of<FreeBlocks>, [&] {
                            Bytes freed = bytes_of(ToFree());
                            return append(freed, scene_.result());
                        }()}});
    }
    ask(number_of<AllocateBlocks>, bytes_of(ToAllocate(), clear_bytes_max));
    const auto longest = scene_.told<std::uint64_t>();
    all.push_back({"1 MiB", {number_of<ClearBlock>, bytes_of(ToClear{longest, 8, 1'000'000})}});
    all.push_back({"1 MiB", {number_of<MeasureBlock>, bytes_of(longest)}});
    all.push_back({"1 MiB", {number_of<FreeBlocks>, bytes_of(ToFree(), longest)}});
    all.push_back({"idle memory", {number_of<GiveBackIdle>, {}}});
    all.push_back({"a piece", {number_of<MeasureHeap>, bytes_of(heap::HeapPlace())}});
    all.push_back({"a piece", {number_of<CheckHeap>, bytes_of(heap::HeapPlace())}});
    all.push_back({"all areas", {number_of<EstimateFill>, {}}});
    all.push_back({"1 MiB", {number_of<LendBlock>, bytes_of(ToLend{1'000'000, 0})}});
    const LentBlock lent = lend(1'000'000);
    all.push_back({"1 MiB", {number_of<TakeBackBlock>, bytes_of(lent)}});
    const LentBlock other = lend(300'000);
    ask(number_of<AllocateBlocks>, bytes_of(ToAllocate(), std::uint64_t{300'000}));
    all.push_back(
        {"300 kB",
         {number_of<ReplaceBlock>, bytes_of(ToReplace{other, scene_.told<std::uint64_t>()})}});
}

void LongContainers::add_list_requests(std::vector<LongRequest>& all) {
    const std::uint64_t list = lists_[1];
    const list::Position middle = positions_[elements_per_list / 2];
    const std::string longest(list_inline_max, 'e');
    Bytes gathered = bytes_of(list);
    Bytes erased = bytes_of(list);
    for (std::uint32_t i = 0; i < list_members_max; ++i) {
        append(gathered, bytes_of(ListMember{list, positions_[100 + i]}));
        append(erased, bytes_of(positions_[600 + i]));
    }
    const std::vector<LongRequest> requests{
        {"a list", {number_of<MakeList>, bytes_of(NodeHeap::nobody)}},
        {"a long element",
         {number_of<InsertElement>, with(bytes_of(ListInsert{list, middle, 0, 0}), longest)}},
        {"a long element",
         {number_of<ReserveNode>, bytes_of(ListReserve{list, middle, list_inline_max, 0})}},
        {"in the middle",
         {number_of<MoveElement>, bytes_of(ListMove{list, middle, list, positions_[7]})}},
        {"in the middle", {number_of<FindNeighbour>, bytes_of(ListStep{list, middle, 1})}},
        {"any number", {number_of<ReadRange>, bytes_of(ListRange{list, {}, 0, ~0U, 0, 0})}},
        {"backwards", {number_of<ReadRange>, bytes_of(ListRange{list, {}, 1, ~0U, 8, 0})}},
        {"in the middle", {number_of<ReadElement>, bytes_of(ListReading{list, middle, 900})}},
        {"2000", {number_of<CountElements>, bytes_of(list)}},
        {"all that fit", {number_of<GatherElements>, gathered}},
        {"in the middle",
         {number_of<TakeElement>, bytes_of(ListTake{list, middle, TakeWhich::at, 900})}},
        {"the last one",
         {number_of<TakeElement>, bytes_of(ListTake{list, {}, TakeWhich::last, 900})}},
        {"all that fit", {number_of<EraseElements>, erased}},
        {"all that fit", {number_of<ClearList>, bytes_of(ListClear{list, list_members_max})}},
        {"2000", {number_of<DestroyList>, bytes_of(list)}},
    };
    all.insert(all.end(), requests.begin(), requests.end());
}

void LongContainers::add_batches(std::vector<LongRequest>& all) {
    for (const BatchKind kind : {BatchKind::find, BatchKind::insert, BatchKind::assign,
                                 BatchKind::fetch_add_or_insert, BatchKind::erase}) {
        BatchHead head{table_, kind, 0};
        Bytes tail;
        const bool is_put = stores_values(kind);
        const std::uint32_t most = kind == BatchKind::find ? batch_max : batch_changes_max;
        for (; head.count < most; ++head.count) {
            const std::string key = std::to_string(head.count);
            const EntryRequest entry = entry_of(table_, key);
            Bytes one = with(bytes_of(BatchEntry{entry.hash, 1, entry.key_bytes, 8}), key);
            if (is_put) append(one, bytes_of(std::uint64_t{1}));
            if (sizeof head + tail.size() + one.size() > memory::invoke_bytes_max) break;
            append(tail, one);
        }
        Bytes batch = bytes_of(head);
        all.push_back({"kind " + std::to_string(static_cast<std::uint32_t>(kind)),
                       {number_of<RunBatch>, append(batch, tail)}});
    }
}

void LongContainers::add_table_requests(std::vector<LongRequest>& all) {
    const std::string key = key_of(entries_per_table / 2);
    const EntryRequest entry = entry_of(table_, key);
    ask(number_of<FindEntry>, with(bytes_of(entry), key));
    const auto found = scene_.told<EntryResult>();
    const std::string long_key(400, 'k');
    EntryRequest next = entry_of(many_, key);
    next.value_bytes = allocator::key_entries_max;
    EntryRequest long_put = entry_of(table_, long_key);
    long_put.value_bytes = 500;
    DirectoryToMake directory;
    directory.head.id = id;
    directory.head.bodies[0].tables = 1'000;
    const std::vector<LongRequest> requests{
        {"a table", {number_of<MakeTable>, bytes_of(TableToMake{100, 1, 0, id})}},
        {"4000", {number_of<UseTable>, bytes_of(table_)}},
        {"4000", {number_of<CountEntries>, bytes_of(table_)}},
        {"a whole result", {number_of<WalkEntries>, bytes_of(WalkRequest{table_, {}, 0, 0})}},
        {"keys and values", {number_of<WalkEntries>, bytes_of(WalkRequest{many_, {}, 0, 1})}},
        {"one of 4000", {number_of<FindEntry>, with(bytes_of(entry), key)}},
        {"a long entry",
         {number_of<PutEntry>, with(bytes_of(long_put, PutWords{table::PutMode::assign, {}, 0}),
                                    long_key + std::string(500, 'v'))}},
        {"a second one", {number_of<PutEntry>, put_of(many_, key, table::PutMode::add)}},
        {"a block on loan",
         {number_of<PutBlock>,
          bytes_of(BlockToPut{entry, {table::PutMode::assign, {}, 0}, lend(100'000)})}},
        {"a number",
         {number_of<ChangeEntry>,
          with(bytes_of(entry, ChangeWords{ChangeKind::fetch_add_or_insert, 5, 0}), key)}},
        {"a count",
         {number_of<ChangeEntry>,
          with(bytes_of(entry, ChangeWords{ChangeKind::add_to_count, 5, 0}), key)}},
        {"by its record",
         {number_of<ReadEntry>,
          bytes_of(RecordRequest{table_, entry.hash, found.record, 100, found.number})}},
        {"the next ones", {number_of<NextOfKey>, with(bytes_of(next, table::WalkPlace()), key)}},
        {"by its record",
         {number_of<EraseRecord>,
          bytes_of(RecordRequest{table_, entry.hash, found.record, 0, found.number})}},
        {"one of 4000", {number_of<EraseEntry>, with(bytes_of(entry_of(many_, key)), key)}},
        {"1000 tables", {number_of<MakeDirectory>, bytes_of(directory)}},
        {"a directory", {number_of<UseDirectory>, bytes_of(scene_.content().directory)}},
        {"1000 tables",
         {number_of<MakeTableList>,
          bytes_of(TableListToMake{scene_.content().directory, 1, 1'000})}},
        {"a lock of it",
         {number_of<LockOfContainer>, bytes_of(ContainerLock{scene_.content().directory, 1'024})}},
        {"with list and lock", {number_of<DestroyDirectory>, bytes_of(scene_.content().directory)}},
    };
    all.insert(all.end(), requests.begin(), requests.end());
    add_batches(all);
    const std::vector<LongRequest> last{
        {"some of 4000", {number_of<ClearTable>, bytes_of(TableToClear{table_, {}})}},
        {"4000", {number_of<GiveTable>, bytes_of(TableToGive{table_, id + 1})}},
        {"4000", {number_of<DestroyTable>, bytes_of(many_)}},
        {"some of 4000", {number_of<DestroyMore>, bytes_of(many_)}},
        {"some of 4000", {number_of<DestroyLater>, {}}},
    };
    all.insert(all.end(), last.begin(), last.end());
}

void LongContainers::add_sequence_requests(std::vector<LongRequest>& all) {
    constexpr std::uint64_t any = sequence::any_version;
    for (const SequenceName& name : {vector_, deque_}) {
        const std::uint64_t is_front = name.kind == sequence::SequenceKind::deque ? 1 : 0;
        ask(number_of<TellSequence>, bytes_of(SequenceTell{name, 0, 0}));
        const std::uint64_t version = scene_.told<SequenceTold>().version;
        ask(number_of<MakeSequence>, bytes_of(MakeSequence::Input{name.kind, 0, content_bytes, 2}));
        const auto made = scene_.told<MadeSequence>();
        const std::vector<LongRequest> requests{
            {"64 KiB",
             {number_of<MakeSequence>,
              bytes_of(MakeSequence::Input{name.kind, made_bytes_max, content_bytes})}},
            {"1 MiB",
             {number_of<ExtendSequence>,
              bytes_of(SequenceToExtend{{made.address, name.kind}, made.maker, content_bytes})}},
            {"a range", {number_of<TellSequence>, bytes_of(SequenceTell{name, 3, content_bytes})}},
            {"64 KiB",
             {number_of<ReadBytes>, bytes_of(SequenceRead{name, 10, stage_, staged_bytes})}},
            {"128 KiB",
             {number_of<ReadBytes>, bytes_of(SequenceRead{name, 10, stage_, 2 * staged_bytes})}},
            {"64 KiB",
             {number_of<CopyContent>,
              bytes_of(ContentToCopy{name, version, 3, staged_bytes, stage_, 0})}},
            {"64 KiB",
             {number_of<WritePiece>, bytes_of(PieceToPush{name, is_front, version, stage_,
                                                          staged_bytes, 0, staged_bytes})}},
            {"64 KiB",
             {number_of<PushBytes>, bytes_of(SequencePush{name, is_front, stage_, staged_bytes})}},
            {"128 KiB",
             {number_of<PushBytes>, bytes_of(SequencePush{name, 0, stage_, 2 * staged_bytes})}},
            {"64 KiB",
             {number_of<PopBytes>,
              bytes_of(SequencePop{name, is_front, 1, stage_, staged_bytes, any})}},
            {"128 KiB",
             {number_of<PopBytes>,
              bytes_of(SequencePop{name, 0, 1, stage_, 2 * staged_bytes, any})}},
            {"at the front",
             {number_of<SpliceBytes>,
              with(bytes_of(SequenceSplice{name, 0, 0, 3, 0, 0, 0, {}}), "new")}},
            {"all of it",
             {number_of<SpliceBytes>,
              bytes_of(SequenceSplice{name, 0, content_bytes, 0, 0, 0, 1, {}})}},
            {"another body",
             {number_of<AdoptBody>, bytes_of(BodyToAdopt{name, version, lend(2'000), 60, 64})}},
            {"1 MiB", {number_of<DestroySequence>, bytes_of(name)}},
        };
        all.insert(all.end(), requests.begin(), requests.end());
    }
}

void LongContainers::add_lock_requests(std::vector<LongRequest>& all) {
    const LockCall holder{lock_, 2, 3, 0, 0};
    const LockCall waiter{lock_, 0, 4, waiters, last_ticket_};
    const std::string longest(lock_bytes_max, 'b');
    ask(number_of<MakeLock>, bytes_of(LockToMake{64}));
    const LockCall free{scene_.told<MadeLock>().lock, 0, 6, 0, 0};
    const std::vector<LongRequest> requests{
        {"1024 places", {number_of<MakeLock>, bytes_of(LockToMake{1'024})}},
        {"a thread more", {number_of<TakeLock>, bytes_of(LockTake{{lock_, 0, 5, 1, 0}, 1, 0, 0})}},
        {"behind 999", {number_of<PollLock>, bytes_of(waiter)}},
        {"with 999 that left", {number_of<ReleaseLock>, bytes_of(holder)}},
        {"behind 999", {number_of<PollLock>, bytes_of(waiter)}},
        {"a waiter", {number_of<LeaveLock>, bytes_of(waiter)}},
        {"all that fit", {number_of<BindLock>, with(bytes_of(free), longest)}},
        {"all that fit", {number_of<ReadBoundBytes>, bytes_of(free)}},
        {"all that fit", {number_of<TakeLock>, bytes_of(LockTake{free, 0, 0, 0})}},
        {"all that fit", {number_of<ReleaseLock>, with(bytes_of(free), longest)}},
        {"with bytes", {number_of<FreeLock>, bytes_of(free)}},
    };
    all.insert(all.end(), requests.begin(), requests.end());
}

void LongContainers::add_page_requests(std::vector<LongRequest>& all) {
    const std::uint64_t block = scene_.content().shared_pages;
    constexpr std::uint64_t count = HostileScene::shared_pages;
    const CheckedPages checked{block, count, HostileScene::masks_at, count, 0, 0, 1};
    Bytes patch = bytes_of(PageToPatch{block, 1});
    Bytes checked_patch = bytes_of(CheckedPatch{checked, 1, 0});
    Bytes touches = checked_patch;
    for (std::uint32_t i = 0; i < touches_max; ++i) append(touches, bytes_of(TouchedByte{1, i}));
    // A window of as many pages as one operation may name.
    constexpr std::uint64_t marked = mark_pages_max;
    ask(number_of<AllocateBlocks>, bytes_of(ToAllocate{alignment_most, BlockOwner::separate},
                                            pages::Sharers<>::bytes(marked, 2)));
    const PagesToMark mark{scene_.told<std::uint64_t>(), 0, marked, 0, mark_pages_max, 1, 2, 0};
    constexpr std::uint64_t ended = end_pages_max;
    constexpr std::uint64_t twins = 2 * ended * pages::page_bytes;
    ask(number_of<AllocateBlocks>, bytes_of(ToAllocate{alignment_most, BlockOwner::separate},
                                            twins + pages::WriterMasks<>::bytes(ended, ended)));
    const CheckedPages all_ended{scene_.told<std::uint64_t>(), ended, twins, ended, 0, 0, 1};
    const std::vector<LongRequest> requests{
        {"all that fit",
         {number_of<ApplyDifference>, append(patch, longest_difference(page_patch_bytes_max))}},
        {"256 pages", {number_of<MarkSharer>, bytes_of(mark)}},
        {"all that fit",
         {number_of<ApplyChecked>,
          append(checked_patch, longest_difference(checked_patch_bytes_max))}},
        {"64 touches", {number_of<NoteTouches>, touches}},
        {"64 pages", {number_of<EndWrites>, bytes_of(PagesToEnd{all_ended, end_pages_max, 0})}},
    };
    all.insert(all.end(), requests.begin(), requests.end());
}

std::vector<LongRequest> LongContainers::requests() {
    std::vector<LongRequest> all;
    add_list_requests(all);
    add_sequence_requests(all);
    add_lock_requests(all);
    add_page_requests(all);
    add_table_requests(all);
    add_heap_requests(all);
    return all;
}

}  // namespace acp::operations::test
