/* SPDX-License-Identifier: BSD-3-Clause */
/* A second file of a program that includes the header, as C11, by VEO's name. */
#include <ve_offload.h>

int is_block_known_in_another_file(const void* pointer);

int is_block_known_in_another_file(const void* pointer) {
    return veo_is_ve_addr(pointer);
}
