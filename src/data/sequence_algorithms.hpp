// SPDX-License-Identifier: BSD-3-Clause
// Operations on whole vectors and deques and on ranges: each is a sequence of operations of
// data::Sequences, each of which is atomic. Other calls may change the sequences between two steps.
// If a process is killed between two steps, or one fails, no byte is lost. Stateless. Any thread;
// blocks while it waits for other nodes. The parameter Of is data::Sequences, or a test's
// replacement.
// Tests: tests/unit/data/sequence_algorithms_test.cpp, tests/conformance/vector_test.cpp,
// deque_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "data/sequence.hpp"

namespace acp::data {

template <typename Of = Sequences>
class SequenceAlgorithms {
public:
    using Content = std::vector<char>;

    //   sequences  outlives this
    explicit SequenceAlgorithms(Of& sequences) noexcept : sequences_(sequences) {}

    // The content between two indices, as far as it exists, at one moment.
    base::Result<Content> read(const SequenceName& from,
                               std::uint64_t begin = 0,
                               std::uint64_t end = ~std::uint64_t{0}) {
        Content content;
        for (;;) {
            auto told = sequences_.tell(from, 0, 0);
            if (!told.is_ok()) return std::move(told).failure();
            const std::uint64_t there = told.value().bytes;
            const std::uint64_t left = there > begin ? there - begin : 0;
            constexpr std::uint64_t more = 256;  // so that one that grew in between is seen
            content.resize(std::min(end - begin, left + more));
            auto copied = sequences_.read(from, begin, content.data(), content.size());
            if (!copied.is_ok()) return std::move(copied).failure();
            const std::uint64_t bytes = copied.value().bytes;
            const bool is_whole = bytes < content.size() || content.size() == end - begin;
            content.resize(bytes);
            if (is_whole) return content;
        }
    }

    // Replaces `removed` bytes by others. Shrinks the capacity if less than a quarter of it is
    // needed then.
    base::Status replace(const SequenceName& in,
                         std::uint64_t at,
                         std::uint64_t removed,
                         const Content& content) {
        sequence::Splice splice;
        splice.at = at;
        splice.removed = removed;
        splice.source = content.data();
        splice.added = content.size();
        splice.may_shrink = true;
        return change(in, splice);
    }

    base::Status assign(const SequenceName& to, const Content& content) {
        return replace(to, 0, ~std::uint64_t{0}, content);
    }

    // A splice whose result is not needed.
    base::Status change(const SequenceName& in, const sequence::Splice& splice) {
        auto before = sequences_.splice(in, splice);
        return before.is_ok() ? base::Status() : std::move(before).failure();
    }

    // Swaps the content of two sequences: appends the content of `one` to `other`, overwrites `one`
    // with the old content of `other`, and then removes that from `other`. Bytes that other calls
    // push at the back during this stay where they were pushed. After a failure both are as before;
    // if there is no room for that, `other` has the content of both.
    base::Status exchange(const SequenceName& one, const SequenceName& other) {
        auto first = read(one);
        if (!first.is_ok()) return std::move(first).failure();
        const Content& of_one = first.value();
        auto appended =
            sequences_.push(other, sequence::ContentEnd::back, of_one.data(), of_one.size());
        if (!appended.is_ok()) return std::move(appended).failure();
        const std::uint64_t middle = appended.value();  // where the content of `one` begins
        base::Status status;
        try {
            auto second = read(other, 0, middle);
            if (!second.is_ok()) {
                status = std::move(second).failure();
            } else if (status = replace(one, 0, of_one.size(), second.value()); status.is_ok()) {
                status = replace(other, 0, middle, {});
                const std::uint64_t replaced = second.value().size();
                if (status.is_ok() || !replace(one, 0, replaced, of_one).is_ok()) return status;
            }
        } catch (const std::bad_alloc&) {
            status = base::Status::bare(base::Code::memory);
        }
        sequence::Splice undo;
        undo.at = middle;
        undo.removed = of_one.size();
        // In place unless others have pushed behind it, so it needs no room.
        (void)change(other, undo);
        return status;
    }

private:
    Of& sequences_;
};

}  // namespace acp::data
