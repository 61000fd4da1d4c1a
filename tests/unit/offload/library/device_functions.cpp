// SPDX-License-Identifier: BSD-3-Clause
// A library that tests load into worker processes.
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <unistd.h>

#pragma GCC visibility push(default)

extern "C" {

std::int64_t add(std::int64_t a, std::int64_t b) {
    return a + b;
}

double scale(double factor, const double* values, std::int64_t count, double* scaled) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += scaled[i] = factor * values[i];
    return sum;
}

// A variable that callers read and write.
std::int64_t device_counter = 5;

// The number of arguments that have their expected values.
int count_expected_integers(std::int8_t a,
                            std::uint8_t b,
                            std::int16_t c,
                            std::uint16_t d,
                            std::int32_t e,
                            std::uint32_t f,
                            std::int64_t g,
                            std::uint64_t h) {
    return (a == -1) + (b == 255) + (c == -2) + (d == 65'535) + (e == -3) + (f == 4'294'967'295U) +
           (g == -4) + (h == 1ULL << 63U);
}

double sum_of_reals(float a, double b) {
    return static_cast<double>(a) + b;
}

std::uint64_t sum_of_bytes(const unsigned char* bytes, std::uint64_t count) {
    return std::accumulate(bytes, bytes + count, std::uint64_t{0});
}

// Adds 1 to a word, which a caller reads to see that the function has begun.
std::uint64_t count_up(std::atomic<std::uint64_t>* word) {
    return word->fetch_add(1) + 1;
}

// Adds 1 to a word, and returns when another one is not 0.
std::uint64_t wait_for(std::atomic<std::uint64_t>* begun, std::atomic<std::uint64_t>* flag) {
    begun->fetch_add(1);
    while (flag->load() == 0) sched_yield();
    return flag->load();
}

void write_to(volatile char* address) {
    *address = 1;
}

void divide_by(volatile int* zero) {
    *zero = 100 / *zero;
}

void throw_something() {
    throw std::runtime_error("from the device");
}

void end_process(int code) {
    std::exit(code);
}

void end_thread() {
    pthread_exit(nullptr);
}

// Replaces the process by a program that ends with exit code 3.
void run_program() {
    execl("/bin/sh", "sh", "-c", "exit 3", nullptr);
}

// Replaces the process by a program that runs on.
void run_for_long() {
    execl("/bin/sleep", "sleep", "100", nullptr);
}

void kill_process(int signal) {
    (void)kill(getpid(), signal);
}

std::int64_t own_process() {
    return getpid();
}
}

#pragma GCC visibility pop
