// SPDX-License-Identifier: BSD-3-Clause
// Who of a node waits in which call, since when and for whom: written into the slot by a thread that is about to sleep,
// read by the agent and by acpstat without the process's help, and turned into sentences for people. A wait that ends
// before it sleeps writes nothing. Knows no handle and runs nothing. Writing: any thread of a process, of which one is
// shown; reading and describing: any thread of any process that has the segment mapped.
// Tests: tests/unit/node/awaited_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/command.hpp"
#include "node/control.hpp"
#include "node/segment.hpp"
#include "node/unreported.hpp"

namespace acp::node {

// The call of the interface that waits. From `sync` to `create_ws`: for all ranks to meet. issue: a call that issues a command,
// for room for it among those outstanding. fetch: an atomic that waits for itself. put_copied: until the source of
// a long one is not needed any more.
// wait_word: for a word of the process's own memory to change; with the word's place in the process as source, the value that it is compared
// with as target, what it held when its thread fell asleep as bytes, the comparison (WordComparison) as operation, and its bytes as width.
// From send_ch on: a request of a channel, whose sender is told as source and whose receiver as target, with the width of whoever frees
// the channel (awaited_free_width) or 0; a call on a segmented buffer, likewise, with 0; a wait for PM messages, which may come from
// anybody, with the caller as both. From team_none on: calls on a team, in the order of team::CollectiveCall, with the bytes of the call,
// an address of the rank that it waits for as target, the team's number as source, and the width of a call that does not block
// (awaited_non_blocking_width) or 0.
enum class AwaitedCall : std::uint32_t {
    none,
    sync,
    init,
    finalize,
    reset,
    register_all,
    create_ws,
    complete,
    wait,
    wait_source,
    put_copied,
    issue,
    fetch,
    wait_word,
    send_ch,
    recv_ch,
    free_ch,
    wait_ch,
    waitall_ch,
    wait_ch_timeout,
    connect_segbuf,
    free_segbuf,
    wait_pm,
    wait_buffer_pm,
    team_none,
    team_sync,
    team_split,
    team_split_by_node,
    team_create,
    team_free,
    team_sync_notices,
    team_free_memory,
    team_malloc,
    team_broadcast,
    team_reduce,
    team_allreduce,
    team_gather,
    team_allgather,
    team_scatter,
    team_alltoall,
    team_alltoallv,
    team_scan,
    compile_pattern,
    free_plan,
    wait_plan
};

// How a word is compared with a value, both as unsigned numbers.
enum class WordComparison : std::uint8_t {
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal
};
inline constexpr std::uint8_t word_comparison_count = 6;

// "its word of 8 bytes at 0x7f03a040 is at least 3 (it held 2)"
[[nodiscard]] std::string describe_word(WordComparison comparison,
                                        const void* place,
                                        std::uint32_t bytes,
                                        std::uint64_t value,
                                        std::uint64_t held);

inline constexpr std::uint8_t awaited_free_width = 1;
inline constexpr std::uint8_t awaited_non_blocking_width = 1;
inline constexpr std::uint64_t awaited_world_team = 1;  // the number of the team of all ranks

// "acp_sync", ...; "" for none. Of `fetch` the beginning, which all those calls share.
[[nodiscard]] std::string_view name_of(AwaitedCall call) noexcept;

// The same of the call that only begins it: "acp_nbsync_team".
[[nodiscard]] std::string non_blocking_name_of(AwaitedCall call);

// Puts the calling thread's wait into its process's slot, and takes it out when it is destroyed. While another thread of
// the process is shown there, tell() does nothing; it is to be called before each sleep, so that a thread that goes on
// waiting is shown when the other has left.
class AwaitedEntry {
public:
    //   slot  of this process; must outlive the entry
    explicit AwaitedEntry(Slot& slot) noexcept : awaited_(slot.awaited) {}

    ~AwaitedEntry();
    AwaitedEntry(const AwaitedEntry&) = delete;
    AwaitedEntry& operator=(const AwaitedEntry&) = delete;

    //   since_ns  os::now_ns() when the wait began to sleep
    //   command   the oldest that is waited for; nullptr where ranks meet. Of one that was issued with a plain pointer that end is the
    //             pointer (memory::pointer_end_of)
    void tell(AwaitedCall call, std::uint64_t since_ns, const memory::Command* command) noexcept;

private:
    void write(AwaitedCall call, std::uint64_t since_ns, const memory::Command& command) noexcept;

    Awaited& awaited_;
    bool is_ours_ = false;
};

// What one process does, as it can be seen from outside.
struct Doing {
    std::uint32_t rank = 0;
    SlotState state = SlotState::empty;
    std::uint32_t arrived = 0;  // at the barrier of this number
    AwaitedCall call = AwaitedCall::none;
    std::uint64_t waited_ns = 0;
    // that is waited for, as for tell(); without its operand and what it expects, but for the call that issued it, and of a fetch without its target
    memory::Command command;
    std::uint32_t target_rank = 0;  // whose its addresses are
    std::uint32_t source_rank = 0;
    bool is_stopped = false;  // by a signal or a debugger
    Unreported unreported;

    friend bool operator==(const Doing&, const Doing&) = default;
};

// The call that waits, as the program wrote it: name_of(), or "acp_fetch_add8".
[[nodiscard]] std::string call_of(const Doing& doing);

// Looks at a slot.   slot < local_procs; now_ns  os::now_ns()
[[nodiscard]] Doing look_at(const Segment& segment, std::uint32_t slot, std::uint64_t now_ns);

// One line for a channel, numbers and at last the message of a failure, and back. nullopt when it is not one.
[[nodiscard]] std::string to_words(const Doing& doing);
[[nodiscard]] std::optional<Doing> doing_from(std::string_view words);

inline constexpr std::size_t described_commands_max =
    16;  // waits for commands, and ranks with failures; those beyond are counted

// Sentences, one per line and group of ranks that do the same: who waits in which call, for how long, for whom; and per rank
// how many commands failed that it was not told, with the first one's message. Empty when
// no process has ever joined.   all  of the processes that could be looked at, in any order
[[nodiscard]] std::vector<std::string> describe(std::vector<Doing> all);

}  // namespace acp::node
