// SPDX-License-Identifier: BSD-3-Clause
// The rings of io_uring, by system calls: an entry that waits for the word is submitted, then ppoll
// waits for its end with the mask.
#include "os/masked_futex.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <new>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace acp::os {

namespace {

// Constants that older headers of the C library lack.
constexpr unsigned char wait_for_futex = 51;     // IORING_OP_FUTEX_WAIT, Linux 6.7
constexpr std::int32_t words_of_4_bytes = 2;     // FUTEX2_SIZE_U32, shared between processes
constexpr std::uint64_t any_waker = 0xffffffff;  // FUTEX_BITSET_MATCH_ANY
constexpr unsigned sqe_address_3_at = 48;        // io_uring_sqe::addr3

constexpr unsigned entries = 2;      // the wait, and its cancellation
constexpr int first_descriptor = 3;  // those below are the program's standard streams, open or not

constexpr std::uint64_t of_wait = 1;
constexpr std::uint64_t of_cancel = 2;

int enter(int ring,
          unsigned submitted,
          unsigned ends,
          unsigned flags,
          void* more,
          std::size_t bytes) noexcept {
    const long outcome = syscall(SYS_io_uring_enter, ring, submitted, ends, flags, more, bytes);
    return outcome < 0 ? -errno : static_cast<int>(outcome);
}

char* map(int ring, std::size_t bytes, std::uint64_t offset) noexcept {
    void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                              ring, static_cast<off_t>(offset));
    return mapped == MAP_FAILED ? nullptr : static_cast<char*>(mapped);
}

std::atomic<std::uint32_t>& word_at(char* rings, std::uint32_t offset) noexcept {
    return *std::launder(reinterpret_cast<std::atomic<std::uint32_t>*>(rings + offset));
}

}  // namespace

struct MaskedFutex::Rings {
    io_sqring_offsets submissions = {};
    io_cqring_offsets ends = {};
    // The word and value of the wait that is submitted to the kernel; nullptr: none is. When wait()
    // returns because of its timeout or a handler, the submitted wait stays, and the next wait()
    // for the same word and value need not submit it again.
    const std::atomic<std::uint32_t>* word = nullptr;
    std::uint32_t expected = 0;
};

std::unique_ptr<MaskedFutex> MaskedFutex::create() noexcept {
    std::unique_ptr<MaskedFutex> made(new (std::nothrow) MaskedFutex());
    if (made == nullptr || !made->open() || !made->can_wait()) return nullptr;
    return made;
}

MaskedFutex::~MaskedFutex() {
    if (places_ != nullptr) end_wait();
    if (rings_ != nullptr) munmap(rings_, rings_bytes_);
    if (entries_ != nullptr) munmap(entries_, entries_bytes_);
    if (is_broken_) (void)descriptor_.release();  // the number may be a file of the program now
}

bool MaskedFutex::open() noexcept {
    io_uring_params settings{};
    // close-on-exec
    descriptor_ = FileDescriptor(static_cast<int>(syscall(SYS_io_uring_setup, entries, &settings)));
    if (!descriptor_.is_open()) return false;
    if (descriptor_.get() < first_descriptor) {
        descriptor_ = FileDescriptor(fcntl(descriptor_.get(), F_DUPFD_CLOEXEC, first_descriptor));
        if (!descriptor_.is_open()) return false;
    }
    constexpr unsigned needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_EXT_ARG;
    if ((settings.features & needed) != needed) return false;
    places_.reset(new (std::nothrow) Rings{settings.sq_off, settings.cq_off});
    if (places_ == nullptr) return false;
    rings_bytes_ =
        std::max<std::size_t>(settings.sq_off.array + settings.sq_entries * sizeof(std::uint32_t),
                              settings.cq_off.cqes + settings.cq_entries * sizeof(io_uring_cqe));
    entries_bytes_ = settings.sq_entries * sizeof(io_uring_sqe);
    rings_ = map(descriptor_.get(), rings_bytes_, IORING_OFF_SQ_RING);
    entries_ = map(descriptor_.get(), entries_bytes_, IORING_OFF_SQES);
    return rings_ != nullptr && entries_ != nullptr;
}

// Whether the kernel knows the operation. Tests it by a wait for a value that the word does not
// have, which completes at once.
bool MaskedFutex::can_wait() noexcept {
    const std::atomic<std::uint32_t> word{0};
    push(wait_for_futex, reinterpret_cast<std::uintptr_t>(&word), 1, of_wait);
    int result = 0;
    return submit() && take_end(of_wait, result) && result == -EAGAIN;
}

void MaskedFutex::push(unsigned char operation,
                       std::uint64_t address,
                       std::uint64_t expected,
                       std::uint64_t number) noexcept {
    const std::uint32_t mask =
        word_at(rings_, places_->submissions.ring_mask).load(std::memory_order_relaxed);
    std::atomic<std::uint32_t>& tail = word_at(rings_, places_->submissions.tail);
    const std::uint32_t at = tail.load(std::memory_order_relaxed);  // only this thread stores it
    char* const place = entries_ + std::size_t{at & mask} * sizeof(io_uring_sqe);
    io_uring_sqe entry{};
    entry.opcode = operation;
    entry.fd = operation == wait_for_futex ? words_of_4_bytes : -1;
    entry.off = expected;
    entry.addr = address;
    entry.user_data = number;
    std::memcpy(place, &entry, sizeof entry);
    if (operation == wait_for_futex)
        std::memcpy(place + sqe_address_3_at, &any_waker, sizeof any_waker);
    word_at(rings_, places_->submissions.array + (at & mask) * 4)
        .store(at & mask, std::memory_order_relaxed);
    tail.store(at + 1, std::memory_order_release);  // partner: the kernel, in submit()
}

// False: the descriptor is no longer this ring.
bool MaskedFutex::submit() noexcept {
    int taken = 0;
    do {
        taken = enter(descriptor_.get(), 1, 0, 0, nullptr, 0);
    } while (taken == -EINTR || taken == -EAGAIN);
    return taken == 1;
}

// Sleeps in ppoll until an entry has completed, because io_uring_enter returns EINTR also when a
// stopped process is continued. Returns 1; 0: timeout; -EINTR: a handler ran; another negative
// number: the descriptor is no longer this ring.
//   mask  nullptr: the thread's mask stays as it is
int MaskedFutex::await_end(std::int64_t timeout_ns, const sigset_t* mask) noexcept {
    const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    pollfd ring{descriptor_.get(), POLLIN, 0};
    const int outcome = ppoll(&ring, 1, timeout_ns >= 0 ? &timeout : nullptr, mask);
    if (outcome < 0) return -errno;
    return outcome == 0 || (ring.revents & POLLIN) != 0 ? outcome : -EBADF;
}

// Removes all completions from the ring. Returns whether the entry of this number was among them.
bool MaskedFutex::take_end(std::uint64_t number, int& result) noexcept {
    std::atomic<std::uint32_t>& head = word_at(rings_, places_->ends.head);
    const std::uint32_t mask =
        word_at(rings_, places_->ends.ring_mask).load(std::memory_order_relaxed);
    std::uint32_t at = head.load(std::memory_order_relaxed);  // only this thread stores it
    bool is_found = false;
    // acquire: partner is the kernel, which writes the completion first
    while (at != word_at(rings_, places_->ends.tail).load(std::memory_order_acquire)) {
        io_uring_cqe end{};
        std::memcpy(&end, rings_ + places_->ends.cqes + std::size_t{at & mask} * sizeof end,
                    sizeof end);
        ++at;
        if (end.user_data != number) continue;
        is_found = true;
        result = end.res;
    }
    // partner: the kernel, which may use the places again
    head.store(at, std::memory_order_release);
    return is_found;
}

// Cancels the submitted wait, or takes its completion if it has completed. All signals are blocked.
void MaskedFutex::cancel() noexcept {
    places_->word = nullptr;
    push(IORING_OP_ASYNC_CANCEL, of_wait, 0, of_cancel);
    is_broken_ = is_broken_ || !submit();
    int result = 0;
    while (!is_broken_ && !take_end(of_wait, result)) {
        const int outcome = await_end(-1, nullptr);
        is_broken_ = outcome < 0 && outcome != -EINTR;
    }
}

void MaskedFutex::end_wait() noexcept {
    if (places_->word != nullptr) cancel();
}

Wake MaskedFutex::wait(const std::atomic<std::uint32_t>& word,
                       std::uint32_t expected,
                       std::int64_t timeout_ns,
                       const sigset_t& mask) noexcept {
    if (places_->word != &word || places_->expected != expected) {
        if (places_->word != nullptr) cancel();
        push(wait_for_futex, reinterpret_cast<std::uintptr_t>(&word), expected, of_wait);
        is_broken_ = is_broken_ || !submit();
        if (is_broken_) return Wake::changed;
        places_->word = &word;
        places_->expected = expected;
    }
    const int outcome = await_end(timeout_ns, &mask);
    int result = 0;
    if (!take_end(of_wait, result)) {
        if (outcome == -EINTR) return Wake::interrupted;
        if (outcome == 0) return Wake::timeout;
        is_broken_ = outcome < 0 || enter(descriptor_.get(), 0, 0, 0, nullptr, 0) < 0;
        return Wake::changed;
    }
    places_->word = nullptr;
    if (outcome == -EINTR) return Wake::interrupted;
    return result == -EAGAIN ? Wake::changed : Wake::woken;
}

std::unique_ptr<MaskedFutex> MaskedFutexes::take() noexcept {
    const std::scoped_lock lock(mutex_);
    if (!kept_.empty()) {
        std::unique_ptr<MaskedFutex> last = std::move(kept_.back());
        kept_.pop_back();
        return last;
    }
    if (is_refused_) return nullptr;
    auto made = MaskedFutex::create();
    is_refused_ = made == nullptr;
    return made;
}

void MaskedFutexes::give_back(std::unique_ptr<MaskedFutex> used) noexcept {
    if (used == nullptr) return;
    used->end_wait();
    if (used->is_broken()) return;
    const std::scoped_lock lock(mutex_);
    if (kept_.size() == kept_max) return;
    try {
        kept_.push_back(std::move(used));
    } catch (const std::bad_alloc&) {  // the destructor of `used` closes it
    }
}

}  // namespace acp::os
