// SPDX-License-Identifier: Apache-2.0

#include <glib.h>
#include <stdbool.h>

#include "CTapedeckRTSPTimes.h"

// The clock of a sender that sets it back by more is taken as a new one, once all its packets are that old for this
// long. A sender that is only late has caught up by then, or will not.
#define MAXIMUM_AGE ((int64_t)2000000000)
#define LONGEST_CATCHING_UP ((int64_t)10000000000)

struct CTapedeckRTSPTimes {
    gatomicrefcount references;
    GMutex lock;
    bool is_set;
    // From the time of a sample to the pipeline's running time.
    int64_t offset;
    // When the first of the packets came that were all too old; -1 after one that was not.
    int64_t old_since;
};

CTapedeckRTSPTimes *CTapedeck_rtsp_times_new(void) {
    CTapedeckRTSPTimes *times = g_new0(CTapedeckRTSPTimes, 1);
    g_atomic_ref_count_init(&times->references);
    g_mutex_init(&times->lock);
    times->old_since = -1;
    return times;
}

CTapedeckRTSPTimes *CTapedeck_rtsp_times_ref(CTapedeckRTSPTimes *times) {
    g_atomic_ref_count_inc(&times->references);
    return times;
}

void CTapedeck_rtsp_times_unref(CTapedeckRTSPTimes *times) {
    if (!g_atomic_ref_count_dec(&times->references)) return;
    g_mutex_clear(&times->lock);
    g_free(times);
}

// Never later than now: the sinks would wait, and what waits is lost.
int64_t CTapedeck_rtsp_times_place(CTapedeckRTSPTimes *times, int64_t sampled, int64_t now) {
    g_mutex_lock(&times->lock);
    int64_t time = sampled + times->offset;
    bool is_old = now - time > MAXIMUM_AGE;
    if (!is_old) times->old_since = -1;
    if (is_old && times->old_since < 0) times->old_since = now;
    bool is_set_back = is_old && now - times->old_since > LONGEST_CATCHING_UP;
    if (!times->is_set || time > now || is_set_back) {
        times->offset = now - sampled;
        times->is_set = true;
        times->old_since = -1;
        time = now;
    }
    g_mutex_unlock(&times->lock);
    return MAX(time, 0);
}
