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

// The kind of a wait, and the use of the entry's command and text by a layer that writes it.
enum class WaitFor : std::uint32_t {
    nothing,
    meeting,  // all ranks, in the barrier; no command
    room,     // room for one more command among the outstanding ones, of which this is the oldest
    command,  // the end of this command
    result,   // the end of one command of the call's own; the target of an atomic is the library's
    // A word of the process's own memory changes: source is its address in the process, target the
    // value that it is compared with, bytes its value when the thread fell asleep, operation the
    // comparison (WordComparison), width the word's bytes.
    word,
    // An object that another rank holds. text: "holds the lock"; source is the object's address,
    // target an address of the holder.
    object,
    // An action of a partner. text: "to send to rank %"; source is an address of the sender, target
    // one of the receiver, and % stands for the one of the two ranks that does not wait.
    partner,
    // A member of a team. text: the call on the team, if it is another than the waiting one, as for
    // a request; bytes are the call's, target is an address of the member, source the team's number.
    member,
    // A command without addresses, which a layer carries out. text: the name of its action.
    action
};

inline constexpr WaitFor last_wait = WaitFor::action;

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

inline constexpr std::uint64_t awaited_all_ranks = 1;  // number of the team of all ranks

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

    // The entry names the call that the thread is in (node/public_call.hpp).
    //   since_ns  os::now_ns() when the wait began to sleep
    //   command   the oldest outstanding command that is waited for; nullptr in a meeting. If the
    //             program issued it with a plain pointer, that end is the pointer
    //             (memory::pointer_end_of)
    //   text      as WaitFor says; the first 64 bytes are kept
    void tell(WaitFor what,
              std::uint64_t since_ns,
              const memory::Command* command,
              std::string_view text = {}) noexcept;

private:
    void write(WaitFor what,
               std::uint64_t since_ns,
               const memory::Command& command,
               std::string_view text) noexcept;

    Awaited& awaited_;
    bool is_ours_ = false;
};

// The state of a process, as other processes of the node see it.
struct Doing {
    std::uint32_t rank = 0;
    SlotState state = SlotState::empty;
    std::uint32_t arrived = 0;  // number of the last barrier that it arrived at
    WaitFor what = WaitFor::nothing;
    std::string call;  // the call that waits, as the program wrote it
    std::string text;  // the text passed to the entry
    std::uint64_t waited_ns = 0;
    // The awaited command, as passed to the entry. It has no operand and no expected value, except
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
