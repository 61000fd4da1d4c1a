/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of veo_hello that run in the device process. They know nothing of ACP. */
#include <stdint.h>

#pragma GCC visibility push(default)

int64_t sum_numbers(const int64_t* numbers, int32_t count);
void double_numbers(int64_t* numbers, int32_t count);

int64_t sum_numbers(const int64_t* numbers, int32_t count) {
    int64_t sum = 0;
    for (int32_t i = 0; i < count; ++i) sum += numbers[i];
    return sum;
}

void double_numbers(int64_t* numbers, int32_t count) {
    for (int32_t i = 0; i < count; ++i) numbers[i] *= 2;
}

#pragma GCC visibility pop
