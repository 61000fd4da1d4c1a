// SPDX-License-Identifier: BSD-3-Clause
// Experiment `list`: elements of 8 bytes put at the end of a list, looked through, inserted in the
// middle, erased and taken from the front, beside std::list or a copy of 8 bytes; an element in and
// one out by all ranks at once; and the memory of an element. All ranks.
#include <list>

#include <acp.h>

#include "container_times.hpp"
#include "experiment.hpp"
#include "output.hpp"

namespace acp::bench {

namespace {

acp_list_t made_list(int owner) {
    const acp_list_t list = acp_create_list(owner);
    must(list.ga != ACP_GA_NULL);
    return list;
}

void run_calls(int owner, std::uint64_t elements, CallTimes& times) {
    const acp_list_t list = made_list(owner);
    times.time("push_back", elements,
               [&](std::uint64_t i) { must(acp_push_back_list(list, &i, sizeof i, owner) == 0); });
    acp_list_it_t it = acp_begin_list(list);
    times.time("iterate", elements, [&](std::uint64_t) {
        std::uint64_t word = 0;
        must(acp_read_list(it, &word, sizeof word) == sizeof word);
        it = acp_increment_list_it(it);
    });
    acp_list_it_t middle =
        acp_advance_list_it(acp_begin_list(list), static_cast<int>(elements / 2));
    times.time("insert", elements, [&](std::uint64_t i) {
        middle = acp_insert_list(middle, &i, sizeof i, owner);
        must(middle.elem != ACP_GA_NULL);
    });
    times.time("erase", elements, [&](std::uint64_t) {
        middle = acp_erase_list(middle);
        must(middle.elem != ACP_GA_NULL);
    });
    const acp_list_t copied = made_list(owner);
    times.time_whole("assign", elements, [&] { must(acp_assign_list(copied, list) == 0); });
    must(acp_destroy_list(copied) == 0);
    times.time("take_front", elements, [&](std::uint64_t) {
        std::uint64_t word = 0;
        must(acp_take_front_list(list, &word, sizeof word) == sizeof word);
    });
    must(acp_destroy_list(list) == 0);
}

void run_calls_beside(std::uint64_t elements, CallTimes& times) {
    std::list<std::uint64_t> list;
    times.time("push_back", elements, [&](std::uint64_t i) { list.push_back(i); });
    auto it = list.begin();
    times.time("iterate", elements, [&](std::uint64_t) { keep(*it++); });
    auto middle = std::next(list.begin(), static_cast<std::ptrdiff_t>(elements / 2));
    times.time("insert", elements, [&](std::uint64_t i) { middle = list.insert(middle, i); });
    times.time("erase", elements, [&](std::uint64_t) { middle = list.erase(middle); });
    std::list<std::uint64_t> copied;
    times.time_whole("assign", elements, [&] { copied = list; });
    times.time("take_front", elements, [&](std::uint64_t) {
        keep(list.front());
        list.pop_front();
    });
}

// Heap bytes of an element more than its own.
double bytes_over_payload(std::size_t payload_bytes) {
    constexpr int elements = 1'000;
    const std::string payload(payload_bytes, 'p');
    const acp_list_t list = made_list(0);
    const std::uint64_t before = heap_bytes_of(0);
    for (int i = 0; i < elements; ++i)
        must(acp_push_back_list(list, payload.data(), payload_bytes, 0) == 0);
    const auto more = static_cast<double>(heap_bytes_of(0) - before);
    must(acp_destroy_list(list) == 0);
    return more / elements - static_cast<double>(payload_bytes);
}

ContainerKind kind_of_list() {
    ContainerKind kind;
    kind.experiment = "list";
    kind.name = "list";
    kind.yardstick = "std::list";
    kind.run = run_calls;
    kind.run_beside = run_calls_beside;
    kind.make = [](int owner) {
        const acp_list_t list = made_list(owner);
        for (std::uint64_t i = 0; i < 100; ++i)
            must(acp_push_back_list(list, &i, sizeof i, owner) == 0);
        return list.ga;
    };
    kind.destroy = [](acp_ga_t list) { must(acp_destroy_list({list}) == 0); };
    kind.pass = [](acp_ga_t list) {
        std::uint64_t word = 1;
        must(acp_push_back_list({list}, &word, sizeof word, 0) == 0);
        must(acp_take_front_list({list}, &word, sizeof word) == sizeof word);
    };
    kind.pass_beside = [list = std::list<std::uint64_t>(100, 1)]() mutable {
        list.push_back(1);
        keep(list.front());
        list.pop_front();
    };
    return kind;
}

}  // namespace

int run_list(const Call& call) {
    Job job(call.argc, call.argv, 1, std::string(call.usage));
    std::vector<Row> rows = measure_container_kinds(job, call.options, {kind_of_list()});
    if (!job.conducts()) return 0;
    for (const std::size_t payload_bytes : {8U, 40U, 200U}) {
        rows.front().extra.emplace_back("bytes_over_payload_of_" + std::to_string(payload_bytes),
                                        bytes_over_payload(payload_bytes));
    }
    return finish(call.options, rows);
}

}  // namespace acp::bench
