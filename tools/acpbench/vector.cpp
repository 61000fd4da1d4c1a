// SPDX-License-Identifier: BSD-3-Clause
// Experiment `vector`: elements of 8 bytes appended to a vector and to a deque, read at any index
// and one after the other, inserted in the middle, erased, assigned and taken, beside std::vector
// and std::deque or a copy of 8 bytes; an element in and one out by all ranks at once. All ranks.
#include <algorithm>
#include <deque>
#include <vector>

#include <acp.h>

#include "container_times.hpp"
#include "experiment.hpp"
#include "output.hpp"

namespace acp::bench {

namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

struct OfVector {
    using Handle = acp_vector_t;
    using Beside = std::vector<std::uint64_t>;
    static constexpr auto create = acp_create_vector;
    static constexpr auto destroy = acp_destroy_vector;
    static constexpr auto append = acp_append_vector;
    static constexpr auto take = acp_take_back_vector;
    static constexpr auto read = acp_read_vector;
    static constexpr auto begin = acp_begin_vector;
    static constexpr auto advance = acp_advance_vector_it;
    static constexpr auto insert = acp_insert_vector;
    static constexpr auto erase = acp_erase_vector;
    static constexpr auto assign = acp_assign_vector;
    static constexpr const char* name = "vector";
    static constexpr const char* yardstick = "std::vector";
    static constexpr const char* take_name = "take_back";

    static std::uint64_t take_beside(Beside& beside) {
        const std::uint64_t word = beside.back();
        beside.pop_back();
        return word;
    }
};

struct OfDeque {
    using Handle = acp_deque_t;
    using Beside = std::deque<std::uint64_t>;
    static constexpr auto create = acp_create_deque;
    static constexpr auto destroy = acp_destroy_deque;
    static constexpr auto append = acp_append_deque;
    static constexpr auto take = acp_take_front_deque;
    static constexpr auto read = acp_read_deque;
    static constexpr auto begin = acp_begin_deque;
    static constexpr auto advance = acp_advance_deque_it;
    static constexpr auto insert = acp_insert_deque;
    static constexpr auto erase = acp_erase_deque;
    static constexpr auto assign = acp_assign_deque;
    static constexpr const char* name = "deque";
    static constexpr const char* yardstick = "std::deque";
    static constexpr const char* take_name = "take_front";

    static std::uint64_t take_beside(Beside& beside) {
        const std::uint64_t word = beside.front();
        beside.pop_front();
        return word;
    }
};

// An index that is not the one behind the last.
std::uint64_t any_index(std::uint64_t i, std::uint64_t elements) {
    return i * 7'919 % elements;
}

constexpr std::uint64_t insertions_most = 100;  // each moves half of the elements
// elements of one read, when the test reads the whole vector
constexpr std::uint64_t piece_elements = 100;

template <typename Of>
typename Of::Handle made(int owner) {
    const auto handle = Of::create(0, owner);
    must(handle.ga != ACP_GA_NULL);
    return handle;
}

template <typename Of>
void run_calls(int owner, std::uint64_t elements, CallTimes& times) {
    const auto handle = made<Of>(owner);
    times.time("push_back", elements,
               [&](std::uint64_t i) { must(Of::append(handle, &i, word_bytes) >= 0); });
    times.time("at", elements, [&](std::uint64_t i) {
        std::uint64_t word = 0;
        const auto at = static_cast<std::int64_t>(any_index(i, elements) * word_bytes);
        must(Of::read(handle, at, &word, word_bytes) == word_bytes);
        keep(word);
    });
    times.time_whole("iterate", elements, [&] {
        std::uint64_t piece[piece_elements];
        for (std::uint64_t i = 0; i < elements; i += piece_elements) {
            must(Of::read(handle, static_cast<std::int64_t>(i * word_bytes), piece, sizeof piece) >
                 0);
            for (const std::uint64_t word : piece) keep(word);
        }
    });
    const std::uint64_t insertions = std::min(elements, insertions_most);
    const auto middle = static_cast<std::int64_t>(elements / 2 * word_bytes);
    times.time("insert", insertions, [&](std::uint64_t i) {
        must(Of::insert(Of::advance(Of::begin(handle), middle), &i, word_bytes).index == middle);
    });
    times.time("erase", insertions, [&](std::uint64_t) {
        must(Of::erase(Of::advance(Of::begin(handle), middle), word_bytes).index == middle);
    });
    const auto copied = made<Of>(owner);
    times.time_whole("assign", elements, [&] { must(Of::assign(copied, handle) == 0); });
    must(Of::destroy(copied) == 0);
    times.time(Of::take_name, elements, [&](std::uint64_t) {
        std::uint64_t word = 0;
        must(Of::take(handle, &word, word_bytes) == word_bytes);
    });
    must(Of::destroy(handle) == 0);
}

template <typename Of>
void run_calls_beside(std::uint64_t elements, CallTimes& times) {
    typename Of::Beside beside;
    times.time("push_back", elements, [&](std::uint64_t i) { beside.push_back(i); });
    times.time("at", elements, [&](std::uint64_t i) { keep(beside[any_index(i, elements)]); });
    times.time_whole("iterate", elements, [&] {
        for (const std::uint64_t word : beside) keep(word);
    });
    const std::uint64_t insertions = std::min(elements, insertions_most);
    const auto middle = [&] { return beside.begin() + static_cast<std::ptrdiff_t>(elements / 2); };
    times.time("insert", insertions, [&](std::uint64_t i) { beside.insert(middle(), i); });
    times.time("erase", insertions, [&](std::uint64_t) { beside.erase(middle()); });
    typename Of::Beside copied;
    times.time_whole("assign", elements, [&] { copied = beside; });
    times.time(Of::take_name, elements, [&](std::uint64_t) { keep(Of::take_beside(beside)); });
}

template <typename Of>
ContainerKind kind_of() {
    ContainerKind kind;
    kind.experiment = "vector";
    kind.name = Of::name;
    kind.yardstick = Of::yardstick;
    kind.run = run_calls<Of>;
    kind.run_beside = run_calls_beside<Of>;
    kind.make = [](int owner) {
        const auto handle = made<Of>(owner);
        for (std::uint64_t i = 0; i < 100; ++i) must(Of::append(handle, &i, word_bytes) >= 0);
        return handle.ga;
    };
    kind.destroy = [](acp_ga_t address) { must(Of::destroy({address}) == 0); };
    kind.pass = [](acp_ga_t address) {
        std::uint64_t word = 1;
        must(Of::append({address}, &word, word_bytes) >= 0);
        must(Of::take({address}, &word, word_bytes) == word_bytes);
    };
    kind.pass_beside = [beside = typename Of::Beside(100, 1)]() mutable {
        beside.push_back(1);
        keep(Of::take_beside(beside));
    };
    return kind;
}

}  // namespace

int run_vector(const Call& call) {
    Job job(call.argc, call.argv, 1, std::string(call.usage));
    const std::vector<Row> rows =
        measure_container_kinds(job, call.options, {kind_of<OfVector>(), kind_of<OfDeque>()});
    return job.conducts() ? finish(call.options, rows) : 0;
}

}  // namespace acp::bench
