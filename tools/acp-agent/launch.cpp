// SPDX-License-Identifier: BSD-3-Clause
// Makes the node segment and starts the ranks.
#include <csignal>
#include <filesystem>

#include "job/identity.hpp"
#include "node/mailbox_layout.hpp"
#include "os/core_limit.hpp"
#include "os/process.hpp"
#include "os/standard_streams.hpp"
#include "os/terminal.hpp"

#include "agent.hpp"
#include "claims/library_claims.hpp"
#include "launch/exit_codes.hpp"
#include "tokens.hpp"

namespace acp::agent {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::uint64_t descriptors_per_rank = 3;  // stdout, stderr, and the pidfd
constexpr std::uint64_t descriptors_beside = 64;
constexpr std::array<int, 2> targets{os::standard_output, os::standard_error};
constexpr std::array<const char*, 2> thread_names{"acp-stdout", "acp-stderr"};
constexpr std::array<const char*, 2> file_suffixes{".out", ".err"};

std::string hex(std::uint64_t number) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[number >> shift & 0xfU];
    return text;
}

std::string tag_of(std::uint32_t rank) {
    std::string tag = "[";
    return tag.append(std::to_string(rank)).append("] ");
}

std::uint32_t datagram_bytes(const base::Config& config) {
    // the udp path between ranks of one node sends datagrams of the size that a network carries
    constexpr std::uint32_t ethernet_datagram_bytes = 1408;
    if (config.datagram_bytes != 0) return config.datagram_bytes;
    return config.intranode == base::IntraNode::udp ? ethernet_datagram_bytes
                                                    : node::auto_datagram_bytes;
}

// The inherited environment, and what the plan sets.
std::vector<std::string> merged_environment(const launch::LaunchPlan& plan) {
    std::vector<std::string> entries;
    for (std::string& entry : os::environment()) {
        if (!launch::is_set_by_launcher(entry.substr(0, entry.find('='))))
            entries.push_back(std::move(entry));
    }
    for (const std::string& variable : plan.variables) {
        const std::size_t equals = variable.find('=');
        launch::set_variable(entries, variable.substr(0, equals), variable.substr(equals + 1));
    }
    if (!plan.directory.empty()) launch::set_variable(entries, "PWD", plan.directory);
    return entries;
}

}  // namespace

Status Agent::prepare() {
    const std::uint32_t procs = plan_.local_procs();
    ranks_.resize(procs);
    const std::uint64_t wanted = procs * descriptors_per_rank + descriptors_beside;
    descriptors_ = os::raise_descriptor_limit(wanted);
    if (descriptors_.now < wanted) {
        return Status(Code::limit,
                      std::to_string(procs) + (procs == 1 ? " rank needs " : " ranks need ") +
                          std::to_string(wanted) +
                          " descriptors in the agent, and the hard RLIMIT_NOFILE is " +
                          std::to_string(descriptors_.now) + " (ulimit -Hn raises it)");
    }
    if (auto status = os::adopt_orphans(); !status.is_ok()) return status;
    if (auto status = prepare_events(); !status.is_ok()) return status;
    if (auto status = make_segment(); !status.is_ok()) return status;
    lives_.start(segment_, *poll_, token_life);
    hangs_.start(segment_, config_.hang_timeout_ns, os::now_ns());
    stops_.start(os::now_ns());
    auto errors = os::make_pipe();
    if (!errors.is_ok()) return std::move(errors).failure();
    start_errors_ = std::move(errors).value();
    if (auto status = os::set_nonblocking(start_errors_->reading.get()); !status.is_ok())
        return status;
    if (auto status = prepare_outputs(); !status.is_ok()) return status;
    if (plan_.nodes() == 1) return {};
    // libcrypto keeps copies of the gateway's keys in memory of its own
    core_bytes_ = os::forbid_core_dumps();
    return {};
}

Status Agent::prepare_events() {
    auto poll = os::PollSet::create();
    if (!poll.is_ok()) return std::move(poll).failure();
    poll_ = std::move(poll).value();
    // A terminal sends its signals to the whole process group; the launcher passes them on, so this process ignores them.
    constexpr std::array<int, 2> heard{SIGCHLD, SIGTERM};
    auto signals = os::SignalFd::create(heard);
    if (!signals.is_ok()) return std::move(signals).failure();
    signals_.emplace(std::move(signals).value());
    if (auto status = poll_->add(signals_->fd(), token_signal); !status.is_ok()) return status;
    return poll_->add(channel_.fd(), token_command);
}

Status Agent::make_segment() {
    auto parsed = base::parse_config(merged_environment(plan_));
    if (!parsed.is_ok()) return std::move(parsed).failure();
    config_ = std::move(parsed).value().config;
    node::Shape shape;
    shape.layout_hash = node::layout_hash();
    shape.procs = plan_.procs;
    shape.node = plan_.node;
    shape.nodes = plan_.nodes();
    shape.first_process = plan_.first();
    shape.local_procs = plan_.local_procs();
    shape.machine_procs = plan_.machine_procs != 0 ? plan_.machine_procs : plan_.local_procs();
    shape.starter_bytes = config_.starter_bytes;
    shape.heap_bytes = plan_.heap_bytes;
    shape.heap_bound = plan_.heap_bound;
    shape.mailbox_kind = static_cast<std::uint32_t>(config_.mailbox);
    shape.peer_timeout_ms = static_cast<std::uint32_t>(config_.peer_timeout_ns / 1'000'000);
    shape.intranode = static_cast<std::uint32_t>(config_.intranode);
    shape.datagram_bytes = datagram_bytes(config_);
    shape.is_continue_on_failure = plan_.is_continue_on_failure ? 1 : 0;
    shape.job_id = plan_.job_id;
    const bool has_one_rank_each = plan_.nodes() > 1 && plan_.procs == plan_.nodes();
    const bool may_be_own = config_.gateway == base::GatewayPlace::automatic;
    shape.has_own_gateways = has_one_rank_each && may_be_own ? 1 : 0;
    shape.cipher = plan_.cipher;
    shape.is_network_named = plan_.is_network_named() ? 1 : 0;
    auto segment = node::Segment::create(shape, claims::library_claims());
    if (!segment.is_ok()) return std::move(segment).failure();
    segment_ = std::move(segment).value();
    // Waiting ranks read it, and leave the search for deaths to this agent. relaxed: they start after this store.
    segment_.control().watcher_pid.store(static_cast<std::uint64_t>(os::own_pid()),
                                         std::memory_order_relaxed);
    if (segment_.was_left_sparse()) {
        channel_.send(
            "note starter memory takes more than a quarter of what is free: its pages are taken as "
            "they are "
            "touched, and a shortage then ends a rank by a signal");
    }
    return {};
}

Status Agent::prepare_outputs() {
    if (!plan_.output_directory.empty()) {
        // on another machine than the launcher's the directory may be missing
        std::error_code error;
        // a failure to open a file gives a better message
        std::filesystem::create_directories(plan_.output_directory, error);
    }
    constexpr std::array<std::uint64_t, 2> tokens{token_stdout, token_stderr};
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        LineState* line = nullptr;
        if (plan_.output_directory.empty()) {
            if (os::are_same_file(targets[i], os::standard_error)) {
                line = &message_line_;
            } else if (plan_.nodes() > 1) {
                line = &carried_line_;  // acprun may write both streams to one file
            }
        }
        auto made = OutputThread::create(thread_names[i], targets[i], line);
        if (!made.is_ok()) return std::move(made).failure();
        outputs_[i] = std::move(made).value();
        if (auto status = poll_->add(outputs_[i]->news_fd(), tokens[i]); !status.is_ok())
            return status;
    }
    return {};
}

Status Agent::launch() {
    os::ChildPlan common;
    common.inherited = {segment_.file()};
    if (network_ != nullptr) {
        const std::vector<int> files = network_->inherited();
        common.inherited.insert(common.inherited.end(), files.begin(), files.end());
    }
    prepare_file_requests(common.inherited);
    common.failures = start_errors_->writing.get();
    common.descriptors_max = descriptors_.before;
    common.core_bytes = core_bytes_;
    common.leads_group = true;
    common.dies_with_parent = true;
    for (std::uint32_t slot = 0; slot < plan_.local_procs(); ++slot) {
        if (auto status = start_rank(slot, common); !status.is_ok()) {
            return std::move(status).within("starting rank " +
                                            std::to_string(plan_.first() + slot) + " of " +
                                            std::to_string(plan_.procs));
        }
    }
    start_errors_->writing.close();
    return start_carrying();
}

// Ranks that inherit their files start without it, so a refusal ends nothing.
//   files  what the ranks inherit, in the order in which the library takes it from a request
void Agent::prepare_file_requests(std::vector<int> files) {
    auto opened = FileRequests::open(std::move(files));
    if (!opened.is_ok()) return;
    requests_ = std::move(opened).value();
    if (!poll_->try_add(requests_->fd(), token_file_request)) requests_.reset();
}

Status Agent::start_rank(std::uint32_t slot, const os::ChildPlan& common) {
    auto streams = make_streams(slot);
    if (!streams.is_ok()) return std::move(streams).failure();
    const Streams& ends = streams.value();
    const launch::LaunchProgram& program = plan_.program_of(plan_.first() + slot);
    os::ChildPlan child = common;
    child.path = program.path;
    child.arguments = program.arguments;
    child.environment = rank_environment(slot);
    child.input = ends.input.is_open() ? ends.input.get() : os::keep_stream;
    child.output = ends.output.get();
    child.error = ends.error.get();
    child.number = slot;
    child.nth_cpu = cpu_of(slot);
    auto started = os::start_child(child);
    if (!started.is_ok()) return std::move(started).failure();
    ranks_[slot].pid = started.value();
    ranks_[slot].is_running = true;
    ++running_;
    // For messages; readers that see 0 say so. A process that joins writes its own pid, possibly
    // before this line runs: the compare-and-swap keeps that one.
    std::uint32_t none = 0;
    segment_.slot(slot).pid.compare_exchange_strong(
        none, static_cast<std::uint32_t>(started.value()), std::memory_order_relaxed);
    // cannot name another process: this one is not reaped
    auto process = os::open_process(started.value());
    if (!process.is_ok())
        return {};  // SIGCHLD reports its end, but not in which order several ranks ended
    ranks_[slot].process = std::move(process).value();
    return poll_->add(ranks_[slot].process.get(), slot);
}

// Binds the i-th rank of a machine to its i-th core; nodes on one machine share its cores.
int Agent::cpu_of(std::uint32_t slot) const noexcept {
    if (!plan_.is_bound_to_cores) return os::any_cpu;
    const bool shares_machine = segment_.shape().machine_procs > plan_.local_procs();
    return static_cast<int>(shares_machine ? plan_.first() + slot : slot);
}

Result<Agent::Streams> Agent::make_streams(std::uint32_t slot) {
    const std::uint32_t rank = plan_.first() + slot;
    Streams streams;
    auto input = make_input(rank);
    if (!input.is_ok()) return std::move(input).failure();
    streams.input = std::move(input).value();
    auto output = make_output(rank, 0);
    if (!output.is_ok()) return std::move(output).failure();
    streams.output = std::move(output).value();
    auto error = make_output(rank, 1);
    if (!error.is_ok()) return std::move(error).failure();
    streams.error = std::move(error).value();
    return streams;
}

// Rank 0 gets our own input, unless that is a terminal, which only our own process group may read.
Result<os::FileDescriptor> Agent::make_input(std::uint32_t rank) {
    if (rank != 0) return os::open_null();
    if (!os::is_terminal(os::standard_input)) return os::FileDescriptor();
    auto pipe = os::make_pipe();
    if (!pipe.is_ok()) return std::move(pipe).failure();
    terminal_input_ = std::move(pipe.value().writing);
    return std::move(pipe.value().reading);
}

//   which  0 = stdout, 1 = stderr
Result<os::FileDescriptor> Agent::make_output(std::uint32_t rank, std::size_t which) {
    auto pipe = os::make_pipe();
    if (!pipe.is_ok()) return std::move(pipe).failure();
    if (!plan_.output_directory.empty()) {
        std::string path =
            plan_.output_directory + "/rank." + std::to_string(rank) + file_suffixes[which];
        auto file = os::open_for_writing(path);
        if (!file.is_ok()) {
            // Too few descriptors are no matter of this file.
            if (file.failure().code() != base::Code::limit) fixed_code_ = launch::exit_output;
            return std::move(file).failure();
        }
        auto status = outputs_[which]->add_to_file(std::move(pipe.value().reading),
                                                   std::move(file).value(), std::move(path));
        if (!status.is_ok()) return status;
        return std::move(pipe.value().writing);
    }
    Marks marks{plan_.has_tags ? tag_of(rank) : std::string(),
                "[rank " + std::to_string(rank) + ", rest of a line] "};
    auto status = outputs_[which]->add(std::move(pipe.value().reading), std::move(marks),
                                       passing_of(rank, which));
    if (!status.is_ok()) return status;
    return std::move(pipe.value().writing);
}

// Rank 0 may print a question, which is no whole line, and read the answer from the terminal.
Passing Agent::passing_of(std::uint32_t rank, std::size_t which) const {
    if (plan_.procs == 1 && !plan_.has_tags) return Passing::at_once;
    const bool is_heard = plan_.nodes() > 1 || os::is_terminal(targets[which]);
    const bool may_ask = rank == 0 && os::is_terminal(os::standard_input) && is_heard;
    return may_ask ? Passing::by_lines_and_questions : Passing::by_lines;
}

Status Agent::start_carrying() {
    for (const auto& output : outputs_) {
        if (output == nullptr) continue;
        if (auto status = output->start(); !status.is_ok()) return status;
    }
    if (network_ != nullptr) {
        if (auto status = network_->start(); !status.is_ok()) return status;
    }
    if (terminal_input_.is_open()) {
        return pump_.start(*poll_, std::move(terminal_input_), token_terminal, token_rank_0_input);
    }
    // standard input is rank 0's now: when rank 0 closes it, the writer must notice
    return os::detach_standard_input();
}

std::vector<std::string> Agent::rank_environment(std::uint32_t slot) const {
    std::vector<std::string> entries = merged_environment(plan_);
    job::Identity identity{plan_.first() + slot, plan_.procs, slot, segment_.file()};
    if (requests_ != nullptr) identity.node_socket = requests_->socket();
    for (std::string& entry : job::environment_of(identity)) entries.push_back(std::move(entry));
    entries.push_back("ACP_NODE=" + std::to_string(plan_.node));
    entries.push_back("ACP_NODES=" + std::to_string(plan_.nodes()));
    entries.push_back("ACP_JOB_ID=" + hex(segment_.shape().job_id));
    if (network_ != nullptr) {
        entries.push_back("ACP_NODE_ADDRESS=" + os::ip_text(network_->addresses().front()));
    }
    return entries;
}

}  // namespace acp::agent
