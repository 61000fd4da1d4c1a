// SPDX-License-Identifier: BSD-3-Clause
// How long one insert takes while a map grows from nothing: rank 0 inserts entries of 32-byte keys
// and values into the part of the last rank (its own, where there is one rank only) and times every
// call. Beside it the same inserts into std::unordered_map, whose longest are those that hash
// everything anew.
//   acprun -n 1 [-n 2 --nodes 2] growth_pause [ENTRIES]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include <acp.h>

namespace {

using Clock = std::chrono::steady_clock;

std::string key_of(std::uint64_t number) {
    std::string key(32, 'k');
    number *= 0x9e3779b97f4a7c15;
    std::memcpy(key.data(), &number, sizeof number);
    return key;
}

template <class Insert>
void time_inserts(const char* name, std::uint64_t entries, Insert insert) {
    std::vector<double> us;
    us.reserve(entries);
    for (std::uint64_t i = 0; i < entries; ++i) {
        const std::string key = key_of(i);
        const auto begin = Clock::now();
        insert(key);
        const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
        us.push_back(took.count());
    }
    std::sort(us.begin(), us.end());
    const auto at = [&](double part) {
        return us[static_cast<std::size_t>(part * static_cast<double>(us.size() - 1))];
    };
    std::printf("%-20s %zu inserts, us: median %7.2f   99.99 %% %8.1f   longest %9.1f\n", name,
                us.size(), at(0.5), at(0.9999), us.back());
    std::fflush(stdout);
}

void compare(std::uint64_t entries) {
    const int last = acp_procs() - 1;
    acp_map_t map = acp_create_map(1, &last, 16, last);
    if (map.ga == ACP_GA_NULL) acp_abort("acp_create_map");
    const std::string value(32, 'v');
    time_inserts("map", entries, [&](const std::string& key) {
        if (acp_insert_if_absent_map(map, key.data(), key.size(), value.data(), value.size()) != 1)
            acp_abort("acp_insert_if_absent_map");
    });
    acp_destroy_map(map);
    std::unordered_map<std::string, std::string> model;
    time_inserts("std::unordered_map", entries,
                 [&](const std::string& key) { model.emplace(key, value); });
}

}  // namespace

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        std::fprintf(stderr, "growth_pause: %s\n", acp_error_message());
        return 1;
    }
    if (acp_rank() == 0) compare(argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1'000'000);
    acp_sync();
    return acp_finalize() == 0 ? 0 : 1;
}
