// SPDX-License-Identifier: BSD-3-Clause
// What a plain pointer costs: acp_put and acp_get from memory that is not registered beside
// acp_copy from memory that is, and acp_put_signal beside acp_put. Rank 0 works on memory of the
// last rank, one command at a time; the ways alternate batch by batch, so that a noisy machine
// disturbs all alike. Medians of the batches, and of the ratios of neighbouring batches.
//   acprun -n 2 [--nodes 2] --starter-size 4M put_speed
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <acp.h>

namespace {

constexpr std::size_t longest = 1'000'000;
constexpr int batches = 301;
constexpr double batch_ns = 400'000;

using Work = std::function<acp_handle_t()>;

double ns_per_call(const Work& work, int calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) acp_complete(work());
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / calls;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + batches / 2, values.end());
    return values[batches / 2];
}

void compare(const std::string& name, const Work& base, const Work& other) {
    const double guess = std::min(ns_per_call(base, 20), ns_per_call(base, 20));
    const int calls = std::max(1, static_cast<int>(batch_ns / guess));
    (void)ns_per_call(other, 20);
    std::vector<double> bases;
    std::vector<double> others;
    std::vector<double> ratios;
    for (int batch = 0; batch < batches; ++batch) {
        bases.push_back(ns_per_call(base, calls));
        others.push_back(ns_per_call(other, calls));
        ratios.push_back(others.back() / bases.back());
    }
    std::printf("%-54s %10.1f %10.1f   %5.3f\n", name.c_str(), median(bases), median(others),
                median(ratios));
}

struct Memory {
    std::vector<char> registered = std::vector<char>(longest);
    std::vector<char> plain = std::vector<char>(longest);
    std::vector<std::vector<char>> many =
        std::vector<std::vector<char>>(16, std::vector<char>(longest));
};

void compare_all(Memory& memory, const std::string& kind, acp_ga_t there, acp_ga_t here) {
    for (const std::size_t size : {std::size_t{8}, std::size_t{4096}, longest}) {
        const std::string what = std::to_string(size) + " B, " + kind + ": ";
        compare(
            what + "copy there | put", [=] { return acp_copy(there, here, size, ACP_HANDLE_NULL); },
            [=, from = memory.plain.data()] {
                return acp_put(there, from, size, ACP_HANDLE_NULL);
            });
        compare(
            what + "copy here | get", [=] { return acp_copy(here, there, size, ACP_HANDLE_NULL); },
            [=, to = memory.plain.data()] { return acp_get(to, there, size, ACP_HANDLE_NULL); });
    }
    std::size_t next = 0;
    compare(
        "1 MiB, " + kind + ": put | put of another buffer each time",
        [=, from = memory.plain.data()] { return acp_put(there, from, longest, ACP_HANDLE_NULL); },
        [=, &memory, &next] {
            return acp_put(there, memory.many[next++ % 16].data(), longest, ACP_HANDLE_NULL);
        });
    for (const std::size_t size : {std::size_t{8}, std::size_t{900}, std::size_t{4096}}) {
        compare(
            std::to_string(size) + " B, " + kind + ": put | put_signal",
            [=, from = memory.plain.data()] {
                return acp_put(there + 64, from, size, ACP_HANDLE_NULL);
            },
            [=, from = memory.plain.data()] {
                return acp_put_signal(there + 64, from, size, there, 1, ACP_HANDLE_NULL);
            });
    }
}

}  // namespace

int main() {
    if (acp_init(nullptr, nullptr) != 0) {
        std::fprintf(stderr, "%s\n", acp_error_message());
        return 1;
    }
    Memory memory;
    std::vector<acp_ga_t> addresses(static_cast<std::size_t>(acp_procs()));
    acp_atkey_t key = ACP_ATKEY_NULL;
    if (acp_register_all(memory.registered.data(), longest, 0, addresses.data(), &key) != 0) {
        acp_abort("registering");
    }
    if (acp_rank() == 0) {
        const auto last = static_cast<std::size_t>(acp_procs() - 1);
        std::printf("%-54s %10s %10s   %s\n", "", "ns", "ns", "ratio");
        compare_all(memory, "starter", acp_query_starter_ga(static_cast<int>(last)) + 64,
                    addresses[0]);
        compare_all(memory, "registered", addresses[last], addresses[0]);
    }
    acp_sync();
    return acp_finalize() == 0 ? 0 : 1;
}
