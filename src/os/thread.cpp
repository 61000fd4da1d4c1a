// SPDX-License-Identifier: BSD-3-Clause
// Starts, names and joins POSIX threads.
#include "os/thread.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <link.h>
#include <new>
#include <pthread.h>
#include <string>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "os/limits.hpp"
#include "os/system_error.hpp"

namespace acp::os {

struct Thread::State {
    std::function<void()> body;
    pthread_t handle{};
    char name[16] = {};  // the kernel's maximum, with the terminating zero
};

namespace {

// Bytes that the C library keeps beside the modules' data: the thread's own record, and room for
// the data of small libraries that are loaded later.
constexpr std::uint64_t library_bytes = std::uint64_t{16} * 1024;

// The C library puts the thread-local data of all modules into a thread's stack, so the thread's
// body cannot use that part. The sum also counts modules whose data lies elsewhere: too much rather
// than too little.
std::uint64_t thread_local_bytes() noexcept {
    std::uint64_t sum = library_bytes;
    const auto add = [](dl_phdr_info* module, std::size_t /*bytes*/, void* into) {
        for (unsigned i = 0; i < module->dlpi_phnum; ++i) {
            const auto& part = module->dlpi_phdr[i];
            if (part.p_type == PT_TLS) {
                *static_cast<std::uint64_t*>(into) += part.p_memsz + part.p_align;
            }
        }
        return 0;
    };
    dl_iterate_phdr(add, &sum);
    return sum;
}

//   bytes  stack for the thread's body
std::uint64_t whole_stack_bytes(std::uint64_t bytes) noexcept {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const auto least = static_cast<std::uint64_t>(PTHREAD_STACK_MIN);
    return (std::max(bytes, least) + thread_local_bytes() + page - 1) & ~(page - 1);
}

// The kernel's numbers of the threads that run bodies; 0: the place is free. Each thread stores its
// own number.
constinit std::array<std::atomic<int>, 64> running_threads{};

// Lists the calling thread as long as it runs a body.
class RunningThread {
public:
    RunningThread() noexcept {
        const auto own = static_cast<int>(syscall(SYS_gettid));
        for (std::atomic<int>& place : running_threads) {
            int nobody = 0;
            // relaxed: no other data depends on it
            if (!place.compare_exchange_strong(nobody, own, std::memory_order_relaxed)) continue;
            place_ = &place;
            return;
        }
    }

    ~RunningThread() {
        if (place_ != nullptr) place_->store(0, std::memory_order_relaxed);
    }

    RunningThread(const RunningThread&) = delete;
    RunningThread& operator=(const RunningThread&) = delete;

private:
    std::atomic<int>* place_ = nullptr;
};

}  // namespace

bool is_own_thread(int thread) noexcept {
    return std::any_of(running_threads.begin(), running_threads.end(),
                       [thread](const std::atomic<int>& place) {
                           return place.load(std::memory_order_relaxed) == thread;
                       });
}

Result<Thread> Thread::start(const char* name,
                             std::function<void()> body,
                             std::uint64_t stack_bytes) {
    std::unique_ptr<State> state(new (std::nothrow) State);
    if (state == nullptr) return base::Status::bare(base::Code::memory);
    state->body = std::move(body);
    std::strncpy(state->name, name, sizeof state->name - 1);

    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) return system_failure("pthread_attr_init", error, name);
    pthread_attr_setstacksize(&attributes, whole_stack_bytes(stack_bytes));
    const auto run = [](void* argument) -> void* {
        auto* started = static_cast<State*>(argument);
        pthread_setname_np(pthread_self(), started->name);
        const RunningThread running;
        started->body();
        return nullptr;
    };
    {
        const SignalBlock block;  // the new thread inherits the mask
        error = pthread_create(&state->handle, &attributes, run, state.get());
    }
    pthread_attr_destroy(&attributes);
    if (error == EAGAIN || error == ENOMEM) {
        return base::Status::worded(base::Code::limit, [name, error, stack_bytes] {
            const ResourceLimits limits = resource_limits();
            const std::string allowed =
                limits.processes == unlimited ? "unlimited" : std::to_string(limits.processes);
            return "cannot start thread " + std::string(name) + " with a stack of " +
                   std::to_string(whole_stack_bytes(stack_bytes)) +
                   " bytes: " + std::generic_category().message(error) +
                   "; processes and threads allowed (ulimit -u): " + allowed +
                   ", see also the cgroup's pids.max" + memory_limit_text().data();
        });
    }
    if (error != 0) return system_failure("pthread_create", error, name);
    return Thread(state.release());
}

Thread::Thread(Thread&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

Thread& Thread::operator=(Thread&& other) noexcept {
    if (this != &other) {
        join();
        state_ = std::exchange(other.state_, nullptr);
    }
    return *this;
}

Thread::~Thread() {
    join();
}

void Thread::join() noexcept {
    if (state_ == nullptr) return;
    pthread_join(state_->handle, nullptr);
    delete state_;
    state_ = nullptr;
}

void Thread::forget() noexcept {
    // The state stays allocated for the thread, if it exists. In a forked child the state is
    // leaked, because pthread must not be called there.
    state_ = nullptr;
}

std::uint64_t own_thread() noexcept {
    static std::atomic<std::uint64_t> threads{0};
    // constinit and without a destructor, so that it is usable while the thread ends
    static constinit thread_local std::uint64_t number = 0;
    if (number == 0) number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
    return number;
}

SignalBlock::SignalBlock() noexcept {
    static_assert(sizeof(sigset_t) <= sizeof old_mask_ && alignof(sigset_t) <= 8);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, new (old_mask_) sigset_t);
}

SignalBlock::~SignalBlock() {
    pthread_sigmask(SIG_SETMASK, std::launder(reinterpret_cast<const sigset_t*>(old_mask_)),
                    nullptr);
}

}  // namespace acp::os
