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
#include "node/public_call.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"

namespace acp::node {

constinit thread_local const char* detail::public_call __attribute__((tls_model("initial-exec"))) =
    nullptr;

namespace {

constexpr int read_tries = 16;
constexpr std::size_t word_count = 16;
constexpr char text_end = '|';  // between the texts of a line for a channel
constexpr std::string_view unnamed_call = "a call";

std::string seconds_of(std::uint64_t duration_ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(duration_ns) / 1e9);
    return text;
}

std::string ranks_text(std::vector<std::uint32_t> ranks) {
    std::sort(ranks.begin(), ranks.end());
    return (ranks.size() == 1 ? "rank " : "ranks ") + base::rank_ranges(ranks);
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

std::string_view call_of(const Doing& doing) noexcept {
    return doing.call.empty() ? unnamed_call : std::string_view(doing.call);
}

// "rank 1 waits in acp_wait for 3.0 s: "
//   of  what follows the call's name: " on the team of all ranks"
std::string wait_of(const Doing& doing, std::string_view of = {}) {
    return "rank " + std::to_string(doing.rank) + " waits in " + std::string(call_of(doing)) +
           std::string(of) + " for " + seconds_of(doing.waited_ns) + ": ";
}

std::string describe_partner(const Doing& doing) {
    const bool is_source = doing.rank == doing.source_rank;
    std::string text = doing.text;
    if (const std::size_t at = text.find('%'); at != std::string::npos) {
        text.replace(at, 1, std::to_string(is_source ? doing.target_rank : doing.source_rank));
    }
    return wait_of(doing) + text;
}

// Sentences show only the low bits of a team's number: two teams of a job share these by chance
// once in 2^24.
std::string describe_member(const Doing& doing) {
    constexpr std::uint64_t shown_bits = 0xffffff;
    const memory::Command& command = doing.command;
    const std::string of = (command.bytes == 0 ? "" : " of " + base::in_bytes(command.bytes)) +
                           (command.source == awaited_all_ranks
                                ? " on the team of all ranks"
                                : " on team " + base::hex(command.source & shown_bits));
    const bool is_in_it = doing.text.empty() || doing.text == doing.call;
    return (is_in_it ? wait_of(doing, of) : wait_of(doing) + doing.text + of + ": ") + "for rank " +
           std::to_string(doing.target_rank);
}

// Whether an atomic's own result is waited for.
bool is_fetch_of_word(const Doing& doing) noexcept {
    const memory::Operation operation = doing.command.operation;
    return doing.what == WaitFor::result && memory::is_known(operation) &&
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

std::string describe_object(const Doing& doing) {
    return wait_of(doing) + "rank " + std::to_string(doing.target_rank) + " " + doing.text +
           " at " + end_of(doing.source_rank, doing.command.source, false);
}

std::string describe_command(const Doing& doing, NumberedOperationName name_of_operation) {
    const memory::Command& command = doing.command;
    if (command.is_invoke()) return describe_invoke(doing, name_of_operation);
    const memory::PointerEnd pointer = pointer_end(command);
    const std::string target = command.has_target()
                                   ? " to " + end_of(doing.target_rank, command.target,
                                                     pointer == memory::PointerEnd::target)
                                   : "";
    std::string text = wait_of(doing);
    if (doing.what == WaitFor::room) text += "for room for one more command, the oldest is ";
    if (is_fetch_of_word(doing)) {
        text += "a word ";
    } else {
        text.append(memory::call_name(command))
            .append(" of " + base::in_bytes(command.bytes) + " ");
    }
    return text + (target.empty() ? "on " : "from ") +
           end_of(doing.source_rank, command.source, pointer == memory::PointerEnd::source) +
           target;
}

std::string describe_wait(const Doing& doing, NumberedOperationName name_of_operation) {
    switch (doing.what) {
        case WaitFor::word:
            return describe_word_wait(doing);
        case WaitFor::object:
            return describe_object(doing);
        case WaitFor::partner:
            return describe_partner(doing);
        case WaitFor::member:
            return describe_member(doing);
        case WaitFor::action:
            return wait_of(doing) + doing.text;
        default:
            return describe_command(doing, name_of_operation);
    }
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

AwaitedEntry::~AwaitedEntry() {
    if (!is_ours_) return;
    write(WaitFor::nothing, 0, {}, {});
    // release: the next thread that takes the entry sees an even turn
    awaited_.is_taken.store(0, std::memory_order_release);
}

void AwaitedEntry::tell(WaitFor what,
                        std::uint64_t since_ns,
                        const memory::Command* command,
                        std::string_view text) noexcept {
    if (!is_ours_) {
        // acquire: partner is the release of the thread that had the entry before
        if (awaited_.is_taken.exchange(1, std::memory_order_acquire) != 0) return;
        is_ours_ = true;
    }
    write(what, since_ns, command != nullptr ? *command : memory::Command{}, text);
}

// A seqlock: readers in other processes get consistent entries only.
void AwaitedEntry::write(WaitFor what,
                         std::uint64_t since_ns,
                         const memory::Command& command,
                         std::string_view text) noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    const std::uint32_t turn = awaited_.turn.load(relaxed);
    awaited_.turn.store(turn + 1, relaxed);
    // release, for every store below: a reader that sees one of them also sees the odd turn when it
    // checks again
    constexpr auto release = std::memory_order_release;
    awaited_.what.store(static_cast<std::uint32_t>(what), release);
    awaited_.operation.store(static_cast<std::uint32_t>(command.operation) |
                                 static_cast<std::uint32_t>(command.width) << 8U |
                                 static_cast<std::uint32_t>(command.issued_by()) << 16U,
                             release);
    awaited_.since_ns.store(since_ns, release);
    awaited_.bytes.store(number_of(command), release);
    awaited_.target.store(command.target, release);
    awaited_.source.store(command.source, release);
    awaited_.call.store(PublicCall::name());
    awaited_.text.store(text);
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
    // Before acp_init the number is that of the process that the agent started; 0: not noted.
    const auto pid = static_cast<int>(its.pid.load(std::memory_order_relaxed));
    const bool may_run = doing.state == SlotState::joined || doing.state == SlotState::empty;
    doing.is_stopped = may_run && pid != 0 && os::is_stopped(pid);
    for (int i = 0; i < read_tries && doing.state == SlotState::joined; ++i) {
        const std::uint32_t turn = its.awaited.turn.load(acquire);
        const std::uint32_t what = its.awaited.what.load(acquire);
        const std::uint32_t operation = its.awaited.operation.load(acquire);
        const std::uint64_t since_ns = its.awaited.since_ns.load(acquire);
        const std::uint64_t bytes = its.awaited.bytes.load(acquire);
        const std::uint64_t target = its.awaited.target.load(acquire);
        const std::uint64_t source = its.awaited.source.load(acquire);
        std::string call = its.awaited.call.load();
        std::string text = its.awaited.text.load();
        if (turn % 2 != 0 || its.awaited.turn.load(acquire) != turn) continue;
        if (what == 0 || what > static_cast<std::uint32_t>(last_wait)) break;
        doing.what = static_cast<WaitFor>(what);
        doing.call = std::move(call);
        doing.text = std::move(text);
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
    if (doing.what == WaitFor::word) {
        doing.target_rank = doing.source_rank = doing.rank;
    } else if (doing.what > WaitFor::meeting) {
        const memory::PointerEnd pointer = pointer_end(doing.command);
        doing.target_rank = pointer == memory::PointerEnd::target
                                ? doing.rank
                                : rank_at(doing.command.target_or_word());
        const bool is_own = doing.what == WaitFor::member || pointer == memory::PointerEnd::source;
        doing.source_rank = is_own ? doing.rank : rank_at(doing.command.source);
    }
    return doing;
}

std::string to_words(const Doing& doing) {
    std::string text;
    for (const std::uint64_t number :
         {std::uint64_t{doing.rank}, static_cast<std::uint64_t>(doing.state),
          std::uint64_t{doing.arrived}, static_cast<std::uint64_t>(doing.what), doing.waited_ns,
          static_cast<std::uint64_t>(doing.command.operation), std::uint64_t{doing.command.width},
          number_of(doing.command), doing.command.target, doing.command.source,
          std::uint64_t{doing.target_rank}, std::uint64_t{doing.source_rank},
          std::uint64_t{doing.is_stopped}, static_cast<std::uint64_t>(doing.command.issued_by()),
          doing.unreported.count}) {
        text += std::to_string(number) + " ";
    }
    std::string message = doing.unreported.first;
    std::replace(message.begin(), message.end(), '\n', ' ');  // one line of the channel
    return text + "." + doing.call + text_end + doing.text + text_end + message;
}

std::optional<Doing> doing_from(std::string_view words) {
    const auto parts = base::words_of(words, word_count);
    if (parts.size() != word_count || !parts.back().starts_with('.')) return std::nullopt;
    const std::string texts(parts.back().substr(1));
    const std::size_t call_bytes = texts.find(text_end);
    if (call_bytes == std::string::npos) return std::nullopt;
    const std::size_t message_at = texts.find(text_end, call_bytes + 1);
    if (message_at == std::string::npos) return std::nullopt;
    std::array<std::uint64_t, word_count - 1> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (!parse(parts[i], numbers[i])) return std::nullopt;
    }
    if (numbers[1] > static_cast<std::uint64_t>(SlotState::dead) ||
        numbers[3] > static_cast<std::uint64_t>(last_wait) || numbers[6] > 0xffU ||
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
    return Doing{.rank = short_number(0),
                 .state = static_cast<SlotState>(numbers[1]),
                 .arrived = short_number(2),
                 .what = static_cast<WaitFor>(numbers[3]),
                 .call = texts.substr(0, call_bytes),
                 .text = texts.substr(call_bytes + 1, message_at - call_bytes - 1),
                 .waited_ns = numbers[4],
                 .command = command,
                 .target_rank = short_number(10),
                 .source_rank = short_number(11),
                 .is_stopped = numbers[12] != 0,
                 .unreported = {numbers[14], texts.substr(message_at + 1)}};
}

std::vector<std::string> describe(std::vector<Doing> all, NumberedOperationName name_of_operation) {
    std::stable_sort(all.begin(), all.end(),
                     [](const Doing& a, const Doing& b) { return a.rank < b.rank; });
    // The entry of a rank may occur twice; one counts.
    all.erase(std::unique(all.begin(), all.end(),
                          [](const Doing& a, const Doing& b) { return a.rank == b.rank; }),
              all.end());
    if (std::all_of(all.begin(), all.end(), [](const Doing& doing) {
            return doing.state == SlotState::empty && !doing.is_stopped;
        })) {
        return {};
    }

    struct Meeting {
        std::vector<std::uint32_t> ranks;
        std::uint64_t longest_ns = 0;
    };

    std::map<std::pair<std::uint32_t, std::string>, Meeting> meetings;
    std::map<SlotState, std::vector<std::uint32_t>> idle;
    std::vector<std::uint32_t> stopped;
    std::vector<std::string> lines;
    std::size_t commands = 0;
    for (const Doing& doing : all) {
        if (doing.is_stopped) stopped.push_back(doing.rank);
        if (doing.what == WaitFor::meeting) {
            Meeting& meeting = meetings[{doing.arrived, std::string(call_of(doing))}];
            meeting.ranks.push_back(doing.rank);
            meeting.longest_ns = std::max(meeting.longest_ns, doing.waited_ns);
        } else if (doing.what == WaitFor::nothing) {
            idle[doing.state].push_back(doing.rank);
        } else if (++commands <= described_commands_max) {
            lines.push_back(describe_wait(doing, name_of_operation));
        }
    }
    if (commands > described_commands_max) {
        lines.push_back(std::to_string(commands - described_commands_max) +
                        " more ranks wait for commands");
    }
    for (auto& [key, meeting] : meetings) {
        const auto missing = missing_at(key.first, all);
        lines.push_back(ranks_text(meeting.ranks) +
                        (meeting.ranks.size() == 1 ? " waits in " : " wait in ") + key.second +
                        " for " + seconds_of(meeting.longest_ns) +
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
