#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into the hash table."""
import sys

from plants import Plants

TESTS = [f"tests/unit/table/{name}_test.cpp"
         for name in ("table", "counting", "entry_count", "walk", "walk_interrupt", "concurrency_changes", "kill_changes", "put_batch", "kill", "concurrency", "next_array", "vacancy")]

# name: (file, text, instead)
MUTANTS = {
    "a hint of another chain is used": ("vacancy.hpp", "hint.root == chain.root && hint.table == chain.table && hint.first == chain.first", "hint.table == chain.table"),
    "a hint of another table is used": ("vacancy.hpp", "hint.root == chain.root && hint.table == chain.table && hint.first == chain.first", "hint.root == chain.root && hint.first == chain.first"),
    "no hint is used": ("vacancy.hpp", "if (is_of_chain(hint)) {", "if (is_of_chain(hint) && passed == 0) {"),
    "slots that became free before the hint stay so": ("vacancy.hpp", "hint.bucket != 0 && hint.passed + passed > hint.length / 2", "hint.bucket != 0 && hint.length == 0"),
    "entries of a key behind those found are not visited": ("walk.hpp", "            found.has_more = true;\n            return false;\n", "            return false;\n"),
    "a key's entries up to the place are visited again": ("walk.hpp", "            if (tie <= after.tie) return false;\n", ""),
    "entries of a key after the last one found are taken": ("walk.hpp", "            if (count < wanted) return false;\n            const One& last", "            const One& last"),
    "an array in use is replaced": ("next_array.hpp", "place.compare_exchange_strong(now, linked | link::made,", "place.compare_exchange_strong(now, linked,"),
    "an array is replaced at once": ("next_array.hpp", "array.entries_at_begin + head.buckets(root.from)", "array.entries_at_begin"),
    "an array is never replaced": ("next_array.hpp", "                replace(head, level, entries, linked);\n", "                static_cast<void>(&NextArray::replace);\n"),
    "a part that is taken counts as clear": ("next_array.hpp", "array.parts_clear.load(std::memory_order_acquire) == parts",
        "array.parts_taken.load(std::memory_order_acquire) >= parts"),
    "what is cleared is not named": ("next_array.hpp", "        ground_.name(Shown::next_array, block);\n        // After", "        // After"),
    "a new array is not named": ("next_array.hpp", "        ground_.name(Shown::next_array, block);\n        (void)ground_.link_block", "        (void)ground_.link_block"),
    "an array is cleared as a whole": ("next_array.hpp", "std::min(part_buckets, array.buckets - first)", "array.buckets - first"),
    "chains of an array that was not ready are freed": ("next_array.hpp", "        array.freed.store(buckets,", "        array.freed.store(0,"),
    "chains of an array that became ready stay": ("next_array.hpp", "array.freed.compare_exchange_strong(all, 0,", "array.freed.compare_exchange_strong(all, all,"),
    "a replaced array is not retired": ("next_array.hpp", "if (head.array(level) != old) reclaimer_.retire(old, Retired::array);", "static_cast<void>(old);"),
    "the next array of the dead counts as replaced": ("recovery.hpp", "is(root.to) || is(root.from + 1)", "is(root.to)"),
    "a replaced array of the dead is freed at once": ("recovery.hpp", "if ((word & made::is_array) == 0) return", "if (word != 1) return"),
    "what the dead have not counted is not looked for": ("recovery.hpp", "        make_count_unknown();\n",
        "        static_cast<void>(&Recovery::make_count_unknown);\n"),
    "a batch is counted when it names no array": ("put_batch.hpp",
        "        const std::uint64_t before = head_.count_insertions(ground_.own(), uncounted_);\n",
        "        growth_.forget_arrays();\n        const std::uint64_t before = head_.count_insertions(ground_.own(), uncounted_);\n"),
    "the end of a batch is not counted": ("put_batch.hpp", "    ~PutBatch() { counting_.count(); }\n", "    ~PutBatch() = default;\n"),
    "a batch is not counted before it helps": ("put_batch.hpp", "if (uncounted_ == count_at_ || is_growing) count();",
        "if (uncounted_ == count_at_) count();"),
    "a batch without room is not counted": ("put_batch.hpp", "            counting_.count();\n        return effect;", "            static_cast<void>(head_);\n        return effect;"),
    "a batch is not counted before a chain gets longer": ("insertion.hpp", "            tally.count();\n", ""),
    "a batch does not look whether the table is to grow": ("put_batch.hpp", "        if (is_look_due) insertion_.look(head_);\n", "        static_cast<void>(is_look_due);\n"),
    "a walk's number is stored whoever changes the table": ("entry_count.hpp", "        if (!is_any_changing() && counters_of(head) == before) {\n", "        if (walked != 0) {\n"),
    "no look for who changes the table": ("entry_count.hpp", "if (!is_any_changing() && counters", "if (counters"),
    "no look whether others have counted": ("entry_count.hpp", "!is_any_changing() && counters_of(head) == before)", "!is_any_changing())"),
    "a number that was found is not stored": ("entry_count.hpp", "correction::made_known(correction, *walked, sum),", "correction,"),
    "counters do not say how often": ("words.hpp", "inline constexpr std::uint64_t insertion = entries_mask + 2;\ninline constexpr std::uint64_t erasure = entries_mask;",
        "inline constexpr std::uint64_t insertion = 1;\ninline constexpr std::uint64_t erasure = ~std::uint64_t{0};"),
    "counts that the dead have ended stay": ("recovery.hpp", "        if (is_to_end) {\n", "        if (is_to_end && block == 0) {\n"),
    "a count is ended untold": ("counting.hpp",
        "                unlinking.store(unlinking::of_slot(slot_word) | unlinking::is_ended,\n                                std::memory_order_release);\n", ""),
    "a later record in the same memory is taken for the erased one": ("search.hpp",
        "               ground_.record(found).mark() == record.mark;", "               ground_.record(found).mark() != claim::no_mark;"),
    "a late helper of a migration takes an old value of the bucket's link for the last one": ("growth.hpp",
        "first.link.fetch_or(0, std::memory_order_acq_rel)", "first.link.load(std::memory_order_acquire)"),
    "a retired record is found by a name without a mark": ("search.hpp", "record.mark != claim::no_mark &&", "true &&"),
    "a participant takes the marks that another one has": ("ground.hpp",
        "            next = taken.fetch_add(Shown::marks_at_once, std::memory_order_relaxed) + 1;\n",
        "            next = taken.load(std::memory_order_relaxed) + 1;\n"),
    "a participant gives more marks than it has taken": ("ground.hpp",
        "        if (next % Shown::marks_at_once == 0) [[unlikely]] {\n", "        if (next == 0) [[unlikely]] {\n"),
    "an insertion of a present key returns the length that the caller gave": ("insertion.hpp",
        "        effect.value_bytes = record.value_bytes;\n", "        effect.value_bytes = 0;\n"),
    "recovery looks for a record by a part of its hash": ("words.hpp",
        "    return of(record) | filled | slot::fragment_of(hash) << fragment_shift;\n",
        "    return of(record) | filled | (hash & 0) << fragment_shift;\n"),
    "an ended count is unlinked untold": ("counting.hpp", "slot::emptied, unlinking::is_ended))", "slot::emptied))"),
    "a table that was given away is another one": ("layout.hpp", "        return ((mark ^ mark_of(table, id)) & ~identity::turns) == 0;",
        "        return mark == mark_of(table, id);"),
    "no look for other insertions": ("insertion.hpp", "        const PutStep others = end_others(making.request.key, spot, *vacancy.slot);",
        "        const PutStep others = PutStep::done;\n        static_cast<void>(&Insertion::end_others);"),
    "others' tentative records taken for none": ("insertion.hpp",
        "            if ((word & slot::tentative) == 0) return PutStep::late;\n",
        "            return (word & slot::tentative) != 0 ? PutStep::done : PutStep::late;\n"),
    "entry without a tentative step": ("insertion.hpp",
        "        if (!vacancy.slot->compare_exchange_strong(expected, entry | slot::tentative,",
        "        if (!vacancy.slot->compare_exchange_strong(expected, entry,"),
    "nothing is named": ("ground.hpp", "            shown_.hazard[which].exchange(block, std::memory_order_seq_cst);",
        "            static_cast<void>(which), static_cast<void>(block);"),
    "names are not looked at": ("ground.hpp",
        "            for (const auto& hazard : other.hazard) note(hazard.load(std::memory_order_seq_cst));\n", ""),
    "named, and not looked at again": ("search.hpp", "                const bool is_other = ((again ^ word) & ~slot::frozen) != 0;",
        "                const bool is_other = again == 1;"),
    "not looked at whether it is current": ("growth.hpp", """\
        return (spot.first->link.load(std::memory_order_seq_cst) & link::moved) == 0 &&
               head.root.load(std::memory_order_seq_cst) == spot.root;""",
        "        return spot.first != nullptr && head.root.load(std::memory_order_acquire) != 1;"),
    "moved buckets are current": ("growth.hpp",
        "        return (spot.first->link.load(std::memory_order_seq_cst) & link::moved) == 0 &&\n",
        "        return spot.first != nullptr &&\n"),
    "looked at again too early": ("search.hpp", "                const std::uint64_t again = slot.load(std::memory_order_seq_cst);",
        "                const std::uint64_t again = slot.load(std::memory_order_acquire);"),
    "a find that comes late finds nothing": ("search.hpp", "is_current(head, spot)) [[unlikely]]\n                return {spot.first, 0};\n",
        "is_current(head, spot)) [[unlikely]]\n                return {};\n"),
    "arrays are not looked at again": ("growth.hpp",
        "            if (head.root.load(std::memory_order_seq_cst) != word) continue;\n", ""),
    "tentative records are moved": ("growth.hpp",
        "        return slot::is_entry(word) ? word | slot::frozen : slot::emptied | slot::frozen;",
        "        return (word & slot::occupied) != 0 ? (word & ~slot::tentative) | slot::frozen\n"
        "                                            : slot::emptied | slot::frozen;"),
    "links are not frozen": ("growth.hpp",
        "bucket->link.fetch_or(link::frozen, std::memory_order_seq_cst);",
        "bucket->link.load(std::memory_order_seq_cst);"),
    "moved chains are not closed": ("growth.hpp",
        "            last_->link.compare_exchange_strong(zero, link::made, std::memory_order_seq_cst,\n"
        "                                                std::memory_order_relaxed);\n", "            static_cast<void>(zero);\n"),
    "what is taken out of use is not named": ("ground.hpp",
        "            note(unlinking::block_in(other.unlinking.load(std::memory_order_seq_cst)));\n", ""),
    "another bit of slots tells the half": ("halves.hpp", "slot::fragment_in(word) >> bit_ & 1;", "slot::fragment_in(word) >> (bit_ + 1) & 1;"),
    "slots are left whatever tells the half": ("growth.hpp", "fill_first(may_leave_ ? count : Bucket<Atomic>::slots_max);", "fill_first(count);"),
    "moved before it is filled": ("growth.hpp", "        if (!freeze(first)) return Moved::damaged;\n",
        "        if (!freeze(first)) return Moved::damaged;\n        first.link.fetch_or(link::moved, std::memory_order_seq_cst);\n"),
    "given out is taken for moved": ("growth.hpp", "            if (is_moved(from.bucket(index))) continue;\n",
        "            if (index < from.given_out.load(std::memory_order_relaxed)) continue;\n"),
    "an old array is freed by all": ("growth.hpp", "        if (is_mine) reclaimer_.retire(old, Retired::array);",
        "        ground_.blocks().free(is_mine ? old : old);"),
    "an old array is not freed": ("growth.hpp", "        if (is_mine) reclaimer_.retire(old, Retired::array);", "        static_cast<void>(is_mine);"),
    "an array is taken out of use untold": ("growth.hpp",
        "        if (root.from != 0) unlinking.store(old, std::memory_order_release);\n", ""),
    "a record is taken out of use untold": ("reclaimer.hpp",
        "        unlinking.store(unlinking::of_slot(word) | is_ended, std::memory_order_release);\n", "        static_cast<void>(is_ended);\n"),
    "taken out of use without a claim": ("reclaimer.hpp", "        if (claim::claimer_in(word) != 0) return false;\n", ""),
    "claimed and not listed": ("reclaimer.hpp",
        "            if (!retired_.has(dead, block)) from.retired.store(block, std::memory_order_release);\n", ""),
    "lists of the dead are lost": ("recovery.hpp", "        return reclaimer_.scan_whole(dead_) && is_freed;\n", "        return is_freed;\n"),
    "a retired block is freed though it is named": ("retired_blocks.hpp",
        "            const bool is_named = std::binary_search(named.begin(), named.end(), block);\n",
        "            const bool is_named = named.size() > 1'000'000;\n"),
    "retired blocks behind one that stays are lost": ("retired_blocks.hpp",
        "            auto& word = kept == 0 ? shown.retired : link_of(kept);\n",
        "            auto& word = kept == 0 ? shown.retired : shown.retired;\n"),
    "overwritten links of retired blocks are followed": ("retired_blocks.hpp",
        "        return block != 0 && view_.may_be_retired(block) && !circle.is_back_at(block);\n",
        "        return block != 0 && !circle.is_back_at(block);\n"),
    "insertions of the dead stay": ("recovery.hpp", "        if (!end_insertion() || !end_unlinking()) return false;",
        "        if (!end_unlinking()) return false;\n        static_cast<void>(&Recovery::end_insertion);"),
    "removals of the dead stay": ("recovery.hpp", "        if (!end_insertion() || !end_unlinking()) return false;",
        "        if (!end_insertion()) return false;\n        static_cast<void>(&Recovery::end_unlinking);"),
    "blocks of the dead stay": ("recovery.hpp", "        free_unlinked_block();\n",
        "        static_cast<void>(&Recovery::free_unlinked_block);\n"),
    "linked blocks of the dead are freed": ("recovery.hpp",
        "is_destroyed() || link::next_in(place.load(std::memory_order_acquire)) == block;",
        "is_destroyed() || place.load(std::memory_order_acquire) == 1;"),
    "entries of the dead are taken out of use": ("recovery.hpp", "            linked = Linked::yes;\n        } else {",
        "            linked = Linked::no;\n        } else {"),
    "tentative records of the dead stay": ("recovery.hpp",
        "            (void)slot.compare_exchange_strong(word, slot::emptied, std::memory_order_seq_cst,\n"
        "                                               std::memory_order_relaxed);", "            static_cast<void>(word);"),
    "chains of old arrays are not freed": ("reclaimer.hpp", "is_array && !free_chains(block) ?",
        "is_array && &Reclaimer::free_chains == nullptr ?"),
    "a long array is begun and left": ("insertion.hpp", "        if (reclaimer_.has_begun()) (void)reclaimer_.scan();\n", ""),
    # Counts.
    "an ended count is counted on": ("counting.hpp", "        while (changed.before != ended_count) {", "        while (true) {"),
    "an ended count stays": ("counting.hpp", """\
            (void)unlink_ended_where(head, key.hash, [&](BlockNumber found) {
                return ground_.has_key(found, key.data, key.bytes);
            });
""", "            if (was_ended) return {Effect::absent, 0, 0};\n"),
    "unlinked without a look at the count": ("counting.hpp", """\
            if (!record.is_number() ||
                record.number().load(std::memory_order_acquire) != ended_count) {
                return Effect::done;
            }
""", "            static_cast<void>(record);\n"),
    "counted from the beginning twice": ("counting.hpp", "PutMode::insert});", "PutMode::assign});"),
    "a sum is assigned where it is there": ("table.hpp", "const Effect inserted = insert(table, key, {&addend, sizeof addend});",
                                            "const Effect inserted = assign(table, key, {&addend, sizeof addend});"),
    # Replacing.
    "a number is replaced without a comparison": ("insertion.hpp", "        std::uint64_t before = number_in(expected);",
        "        std::uint64_t before = record.number().load(std::memory_order_acquire);"),
    "bytes are replaced without a comparison": ("insertion.hpp", "        if (!record.is_number()) {\n            const bool is_other",
        "        if (!record.is_number()) {\n            return std::nullopt;\n            const bool is_other"),
    # Walks.
    "walked without a second look": ("walk.hpp", "        return ((again ^ word) & ~slot::frozen) == 0 && ", "        return again != 1 && "),
    "walked through buckets that were moved": ("walk.hpp", "            if (!Growth<Atomic>::is_current(head, bounds.spot)) return StepEnd::late;\n", ""),
    "a claimed record is walked to": ("walk.hpp", "        if (claim::mark_in(first) != claim::no_mark) [[likely]]\n", "        if (first != 0) [[likely]]\n"),
    "no tie of keys": ("walk.hpp", "        return tie_of_key(record.key(), record.key_bytes);", "        return record.key_bytes == 0 ? 2 : 1;"),
    "no tie of entries of a key": ("walk.hpp", "has_many_of_a_key()) return number;", "has_many_of_a_key()) return 1;"),
    "records are the tie of keys": ("walk.hpp", "        return tie_of_key(record.key(), record.key_bytes);", "        return record.key_bytes == 0 ? 1 : number;"),
    "keys of one hash are told apart by nothing": ("walk.hpp",
        "                    if (one.tie == WalkPlace::tie_of_all) return false;\n", ""),
    "a place behind a key of several is one behind all": ("walk.hpp", "found.has_equals || (is_at_after && is_tied));",
        "found.has_equals || (is_at_after && is_tied && after.tie == 0));"),
    "a moved bucket ends where it did": ("walk.hpp", "positions.end_of_bucket(position, level)};", "positions.end_of_bucket(position, root.from)};"),
    "more than is shown is forgotten": ("walk.hpp", "(end == StepEnd::all && found.has_more)", "false"),
    # Blocks that were filled before.
    "a filled block is not shown": ("insertion.hpp", """\
        ground_.shown().record_made.store(made::of_record(request.prepared, request.key.hash),
                                          std::memory_order_release);
""", ""),
    "a filled block that is not needed stays": ("insertion.hpp", """\
        } else {
            ground_.unlink_and_free(making.made.block, [&] {
""", """\
        } else if (making.request.prepared != 0) {
            ground_.shown().record_made.store(0, std::memory_order_release);
        } else {
            ground_.unlink_and_free(making.made.block, [&] {
"""),
    "a filled block is shown for ever": ("insertion.hpp", "            effect.is_prepared_left = true;", "            effect.is_prepared_left = false;"),
    # Blocks on their way from the last word that leads to them into the heap.
    "freed without telling": ("freeing.hpp", "    shown.store(word, std::memory_order_release);\n    unlink();", "    unlink();"),
    "freed without a signature": ("freeing.hpp",
        "        .store(freeing::signature(word, participant), std::memory_order_relaxed);",
        "        .load(std::memory_order_relaxed);\n    static_cast<void>(participant);"),
    "what somebody else has by now is freed": ("freeing.hpp", """\
        if (blocks.is_kept(block) && spare_word(blocks, word).load(std::memory_order_acquire) ==
                                         freeing::signature(word, dead)) {
""", "        if (blocks.is_kept(block)) {\n"),
    "what is freed already is freed": ("freeing.hpp", "        if (blocks.is_kept(block) && spare_word", "        if (spare_word"),
    "what the dead were freeing is freed though a word leads to it": ("freeing.hpp", "    if (!is_known(block) && ", "    if (block != 0 && "),
    "freed before those that the dead were recovering": ("freeing.hpp",
        "        if (is_recovering(participants, dead)) return false;\n", ""),
    "what the dead were freeing stays": ("reclaimer.hpp",
        "        return table::finish_freeing(ground_.blocks(), ground_.participants(), dead, is_known);",
        "        return is_known(0) || true;"),
    "a chain is freed without telling": ("reclaimer.hpp",
        "                ground_.shown().chain.store(chain::of_link(ground_.place_of(first)),\n                                            std::memory_order_relaxed);\n", ""),
}

if __name__ == "__main__":
    sys.exit(Plants("table", TESTS, MUTANTS).main())
