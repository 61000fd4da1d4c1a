// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 sends a payload to the last rank, which is on another node, by each of several calls, and
// prints for each call the copies of the payload, and their origins, by its own process and by its
// parent, which is the node's agent.
// Run by acprun with the library of counted_copies.c preloaded (payload_copies_test.py).
#include <stdio.h>
#include <string.h>

#include <acp.h>

#include "counted_copies.h"

enum { payload_bytes = 600 };  // longer than all that is copied in registers; fits one datagram

static struct counted_copies* table;
static unsigned char payload[payload_bytes];

static void must(int is_well, const char* call) {
    if (!is_well) acp_abort(call);
}

static struct copy_count* entry_of(int pid) {
    struct copy_count* const entry = copies_of(table, pid);
    must(entry != NULL, "counted_copies: the table is full");
    return entry;
}

static void begin_call(void) {
    const int pids[] = {getpid(), getppid()};
    for (int i = 0; i < 2; ++i) {
        atomic_store(&entry_of(pids[i])->copies, 0);
        atomic_store(&entry_of(pids[i])->origins, 0);
    }
    atomic_store(&table->is_counting, 1);
}

// The call's datagram has been acknowledged.
static void end_call(const char* name) {
    atomic_store(&table->is_counting, 0);
    struct copy_count* const own = entry_of(getpid());
    struct copy_count* const agent = entry_of(getppid());
    printf("%s %d %d %d %d\n", name, atomic_load(&own->copies), atomic_load(&own->origins),
           atomic_load(&agent->copies), atomic_load(&agent->origins));
}

static void send_all(acp_ch_t channel, int far) {
    const acp_ga_t there = acp_query_starter_ga(far);
    const acp_map_t map = acp_create_map(1, &far, 64, 0);
    const acp_list_t list = acp_create_list(far);
    const acp_deque_t deque = acp_create_deque(4 * payload_bytes, far);
    const acp_vector_t vector = acp_create_vector(0, far);
    must(acp_reserve_vector(vector, 4 * payload_bytes) == 0, "acp_reserve_vector");
    begin_call();
    must(acp_wait(acp_put_signal(there, payload, payload_bytes, there + 4096, 1, ACP_HANDLE_NULL),
                  -1) == 0,
         "acp_put_signal");
    end_call("put_signal");
    const uint64_t key = 5;
    begin_call();
    must(acp_insert_if_absent_map(map, &key, sizeof key, payload, payload_bytes) == 1,
         "acp_insert_if_absent_map");
    end_call("insert");
    begin_call();
    must(acp_push_back_list(list, payload, payload_bytes, far) == 0, "acp_push_back_list");
    end_call("push_list");
    begin_call();
    must(acp_push_back_deque(deque, payload, payload_bytes) == 0, "acp_push_back_deque");
    end_call("push_deque");
    begin_call();
    must(acp_push_back_vector(vector, payload, payload_bytes) == 0, "acp_push_back_vector");
    end_call("push_vector");
    begin_call();
    must(acp_send_ch(channel, payload, payload_bytes) == 0, "acp_send_ch");
    must(acp_wait_word(acp_query_address(acp_query_starter_ga(0)), 8, ACP_WORD_EQUAL, 1, -1) == 0,
         "acp_wait_word");
    end_call("channel");
}

static void receive(acp_ch_t channel) {
    static unsigned char received[payload_bytes];
    must(acp_recv_ch(channel, received, sizeof received) == sizeof received, "acp_recv_ch");
    must(memcmp(received, payload, sizeof received) == 0, "the payload has changed on its way");
    must(acp_wait(acp_add8(ACP_GA_NULL, acp_query_starter_ga(0), 1, ACP_HANDLE_NULL), -1) == 0,
         "acp_add8");
}

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) return 1;
    table = open_counted_copies();
    must(table != NULL, "TEST_COUNTED_COPIES names no file");
    for (int i = 0; i < payload_bytes; ++i) payload[i] = (unsigned char)(i * 7 + 13);
    const int far = acp_procs() - 1;
    acp_ch_t channel = ACP_CH_NULL;
    if (acp_rank() == 0 || acp_rank() == far) channel = acp_create_ch(0, far);
    if (acp_rank() == 0) {
        for (int i = 0; i < marker_bytes; ++i) table->marker[i] = payload[i];
    }
    must(acp_sync() == 0, "acp_sync");
    if (acp_rank() == 0) send_all(channel, far);
    if (acp_rank() == far) receive(channel);
    return acp_finalize() == 0 ? 0 : 1;
}
