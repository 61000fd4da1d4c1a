// SPDX-License-Identifier: BSD-3-Clause
// Fills both heaps by valid requests, and checks them afterwards.
#include "unit/operations/hostile_scene.hpp"

namespace acp::operations::test {

using namespace acp::
    allocator;  // NOLINT(google-build-using-namespace): its requests are what this file is about

namespace {

template <typename Operation>
constexpr std::uint32_t number_of = local::operation_number<Operation>;

constexpr std::size_t pattern_bytes = 200;
constexpr std::uint32_t lease_lines = 4;

}  // namespace

HeapContent HostileScene::fill(std::uint32_t process) {
    HeapContent content;
    fill_blocks(process, content);
    fill_locks(process, content);
    fill_lists(process, content);
    fill_tables(process, content);
    fill_sequences(process, content);
    return content;
}

void HostileScene::fill_blocks(std::uint32_t process, HeapContent& content) {
    for (std::uint32_t i = 0; i < 4; ++i) {
        ask(process, number_of<AllocateBlocks>,
            bytes_of(ToAllocate(), std::uint64_t{pattern_bytes}));
        content.blocks.push_back(told<std::uint64_t>());
        std::memset(memory_of(process, content.blocks.back()), 'p', pattern_bytes);
    }
    const ToAllocate separate{alignment_least, BlockOwner::separate};
    ask(process, number_of<AllocateBlocks>, bytes_of(separate, std::uint64_t{300}));
    content.separate = told<std::uint64_t>();
    const ToAllocate of_pages{alignment_most, BlockOwner::separate};
    ask(process, number_of<AllocateBlocks>,
        bytes_of(of_pages, masks_at + pages::WriterMasks<>::bytes(shared_pages, shared_pages)));
    content.shared_pages = told<std::uint64_t>();
    ask(process, number_of<LendBlock>, bytes_of(ToLend{2'000, 0}));
    content.lent = told<LentBlock>();
}

void HostileScene::fill_locks(std::uint32_t process, HeapContent& content) {
    for (std::uint64_t& lock : content.locks) {
        ask(process, number_of<MakeLock>, bytes_of(LockToMake{64}));
        lock = told<MadeLock>().lock;
        ask(process, number_of<BindLock>,
            joined(bytes_of(LockCall{lock, 1, 3, 0, 0}), std::string(bound_bytes, 'b')));
        EXPECT_EQ(told<LockReply>().outcome, sync::LockOutcome::released);
    }
    ask(process, number_of<TakeLock>, bytes_of(LockTake{{content.locks[0], 1, 3, 0, 0}, 0, 0, 0}));
    ask(process, number_of<TakeLock>, bytes_of(LockTake{{content.locks[0], 2, 4, 5, 0}, 1, 0, 0}));
    EXPECT_EQ(told<LockReply>().outcome, sync::LockOutcome::queued);
    content.ticket = told<LockReply>().ticket;
}

void HostileScene::fill_lists(std::uint32_t process, HeapContent& content) {
    for (std::uint64_t& list : content.lists) {
        ask(process, number_of<MakeList>, bytes_of(NodeHeap::nobody));
        list = told<std::uint64_t>();
        for (std::uint32_t i = 0; i < elements; ++i) {
            ask(process, number_of<InsertElement>,
                joined(bytes_of(ListInsert{list, {}, 0, 0}), text_of(i)));
            auto& positions = list == content.lists[0] ? content.elements : content.others;
            positions.push_back(told<ListPlaced>().at);
        }
    }
    ask(process, number_of<LendBlock>, bytes_of(ToLend{1'500, 0}));
    const auto lent = told<LentBlock>();
    const list::ApartPayload apart{
        apart_address(process, table::number_of(lent.address - heap_start(process))), 1'500};
    ask(process, number_of<InsertElement>,
        bytes_of(ListInsert{content.lists[0], {}, 0, 1, lent.process}, apart));
}

void HostileScene::fill_tables(std::uint32_t process, HeapContent& content) {
    for (TableName* name : {&content.table, &content.many}) {
        TableToMake request;
        request.slots = 4;
        request.has_many = name == &content.many ? 1 : 0;
        request.id = id;
        ask(process, number_of<MakeTable>, bytes_of(request));
        *name = {told<std::uint64_t>(), id};
        for (std::uint32_t i = 0; i < 3 * elements; ++i) {
            const std::string key = text_of(i);
            const std::string value(i % 2 == 0 ? 8 : i, 'v');
            ask(process, number_of<PutEntry>,
                joined(bytes_of(entry_request(*name, key, value.size()), PutWords()), key + value));
            if (i != 0 || name != &content.table) continue;
            content.record = told<EntryResult>().record;
            content.mark = told<EntryResult>().number;
        }
    }
    DirectoryToMake make;
    make.head.id = id;
    make.head.bodies[0].tables = 3;
    ask(process, number_of<MakeDirectory>, bytes_of(make));
    content.directory = {told<std::uint64_t>(), id};
}

void HostileScene::fill_sequences(std::uint32_t process, HeapContent& content) {
    for (const auto kind : {sequence::SequenceKind::vector, sequence::SequenceKind::deque}) {
        ask(process, number_of<MakeSequence>, bytes_of(MakeSequence::Input{kind, 100, 0}));
        const SequenceName name{told<std::uint64_t>(), kind};
        (kind == sequence::SequenceKind::vector ? content.vector : content.deque) = name;
        ask(process, number_of<PushBytes>, joined(bytes_of(SequencePush{name, 0, {}, 4}), "abcd"));
    }
}

void HostileScene::make_desk() {
    char* const starter = owner_.segment.starter(owner_.space.slot_of(target));
    new (starter + desk_at) sync::LeaseDesk<>;
    auto* const lines =
        reinterpret_cast<sync::LeasedLine<>*>(starter + desk_at + sizeof(sync::LeaseDesk<>));
    for (std::uint32_t i = 0; i < lease_lines; ++i) {
        new (lines + i) sync::LeasedLine<>;
        sync::WriteLease<>(lines[i].words, i).make_free(9);
    }
    const std::uint64_t desk = starter_start() + desk_at;
    std::memcpy(starter, &desk, sizeof desk);
}

std::vector<Request> HostileScene::valid_requests() const {
    const HeapContent& held = target_content_;
    std::vector<Request> all{
        {number_of<AllocateBlocks>,
         bytes_of(ToAllocate(), std::uint64_t{100}, std::uint64_t{70'000})},
        {number_of<FreeBlocks>, bytes_of(ToFree(), held.blocks[0])},
        {number_of<GiveBackIdle>, {}},
        {number_of<MeasureBlock>, bytes_of(held.blocks[1])},
        {number_of<ClearBlock>, bytes_of(ToClear{held.blocks[1], 8, 100})},
        {number_of<MeasureHeap>, bytes_of(heap::HeapPlace())},
        {number_of<EstimateFill>, {}},
        {number_of<CheckHeap>, bytes_of(heap::HeapPlace())},
        {number_of<LendBlock>, bytes_of(ToLend{500, 0})},
        {number_of<TakeBackBlock>, bytes_of(held.lent)},
        {number_of<FreeBlocks>, bytes_of(ToFree{BlockOwner::separate, 0}, held.separate)},
        {number_of<ReplaceBlock>, bytes_of(ToReplace{held.lent, held.blocks[2]})},
    };
    add_list_requests(all);
    add_table_requests(all);
    add_sequence_requests(all);
    add_lock_requests(all);
    add_page_requests(all);
    add_put_requests(all);
    return all;
}

void HostileScene::add_list_requests(std::vector<Request>& all) const {
    const HeapContent& held = target_content_;
    const std::uint64_t list = held.lists[0];
    const list::Position at = held.elements[1];
    const list::ApartPayload apart{
        apart_address(target, table::number_of(held.separate - heap_start(target))), 300};
    const std::vector<Request> requests{
        {number_of<MakeList>, bytes_of(NodeHeap::nobody)},
        {number_of<DestroyList>, bytes_of(held.lists[1])},
        {number_of<InsertElement>, joined(bytes_of(ListInsert{list, at, 0, 0}), "inserted")},
        {number_of<InsertElement>, bytes_of(ListInsert{list, {}, 1, 1}, apart)},
        {number_of<InsertElement>,
         joined(bytes_of(ListInsert{
                    list, {}, 0, 0, NodeHeap::nobody, held.lent.address, held.lent.process}),
                "in a lent node")},
        {number_of<ReserveNode>, bytes_of(ListReserve{list, at, 100, 0})},
        {number_of<TakeElement>, bytes_of(ListTake{list, at, TakeWhich::at, 100})},
        {number_of<TakeElement>, bytes_of(ListTake{list, {}, TakeWhich::last, 100, 0})},
        {number_of<MoveElement>, bytes_of(ListMove{held.lists[1], {}, list, held.elements[2]})},
        {number_of<FindNeighbour>, bytes_of(ListStep{list, at, 1})},
        {number_of<ReadRange>, bytes_of(ListRange{list, at, 0, 10, 16, 0})},
        {number_of<ReadElement>, bytes_of(ListReading{list, held.elements[3], 100})},
        {number_of<CountElements>, bytes_of(list)},
        {number_of<GatherElements>, bytes_of(list, ListMember{list, held.elements[4]},
                                             ListMember{held.lists[1], held.others[0]})},
        {number_of<EraseElements>, bytes_of(list, held.elements[5], held.elements[6])},
        {number_of<ClearList>, bytes_of(ListClear{held.lists[1], 2})},
    };
    all.insert(all.end(), requests.begin(), requests.end());
}

void HostileScene::add_table_requests(std::vector<Request>& all) const {
    const HeapContent& held = target_content_;
    const std::string key = text_of(2);
    const EntryRequest entry = entry_request(held.table, key, 8);
    const std::uint64_t hash = hash_of(text_of(0));
    BatchHead batch{held.table, BatchKind::insert, 2};
    DirectoryToMake make;
    make.head.bodies[0].tables = 3;
    const BatchEntry one{hash_of(key), 1, static_cast<std::uint32_t>(key.size()), 8};
    const std::string pair = key + "eight ..";
    const std::vector<Request> requests{
        {number_of<MakeTable>, bytes_of(TableToMake{8, 1, 0, id})},
        {number_of<DestroyTable>, bytes_of(held.many)},
        {number_of<DestroyMore>, bytes_of(held.many)},
        {number_of<DestroyLater>, {}},
        {number_of<UseTable>, bytes_of(held.table)},
        {number_of<GiveTable>, bytes_of(TableToGive{held.many, id})},
        {number_of<CountEntries>, bytes_of(held.table)},
        {number_of<WalkEntries>, bytes_of(WalkRequest{held.table, {}, 0, 1})},
        {number_of<ClearTable>, bytes_of(TableToClear{held.many, {}})},
        {number_of<FindEntry>, joined(bytes_of(entry), key)},
        {number_of<PutEntry>,
         joined(bytes_of(entry, PutWords{table::PutMode::assign, {}, 0}), pair)},
        {number_of<PutBlock>, bytes_of(BlockToPut{entry, {}, held.lent})},
        {number_of<EraseEntry>, joined(bytes_of(entry), key)},
        {number_of<ChangeEntry>,
         joined(bytes_of(entry, ChangeWords{ChangeKind::fetch_add, 5, 0}), key)},
        {number_of<ChangeEntry>,
         joined(bytes_of(entry, ChangeWords{ChangeKind::add_to_count, 5, 0}), key)},
        {number_of<ReadEntry>,
         bytes_of(RecordRequest{held.table, hash, held.record, 100, held.mark})},
        {number_of<EraseRecord>,
         bytes_of(RecordRequest{held.table, hash, held.record, 0, held.mark})},
        {number_of<RunBatch>,
         joined(joined(joined(bytes_of(batch, one), pair),
                       std::string(reinterpret_cast<const char*>(&one), sizeof one)),
                pair)},
        {number_of<NextOfKey>,
         joined(bytes_of(entry_request(held.many, key, 8), table::WalkPlace()), key)},
        {number_of<MakeDirectory>, bytes_of(make)},
        {number_of<UseDirectory>, bytes_of(held.directory)},
        {number_of<MakeTableList>, bytes_of(TableListToMake{held.directory, 1, 4})},
        {number_of<DestroyDirectory>, bytes_of(held.directory)},
    };
    all.insert(all.end(), requests.begin(), requests.end());
}

void HostileScene::add_sequence_requests(std::vector<Request>& all) const {
    const HeapContent& held = target_content_;
    for (const SequenceName& name : {held.vector, held.deque}) {
        const std::uint64_t is_front = name.kind == sequence::SequenceKind::deque ? 1 : 0;
        constexpr std::uint64_t version = 2;  // after the push of fill_sequences()
        const std::vector<Request> requests{
            {number_of<MakeSequence>, bytes_of(MakeSequence::Input{name.kind, 50, 100})},
            {number_of<ExtendSequence>, bytes_of(SequenceToExtend{name, NodeHeap::nobody, 104})},
            {number_of<DestroySequence>, bytes_of(name)},
            {number_of<PushBytes>, joined(bytes_of(SequencePush{name, is_front, {}, 3}), "xyz")},
            {number_of<PushBytes>, bytes_of(SequencePush{name, 0, held.lent, 1'000})},
            {number_of<PopBytes>, bytes_of(SequencePop{name, is_front, 1, {}, 4})},
            {number_of<PopBytes>, bytes_of(SequencePop{name, 0, 1, held.lent, 40})},
            {number_of<ReadBytes>, bytes_of(SequenceRead{name, 10, {}, 40})},
            {number_of<ReadBytes>, bytes_of(SequenceRead{name, 10, held.lent, 40})},
            {number_of<SpliceBytes>,
             joined(bytes_of(SequenceSplice{name, 5, 10, 3, 0, 0, 0, {}}), "new")},
            {number_of<SpliceBytes>, bytes_of(SequenceSplice{name, 5, 10, 30, 0, 1, 1, held.lent})},
            {number_of<TellSequence>, bytes_of(SequenceTell{name, 3, 50})},
            {number_of<PopBytes>, bytes_of(SequencePop{name, 0, 0, {}, 4, version})},
            {number_of<WritePiece>,
             bytes_of(PieceToPush{name, is_front, version, held.lent, 30, 0, 20})},
            {number_of<WritePiece>,
             bytes_of(PieceToPush{name, is_front, version, held.lent, 30, 20, 10})},
            {number_of<CopyContent>, bytes_of(ContentToCopy{name, version, 3, 50, held.lent, 100})},
            {number_of<AdoptBody>, bytes_of(BodyToAdopt{name, version, held.lent, 60, 64})},
        };
        all.insert(all.end(), requests.begin(), requests.end());
    }
}

void HostileScene::add_lock_requests(std::vector<Request>& all) const {
    const HeapContent& held = target_content_;
    const LockCall holder{held.locks[0], 1, 3, 0, 0};
    const LockCall waiter{held.locks[0], 2, 4, 5, held.ticket};
    const std::vector<Request> requests{
        {number_of<MakeLock>, bytes_of(LockToMake{4})},
        {number_of<LockOfContainer>, bytes_of(ContainerLock{held.directory, 4})},
        {number_of<TakeLock>, bytes_of(LockTake{{held.locks[1], 0, 6, 0, 0}, 1, 0, 0})},
        {number_of<TakeLock>,
         bytes_of(LockTake{{held.locks[0], 0, 6, 7, 0}, 1, starter_start(), 9})},
        {number_of<PollLock>, bytes_of(waiter)},
        {number_of<LeaveLock>, bytes_of(waiter)},
        {number_of<ReleaseLock>, bytes_of(holder)},
        {number_of<ReleaseLock>, joined(bytes_of(holder), std::string(bound_bytes, 'c'))},
        {number_of<BindLock>, joined(bytes_of(LockCall{held.locks[1], 0, 6, 0, 0}), "abc")},
        {number_of<ReadBoundBytes>, bytes_of(waiter)},
        {number_of<FreeLock>, bytes_of(LockCall{held.locks[1], 0, 6, 0, 0})},
    };
    all.insert(all.end(), requests.begin(), requests.end());
}

void HostileScene::add_page_requests(std::vector<Request>& all) const {
    const std::uint64_t block = target_content_.shared_pages;
    const std::uint64_t line = 3;
    const std::uint64_t bytes = 5;
    const PagesToMark mark{block, sharers_at, shared_pages, 0, 2, 1, 2, 0};
    const CheckedPages checked{block, shared_pages, masks_at, shared_pages, 1, 0, 1};
    const std::vector<Request> requests{
        {number_of<ApplyDifference>,
         joined(bytes_of(PageToPatch{block, 1}, std::uint64_t{1} << line, std::uint64_t{0}, bytes),
                "ab")},
        {number_of<MarkSharer>, bytes_of(mark)},
        {number_of<ApplyChecked>,
         joined(bytes_of(CheckedPatch{checked, 1, 0}, std::uint64_t{1} << line, std::uint64_t{0},
                         bytes),
                "ab")},
        {number_of<EndWrites>, bytes_of(PagesToEnd{checked, 1, 0})},
        {number_of<NoteTouches>, bytes_of(CheckedPatch{checked, 1, 0}, TouchedByte{1, 4095})},
    };
    all.insert(all.end(), requests.begin(), requests.end());
}

// These operations write to any address that the caller names, like a copy: the valid requests
// write to the starter memory.
void HostileScene::add_put_requests(std::vector<Request>& all) const {
    const std::uint64_t starter = starter_start();
    TakeLease wanted;
    wanted.desk_word = starter;
    wanted.lines_offset = sizeof(sync::LeaseDesk<>);
    wanted.lines = lease_lines;
    wanted.holder = 11;
    LeasedPut put;
    put.desk = starter + desk_at;
    put.line = put.desk + sizeof(sync::LeaseDesk<>);
    put.state = sync::LeaseState(sync::LeaseKind::held, 9, 11, 0).word();
    put.place = 7;
    put.target = starter + 8'192;
    put.signal = starter + 8'192 + 512;
    const PutSignal signal{starter + 4'096, starter + 4'096 + 256, 1};
    const std::vector<Request> requests{
        {put_signal_add_number, joined(bytes_of(signal), "content")},
        {put_signal_set_number, joined(bytes_of(signal), "content")},
        {take_lease_number, bytes_of(wanted)},
        {leased_put_number, joined(bytes_of(put), "content")},
        {number_of<GrantLock>,
         bytes_of(LockNotification{starter + 8'192 + 1'024, sync::GrantState::of_grant(1, false)})},
        {number_of<GrantLock>,
         joined(bytes_of(LockNotification{starter + 8'192 + 2'048,
                                          sync::GrantState::of_grant(1, false)}),
                "content")},
    };
    all.insert(all.end(), requests.begin(), requests.end());
}

std::vector<std::uint64_t> HostileScene::telling_words() const {
    const HeapContent& held = target_content_;
    const std::uint64_t start = heap_start(target);
    std::vector<std::uint64_t> words{0,
                                     1,
                                     2,
                                     3,
                                     16,
                                     40,
                                     64,
                                     960,
                                     1'024,
                                     1'025,
                                     heap_bytes_,
                                     heap_bytes_ - 1,
                                     heap_bytes_ / 16 + 1,
                                     ~std::uint64_t{0},
                                     ~std::uint64_t{0} - 15,
                                     std::uint64_t{1} << 31,
                                     std::uint64_t{1} << 32,
                                     std::uint64_t{1} << 36,
                                     std::uint64_t{1} << 63};
    words.insert(words.end(), {start,
                               start + heap_bytes_,
                               start + heap_bytes_ - 16,
                               start - 16,
                               starter_start(),
                               heap_start(bystander),
                               id,
                               held.separate,
                               held.lent.address,
                               held.lists[0],
                               held.lists[1],
                               held.record,
                               held.table.table,
                               held.many.table,
                               held.directory.directory,
                               held.vector.address,
                               held.deque.address,
                               held.locks[0],
                               held.locks[1],
                               held.shared_pages});
    for (const std::uint64_t address : {held.separate, held.lists[0], held.record, held.table.table,
                                        held.vector.address, start + heap_bytes_ + 160}) {
        const list::BlockNumber number = table::number_of(address - start);
        words.insert(words.end(), {address + 16, number, apart_address(target, number),
                                   apart_address(bystander, number), apart_address(0, number),
                                   list::mark::of_list(number)});
    }
    for (const auto& content : {target_content_, bystander_content_}) {
        for (const auto* positions : {&content.elements, &content.others}) {
            for (const list::Position& at : *positions)
                words.insert(words.end(), {at.node, at.mark});
        }
    }
    for (const std::uint64_t address :
         {bystander_content_.separate, bystander_content_.lists[0], bystander_content_.record,
          bystander_content_.vector.address}) {
        words.insert(
            words.end(),
            {address, apart_address(bystander, table::number_of(address - heap_start(bystander)))});
    }
    return words;
}

// Counts the entries; fails if the walk does not end.
std::uint64_t HostileScene::walked(const TableName& name, std::uint32_t process) {
    WalkRequest request{name, {}, 0, 0};
    std::uint64_t count = 0;
    for (std::uint32_t i = 0; i < 100'000; ++i) {
        if (run({number_of<WalkEntries>, bytes_of(request)}, process) != Code::ok) break;
        const auto head = told<WalkResult>();
        count += head.count;
        if (head.has_more == 0) return count;
        request.after = head.after;
    }
    ADD_FAILURE() << "the walk does not end";
    return count;
}

std::uint64_t HostileScene::walked_list(std::uint64_t list, std::uint32_t process) {
    ListRange request{list, {}, 0, 20, 0, 0};
    std::uint64_t count = 0;
    for (std::uint32_t i = 0; i < 100'000; ++i) {
        if (run({number_of<ReadRange>, bytes_of(request)}, process) != Code::ok) break;
        const auto head = told<ListRangeHead>();
        count += head.count;
        if (head.is_end != 0) return count;
        if (head.count == 0 || head.effect != list::ListEffect::done) break;
        ListRecord last;
        std::memcpy(&last, result_.data() + sizeof head + (head.count - 1) * sizeof last,
                    sizeof last);
        request.from = last.at;
    }
    ADD_FAILURE() << "the walk does not end";
    return count;
}

void HostileScene::expect_list_sound(std::uint64_t list, std::uint32_t process) {
    if (run({number_of<CountElements>, bytes_of(list)}, process) != Code::ok) return;
    const auto size = told<std::uint64_t>();
    EXPECT_EQ(walked_list(list, process), size);
    expect_allocated(list);
}

// Checks that the container's block is allocated: freeing it as a separate block is refused as a
// part of a container.
void HostileScene::expect_allocated(std::uint64_t container) {
    ask(target, number_of<FreeBlocks>, bytes_of(ToFree{BlockOwner::separate, 0}, container));
    EXPECT_EQ(result_.at(0), static_cast<std::byte>(heap::Freed::of_container));
}

void HostileScene::expect_sound() {
    for (const std::uint32_t process : {target, bystander}) {
        CheckedPiece piece;
        while (piece.is_end == 0) {
            ask(process, number_of<CheckHeap>, bytes_of(piece.next));
            ASSERT_GE(result_.size(), sizeof piece);
            std::memcpy(&piece, result_.data(), sizeof piece);
            const std::span found = std::span(result_).subspan(sizeof piece);
            EXPECT_EQ(std::string(reinterpret_cast<const char*>(found.data()), found.size()), "");
        }
    }
    for (const std::uint64_t list : target_content_.lists) expect_list_sound(list, target);
    for (const SequenceName& name : {target_content_.vector, target_content_.deque}) {
        const Code code = run({number_of<TellSequence>, bytes_of(SequenceTell{name, 0, 0})});
        EXPECT_TRUE(code == Code::ok || code == Code::stale) << static_cast<int>(code);
        if (code == Code::ok) expect_allocated(name.address);
    }
    for (const TableName& name : {target_content_.table, target_content_.many}) {
        if (run({number_of<CountEntries>, bytes_of(name)}) != Code::ok) continue;
        const auto entries = told<std::uint64_t>();
        EXPECT_EQ(walked(name, target), entries);
        expect_allocated(name.table);
    }
}

void HostileScene::expect_bystander_unharmed() {
    const HeapContent& held = bystander_content_;
    const std::string pattern(pattern_bytes, 'p');
    for (const std::uint64_t block : held.blocks)
        EXPECT_EQ(std::string(memory_of(bystander, block), pattern_bytes), pattern);
    ask(bystander, number_of<CountElements>, bytes_of(held.lists[0]));
    EXPECT_EQ(told<std::uint64_t>(), elements + 1);
    EXPECT_EQ(walked_list(held.lists[0], bystander), elements + 1);
    EXPECT_EQ(walked_list(held.lists[1], bystander), elements);
    EXPECT_EQ(walked(held.table, bystander), 3 * elements);
    EXPECT_EQ(walked(held.many, bystander), 3 * elements);
    ask(bystander, number_of<UseDirectory>, bytes_of(held.directory));
    for (const SequenceName& name : {held.vector, held.deque}) {
        ask(bystander, number_of<ReadBytes>, bytes_of(SequenceRead{name, 100, {}, 4}));
        const std::byte* const read = result_.data() + sizeof(SequenceResult);
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(read), 4), "abcd");
    }
    ask(bystander, number_of<MeasureBlock>, bytes_of(held.lent.address));
    EXPECT_GE(told<std::uint64_t>(), 2'000U);
}

}  // namespace acp::operations::test
