// SPDX-License-Identifier: BSD-3-Clause
// The trace's file and lines.
#include "gma/trace.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "os/clock.hpp"
#include "os/file_size_signal.hpp"
#include "os/limits.hpp"
#include "os/log_line.hpp"
#include "os/standard_streams.hpp"

namespace acp::gma {

Trace::Trace(std::FILE* file, std::string name, std::uint32_t rank) noexcept
    : file_(file), name_(std::move(name)), rank_(rank), start_ns_(os::now_ns()) {
    const os::FileSizeSignalBlock no_signal;
    std::setvbuf(file_, nullptr, _IOLBF, BUFSIZ);
    note(std::fputs("# us mover initiator operation bytes path target source\n", file_));
}

// Reports a failed write once: every later line would fail as well.
void Trace::note(int written) noexcept {
    if (written >= 0 || is_cut_short_.exchange(true, std::memory_order_relaxed)) return;
    const int error = errno;
    char reason[128];
    os::print_error("acp: rank %u: ACP_TRACE: %s is cut short, lines are missing: %s%s%s\n", rank_,
                    name_.c_str(), strerror_r(error, reason, sizeof reason),
                    error == EFBIG ? ", " : "",
                    error == EFBIG ? os::file_size_limit_text().c_str() : "");
}

base::Result<std::unique_ptr<Trace>> Trace::open(const std::string& prefix,
                                                 std::uint32_t rank,
                                                 bool is_continued) {
    const std::string name = prefix + "." + std::to_string(rank);
    auto opened = is_continued ? os::open_for_appending(name) : os::open_for_writing(name);
    std::FILE* file = opened.is_ok() ? fdopen(opened.value().get(), "a") : nullptr;
    if (file == nullptr) {
        return base::Status(base::Code::config, "ACP_TRACE=" + prefix + ": cannot write " + name +
                                                    ": " + std::generic_category().message(errno));
    }
    (void)opened.value().release();  // the stream closes it
    return std::unique_ptr<Trace>(new Trace(file, name, rank));
}

Trace::~Trace() {
    const os::FileSizeSignalBlock no_signal;
    std::fclose(file_);
}

void Trace::record(const memory::Command& command, const char* path, std::uint32_t initiator) {
    const os::FileSizeSignalBlock no_signal;
    // One call, so lines of several threads do not mix: the stream locks itself.
    note(
        std::fprintf(file_, "%.3f %u %u %s %llu %s 0x%llx 0x%llx\n",
                     static_cast<double>(os::now_ns() - start_ns_) / 1000.0, rank_, initiator,
                     command.is_invoke() ? "invoke" : memory::row_of(command.operation).name.data(),
                     static_cast<unsigned long long>(command.bytes), path,
                     static_cast<unsigned long long>(command.target),
                     static_cast<unsigned long long>(command.source)));
}

void Trace::record_layer(std::string_view text) {
    const os::FileSizeSignalBlock no_signal;
    note(std::fprintf(file_, "%.3f %u %u call 0 layer 0x0 0x0 %.*s\n",
                      static_cast<double>(os::now_ns() - start_ns_) / 1000.0, rank_, rank_,
                      static_cast<int>(text.size()), text.data()));
}

}  // namespace acp::gma
