// SPDX-License-Identifier: BSD-3-Clause
// How long calls on one large vector keep a node from serving others: rank 0 makes, fills, grows,
// assigns, reads and frees a vector on rank 1, while rank 2 puts 8 bytes to rank 1, each put after the
// end of the one before. For each kind of call rank 2 prints the times of its puts, and, where bytes
// cross the network, those beside a stream of acp_copy of as many bytes.
//   acprun -n 3 --nodes 3 --heap-size 5G vector_pause [BYTES (2 GiB)]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <acp.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t piece_bytes = std::size_t{16} << 20;

enum Phase : std::uint64_t {
    idle,
    copy_stream,
    made,
    filled,
    assigned,
    grown,
    read_back,
    freed,
    ended
};

constexpr const char* phase_names[] = {"nothing",  "acp_copy", "created", "appended",
                                       "assigned", "grown",    "read",    "freed"};

void must(bool is_done, const char* call) {
    if (is_done) return;
    std::fprintf(stderr, "vector_pause: %s: %s\n", call, acp_error_message());
    acp_abort(call);
}

// The word on rank 2 that says what rank 0 does.
acp_ga_t phase_word() {
    return acp_query_starter_ga(2) + 64;
}

// Rank 0: tells rank 2 what it does from now on, and does it.
template <class Call>
void during(Phase phase, const Call& call) {
    const auto tell = [](std::uint64_t number) {
        must(acp_complete(acp_put(phase_word(), &number, sizeof number, ACP_HANDLE_NULL)) == 0,
             "acp_put");
    };
    tell(phase);
    const auto begin = Clock::now();
    call();
    const std::chrono::duration<double> took = Clock::now() - begin;
    tell(idle);
    std::fprintf(stderr, "%-10s %8.3f s\n", phase_names[phase], took.count());
}

void use_vector(std::size_t bytes) {
    std::vector<char> piece(piece_bytes, 'v');
    const acp_ga_t block = acp_malloc(bytes / 2, 1);
    must(block != ACP_GA_NULL, "acp_malloc");
    during(copy_stream, [&] {
        for (std::size_t at = 0; at < bytes / 2; at += piece_bytes) {
            must(acp_complete(acp_put(block + at, piece.data(), piece_bytes, ACP_HANDLE_NULL)) == 0,
                 "acp_put");
        }
    });
    must(acp_free(block) == 0, "acp_free");
    acp_vector_t vector{};
    acp_vector_t other{};
    during(made, [&] {
        vector = acp_create_vector(bytes / 2, 1);
        must(vector.ga != ACP_GA_NULL, "acp_create_vector");
        other = acp_create_vector(0, 1);
        must(other.ga != ACP_GA_NULL, "acp_create_vector");
    });
    must(acp_clear_vector(vector) == 0, "acp_clear_vector");
    during(filled, [&] {
        for (std::size_t at = 0; at < bytes / 2; at += piece_bytes)
            must(acp_push_back_vector(vector, piece.data(), piece_bytes) == 0, "push_back");
    });
    during(assigned, [&] { must(acp_assign_vector(other, vector) == 0, "acp_assign_vector"); });
    must(acp_destroy_vector(other) == 0, "acp_destroy_vector");
    during(grown, [&] { must(acp_reserve_vector(vector, bytes) == 0, "acp_reserve_vector"); });
    during(read_back, [&] {
        for (std::size_t at = 0; at < bytes / 2; at += piece_bytes) {
            must(acp_read_vector(vector, static_cast<std::int64_t>(at), piece.data(),
                                 piece_bytes) == static_cast<std::int64_t>(piece_bytes),
                 "acp_read_vector");
        }
    });
    during(freed, [&] { must(acp_destroy_vector(vector) == 0, "acp_destroy_vector"); });
    const std::uint64_t end = ended;
    must(acp_complete(acp_put(phase_word(), &end, sizeof end, ACP_HANDLE_NULL)) == 0, "acp_put");
}

void put_meanwhile() {
    const auto* const phase =
        static_cast<volatile const std::uint64_t*>(acp_query_address(phase_word()));
    const acp_ga_t target = acp_query_starter_ga(1) + 128;
    std::vector<double> us[ended];
    for (std::uint64_t now = *phase; now != ended; now = *phase) {
        const auto begin = Clock::now();
        must(acp_complete(acp_put(target, &now, sizeof now, ACP_HANDLE_NULL)) == 0, "acp_put");
        const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
        us[now].push_back(took.count());
    }
    for (std::uint64_t i = 0; i < ended; ++i) {
        std::sort(us[i].begin(), us[i].end());
        const auto at = [&](double part) {
            return us[i][static_cast<std::size_t>(part * static_cast<double>(us[i].size() - 1))];
        };
        if (us[i].empty()) continue;
        std::printf("beside %-10s %8zu puts, us: median %8.1f   99 %% %8.1f   longest %9.1f\n",
                    phase_names[i], us[i].size(), at(0.5), at(0.99), us[i].back());
    }
}

}  // namespace

int main(int argc, char** argv) {
    must(acp_init(&argc, &argv) == 0, "acp_init");
    const std::size_t bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{2} << 30;
    if (acp_procs() != 3 || bytes % (2 * piece_bytes) != 0) {
        std::fprintf(stderr,
                     "usage: acprun -n 3 --nodes 3 vector_pause [BYTES (of 32 MiB each)]\n");
        return 2;
    }
    acp_sync();
    if (acp_rank() == 0) use_vector(bytes);
    if (acp_rank() == 2) put_meanwhile();
    acp_sync();
    return acp_finalize() == 0 ? 0 : 1;
}
