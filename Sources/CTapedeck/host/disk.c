// SPDX-License-Identifier: Apache-2.0

#include <errno.h>
#include <glib.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CTapedeckHost.h"

// Each holds a thread of the kernel while its disk is at work, and all programs share those.
enum { AT_ONCE = 32 };

struct CTapedeckDisk {
    // 0 if the kernel gives none.
    aio_context_t context;
};

CTapedeckDisk *CTapedeck_disk_new(void) {
    CTapedeckDisk *disk = g_new0(CTapedeckDisk, 1);
    if (syscall(SYS_io_setup, AT_ONCE, &disk->context) != 0) disk->context = 0;
    return disk;
}

void CTapedeck_disk_free(CTapedeckDisk *disk) {
    if (disk->context != 0) syscall(SYS_io_destroy, disk->context);
    g_free(disk);
}

static int force_one(int descriptor) {
    while (fdatasync(descriptor) != 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

// Hands over as many as the kernel takes; returns how many that were.
static size_t hand_over(aio_context_t context, struct iocb *blocks, size_t count) {
    struct iocb *row[AT_ONCE];
    for (size_t index = 0; index < count; index++) row[index] = &blocks[index];
    size_t taken = 0;
    while (taken < count) {
        long more = syscall(SYS_io_submit, context, (long)(count - taken), row + taken);
        if (more > 0) taken += (size_t)more;
        else if (more == 0 || errno != EINTR) break;
    }
    return taken;
}

// Waits for all that were handed over. They have failed if the kernel does not say what became of them.
static void wait_for_all(CTapedeckDisk *disk, int *errors, size_t count) {
    struct io_event events[AT_ONCE];
    for (size_t index = 0; index < count; index++) errors[index] = EIO;
    while (count > 0) {
        long ended = syscall(SYS_io_getevents, disk->context, (long)count, (long)count, events, NULL);
        if (ended < 0 && errno == EINTR) continue;
        if (ended <= 0) {
            // Waits for them as well.
            syscall(SYS_io_destroy, disk->context);
            disk->context = 0;
            return;
        }
        for (long index = 0; index < ended; index++) errors[events[index].data] = (int)-events[index].res;
        count -= (size_t)ended;
    }
}

static void force_some(CTapedeckDisk *disk, const int *descriptors, int *errors, size_t count) {
    struct iocb blocks[AT_ONCE] = {0};
    for (size_t index = 0; index < count; index++) {
        blocks[index].aio_data = index;
        blocks[index].aio_lio_opcode = IOCB_CMD_FDSYNC;
        blocks[index].aio_fildes = (uint32_t)descriptors[index];
    }
    // One alone has none to be together with.
    size_t taken = disk->context != 0 && count > 1 ? hand_over(disk->context, blocks, count) : 0;
    for (size_t index = taken; index < count; index++) errors[index] = force_one(descriptors[index]);
    if (taken > 0) wait_for_all(disk, errors, taken);
}

void CTapedeck_disk_force(CTapedeckDisk *disk, const int *descriptors, int *errors, size_t count) {
    for (size_t done = 0; done < count; done += AT_ONCE) {
        force_some(disk, descriptors + done, errors + done, MIN(count - done, AT_ONCE));
    }
}
