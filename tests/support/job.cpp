// SPDX-License-Identifier: BSD-3-Clause
// Jobs from outside: fork and exec of acprun, /proc scans for the mark, reaping.
#include "support/job.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/clock.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* mark_variable = "TEST_MARK";
constexpr long poll_ns = 500'000;  // between two looks at the kernel's process table

void pause_shortly() {
    const timespec shortly = {0, poll_ns};
    nanosleep(&shortly, nullptr);  // lint: a pause between looks
}

// The file's whole text, "" when it is gone.
std::string read_all(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// The fields of /proc/PID/stat from the third on: state, parent, ...; empty when it is gone.
std::vector<std::string> stat_fields(pid_t process) {
    const std::string text = read_all("/proc/" + std::to_string(process) + "/stat");
    const std::size_t name_end = text.rfind(')');
    std::vector<std::string> fields;
    if (name_end != std::string::npos) {
        std::istringstream rest(text.substr(name_end + 1));
        for (std::string field; rest >> field;) {
            fields.push_back(field);
        }
    }
    return fields;
}

std::string fresh_mark() {
    static std::atomic<unsigned> count{0};
    std::ostringstream mark;
    mark << mark_variable << '=' << getpid() << '-' << count.fetch_add(1, std::memory_order_relaxed)
         << '-' << std::hex << fresh_seed();
    return mark.str();
}

int unnamed_file() {
    std::string path = fs::current_path() / "output-XXXXXX";
    const int file = mkostemp(path.data(), O_CLOEXEC | O_APPEND);
    if (file < 0) {
        std::perror("cannot make a file for a job's output");
        std::exit(2);
    }
    unlink(path.c_str());
    return file;
}

std::vector<std::string> command_line(const JobOptions& options) {
    if (!options.is_launched) {
        return options.program;
    }
    std::vector<std::string> words = {std::string(ACP_TEST_BIN_DIR) + "/acprun", "-n",
                                      std::to_string(options.ranks)};
    words.insert(words.end(), options.launcher.begin(), options.launcher.end());
    words.insert(words.end(), options.program.begin(), options.program.end());
    return words;
}

// A later entry of the same name wins, as in a shell.
std::vector<std::string> environment_of(const JobOptions& options, const std::string& mark) {
    std::vector<std::string> entries;
    const auto put = [&entries](const std::string& entry) {
        const std::string name = entry.substr(0, entry.find('=') + 1);
        std::erase_if(entries, [&](const std::string& old) { return old.starts_with(name); });
        entries.push_back(entry);
    };
    for (char** entry = environ; *entry != nullptr; ++entry) {
        put(*entry);
    }
    for (const std::string& entry : options.environment) {
        put(entry);
    }
    put(mark);
    return entries;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> result;
    for (std::string& word : words) {
        result.push_back(word.data());
    }
    result.push_back(nullptr);
    return result;
}

}  // namespace

int shell_code(int wait_status) {
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

Job::Job(const JobOptions& options) : mark_(fresh_mark()), output_file_(unnamed_file()) {
    std::vector<std::string> words = command_line(options);
    std::vector<std::string> entries = environment_of(options, mark_);
    const std::vector<char*> arguments = pointers(words);
    const std::vector<char*> environment = pointers(entries);
    process_ = fork();
    if (process_ < 0) {
        std::perror("fork");
        std::exit(2);
    }
    if (process_ > 0) {
        return;
    }
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(output_file_, STDOUT_FILENO);
    dup2(output_file_, STDERR_FILENO);
    alarm(0);
    signal(SIGALRM, SIG_DFL);
    if (options.before_exec != nullptr) {
        options.before_exec();
    }
    execve(arguments[0], arguments.data(), environment.data());
    std::fprintf(stderr, "cannot start %s: %s\n", arguments[0], std::strerror(errno));
    _exit(126);
}

Job::~Job() {
    for (int round = 0; round < 100; ++round) {
        const std::vector<pid_t> left = living();
        if (left.empty()) {
            break;
        }
        for (const pid_t process : left) {
            kill(process, SIGKILL);
        }
        pause_shortly();
    }
    close(output_file_);
}

// A wait for one job's process may return the end of another job's, or of an orphan.
void Job::reap() {
    static std::map<pid_t, int> ended;
    int status = 0;
    for (pid_t process = waitpid(-1, &status, WNOHANG); process > 0;
         process = waitpid(-1, &status, WNOHANG)) {
        ended[process] = status;
    }
    if (const auto found = ended.find(process_); found != ended.end()) {
        wait_status_ = found->second;
        ended.erase(found);  // the number may be used again
    }
}

std::optional<int> Job::wait_ended(std::int64_t timeout_ns) {
    const std::int64_t deadline = now_ns() + timeout_ns;
    for (reap(); !wait_status_; reap()) {
        if (now_ns() > deadline) {
            return std::nullopt;
        }
        pause_shortly();
    }
    return shell_code(*wait_status_);
}

std::vector<pid_t> Job::living() {
    reap();
    std::vector<pid_t> found;
    std::error_code gone;
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc", gone)) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) {
            continue;
        }
        const std::string environment = read_all(entry.path() / "environ");
        const std::string wanted = mark_ + '\0';
        if (environment.find(wanted) != std::string::npos) {
            found.push_back(static_cast<pid_t>(std::stol(name)));
        }
    }
    return found;
}

std::optional<std::int64_t> Job::wait_gone(std::int64_t timeout_ns) {
    const std::int64_t start = now_ns();
    while (!living().empty()) {
        if (now_ns() - start > timeout_ns) {
            return std::nullopt;
        }
        pause_shortly();
    }
    return now_ns() - start;
}

std::string Job::output() const {
    std::string text;
    char chunk[4096];
    off_t offset = 0;
    for (ssize_t bytes = pread(output_file_, chunk, sizeof chunk, offset); bytes > 0;
         bytes = pread(output_file_, chunk, sizeof chunk, offset)) {
        text.append(chunk, static_cast<std::size_t>(bytes));
        offset += bytes;
    }
    return text;
}

std::string Job::describe_living() {
    std::string lines;
    for (const pid_t process : living()) {
        const std::string folder = "/proc/" + std::to_string(process);
        std::string command = read_all(folder + "/cmdline");
        std::replace(command.begin(), command.end(), '\0', ' ');
        lines += std::to_string(process) + " [" + state_of(process) + "] " + command + "\n";
    }
    return lines;
}

JobResult run_job(const JobOptions& options, std::int64_t timeout_ns) {
    Job job(options);
    JobResult result;
    result.code = job.wait_ended(timeout_ns);
    result.output = job.output();
    return result;
}

pid_t parent_of(pid_t process) {
    const std::vector<std::string> fields = stat_fields(process);
    return fields.size() < 2 ? -1 : static_cast<pid_t>(std::stol(fields[1]));
}

char state_of(pid_t process) {
    const std::vector<std::string> fields = stat_fields(process);
    return fields.empty() ? '?' : fields[0][0];
}

void await_state(pid_t process, const std::string& states) {
    while (states.find(state_of(process)) == std::string::npos) {
        pause_shortly();
    }
}

std::set<std::string> lasting_names() {
    std::set<std::string> names;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator("/dev/shm", error)) {
        names.insert(entry.path());
    }
    for (const fs::directory_entry& entry : fs::directory_iterator("/tmp", error)) {
        if (entry.path().filename().string().find("acp") != std::string::npos) {
            names.insert(entry.path());
        }
    }
    std::istringstream segments(read_all("/proc/sysvipc/shm"));
    for (std::string line; std::getline(segments, line);) {
        names.insert("System V segment " + line.substr(0, 21));
    }
    return names;
}

std::set<std::string> new_lasting_names(const std::set<std::string>& before) {
    std::set<std::string> fresh;
    const std::int64_t deadline = now_ns() + 5 * second_ns;
    do {
        fresh.clear();
        for (const std::string& name : lasting_names()) {
            if (!before.contains(name)) {
                fresh.insert(name);
            }
        }
        if (!fresh.empty()) {
            pause_shortly();
        }
    } while (!fresh.empty() && now_ns() < deadline);
    return fresh;
}

void adopt_orphans() {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

}  // namespace acp::test
