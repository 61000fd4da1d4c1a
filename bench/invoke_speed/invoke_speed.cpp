// SPDX-License-Identifier: BSD-3-Clause
// What a numbered operation costs beside what lies beneath it: on a node the bare function on the
// same word, between nodes an 8-byte get; and how many more of them a batch of 64 carries than
// single ones. Samples alternate; medians with the middle half of the samples. Rank 0 measures, the
// others wait in a barrier.
//   acprun -n 2 invoke_speed [samples]
//   acprun -n 2 --nodes 2 invoke_speed [samples]
// Between nodes with agents' gateways by an acprun whose agent has the test library (tests/invoke).
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "api/library.hpp"
#include "os/clock.hpp"

#include <acp.h>

#include "support/operation_library.hpp"

namespace {

using namespace acp;

constexpr std::size_t batch = 64;
constexpr std::uint64_t bound = ~0ULL >> 1U;

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "invoke_speed: %s\n", why.c_str());
    std::exit(1);
}

// What a layer above global memory access has at hand.
struct Layer {
    gma::Gma& memory = *api::library().gma;
    std::uint32_t process = memory.space().segment().process_of(1);

    void wait(gma::Handle handle) const {
        const base::Status status = memory.wait(handle, node::for_ever, false);
        if (!status.is_ok()) fail(std::string(status.message()));
    }

    gma::Handle add(const test::AddBelow& asked, test::AddedBelow& result) const {
        return memory.issue_invoke(
            {process, test::add_below_number, test::bytes_of(asked), test::room_in(result)},
            gma::handle_null);
    }
};

// The work of the operation add_below on a word, called as a table calls it.
[[gnu::noinline]] test::AddedBelow add_here(std::uint64_t* place, std::uint64_t value) {
    const std::atomic_ref<std::uint64_t> word(*place);
    std::uint64_t old = word.load(std::memory_order_relaxed);
    while (old + value <= bound) {
        if (word.compare_exchange_weak(old, old + value, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
            return {old, 1};
        }
    }
    return {old, 0};
}

test::AddedBelow (*volatile bare_function)(std::uint64_t*, std::uint64_t) = add_here;

// Something measured: `count` operations per call.
struct Series {
    const char* name;
    std::uint64_t count;
    std::function<void()> run;
    std::vector<double> ns{};  // of an operation, by sample
};

void measure(std::vector<Series>& all, int samples) {
    for (int sample = -samples / 10; sample < samples; ++sample) {
        for (Series& one : all) {
            const std::uint64_t start = os::now_ns();
            one.run();
            const auto took = static_cast<double>(os::now_ns() - start);
            if (sample >= 0) one.ns.push_back(took / static_cast<double>(one.count));
        }
    }
    for (Series& one : all) std::sort(one.ns.begin(), one.ns.end());
}

double median(const Series& one) {
    return one.ns[one.ns.size() / 2];
}

void print(const std::vector<Series>& all) {
    for (const Series& one : all) {
        std::printf("%-24s %10.1f ns   (%.1f .. %.1f, %zu samples)\n", one.name, median(one),
                    one.ns[one.ns.size() / 4], one.ns[one.ns.size() * 3 / 4], one.ns.size());
    }
}

void measure_on_node(int samples) {
    constexpr std::uint64_t calls = 1000;
    auto* word = static_cast<std::uint64_t*>(acp_query_address(acp_query_starter_ga(1)));
    const test::AddBelow asked{acp_query_starter_ga(1), 1, bound};
    test::AddedBelow result;
    const Layer layer;
    std::vector<Series> all;
    all.push_back({"bare function", calls, [&] {
                       for (std::uint64_t i = 0; i < calls; ++i) result = bare_function(word, 1);
                   }});
    all.push_back({"invoke", calls, [&] {
                       for (std::uint64_t i = 0; i < calls; ++i)
                           layer.wait(layer.add(asked, result));
                   }});
    all.push_back({"invoke, not waited for", calls, [&] {
                       for (std::uint64_t i = 0; i < calls; ++i) (void)layer.add(asked, result);
                   }});
    const acp_ga_t address = acp_query_starter_ga(1);
    std::uint64_t sum = 0;
    all.push_back({"a program's fetch-and-add", calls, [&] {
                       for (std::uint64_t i = 0; i < calls; ++i) sum += acp_fetch_add8(address, 1);
                   }});
    all.push_back({"a layer's fetch-and-add", calls, [&] {
                       for (std::uint64_t i = 0; i < calls; ++i) {
                           sum += layer.memory
                                      .fetch<std::uint64_t, memory::Operation::add>(address, {1, 0})
                                      .value();
                       }
                   }});
    all.push_back({"a program's copy of 8 B", calls, [&] {
                       for (std::uint64_t i = 0; i < calls; ++i) {
                           (void)acp_copy(address, address + 8, 8, ACP_HANDLE_NULL);
                       }
                   }});
    all.push_back({"a layer's copy of 8 B", calls, [&] {
                       for (std::uint64_t i = 0; i < calls; ++i) {
                           (void)layer.memory.copy(address, address + 8, 8, gma::handle_null);
                       }
                   }});
    measure(all, samples);
    print(all);
    if (sum == 0) fail("the fetch-and-adds added nothing");
    std::printf("an invoke takes %.1f ns more than the function, %.1f with the wait\n",
                median(all[2]) - median(all[0]), median(all[1]) - median(all[0]));
}

void measure_between_nodes(int samples) {
    constexpr std::uint64_t calls = 8;
    const test::AddBelow asked{acp_query_starter_ga(1), 1, bound};
    std::array<test::AddedBelow, batch> results;
    const gma::GlobalAddress own = acp_query_starter_ga(0);
    const gma::GlobalAddress theirs = acp_query_starter_ga(1);
    const Layer layer;
    std::vector<Series> all;
    all.push_back({"get of 8 bytes", calls, [&] {
                       for (std::uint64_t i = 0; i < calls; ++i) {
                           layer.wait(layer.memory.issue_copy(own, theirs, 8, gma::handle_null));
                       }
                   }});
    all.push_back({"invoke", calls, [&] {
                       for (std::uint64_t i = 0; i < calls; ++i)
                           layer.wait(layer.add(asked, results[0]));
                   }});
    all.push_back({"invoke, 64 at once", batch, [&] {
                       for (test::AddedBelow& result : results) (void)layer.add(asked, result);
                       layer.wait(gma::handle_all);
                   }});
    all.push_back({"get, 64 at once", batch, [&] {
                       for (std::uint64_t i = 0; i < batch; ++i) {
                           (void)layer.memory.issue_copy(own + 8 * i, theirs, 8, gma::handle_null);
                       }
                       layer.wait(gma::handle_all);
                   }});
    measure(all, samples);
    print(all);
    std::printf("an invoke takes %.2f x a get; 64 at once carry %.1f x as many as single ones\n",
                median(all[1]) / median(all[0]), median(all[1]) / median(all[2]));
}

}  // namespace

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) fail(acp_error_message());
    if (acp_procs() != 2) fail("it takes two ranks: acprun -n 2 [--nodes 2]");
    const int samples = argc > 1 ? std::max(std::atoi(argv[1]), 10) : 2000;
    acp_sync();
    if (acp_rank() == 0) {
        const bool is_one_node = Layer().memory.space().segment().shape().nodes == 1;
        is_one_node ? measure_on_node(samples) : measure_between_nodes(samples);
    }
    acp_sync();
    return acp_finalize() == 0 ? 0 : 1;
}
