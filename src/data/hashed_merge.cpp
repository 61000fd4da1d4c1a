// SPDX-License-Identifier: BSD-3-Clause
// Inserts the entries of one hashed container into another: of maps and sets by batches, of others one by one.
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "data/hashed_batch.hpp"
#include "data/walked_tables.hpp"

namespace acp::data {

using base::Status;
using table::Effect;

namespace {

// The count of a multiset's entry.
std::uint64_t count_of(const WalkReader::Entry& entry) noexcept {
    std::uint64_t count = 0;
    std::memcpy(&count, entry.value.data(), sizeof count);
    return count;
}

// Collects entries of a map or a set during a walk, and inserts copies of them into another container. The batch prefetches the buckets
// of the next entries while it inserts one.
class CopyBatch {
public:
    //   both outlive this
    CopyBatch(Hashed& hashed, const ContainerName& into) noexcept : hashed_(hashed), into_(into) {}

    // Whether flush() must be called before the next add().
    [[nodiscard]] bool is_full() const noexcept { return count_ == entries_.size(); }

    //   entry  its bytes stay valid until flush()
    void add(const WalkReader::Entry& entry) noexcept { entries_[count_++] = entry; }

    // Inserts all entries, the ones that EntryBatch leaves by put_one(entry).
    template <typename PutOne>
    [[nodiscard]] Status flush(const PutOne& put_one) {
        const auto entries = std::span(entries_).first(count_);
        count_ = 0;
        if (entries.empty()) return {};
        const std::size_t done = HashedBatch::run_at_once(
            hashed_, into_, allocator::BatchKind::insert, entries.size(),
            [&](std::size_t i, allocator::EntryBatch::One& one) {
                const WalkReader::Entry& entry = entries[i];
                one.key.data = entry.key.data();
                one.key.bytes = static_cast<std::uint32_t>(entry.key.size());
                one.value = {entry.value.data(), static_cast<std::uint32_t>(entry.value.size())};
                return true;
            },
            [](std::size_t /*i*/, const EntryResult& /*result*/, const char* /*value*/) {});
        for (const WalkReader::Entry& entry : entries.subspan(done)) {
            if (auto status = put_one(entry); !status.is_ok()) return status;
        }
        return {};
    }

private:
    Hashed& hashed_;
    const ContainerName& into_;
    std::array<WalkReader::Entry, allocator::batch_max> entries_;
    std::size_t count_ = 0;
};

}  // namespace

Status HashedWalk::put_copy(const ContainerName& into, const WalkReader::Entry& entry) {
    if (into.kind == ContainerKind::multiset) return add_count(into, entry);
    const bool has_many = into.kind == ContainerKind::multimap;
    auto put = hashed_.put(
        into, {entry.key, entry.value, has_many ? PutMode::add : PutMode::insert, {}}, nullptr);
    return put.is_ok() ? Status() : std::move(put).failure();
}

Status HashedWalk::add_count(const ContainerName& into, const WalkReader::Entry& entry) {
    const ChangeWords words{ChangeKind::add_to_count, count_of(entry), 0};
    auto changed = hashed_.change(into, entry.key, words, nullptr);
    if (!changed.is_ok()) return std::move(changed).failure();
    return changed.value().effect == Effect::out_of_range
               ? no_such_count(entry.key, changed.value().number, words.operand)
               : Status();
}

// Tests whether both exist, before one is changed.
Status HashedWalk::look_for(const ContainerName& into, const ContainerName& from) {
    auto status = hashed_.begin_use(into);
    return status.is_ok() ? hashed_.begin_use(from) : std::move(status);
}

Status HashedWalk::merge(const ContainerName& into, const ContainerName& from, Scope scope) {
    auto status = look_for(into, from);
    if (!status.is_ok() || into.directory == from.directory) return status;
    const auto put_one = [&](const WalkReader::Entry& entry) { return put_copy(into, entry); };
    if (into.kind != ContainerKind::map && into.kind != ContainerKind::set) {
        return visit_tables(
            from, scope,
            [&](const TablePlace& /*place*/, const WalkReader::Entry& entry) {
                return put_one(entry);
            },
            nothing_to_flush);
    }
    CopyBatch batch(hashed_, into);
    const auto flush = [&] { return batch.flush(put_one); };
    return visit_tables(
        from, scope,
        [&](const TablePlace& /*place*/, const WalkReader::Entry& entry) {
            batch.add(entry);
            return batch.is_full() ? flush() : Status();
        },
        flush);
}

Status HashedWalk::assign(const ContainerName& into, const ContainerName& from, Scope scope) {
    auto status = look_for(into, from);
    if (!status.is_ok() || into.directory == from.directory) return status;
    status = clear(into, scope);
    return status.is_ok() ? merge(into, from, scope) : std::move(status);
}

Status HashedWalk::move(const ContainerName& into, const ContainerName& from, Scope scope) {
    if (into.directory == from.directory) return look_for(into, from);
    return visit_tables(
        from, scope,
        [&](const TablePlace& place, const WalkReader::Entry& entry) -> Status {
            auto put = put_copy(into, entry);
            if (!put.is_ok()) return put;
            if (from.kind == ContainerKind::multiset) return take_count(from, entry);
            auto erased = hashed_.tables().erase_record(place_of_walked(place, entry.head),
                                                        {entry.head.record, entry.head.mark()});
            return erased.is_ok() ? Status() : std::move(erased).failure();
        },
        nothing_to_flush);
}

// Subtracts from one count the number that was added to the other.
Status HashedWalk::take_count(const ContainerName& from, const WalkReader::Entry& entry) {
    auto changed =
        hashed_.change(from, entry.key, {ChangeKind::take_from_count, count_of(entry), 0}, nullptr);
    return changed.is_ok() ? Status() : std::move(changed).failure();
}

}  // namespace acp::data
