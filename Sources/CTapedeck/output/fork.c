// SPDX-License-Identifier: Apache-2.0

#include <stdatomic.h>

#include "CTapedeckShims.h"
#include "rtp_stream.h"

// Those of the configuration, and two that feed the RTSP server.
enum { MAXIMUM_STREAMS = 18 };

// A keyframe costs the sender a multiple of a usual frame; receivers that lose packets ask often.
#define REQUEST_INTERVAL ((int64_t)500000000)

struct CTapedeckFork {
    gatomicrefcount references;
    CTapedeckReceiver *receiver;
    uint32_t ssrc;
    bool is_video;
    GMutex lock;
    CTapedeckRTPStream *streams[MAXIMUM_STREAMS];
    atomic_uint count;
    atomic_int_fast64_t last_packet;
    atomic_uint_fast64_t bytes;

    // Streaming thread only.
    bool is_keyframe_wanted;
    int64_t last_request;
};

CTapedeckFork *CTapedeck_fork_new(CTapedeckReceiver *receiver, uint32_t ssrc, bool is_video) {
    CTapedeckFork *fork = g_new0(CTapedeckFork, 1);
    g_atomic_ref_count_init(&fork->references);
    fork->receiver = CTapedeck_receiver_ref(receiver);
    fork->ssrc = ssrc;
    fork->is_video = is_video;
    g_mutex_init(&fork->lock);
    return fork;
}

void CTapedeck_fork_unref(CTapedeckFork *fork) {
    if (!g_atomic_ref_count_dec(&fork->references)) return;
    unsigned count = atomic_load(&fork->count);
    for (unsigned index = 0; index < count; index++) {
        rtp_stream_begin(fork->streams[index], NULL);
        CTapedeck_rtp_stream_unref(fork->streams[index]);
    }
    CTapedeck_receiver_unref(fork->receiver);
    g_mutex_clear(&fork->lock);
    g_free(fork);
}

static void release_fork(gpointer fork) { CTapedeck_fork_unref(fork); }

bool CTapedeck_fork_add(CTapedeckFork *fork, CTapedeckRTPStream *stream, uint8_t payload_type, uint32_t clock_rate) {
    RTPSource source = {
        .receiver = fork->receiver, .ssrc = fork->ssrc, .clock_rate = clock_rate, .payload_type = payload_type};
    g_mutex_lock(&fork->lock);
    unsigned count = atomic_load(&fork->count);
    bool fits = count < MAXIMUM_STREAMS;
    if (fits) {
        rtp_stream_begin(stream, &source);
        fork->streams[count] = rtp_stream_ref(stream);
        atomic_store(&fork->count, count + 1);
    }
    g_mutex_unlock(&fork->lock);
    return fits;
}

void CTapedeck_fork_remove(CTapedeckFork *fork, CTapedeckRTPStream *stream) {
    g_mutex_lock(&fork->lock);
    unsigned count = atomic_load(&fork->count);
    for (unsigned index = 0; index < count; index++) {
        if (fork->streams[index] != stream) continue;
        fork->streams[index] = fork->streams[count - 1];
        atomic_store(&fork->count, count - 1);
        rtp_stream_begin(stream, NULL);
        CTapedeck_rtp_stream_unref(stream);
        break;
    }
    g_mutex_unlock(&fork->lock);
}

int64_t CTapedeck_fork_last_packet_nanoseconds(CTapedeckFork *fork) {
    return atomic_load_explicit(&fork->last_packet, memory_order_relaxed);
}

uint64_t CTapedeck_fork_bytes(CTapedeckFork *fork) {
    return atomic_load_explicit(&fork->bytes, memory_order_relaxed);
}

static void send_buffer(CTapedeckFork *fork, GstBuffer *buffer, int64_t now) {
    GstMapInfo map;
    if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) return;
    g_mutex_lock(&fork->lock);
    unsigned count = atomic_load(&fork->count);
    for (unsigned index = 0; index < count; index++) {
        if (rtp_stream_send(fork->streams[index], map.data, map.size, now)) fork->is_keyframe_wanted = true;
    }
    g_mutex_unlock(&fork->lock);
    gst_buffer_unmap(buffer, &map);
}

static size_t size_of(GstPadProbeInfo *info) {
    if (info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST) {
        return gst_buffer_list_calculate_size(GST_PAD_PROBE_INFO_BUFFER_LIST(info));
    }
    return gst_buffer_get_size(GST_PAD_PROBE_INFO_BUFFER(info));
}

// Streaming thread of the reorder buffer. Only reads the buffer; never blocks.
static GstPadProbeReturn on_packet(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    CTapedeckFork *fork = user;
    int64_t now = CTapedeck_monotonic_nanoseconds();
    atomic_store_explicit(&fork->last_packet, now, memory_order_relaxed);
    atomic_fetch_add_explicit(&fork->bytes, size_of(info), memory_order_relaxed);
    if (atomic_load_explicit(&fork->count, memory_order_acquire) == 0) return GST_PAD_PROBE_OK;
    if (info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST) {
        GstBufferList *list = GST_PAD_PROBE_INFO_BUFFER_LIST(info);
        guint count = gst_buffer_list_length(list);
        for (guint index = 0; index < count; index++) send_buffer(fork, gst_buffer_list_get(list, index), now);
    } else {
        send_buffer(fork, GST_PAD_PROBE_INFO_BUFFER(info), now);
    }
    if (fork->is_keyframe_wanted && fork->is_video && now - fork->last_request >= REQUEST_INTERVAL) {
        fork->is_keyframe_wanted = false;
        fork->last_request = now;
        CGst_request_keyframe(pad);
    }
    return GST_PAD_PROBE_OK;
}

void CTapedeck_fork_attach(CTapedeckFork *fork, GstPad *rtp_pad) {
    g_atomic_ref_count_inc(&fork->references);
    gst_pad_add_probe(rtp_pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, on_packet, fork,
                      release_fork);
}
