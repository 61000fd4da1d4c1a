// SPDX-License-Identifier: BSD-3-Clause
// A program with THREAD_LOCAL_KIB KiB of thread-local data, which the C library takes from the
// stack of every thread: it registers memory, and other ranks access it through its service thread.
// Exit code 0 if every check held.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include <acp.h>

namespace {

thread_local char own_data[std::size_t{THREAD_LOCAL_KIB} * 1024];

int complain(const char* what) {
    std::fprintf(stderr, "rank %d: %s: %s\n", acp_rank(), what, acp_error_message());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) return complain("acp_init");
    std::memset(own_data, 1, sizeof own_data);
    std::vector<std::uint64_t> memory(1 << 16, static_cast<std::uint64_t>(acp_rank()));
    const acp_atkey_t key = acp_register_memory(memory.data(), memory.size() * 8, 0);
    if (key == ACP_ATKEY_NULL) return complain("acp_register_memory");
    const int next = (acp_rank() + 1) % acp_procs();
    auto* starter = static_cast<acp_ga_t*>(acp_query_address(acp_query_starter_ga(acp_rank())));
    starter[0] = acp_query_ga(key, memory.data());
    acp_sync();
    acp_complete(acp_copy(acp_query_starter_ga(acp_rank()) + 8, acp_query_starter_ga(next), 8,
                          ACP_HANDLE_NULL));
    // Long and short copies, an atomic, and a command that fails with a message.
    const acp_ga_t theirs = starter[1];
    const acp_handle_t copied =
        acp_copy(starter[0] + memory.size() * 4, theirs, memory.size() * 4, ACP_HANDLE_NULL);
    acp_handle_t last = acp_add8(starter[0] + 8, theirs + memory.size() * 4 - 8, 1, copied);
    if (acp_wait(last, -1) != ACP_OK) return complain("copies");
    if (memory[memory.size() - 2] != static_cast<std::uint64_t>(next))
        return complain("wrong bytes");
    last = acp_copy(starter[0], theirs + memory.size() * 8, 8, ACP_HANDLE_NULL);
    if (acp_wait(last, -1) != ACP_ERR_ADDRESS) return complain("beyond the memory");
    acp_sync();
    if (acp_unregister_memory(key) != 0) return complain("acp_unregister_memory");
    return acp_finalize() == 0 ? 0 : complain("acp_finalize");
}
