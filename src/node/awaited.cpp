// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads the entry, and describes the entries of many processes in sentences.
#include "node/awaited.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <map>
#include <utility>

#include "base/format.hpp"
#include "base/words.hpp"
#include "memory/ga_layout.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"

namespace acp::node {

namespace {

constexpr std::array<std::string_view, 47> call_names{
    "",
    "acp_sync",
    "acp_init",
    "acp_finalize",
    "acp_reset",
    "acp_register_all",
    "acp_create_ws",
    "acp_complete",
    "acp_wait",
    "acp_wait_source",
    "acp_put_copied",
    "acp_copy or an atomic (no room for more commands)",
    "acp_fetch_",  // and the atomic's name
    "acp_wait_word",
    "a call that waits for an object",
    "acp_send_ch",
    "acp_recv_ch",
    "acp_free_ch",
    "acp_wait_ch",
    "acp_waitall_ch",
    "acp_wait_ch_timeout",
    "acp_connect_segbuf",
    "acp_free_segbuf",
    "acp_wait_pm",
    "acp_wait_buffer_pm",
    "no call on a team",
    "acp_sync_team",
    "acp_split_team",
    "acp_split_team_by_node",
    "acp_create_team",
    "acp_free_team",
    "acp_sync_team_notices",
    "acp_free_team_memory",
    "acp_malloc_team",
    "acp_broadcast_team",
    "acp_reduce_team",
    "acp_allreduce_team",
    "acp_gather_team",
    "acp_allgather_team",
    "acp_scatter_team",
    "acp_alltoall_team",
    "acp_alltoallv_team",
    "acp_scan_team",
    "acp_exscan_team",
    "acp_compile_pattern",
    "acp_free_plan",
    "acp_wait_plan"};
static_assert(call_names.size() == static_cast<std::size_t>(AwaitedCall::wait_plan) + 1);
constexpr int read_tries = 16;
constexpr std::size_t word_count = 16;

std::string seconds_of(std::uint64_t duration_ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(duration_ns) / 1e9);
    return text;
}

std::string ranks_text(std::vector<std::uint32_t> ranks) {
    std::sort(ranks.begin(), ranks.end());
    return (ranks.size() == 1 ? "rank " : "ranks ") + base::rank_ranges(ranks);
}

bool is_meeting(AwaitedCall call) noexcept {
    return call >= AwaitedCall::sync && call <= AwaitedCall::create_ws;
}

// Barrier numbers wrap.
bool is_before(std::uint32_t first, std::uint32_t second) noexcept {
    return static_cast<std::int32_t>(first - second) < 0;
}

// The ranks that have not arrived at the meeting: those whose last barrier number is lower.
std::vector<std::uint32_t> missing_at(std::uint32_t number, const std::vector<Doing>& all) {
    std::vector<std::uint32_t> ranks;
    for (const Doing& doing : all) {
        if (is_before(doing.arrived, number)) ranks.push_back(doing.rank);
    }
    return ranks;
}

bool is_of_partner(AwaitedCall call) noexcept {
    return call >= AwaitedCall::send_ch && call < AwaitedCall::team_none;
}

bool is_of_team(AwaitedCall call) noexcept {
    return call >= AwaitedCall::team_none;
}

// The partner's action that a rank waits for, as a phrase.
std::string wish_of(const Doing& doing, const std::string& partner) {
    std::string to_partner = "for rank " + partner;
    switch (doing.call) {
        case AwaitedCall::connect_segbuf:
            return to_partner + " to make its end";
        case AwaitedCall::free_segbuf:
            return to_partner + " to disconnect too";
        case AwaitedCall::wait_pm:
            return "for a message from any rank";
        case AwaitedCall::wait_buffer_pm:
            return to_partner + " to receive messages";
        default:
            break;
    }
    if (doing.command.width == awaited_free_width) return to_partner + " to free the channel too";
    const bool is_sender = doing.rank == doing.source_rank;
    return (is_sender ? "to send to rank " : "for a message from rank ") + partner;
}

// "rank 1 waits in acp_wait for 3.0 s: "
std::string wait_of(const Doing& doing, NumberedOperationName name_of_operation = nullptr) {
    return "rank " + std::to_string(doing.rank) + " waits in " + call_of(doing, name_of_operation) +
           " for " + seconds_of(doing.waited_ns) + ": ";
}

std::string describe_partner(const Doing& doing) {
    const bool is_sender = doing.rank == doing.source_rank;
    const std::string partner = std::to_string(is_sender ? doing.target_rank : doing.source_rank);
    return wait_of(doing) + wish_of(doing, partner);
}

// Sentences show only the low bits of a team's number: two teams of a job share these by chance
// once in 2^24.
std::string describe_team_call(const Doing& doing) {
    constexpr std::uint64_t shown_bits = 0xffffff;
    const memory::Command& command = doing.command;
    const std::string bytes =
        command.bytes == 0 ? "" : " of " + std::to_string(command.bytes) + " bytes";
    return "rank " + std::to_string(doing.rank) + " waits in " + call_of(doing) + bytes + " on " +
           (command.source == awaited_world_team
                ? "the team of all ranks"
                : "team " + base::hex(command.source & shown_bits)) +
           " for " + seconds_of(doing.waited_ns) + ": for rank " +
           std::to_string(doing.target_rank);
}

// Whether a fetch is an atomic on a word; otherwise it is a step of a call on a container, a
// message or a team, which also waits for it alone.
bool is_fetch_of_word(const Doing& doing) noexcept {
    const memory::Operation operation = doing.command.operation;
    return doing.call == AwaitedCall::fetch && memory::is_known(operation) &&
           memory::row_of(operation).is_atomic;
}

std::string describe_word_wait(const Doing& doing) {
    const memory::Command& command = doing.command;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a number, for people
    const auto* const place = reinterpret_cast<const void*>(command.source);
    return wait_of(doing) + "until " +
           describe_word(static_cast<WordComparison>(command.operation), place, command.width,
                         command.target, command.bytes);
}

// Only a copy has an end that is a plain pointer.
memory::PointerEnd pointer_end(const memory::Command& command) noexcept {
    return command.is_copy() ? memory::pointer_end_of(command.issued_by())
                             : memory::PointerEnd::neither;
}

// One end of a command, as the program passed it to the call.
std::string end_of(std::uint32_t rank, std::uint64_t address, bool is_pointer) {
    return is_pointer ? "its memory at " + base::hex(address)
                      : "rank " + std::to_string(rank) + " (" + base::hex(address) + ")";
}

std::string describe_invoke(const Doing& doing, NumberedOperationName name_of_operation) {
    const auto number = static_cast<std::uint32_t>(doing.command.operand);
    const std::string name(name_of_operation != nullptr ? name_of_operation(number) : "");
    return wait_of(doing) + (name.empty() ? "operation " + std::to_string(number) : name) +
           " on memory of rank " + std::to_string(doing.target_rank);
}

std::string describe_command(const Doing& doing, NumberedOperationName name_of_operation) {
    if (doing.call == AwaitedCall::wait_word) return describe_word_wait(doing);
    if (doing.call == AwaitedCall::held_object) {
        return wait_of(doing, name_of_operation) + "rank " + std::to_string(doing.target_rank) +
               " holds the object at " + end_of(doing.source_rank, doing.command.source, false);
    }
    if (is_of_team(doing.call)) return describe_team_call(doing);
    if (is_of_partner(doing.call)) return describe_partner(doing);
    const memory::Command& command = doing.command;
    if (command.is_invoke()) return describe_invoke(doing, name_of_operation);
    const memory::PointerEnd pointer = pointer_end(command);
    const std::string target = command.has_target()
                                   ? " to " + end_of(doing.target_rank, command.target,
                                                     pointer == memory::PointerEnd::target)
                                   : "";
    std::string text = wait_of(doing);
    if (is_fetch_of_word(doing)) {
        text += "a word ";
    } else {
        text.append(memory::call_name(command))
            .append(" of " + std::to_string(command.bytes) + " bytes ");
    }
    return text + (target.empty() ? "on " : "from ") +
           end_of(doing.source_rank, command.source, pointer == memory::PointerEnd::source) +
           target;
}

const char* idle_words(SlotState state) noexcept {
    switch (state) {
        case SlotState::empty:
            return "not called acp_init";
        case SlotState::joined:
            return "no wait in a call of ACP";
        case SlotState::left:
            return "left by acp_finalize";
        case SlotState::dead:
            break;
    }
    return "ended";
}

// Adds a line for each rank that has unreported failures.
void add_failures(std::vector<std::string>& lines, const std::vector<Doing>& all) {
    std::size_t ranks = 0;
    for (const Doing& doing : all) {
        if (doing.unreported.count == 0) continue;
        if (++ranks <= described_commands_max) {
            lines.push_back("rank " + std::to_string(doing.rank) + ": " +
                            describe(doing.unreported));
        }
    }
    if (ranks > described_commands_max) {
        lines.push_back(std::to_string(ranks - described_commands_max) +
                        " more ranks have failed commands that no call has reported");
    }
}

// The bytes of a command; of an invoke, which has none, the operation's number.
std::uint64_t number_of(const memory::Command& command) noexcept {
    return command.is_invoke() ? command.operand : command.bytes;
}

void set_number(memory::Command& command, std::uint64_t number) noexcept {
    (command.is_invoke() ? command.operand : command.bytes) = number;
}

template <typename T>
bool parse(std::string_view word, T& value) noexcept {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

std::string_view name_of(AwaitedCall call) noexcept {
    const auto index = static_cast<std::size_t>(call);
    return index < call_names.size() ? call_names[index] : std::string_view("an unknown call");
}

std::string non_blocking_name_of(AwaitedCall call) {
    return std::string(name_of(call)).insert(sizeof "acp_" - 1, "nb");
}

std::string describe_word(WordComparison comparison,
                          const void* place,
                          std::uint32_t bytes,
                          std::uint64_t value,
                          std::uint64_t held) {
    constexpr std::array<std::string_view, word_comparison_count> words{
        "is", "is not", "is less than", "is at most", "is greater than", "is at least"};
    const auto index = static_cast<std::size_t>(comparison);
    return "its word of " + base::in_bytes(bytes) + " at " +
           base::hex(reinterpret_cast<std::uintptr_t>(place)) + " " +
           std::string(index < words.size() ? words[index] : "is compared with") + " " +
           std::to_string(value) + " (it held " + std::to_string(held) + ")";
}

std::string call_of(const Doing& doing, NumberedOperationName name_of_operation) {
    const memory::Command& command = doing.command;
    if (doing.call == AwaitedCall::held_object && name_of_operation != nullptr)
        return std::string(name_of_operation(static_cast<std::uint32_t>(command.operand)));
    if (is_of_team(doing.call) && command.width == awaited_non_blocking_width) {
        return non_blocking_name_of(doing.call);
    }
    if (doing.call != AwaitedCall::fetch) return std::string(name_of(doing.call));
    if (!is_fetch_of_word(doing)) return "a call of several steps";
    return std::string(name_of(doing.call))
        .append(memory::row_of(command.operation).name)
        .append(std::to_string(command.width));
}

AwaitedEntry::~AwaitedEntry() {
    if (!is_ours_) return;
    write(AwaitedCall::none, 0, {});
    // release: the next thread that takes the entry sees an even turn
    awaited_.is_taken.store(0, std::memory_order_release);
}

void AwaitedEntry::tell(AwaitedCall call,
                        std::uint64_t since_ns,
                        const memory::Command* command) noexcept {
    if (!is_ours_) {
        // acquire: partner is the release of the thread that had the entry before
        if (awaited_.is_taken.exchange(1, std::memory_order_acquire) != 0) return;
        is_ours_ = true;
    }
    write(call, since_ns, command != nullptr ? *command : memory::Command{});
}

// A seqlock: readers in other processes get consistent entries only.
void AwaitedEntry::write(AwaitedCall call,
                         std::uint64_t since_ns,
                         const memory::Command& command) noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    const std::uint32_t turn = awaited_.turn.load(relaxed);
    awaited_.turn.store(turn + 1, relaxed);
    // release, for every store below: a reader that sees one of them also sees the odd turn when it
    // checks again
    constexpr auto release = std::memory_order_release;
    awaited_.call.store(static_cast<std::uint32_t>(call), release);
    awaited_.operation.store(static_cast<std::uint32_t>(command.operation) |
                                 static_cast<std::uint32_t>(command.width) << 8U |
                                 static_cast<std::uint32_t>(command.issued_by()) << 16U,
                             release);
    awaited_.since_ns.store(since_ns, release);
    awaited_.bytes.store(number_of(command), release);
    awaited_.target.store(command.target, release);
    awaited_.source.store(command.source, release);
    awaited_.turn.store(turn + 2, release);  // partner: the first load of look_at
}

Doing look_at(const Segment& segment, std::uint32_t slot, std::uint64_t now_ns) {
    const Slot& its = segment.slot(slot);
    constexpr auto acquire =
        std::memory_order_acquire;  // partners: the stores of AwaitedEntry::write
    Doing doing;
    doing.rank = segment.rank_of(segment.shape().first_process + slot);
    doing.state = static_cast<SlotState>(its.state.load(acquire));
    doing.arrived = its.arrived_barrier.load(acquire);
    doing.is_stopped = doing.state == SlotState::joined &&
                       os::is_stopped(static_cast<int>(its.pid.load(std::memory_order_relaxed)));
    for (int i = 0; i < read_tries && doing.state == SlotState::joined; ++i) {
        const std::uint32_t turn = its.awaited.turn.load(acquire);
        const std::uint32_t call = its.awaited.call.load(acquire);
        const std::uint32_t operation = its.awaited.operation.load(acquire);
        const std::uint64_t since_ns = its.awaited.since_ns.load(acquire);
        const std::uint64_t bytes = its.awaited.bytes.load(acquire);
        const std::uint64_t target = its.awaited.target.load(acquire);
        const std::uint64_t source = its.awaited.source.load(acquire);
        if (turn % 2 != 0 || its.awaited.turn.load(acquire) != turn) continue;
        if (call == 0) break;
        doing.call = static_cast<AwaitedCall>(call);
        doing.waited_ns = now_ns - std::min(now_ns, since_ns);
        doing.command.operation = static_cast<memory::Operation>(operation & 0xffU);
        doing.command.width = static_cast<std::uint8_t>(operation >> 8U);
        doing.command.expected =
            memory::Command::note(static_cast<memory::IssuedBy>(operation >> 16U));
        set_number(doing.command, bytes);
        // the target of a call that returns the old value is memory of the library
        doing.command.target = is_fetch_of_word(doing) ? 0 : target;
        doing.command.source = source;
        break;
    }
    if (doing.state == SlotState::joined) {
        doing.unreported = UnreportedPlace(segment, slot).read();
    }
    const memory::GaLayout addresses(segment.shape().procs);
    const auto rank_at = [&](std::uint64_t address) {
        const std::uint64_t process = addresses.process(address);
        return process < segment.shape().procs
                   ? segment.rank_of(static_cast<std::uint32_t>(process))
                   : 0;
    };
    if (doing.call == AwaitedCall::wait_word) {
        doing.target_rank = doing.source_rank = doing.rank;
    } else if (doing.call >= AwaitedCall::complete) {
        const memory::PointerEnd pointer = pointer_end(doing.command);
        doing.target_rank = pointer == memory::PointerEnd::target
                                ? doing.rank
                                : rank_at(doing.command.target_or_word());
        const bool is_own = is_of_team(doing.call) || pointer == memory::PointerEnd::source;
        doing.source_rank = is_own ? doing.rank : rank_at(doing.command.source);
    }
    return doing;
}

std::string to_words(const Doing& doing) {
    std::string text;
    for (const std::uint64_t number :
         {std::uint64_t{doing.rank}, static_cast<std::uint64_t>(doing.state),
          std::uint64_t{doing.arrived}, static_cast<std::uint64_t>(doing.call), doing.waited_ns,
          static_cast<std::uint64_t>(doing.command.operation), std::uint64_t{doing.command.width},
          number_of(doing.command), doing.command.target, doing.command.source,
          std::uint64_t{doing.target_rank}, std::uint64_t{doing.source_rank},
          std::uint64_t{doing.is_stopped}, static_cast<std::uint64_t>(doing.command.issued_by()),
          doing.unreported.count}) {
        text += std::to_string(number) + " ";
    }
    std::string message = doing.unreported.first;
    std::replace(message.begin(), message.end(), '\n', ' ');  // one line of the channel
    return text + "." + message;
}

std::optional<Doing> doing_from(std::string_view words) {
    const auto parts = base::words_of(words, word_count);
    if (parts.size() != word_count || !parts.back().starts_with('.')) return std::nullopt;
    std::array<std::uint64_t, word_count - 1> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (!parse(parts[i], numbers[i])) return std::nullopt;
    }
    if (numbers[1] > static_cast<std::uint64_t>(SlotState::dead) ||
        numbers[3] >= call_names.size() || numbers[6] > 0xffU ||
        numbers[13] > static_cast<std::uint64_t>(memory::last_issuer) ||
        (numbers[5] >= memory::operation_count &&
         numbers[5] != static_cast<std::uint64_t>(memory::invoke_operation))) {
        return std::nullopt;
    }
    memory::Command command;
    command.operation = static_cast<memory::Operation>(numbers[5]);
    command.width = static_cast<std::uint8_t>(numbers[6]);
    set_number(command, numbers[7]);
    command.target = numbers[8];
    command.source = numbers[9];
    command.expected = memory::Command::note(static_cast<memory::IssuedBy>(numbers[13]));
    const auto short_number = [&](std::size_t i) { return static_cast<std::uint32_t>(numbers[i]); };
    return Doing{short_number(0),  static_cast<SlotState>(numbers[1]),
                 short_number(2),  static_cast<AwaitedCall>(numbers[3]),
                 numbers[4],       command,
                 short_number(10), short_number(11),
                 numbers[12] != 0, {numbers[14], std::string(parts.back().substr(1))}};
}

std::vector<std::string> describe(std::vector<Doing> all, NumberedOperationName name_of_operation) {
    std::stable_sort(all.begin(), all.end(),
                     [](const Doing& a, const Doing& b) { return a.rank < b.rank; });
    // The entry of a rank may occur twice; one counts.
    all.erase(std::unique(all.begin(), all.end(),
                          [](const Doing& a, const Doing& b) { return a.rank == b.rank; }),
              all.end());
    if (std::all_of(all.begin(), all.end(),
                    [](const Doing& doing) { return doing.state == SlotState::empty; })) {
        return {};
    }

    struct Meeting {
        std::vector<std::uint32_t> ranks;
        std::uint64_t longest_ns = 0;
    };

    std::map<std::pair<std::uint32_t, AwaitedCall>, Meeting> meetings;
    std::map<SlotState, std::vector<std::uint32_t>> idle;
    std::vector<std::uint32_t> stopped;
    std::vector<std::string> lines;
    std::size_t commands = 0;
    for (const Doing& doing : all) {
        if (doing.is_stopped) stopped.push_back(doing.rank);
        if (is_meeting(doing.call)) {
            Meeting& meeting = meetings[{doing.arrived, doing.call}];
            meeting.ranks.push_back(doing.rank);
            meeting.longest_ns = std::max(meeting.longest_ns, doing.waited_ns);
        } else if (doing.call == AwaitedCall::none) {
            idle[doing.state].push_back(doing.rank);
        } else if (++commands <= described_commands_max) {
            lines.push_back(describe_command(doing, name_of_operation));
        }
    }
    if (commands > described_commands_max) {
        lines.push_back(std::to_string(commands - described_commands_max) +
                        " more ranks wait for commands");
    }
    for (auto& [key, meeting] : meetings) {
        const auto missing = missing_at(key.first, all);
        lines.push_back(
            ranks_text(meeting.ranks) + (meeting.ranks.size() == 1 ? " waits in " : " wait in ") +
            std::string(name_of(key.second)) + " for " + seconds_of(meeting.longest_ns) +
            (missing.empty() ? "" : "; not there yet: " + ranks_text(missing)));
    }
    for (auto& [state, ranks] : idle) lines.push_back(ranks_text(ranks) + ": " + idle_words(state));
    add_failures(lines, all);
    if (!stopped.empty()) {
        lines.push_back(ranks_text(stopped) + (stopped.size() == 1 ? " is" : " are") +
                        " stopped (by a signal, or by a debugger)");
    }
    return lines;
}

}  // namespace acp::node
