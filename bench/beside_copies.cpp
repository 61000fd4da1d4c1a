// SPDX-License-Identifier: BSD-3-Clause
// What long copies do to those who only want to look: rank 1 has copies of 1 GiB under way, one
// after the other, from its own registered memory to rank 0's. Meanwhile it asks for their end by
// acp_inquire and acp_wait(handle, 0), and the last rank does atomics on words of rank 1. Each call
// is timed alone; medians, 99.9 % and the longest.
//   acprun -n 3 [--nodes 3] --starter-size 4M beside_copies [SECONDS [BYTES]]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <acp.h>

namespace {

using Clock = std::chrono::steady_clock;

class Times {
public:
    template <class Call>
    int time(Call call) {
        const auto begin = Clock::now();
        const int result = call();
        const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
        us_.push_back(took.count());
        return result;
    }

    void print(const char* name) {
        if (us_.empty()) return;
        std::sort(us_.begin(), us_.end());
        const auto at = [&](double part) {
            return us_[static_cast<std::size_t>(part * static_cast<double>(us_.size() - 1))];
        };
        std::printf("%-40s %9zu calls, us: median %8.2f   99.9 %% %9.2f   longest %9.1f\n", name,
                    us_.size(), at(0.5), at(0.999), us_.back());
        std::fflush(stdout);
    }

private:
    std::vector<double> us_;
};

void look_beside_copies(acp_ga_t there, acp_ga_t here, std::size_t bytes, double seconds) {
    Times inquiries;
    Times waits;
    int copies = 0;
    const auto begin = Clock::now();
    const std::chrono::duration<double> during(seconds);
    while (Clock::now() - begin < during) {
        const acp_handle_t copy = acp_copy(there, here, bytes, ACP_HANDLE_NULL);
        if (copy == ACP_HANDLE_NULL) acp_abort("acp_copy");
        while (inquiries.time([&] { return acp_inquire(copy); }) != 0) {
            if (waits.time([&] { return acp_wait(copy, 0); }) == 0) break;
        }
        acp_complete(copy);
        ++copies;
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    std::printf("%d copies of %zu bytes, %.2f GB/s\n", copies, bytes,
                copies * static_cast<double>(bytes) / took.count() / 1e9);
    inquiries.print("acp_inquire beside them");
    waits.print("acp_wait(handle, 0) beside them");
}

void add_beside_copies(acp_ga_t word, acp_ga_t own, double seconds) {
    Times adds;
    const auto begin = Clock::now();
    const std::chrono::duration<double> during(seconds);
    while (Clock::now() - begin < during) {
        adds.time([&] {
            acp_complete(acp_add8(own, word, 1, ACP_HANDLE_NULL));
            return 0;
        });
    }
    adds.print("acp_add8 on that rank by another");
}

}  // namespace

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0 || acp_procs() < 3) {
        std::fprintf(stderr, "beside_copies: wants three ranks or more; %s\n", acp_error_message());
        return 1;
    }
    const double seconds = argc > 1 ? std::strtod(argv[1], nullptr) : 5;
    const std::size_t bytes = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : std::size_t{1} << 30U;
    std::vector<char> memory(acp_rank() <= 1 ? bytes : 64, 1);
    std::vector<acp_ga_t> addresses(static_cast<std::size_t>(acp_procs()));
    acp_atkey_t key = ACP_ATKEY_NULL;
    if (acp_register_all(memory.data(), memory.size(), 0, addresses.data(), &key) != 0) {
        acp_abort("registering");
    }
    acp_sync();
    if (acp_rank() == 1) look_beside_copies(addresses[0], addresses[1], bytes, seconds);
    if (acp_rank() == acp_procs() - 1) {
        add_beside_copies(acp_query_starter_ga(1), acp_query_starter_ga(acp_rank()), seconds);
    }
    acp_sync();
    return acp_finalize() == 0 ? 0 : 1;
}
