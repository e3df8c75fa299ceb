// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckHost.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timex.h>
#include <unistd.h>

int CTapedeck_clock_is_synchronised(void) {
    struct timex state = {0};
    if (adjtimex(&state) < 0) return -1;
    return (state.status & STA_UNSYNC) == 0;
}

// linux/ioprio.h of Debian 12's headers has no more than this (ioprio_set(2)).
enum { WHO_PROCESS = 1, CLASS_IDLE = 3, CLASS_SHIFT = 13 };

bool CTapedeck_use_idle_disk_time(void) {
    const long value = CLASS_IDLE << CLASS_SHIFT;
    if (syscall(SYS_ioprio_set, WHO_PROCESS, 0, value) != 0) return false;
    return syscall(SYS_ioprio_get, WHO_PROCESS, 0) == value;
}

void CTapedeck_begin_writing(int descriptor) {
    // Linux's number; the name needs _GNU_SOURCE, which Swift's module does not set.
    enum { WRITE = 2 };
    syscall(SYS_sync_file_range, descriptor, (off_t)0, (off_t)0, WRITE);
}

// Four times what malloc begins with; it would be up to 64 MB.
enum { FREE_AT_THE_END_OF_A_HEAP = 512 * 1024 };

void CTapedeck_bound_heaps(void) {
    if (getenv("MALLOC_ARENA_MAX") || getenv("GLIBC_TUNABLES")) return;
    mallopt(M_ARENA_MAX, get_nprocs());
    mallopt(M_TRIM_THRESHOLD, FREE_AT_THE_END_OF_A_HEAP);
}

void CTapedeck_release_free_memory(void) { malloc_trim(0); }

int CTapedeck_video_device_open(const char *path, CTapedeckVideoDevice *device) {
    int descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return -errno;
    struct v4l2_capability capability = {0};
    if (ioctl(descriptor, VIDIOC_QUERYCAP, &capability) != 0) {
        int error = errno;
        close(descriptor);
        return -error;
    }
    snprintf(device->name, sizeof device->name, "%.32s", (const char *)capability.card);
    snprintf(device->driver, sizeof device->driver, "%.16s", (const char *)capability.driver);
    uint32_t can = capability.capabilities & V4L2_CAP_DEVICE_CAPS ? capability.device_caps : capability.capabilities;
    device->captures = (can & V4L2_CAP_VIDEO_CAPTURE) != 0;
    return descriptor;
}

bool CTapedeck_video_device_format(int descriptor, uint32_t index, CTapedeckVideoFormat *format) {
    struct v4l2_fmtdesc found = {.index = index, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    if (ioctl(descriptor, VIDIOC_ENUM_FMT, &found) != 0) return false;
    for (int letter = 0; letter < 4; letter++) {
        char code = (char)(found.pixelformat >> (8 * letter) & 0x7f);
        format->fourcc[letter] = code >= ' ' && code < 0x7f ? code : '?';
    }
    format->fourcc[4] = '\0';
    format->width = format->height = 0;
    // Drivers list a few dozen sizes; one that never ends is cut.
    for (uint32_t size = 0; size < 256; size++) {
        struct v4l2_frmsizeenum sizes = {.index = size, .pixel_format = found.pixelformat};
        if (ioctl(descriptor, VIDIOC_ENUM_FRAMESIZES, &sizes) != 0) break;
        bool discrete = sizes.type == V4L2_FRMSIZE_TYPE_DISCRETE;
        uint32_t width = discrete ? sizes.discrete.width : sizes.stepwise.max_width;
        uint32_t height = discrete ? sizes.discrete.height : sizes.stepwise.max_height;
        if ((uint64_t)width * height > (uint64_t)format->width * format->height) {
            format->width = width;
            format->height = height;
        }
        if (!discrete) break;
    }
    return true;
}
