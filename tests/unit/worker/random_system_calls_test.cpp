// SPDX-License-Identifier: BSD-3-Clause
// Random system calls with good and bad arguments, each made by the own kernel on one set of files and
// by an executor on another set: results, errors and bytes are equal. Prints its seed, and the call
// that differs; ACP_TEST_SEED repeats it.
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

#include "os/system_call.hpp"

#include "device_side/system_calls.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/scoped_watchdog.hpp"
#include "worker/system_calls.hpp"

namespace acp::worker {
namespace {

using call::ArgumentRow;
using call::Passing;
using call::SystemCall;
using call::SystemCallWords;

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t memory_bytes = 3 * call::system_call_piece_bytes;

// Calls that neither wait nor change anything beside the files of a Side, with any arguments that
// Chance makes.
constexpr std::array calls{
    SystemCall::read,
    SystemCall::write,
    SystemCall::pread64,
    SystemCall::pwrite64,
    SystemCall::readv,
    SystemCall::writev,
    SystemCall::read,
    SystemCall::write,
    SystemCall::preadv,
    SystemCall::pwritev,
    SystemCall::openat,
    SystemCall::dup,
    SystemCall::fcntl,
    SystemCall::ioctl,
    SystemCall::lseek,
    SystemCall::fsync,
    SystemCall::ftruncate,
    SystemCall::fstat,
    SystemCall::newfstatat,
    SystemCall::statx,
    SystemCall::statfs,
    SystemCall::fstatfs,
    SystemCall::getcwd,
    SystemCall::rename,
    SystemCall::mkdirat,
    SystemCall::unlinkat,
    SystemCall::symlinkat,
    SystemCall::readlinkat,
    SystemCall::faccessat,
    SystemCall::fgetxattr,
    SystemCall::fsetxattr,
    SystemCall::pipe2,
    SystemCall::socket,
    SystemCall::socketpair,
    SystemCall::bind,
    SystemCall::connect,
    SystemCall::listen,
    SystemCall::accept4,
    SystemCall::getsockname,
    SystemCall::getpeername,
    SystemCall::sendto,
    SystemCall::recvfrom,
    SystemCall::setsockopt,
    SystemCall::getsockopt,
    SystemCall::epoll_create1,
    SystemCall::epoll_ctl,
    SystemCall::eventfd2,
    SystemCall::timerfd_create,
    SystemCall::timerfd_settime,
    SystemCall::mq_timedsend,
    SystemCall::clock_getres,
    SystemCall::uname,
    SystemCall::memfd_create,
};

// The memory and the files of one way to make calls. Two are alike but for addresses and descriptors.
struct Side {
    Side() {
        // What can be written, a page that can be read, and pages without rights.
        auto* const mapped = mmap(nullptr, memory_bytes + 3 * page, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        EXPECT_NE(mapped, MAP_FAILED);
        memory = static_cast<char*>(mapped);
        for (std::uint64_t i = 0; i < memory_bytes; ++i)
            memory[i] = static_cast<char>(i * 31 >> 3U);
        std::memset(memory + memory_bytes, 'a', page);
        EXPECT_EQ(mprotect(memory + memory_bytes, page, PROT_READ), 0);
        EXPECT_EQ(mprotect(memory + memory_bytes + page, 2 * page, PROT_NONE), 0);
        std::array<int, 2> ends{};
        EXPECT_EQ(pipe2(ends.data(), O_NONBLOCK), 0);
        std::array<int, 2> sockets{};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets.data()), 0);
        descriptors = {memfd_create("side", MFD_ALLOW_SEALING),
                       ends[0],
                       ends[1],
                       sockets[0],
                       sockets[1],
                       socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0),
                       open("/dev/null", O_RDWR),
                       open("/", O_RDONLY | O_DIRECTORY),
                       eventfd(1, EFD_NONBLOCK)};
        EXPECT_EQ(ftruncate(descriptors[0], 5000), 0);
        test::Random random(vectors.size());
        for (iovec& vector : vectors) {
            vector = {memory + random.below(2 * page), random.below(2000)};
            if (random.chance(5)) vector.iov_base = memory + memory_bytes + page - 10;
            if (random.chance(2)) vector.iov_base = nullptr;
            if (random.chance(1)) vector.iov_len = SIZE_MAX;
        }
    }

    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;

    ~Side() {
        for (const int descriptor : descriptors) close(descriptor);
        munmap(memory, memory_bytes + 3 * page);
    }

    [[nodiscard]] std::uint64_t at(std::uint64_t offset) const {
        return reinterpret_cast<std::uintptr_t>(memory) + offset;
    }

    char* memory = nullptr;
    std::vector<int> descriptors;
    std::vector<iovec> vectors = std::vector<iovec>(2000);
};

// Texts of paths that do not exist, or that no call of the list can change.
const std::vector<std::string> texts{"",
                                     "/",
                                     ".",
                                     "/nonexistent/a",
                                     "/proc/self/nonexistent",
                                     "..",
                                     std::string(300, 'n'),
                                     std::string(5000, 'l')};

// An argument: a word, or a place, descriptor or vector of each side.
struct Argument {
    enum Kind { word, place, descriptor, vector } kind = word;

    std::uint64_t value = 0;

    [[nodiscard]] std::uint64_t of(const Side& side) const {
        if (kind == place) return side.at(value);
        if (kind == vector) return reinterpret_cast<std::uintptr_t>(&side.vectors[value]);
        return kind == word ? value : static_cast<std::uint64_t>(side.descriptors[value]);
    }
};

struct AnyCall {
    SystemCall call{};
    std::array<Argument, call::system_call_words> arguments{};

    [[nodiscard]] SystemCallWords of(const Side& side) const {
        SystemCallWords words{};
        for (std::size_t i = 0; i < words.size(); ++i) words[i] = arguments[i].of(side);
        return words;
    }

    [[nodiscard]] std::string text() const {
        std::ostringstream out;
        out << call::row_of(call).name.text() << "(";
        for (const Argument& argument : arguments) {
            out << std::array{"", "memory + ", "descriptor number ", "vector "}[argument.kind]
                << std::hex << "0x" << argument.value << ", ";
        }
        return out.str() + ")";
    }
};

class Chance {
public:
    explicit Chance(std::uint64_t seed) : random_(seed) {}

    [[nodiscard]] AnyCall next() {
        AnyCall made;
        made.call = calls[random_.below(calls.size())];
        SystemCallWords words{};
        for (std::size_t i = 0; i < call::system_call_words; ++i) {
            ArgumentRow row = call::row_of(made.call).arguments[i];
            if (row.passing == Passing::by_request &&
                !call::find_argument(made.call, words, i, row)) {
                continue;  // a request that is not known
            }
            made.arguments[i] = argument(made.call, row, i);
            if (made.arguments[i].kind == Argument::word) words[i] = made.arguments[i].value;
        }
        // How much of a long message a socket has taken before a fault depends on its pieces; and no
        // socket gets a name, which the other side's then could not have.
        constexpr std::uint64_t first_socket = 3;
        const Argument& of = made.arguments[0];
        Argument& bytes = made.arguments[2];
        const bool is_socket = of.kind == Argument::descriptor && of.value >= first_socket &&
                               of.value < first_socket + 3;
        if (bytes.kind == Argument::word &&
            (made.call == SystemCall::sendto || made.call == SystemCall::recvfrom ||
             (is_socket && bytes.value <= 0xffffffffU)))
            bytes.value %= call::system_call_piece_bytes;
        if (made.call == SystemCall::bind || made.call == SystemCall::connect) bytes.value %= 2;
        // The kernel reads the length of an address after it has written the bytes: not over it.
        if (made.call == SystemCall::recvfrom && made.arguments[5].kind == Argument::place)
            made.arguments[5].value = memory_bytes - page + random_.below(page / 2);
        return made;
    }

private:
    template <std::size_t N>
    [[nodiscard]] std::uint64_t one_of(const std::array<std::uint64_t, N>& values) {
        return values[random_.below(N)];
    }

    [[nodiscard]] Argument argument(SystemCall call, const ArgumentRow& row, std::size_t i) {
        switch (row.passing) {
            case Passing::absent:
                return {};
            case Passing::text:
                return text_or_nowhere();
            case Passing::vectors_in:
            case Passing::vectors_out:
                // Of lists that are longer than a piece the executor takes less.
                return random_.chance(80) ? Argument{Argument::vector, random_.below(500)}
                                          : text_or_nowhere();
            case Passing::value:
                break;
            default:
                return place();
        }
        switch (call) {
            case SystemCall::socket:
            case SystemCall::socketpair:
                return small();
            case SystemCall::timerfd_create:
            case SystemCall::clock_getres:
            case SystemCall::eventfd2:
            case SystemCall::epoll_create1:
                return count();
            default:
                break;
        }
        if (i == 0) return descriptor();
        if (call == SystemCall::openat || call == SystemCall::fcntl || call == SystemCall::ioctl ||
            call == SystemCall::setsockopt || call == SystemCall::getsockopt)
            return request(call, i);
        return count();
    }

    [[nodiscard]] Argument text() {
        return word(reinterpret_cast<std::uintptr_t>(texts[random_.below(texts.size())].c_str()));
    }

    // Or bytes without an end before a page that cannot be read, or nowhere.
    [[nodiscard]] Argument text_or_nowhere() {
        if (random_.chance(60)) return text();
        if (random_.chance(50)) return {Argument::place, memory_bytes + random_.below(page + 100)};
        return word(one_of(std::array<std::uint64_t, 4>{0, 16, std::uint64_t{1} << 63U,
                                                        ~std::uint64_t{0} - page}));
    }

    [[nodiscard]] static Argument word(std::uint64_t value) { return {Argument::word, value}; }

    [[nodiscard]] Argument small() { return word(random_.below(5)); }

    [[nodiscard]] Argument descriptor() {
        constexpr std::array<std::uint64_t, 4> bad{~std::uint64_t{0}, 1'000'000, 0x7fffffff,
                                                   std::uint64_t{1} << 31U};
        if (random_.chance(20)) return word(one_of(bad));
        return {Argument::descriptor, random_.below(9)};
    }

    // Numbers of bytes, of positions and of other things.
    [[nodiscard]] Argument count() {
        constexpr std::array<std::uint64_t, 14> edges{0,
                                                      1,
                                                      8,
                                                      page,
                                                      page + 1,
                                                      call::system_call_piece_bytes,
                                                      call::system_call_piece_bytes + 1,
                                                      0x7ffff000,
                                                      0x7fffffff,
                                                      std::uint64_t{1} << 31U,
                                                      std::uint64_t{1} << 63U,
                                                      ~std::uint64_t{0},
                                                      ~std::uint64_t{0} - 99,
                                                      0xffffffff};
        return word(random_.chance(60) ? random_.below(200) : one_of(edges));
    }

    // Accessible, at an end, or nowhere.
    [[nodiscard]] Argument place() {
        switch (random_.below(10)) {
            case 0:
                return word(0);
            case 1:
                return word(one_of(std::array<std::uint64_t, 4>{
                    16, std::uint64_t{1} << 63U, ~std::uint64_t{0}, ~std::uint64_t{0} - page}));
            case 2:
                return {Argument::place, memory_bytes + page + random_.below(page)};
            case 3:
                return {Argument::place, memory_bytes + random_.below(page)};
            case 4:
                return {Argument::place, memory_bytes - random_.below(100)};
            case 5:
                return {Argument::place, memory_bytes + page - random_.below(100)};
            default:
                return {Argument::place, random_.below(2 * page)};
        }
    }

    [[nodiscard]] Argument request(SystemCall call, std::size_t i) {
        if (call == SystemCall::fcntl) {
            // Not the commands that give away the descriptor, or wait.
            constexpr std::array<std::uint64_t, 12> commands{1,  3,    5,    6,    9,  11,
                                                             16, 1031, 1032, 1034, 36, 4711};
            return word(one_of(commands));
        }
        if (call == SystemCall::ioctl) {
            constexpr std::array<std::uint64_t, 5> requests{0x541b, 0x5401, 0x8905, 0x5411, 4711};
            return word(one_of(requests));
        }
        if (call == SystemCall::openat) {
            constexpr std::array<std::uint64_t, 4> flags{0, O_RDWR, O_DIRECTORY, O_PATH};
            return i == 2 ? word(one_of(flags)) : small();
        }
        if (i == 1) return word(one_of(std::array<std::uint64_t, 4>{0, 1, 6, 77}));
        if (i == 2) return word(one_of(std::array<std::uint64_t, 6>{2, 3, 4, 7, 8, 9999}));
        return count();
    }

    test::Random random_;
};

class RandomSystemCalls : public ::testing::Test {
protected:
    void SetUp() override {
        if (test::is_sanitized) GTEST_SKIP() << "the sanitizer takes the signals";
        auto guard = os::FaultGuard::create();
        ASSERT_TRUE(guard.is_ok());
        guard_ = std::move(guard).value();
        auto started = SystemCalls::start(1);
        ASSERT_TRUE(started.is_ok()) << started.failure().message();
        calls_ = std::move(started).value();
        calls_->serve_thread(0, *guard_);
        before_ = std::signal(SIGPIPE, SIG_IGN);
    }

    void TearDown() override {
        device_side::set_carrier(nullptr, nullptr);
        if (before_ != nullptr) std::signal(SIGPIPE, before_);
    }

    // A descriptor that a call has returned.
    static bool makes_descriptor(const AnyCall& any) {
        switch (any.call) {
            case SystemCall::openat:
            case SystemCall::dup:
            case SystemCall::socket:
            case SystemCall::accept4:
            case SystemCall::epoll_create1:
            case SystemCall::eventfd2:
            case SystemCall::timerfd_create:
            case SystemCall::memfd_create:
                return true;
            default:
                return false;
        }
    }

    // Undoes what would make the next calls differ: closes new descriptors.
    static void close_new(const AnyCall& any, const Side& side, std::int64_t result) {
        if (result < 0) return;
        if (makes_descriptor(any)) close(static_cast<int>(result));
        const std::size_t at = any.call == SystemCall::pipe2 ? 0 : 3;
        if (any.call != SystemCall::pipe2 && any.call != SystemCall::socketpair) return;
        std::array<int, 2> made{};
        std::memcpy(made.data(), side.memory + any.arguments[at].value, sizeof made);
        for (const int descriptor : made) close(descriptor);
    }

    // Whether both sides have the same bytes where a call says that it has written.
    static bool has_same_bytes(const AnyCall& any,
                               const Side& own,
                               const Side& other,
                               std::int64_t result) {
        const SystemCallWords words = any.of(own);
        for (std::size_t i = 0; i < words.size(); ++i) {
            ArgumentRow row;
            if (any.arguments[i].kind != Argument::place ||
                !call::find_argument(any.call, words, i, row))
                continue;
            const std::uint64_t place = any.arguments[i].value;
            const bool is_written = row.passing == Passing::out || row.passing == Passing::in_out ||
                                    row.passing == Passing::length;
            if (!is_written || place >= memory_bytes) continue;
            const std::uint64_t bytes =
                std::min(call::written_of(row, words, result), memory_bytes - place);
            if (std::memcmp(own.memory + place, other.memory + place, bytes) != 0) return false;
        }
        return true;
    }

    // A fault leaves bytes behind those that the kernel counts, and calls that fail may have written a
    // part. Structures of files have numbers of inodes and times.
    static void make_same(const AnyCall& any, const Side& own, Side& other, std::int64_t result) {
        const bool is_long =
            result < 0 && std::ranges::any_of(any.arguments, [](const Argument& argument) {
                return argument.kind == Argument::word && argument.value > page;
            });
        std::memcpy(other.memory, own.memory, is_long ? memory_bytes : 4 * page);
        std::memcpy(other.memory + memory_bytes - page, own.memory + memory_bytes - page, page);
    }

    static bool differs_by_nature(SystemCall call) {
        return call == SystemCall::fstat || call == SystemCall::newfstatat ||
               call == SystemCall::statx || call == SystemCall::fstatfs ||
               call == SystemCall::statfs || call == SystemCall::getsockname;
    }

    test::ScopedWatchdog watchdog_{"random system calls"};
    std::unique_ptr<os::FaultGuard> guard_;
    std::unique_ptr<SystemCalls> calls_;
    void (*before_)(int) = nullptr;
};

TEST_F(RandomSystemCalls, have_the_results_and_errors_of_the_own_kernel) {
    const char* const given = std::getenv("ACP_TEST_SEED");
    const std::uint64_t seed =
        given != nullptr ? std::strtoull(given, nullptr, 10) : test::fresh_seed();
    SCOPED_TRACE("repeat with ACP_TEST_SEED=" + std::to_string(seed));
    Chance chance(seed);
    Side own;
    Side carried;
    int failed = 0;
    for (int i = 0; i < 10'000; ++i) {
        const AnyCall any = chance.next();
        const std::int64_t expected = os::system_call(call::number_of(any.call), any.of(own));
        close_new(any, own, expected);
        const std::int64_t result = device_side::make_call(any.call, any.of(carried));
        close_new(any, carried, result);
        ASSERT_EQ(result, expected) << "call " << i << ": " << any.text();
        failed += expected < 0 ? 1 : 0;
        if (result >= 0 && !differs_by_nature(any.call)) {
            ASSERT_TRUE(has_same_bytes(any, own, carried, result))
                << "call " << i << ": " << any.text();
        }
        make_same(any, own, carried, result);
    }
    EXPECT_GT(failed, 3000);
    EXPECT_LT(failed, 9500);
}

}  // namespace
}  // namespace acp::worker
