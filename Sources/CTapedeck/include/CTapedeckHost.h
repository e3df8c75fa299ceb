// SPDX-License-Identifier: Apache-2.0
//
// Properties of this host from calls that Swift cannot import: the kernel's clock, and video devices.

#ifndef CTAPEDECK_HOST_H
#define CTAPEDECK_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Whether something keeps the system clock in time (adjtimex): 1 yes, 0 no, -1 the kernel does not say.
int CTapedeck_clock_is_synchronised(void);
/// The calling thread, and those that it starts, get only idle disk time, where the disk's scheduler knows classes.
/// False if the kernel did not take it.
bool CTapedeck_use_idle_disk_time(void);
/// Begins to write what is dirty of a file, and does not wait for it; best effort (sync_file_range(2)).
void CTapedeck_begin_writing(int descriptor);

/// What forces files to a disk; the functions are for one thread at a time.
typedef struct CTapedeckDisk CTapedeckDisk;

CTapedeckDisk *CTapedeck_disk_new(void);
void CTapedeck_disk_free(CTapedeckDisk *disk);
/// Returns when the content of each file is on the disk, or cannot be (fdatasync(2)), with its error number, or 0, in `errors`.
/// Up to 32 at once (io_submit(2)), for which a file system commits and the disk empties its cache together; where the kernel
/// does not take that, one after the other.
void CTapedeck_disk_force(CTapedeckDisk *disk, const int *descriptors, int *errors, size_t count);

/// malloc has no more heaps than there are processors, and gives what is free at the end of one back as soon as it is half
/// a megabyte, which no longer grows with what is allocated (mallopt(3)). Does nothing where MALLOC_ARENA_MAX or
/// GLIBC_TUNABLES say what malloc is to do. Before threads are started.
void CTapedeck_bound_heaps(void);
/// Gives the system the pages of malloc's heaps in which nothing is in use (malloc_trim(3)). Holds the lock of one heap
/// after the other.
void CTapedeck_release_free_memory(void);

/// Starts a program and returns its process, or -errno. It has no input, its output goes nowhere, its errors go to
/// `standard_error`; it has default signals, a separate process group, no core file and, unless 0, at most `memory`
/// bytes of address space. It is killed when the calling thread ends. It exits with 127 if it cannot be executed.
pid_t CTapedeck_start_child(const char *path, char *const arguments[], char *const environment[], int standard_error,
                            uint64_t memory);

/// Properties of a video device.
typedef struct {
    char name[33];
    char driver[17];
    bool captures;
} CTapedeckVideoDevice;

/// One video format of a video device, with the largest size that it lists; 0 by 0 if it lists none.
typedef struct {
    char fourcc[5];
    uint32_t width;
    uint32_t height;
} CTapedeckVideoFormat;

/// Opens without waiting and describes a V4L2 device. Returns the open descriptor, or -errno; ENOTTY if it is none.
int CTapedeck_video_device_open(const char *path, CTapedeckVideoDevice *device);
/// The format at `index`, from 0. FALSE past the last.
bool CTapedeck_video_device_format(int descriptor, uint32_t index, CTapedeckVideoFormat *format);

#endif
