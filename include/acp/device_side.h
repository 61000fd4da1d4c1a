/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls for functions that run in the process of a device (acp/offload.h). The process of a
 * device has a companion on the host, its executor, which makes these calls for it: with the
 * descriptors, the current folder and the umask of the device process, which the two share. The
 * same source makes its own calls in a process that has no executor, such as a rank.
 *
 * Each function does what the Linux call of its name does, and returns what the kernel returns: a
 * result >= 0, or a negative errno, for bad addresses too. errno is unchanged. -EIO also says that
 * the executor has ended, after which the call may or may not have been made. Calls block as the
 * kernel's do. Any thread; also in signal handlers. Not part of acp.h. */
#ifndef ACP_DEVICE_SIDE_H
#define ACP_DEVICE_SIDE_H

#include <stdint.h>

#include <acp/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads and writes of any length, as by one call of the kernel: a short one ends where the kernel's
 * would end. Longer ones than 1 MiB go in pieces, and so do not exclude each other. */
ACP_API int64_t acp_sys_read(int descriptor, void* bytes, uint64_t count);
ACP_API int64_t acp_sys_write(int descriptor, const void* bytes, uint64_t count);
ACP_API int64_t acp_sys_pread(int descriptor, void* bytes, uint64_t count, int64_t offset);
ACP_API int64_t acp_sys_pwrite(int descriptor, const void* bytes, uint64_t count, int64_t offset);

/*   mode  of a file that the call creates; else 0 */
ACP_API int64_t acp_sys_open(const char* path, int flags, unsigned mode);
ACP_API int64_t acp_sys_close(int descriptor);
ACP_API int64_t acp_sys_lseek(int descriptor, int64_t offset, int whence);
ACP_API int64_t acp_sys_dup(int descriptor);
ACP_API int64_t acp_sys_fsync(int descriptor);
ACP_API int64_t acp_sys_unlink(const char* path);
ACP_API int64_t acp_sys_pipe(int descriptors[2]);

/*   address  a struct sockaddr, of which the call takes `bytes` bytes */
ACP_API int64_t acp_sys_socket(int family, int type, int protocol);
ACP_API int64_t acp_sys_bind(int descriptor, const void* address, unsigned bytes);
ACP_API int64_t acp_sys_listen(int descriptor, int backlog);
ACP_API int64_t acp_sys_accept(int descriptor);
ACP_API int64_t acp_sys_connect(int descriptor, const void* address, unsigned bytes);
ACP_API int64_t acp_sys_shutdown(int descriptor, int how);

/* At most 1 MiB is sent or received; a longer count is as one of 1 MiB. */
ACP_API int64_t acp_sys_send(int descriptor, const void* bytes, uint64_t count, int flags);
ACP_API int64_t acp_sys_recv(int descriptor, void* bytes, uint64_t count, int flags);

/* Any call, by its number (SYS_... of sys/syscall.h). The device process itself makes those about its
 * memory, threads, signals, identity and limits, those whose structures have addresses (sendmsg),
 * and those that ACP does not know. Those that would share memory or part the two processes (io_uring,
 * unshare), and those that create a process or a thread, fail with -ENOSYS. */
ACP_API int64_t acp_sys_call(int64_t number, const uint64_t words[6]);

#ifdef __cplusplus
}
#endif

#endif
