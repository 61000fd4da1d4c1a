// SPDX-License-Identifier: BSD-3-Clause
// Shows in which call each process of a node waits, since when and for which ranks. A thread that
// is about to sleep writes an entry into its process's slot; the agent and acpstat read it without
// the process's help and turn it into sentences. A wait that ends before it sleeps writes nothing.
// Knows no handle and runs nothing. Writing: any thread of a process, one entry per process;
// reading and describing: any thread of any process that has the segment mapped.
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

// The call of the interface that waits, and the use of the entry's command fields.
// From `sync` to `create_ws`: a meeting of all ranks. issue: a call that issues a command waits for
// room among the outstanding ones. fetch: an atomic that waits for its own result. put_copied:
// waits until the source of a long copy may be reused.
// wait_word: waits until a word of the process's own memory changes; source is the word's address
// in the process, target the value that it is compared with, bytes its value when the thread fell
// asleep, operation the comparison (WordComparison), width the word's bytes.
// held_object: a call of a layer above waits for an object that another rank holds. The command is
// an invoke, and its operation's name that of the call; source is the object's address, target an
// address of the holder.
// From send_ch on: a request of a channel; source is an address of its sender, target one of its
// receiver, width awaited_free_width in a call that frees the channel, else 0. A call on a
// segmented buffer has the same with width 0. A wait for PM messages, which any rank may send, has
// the caller as both.
// From team_none on: calls on a team, in the order of team::CollectiveCall; bytes are the call's,
// target is an address of the rank that it waits for, source the team's number, width
// awaited_non_blocking_width in a non-blocking call, else 0.
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
    held_object,
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
    team_exscan,
    compile_pattern,
    free_plan,
    wait_plan
};

// How a word is compared with a value, both as unsigned integers.
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
inline constexpr std::uint64_t awaited_world_team = 1;  // number of the team of all ranks

// "acp_sync", ...; "" for none. For `fetch` the common prefix of its calls.
[[nodiscard]] std::string_view name_of(AwaitedCall call) noexcept;

// The name of the non-blocking form: "acp_nbsync_team".
[[nodiscard]] std::string non_blocking_name_of(AwaitedCall call);

// Writes the calling thread's wait into its process's slot, and removes it on destruction. It
// writes nothing while the slot holds the entry of another thread of the process. A thread calls it
// before each sleep, so that its own wait is shown once the other thread has finished.
class AwaitedEntry {
public:
    //   slot  of this process; must outlive the entry
    explicit AwaitedEntry(Slot& slot) noexcept : awaited_(slot.awaited) {}

    ~AwaitedEntry();
    AwaitedEntry(const AwaitedEntry&) = delete;
    AwaitedEntry& operator=(const AwaitedEntry&) = delete;

    //   since_ns  os::now_ns() when the wait began to sleep
    //   command   the oldest outstanding command that is waited for; nullptr in a meeting. If the
    //             program issued it with a plain pointer, that end is the pointer
    //             (memory::pointer_end_of)
    void tell(AwaitedCall call, std::uint64_t since_ns, const memory::Command* command) noexcept;

private:
    void write(AwaitedCall call, std::uint64_t since_ns, const memory::Command& command) noexcept;

    Awaited& awaited_;
    bool is_ours_ = false;
};

// The state of a process, as other processes of the node see it.
struct Doing {
    std::uint32_t rank = 0;
    SlotState state = SlotState::empty;
    std::uint32_t arrived = 0;  // number of the last barrier that it arrived at
    AwaitedCall call = AwaitedCall::none;
    std::uint64_t waited_ns = 0;
    // The command waited for, as passed to tell(). It has no operand and no expected value, except
    // that an invoke keeps its operation, and a copy the call that issued it. A fetch has no target.
    memory::Command command;
    std::uint32_t target_rank = 0;  // the rank that its target belongs to
    std::uint32_t source_rank = 0;
    bool is_stopped = false;  // stopped by a signal or a debugger
    Unreported unreported;

    friend bool operator==(const Doing&, const Doing&) = default;
};

// The name of a numbered operation (local/numbered_operation.hpp); "" for an unknown one.
using NumberedOperationName = std::string_view (*)(std::uint32_t number);

// The call that waits, as the program wrote it: name_of(), or "acp_fetch_add8".
//   name_of_operation  nullptr: a wait for an object is named by AwaitedCall alone
[[nodiscard]] std::string call_of(const Doing& doing,
                                  NumberedOperationName name_of_operation = nullptr);

// Reads a slot.   slot < local_procs; now_ns  os::now_ns()
[[nodiscard]] Doing look_at(const Segment& segment, std::uint32_t slot, std::uint64_t now_ns);

// Converts to one line for a channel (numbers, then the message of a failure), and back. nullopt:
// the line is malformed.
[[nodiscard]] std::string to_words(const Doing& doing);
[[nodiscard]] std::optional<Doing> doing_from(std::string_view words);

// lines for waits on commands, and for ranks with failures; the rest are only counted
inline constexpr std::size_t described_commands_max = 16;

// Sentences, one for each group of ranks in the same state: which ranks wait in which call, for how
// long, and for which ranks; and for each rank how many of its commands failed unreported, with the
// first one's message. Empty when no process has ever joined.
//   all                of the processes that could be read, in any order
//   name_of_operation  nullptr: operations are shown by their numbers
[[nodiscard]] std::vector<std::string> describe(std::vector<Doing> all,
                                                NumberedOperationName name_of_operation = nullptr);

}  // namespace acp::node
