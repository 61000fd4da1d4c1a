// SPDX-License-Identifier: BSD-3-Clause
// The CPU time that other programs took during a measurement: the kernel's count for the machine,
// less the time of this process and of the children it has waited for. Interrupts are not counted.
// One thread.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include "support/clock.hpp"

namespace acp::test {

class Neighbours {
public:
    Neighbours() : start_ns_(now_ns()), start_seconds_(seconds_of_others()) {}

    // The CPUs that other programs used on average since the start. Call when the measured
    // processes have ended.
    [[nodiscard]] double busy_cpus() const {
        const auto passed =
            static_cast<double>(now_ns() - start_ns_) / static_cast<double>(second_ns);
        return (seconds_of_others() - start_seconds_) / passed;
    }

private:
    static double seconds_of(const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    }

    static double seconds_of_others() {
        std::ifstream statistics("/proc/stat");
        std::string all_cpus;
        double user = 0;
        double nice = 0;
        double system = 0;
        statistics >> all_cpus >> user >> nice >> system;
        double seconds = (user + nice + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
        for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
            rusage ours{};
            getrusage(who, &ours);
            seconds -= seconds_of(ours.ru_utime) + seconds_of(ours.ru_stime);
        }
        return seconds;
    }

    std::int64_t start_ns_;
    double start_seconds_;
};

}  // namespace acp::test
