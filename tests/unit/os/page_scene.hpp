// SPDX-License-Identifier: BSD-3-Clause
// Shared pages for tests: a memory file that is mapped twice, once plainly and once watched by a
// userfaultfd, and a filter that refuses system calls as sandboxes and older kernels do. For tests
// whose process may be forked before it starts threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/prctl.h>

#include "os/fault_handler.hpp"
#include "os/mapping.hpp"
#include "os/memory_file.hpp"
#include "os/page_faults.hpp"
#include "os/page_scan.hpp"

namespace acp::os::test {

// Asserts in a fixture or a child: ends the process, since half a scene is of no use.
template <typename T>
T must(Result<T> result) {
    if (!result.is_ok()) {
        std::fprintf(stderr, "%s\n", std::string(result.failure().message()).c_str());
        std::abort();
    }
    return std::move(result).value();
}

inline void must(const Status& status) {
    if (status.is_ok()) return;
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    std::abort();
}

// Pages of a memory file whose content has been written through the plain mapping unless `has_bytes`
// is false.
class SharedPages {
public:
    SharedPages(WriteTracking tracking, std::uint64_t pages, bool has_bytes = true)
        : page_(page_bytes()),
          bytes_(pages * page_),
          file_(must(create_memory_file("acp-test", bytes_))),
          plain_(must(Mapping::map_shared(file_.get(), bytes_))),
          watched_(must(Mapping::map_shared(file_.get(), bytes_))),
          faults_(must(PageFaults::open(tracking))) {
        for (std::uint64_t i = 0; has_bytes && i < pages; ++i) *plain(i) = initial;
        must(faults_.watch(watched_.data(), bytes_));
    }

    static constexpr char initial = 'i';

    [[nodiscard]] std::uint64_t page() const { return page_; }

    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

    [[nodiscard]] std::uint64_t pages() const { return bytes_ / page_; }

    // The start of a page in either mapping. volatile: an access has effects beyond its value.
    [[nodiscard]] volatile char* plain(std::uint64_t i) const { return plain_.data() + i * page_; }

    [[nodiscard]] volatile char* watched(std::uint64_t i) const { return at(i); }

    [[nodiscard]] char* at(std::uint64_t i) const { return watched_.data() + i * page_; }

    [[nodiscard]] std::uint64_t number_of(const char* address) const {
        return static_cast<std::uint64_t>(address - watched_.data()) / page_;
    }

    [[nodiscard]] const PageFaults& faults() const { return faults_; }

    [[nodiscard]] const FileDescriptor& file() const { return file_; }

private:
    std::uint64_t page_;
    std::uint64_t bytes_;
    FileDescriptor file_;
    Mapping plain_;
    Mapping watched_;
    PageFaults faults_;
};

// The kind that the kernel of the test allows; async is stronger than sync.
inline bool has_page_faults(PageFaultSupport::Kind kind) {
    const PageFaultSupport::Kind found = probe_page_faults().kind;
    return found == kind || found == PageFaultSupport::Kind::async;
}

// From now on the system call `number` fails with `error` in this process; with `request` only if
// its second argument is that number. false: the kernel has no such filters.
inline bool refuse_call(std::uint32_t number, std::uint32_t error, std::uint32_t request = 0) {
    constexpr std::uint32_t number_at = offsetof(seccomp_data, nr);
    constexpr std::uint32_t second_at = offsetof(seccomp_data, args) + sizeof(std::uint64_t);
    std::array<sock_filter, 6> steps{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number_at),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, second_at),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, request, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    if (request == 0) steps[3] = BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0);
    sock_fprog filter{steps.size(), steps.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace acp::os::test
