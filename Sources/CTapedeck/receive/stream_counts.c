// SPDX-License-Identifier: Apache-2.0

#include "stream_counts.h"

struct CTapedeckStreams {
    gatomicrefcount references;
    // A bit for each payload type that is accepted.
    atomic_uint_fast64_t accepted[2];
    // Guards the array, not what is in the rows.
    GMutex lock;
    GPtrArray *rows;
};

CTapedeckStreams *CTapedeck_streams_new(void) {
    CTapedeckStreams *streams = g_new0(CTapedeckStreams, 1);
    g_atomic_ref_count_init(&streams->references);
    g_mutex_init(&streams->lock);
    streams->rows = g_ptr_array_new_with_free_func(g_free);
    CTapedeck_streams_accept(streams, UINT64_MAX, UINT64_MAX);
    return streams;
}

CTapedeckStreams *CTapedeck_streams_ref(CTapedeckStreams *streams) {
    g_atomic_ref_count_inc(&streams->references);
    return streams;
}

void CTapedeck_streams_unref(CTapedeckStreams *streams) {
    if (!g_atomic_ref_count_dec(&streams->references)) return;
    g_ptr_array_unref(streams->rows);
    g_mutex_clear(&streams->lock);
    g_free(streams);
}

void CTapedeck_streams_accept(CTapedeckStreams *streams, uint64_t low, uint64_t high) {
    atomic_store_explicit(&streams->accepted[0], low, memory_order_relaxed);
    atomic_store_explicit(&streams->accepted[1], high, memory_order_relaxed);
}

bool streams_accept(CTapedeckStreams *streams, uint8_t payload_type) {
    uint_fast64_t types = atomic_load_explicit(&streams->accepted[payload_type / 64], memory_order_relaxed);
    return (types >> payload_type % 64 & 1) != 0;
}

StreamCounts *streams_row(CTapedeckStreams *streams, uint32_t ssrc) {
    StreamCounts *row = NULL;
    g_mutex_lock(&streams->lock);
    for (guint index = 0; index < streams->rows->len && row == NULL; index++) {
        StreamCounts *other = g_ptr_array_index(streams->rows, index);
        if (other->ssrc == ssrc) row = other;
    }
    if (row == NULL) {
        row = g_new0(StreamCounts, 1);
        row->ssrc = ssrc;
        g_ptr_array_add(streams->rows, row);
    }
    g_mutex_unlock(&streams->lock);
    return row;
}

static uint64_t read_counter(atomic_uint_fast64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

size_t CTapedeck_streams_counts(CTapedeckStreams *streams, CTapedeckStreamCount *counts, size_t capacity) {
    g_mutex_lock(&streams->lock);
    size_t count = streams->rows->len;
    for (size_t index = 0; index < MIN(count, capacity); index++) {
        StreamCounts *row = g_ptr_array_index(streams->rows, index);
        counts[index] = (CTapedeckStreamCount){
            .ssrc = row->ssrc,
            .entered = read_counter(&row->entered),
            .restored = read_counter(&row->restored),
            .dropped = read_counter(&row->dropped),
            .waiting = read_counter(&row->waiting),
            .not_accepted = read_counter(&row->not_accepted),
            .not_taken = read_counter(&row->not_taken),
        };
    }
    g_mutex_unlock(&streams->lock);
    return count;
}
