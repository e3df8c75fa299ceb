// SPDX-License-Identifier: Apache-2.0

#include <stdatomic.h>
#include <string.h>

#include <gst/rtp/rtp.h>

#include "CTapedeckShims.h"
#include "rtp_stream.h"

// Those of the configuration, and two that feed the RTSP server.
enum { MAXIMUM_STREAMS = 18 };

// A keyframe costs the sender a multiple of a usual frame; receivers that lose packets ask often.
#define REQUEST_INTERVAL ((int64_t)500000000)

// NAL units (RFC 6184 section 5.2). Sets are far smaller.
enum { TYPE_MASK = 0x1F, SEQUENCE_SET = 7, PICTURE_SET = 8, STAP_A = 24, LONGEST_SET = 512 };

typedef struct {
    size_t size;
    uint8_t bytes[LONGEST_SET];
} Set;

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
    atomic_bool notes_sets;
    // With the lock.
    Set sequence;
    Set picture;

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

void CTapedeck_fork_note_sets(CTapedeckFork *fork) { atomic_store(&fork->notes_sets, true); }

size_t CTapedeck_fork_copy_set(CTapedeckFork *fork, uint8_t type, uint8_t *set, size_t capacity) {
    const Set *found = type == SEQUENCE_SET ? &fork->sequence : &fork->picture;
    g_mutex_lock(&fork->lock);
    size_t size = found->size <= capacity ? found->size : 0;
    memcpy(set, found->bytes, size);
    g_mutex_unlock(&fork->lock);
    return size;
}

static void note_unit(CTapedeckFork *fork, const uint8_t *unit, size_t size) {
    uint8_t type = size > 0 ? unit[0] & TYPE_MASK : 0;
    if ((type != SEQUENCE_SET && type != PICTURE_SET) || size > LONGEST_SET) return;
    Set *set = type == SEQUENCE_SET ? &fork->sequence : &fork->picture;
    memcpy(set->bytes, unit, size);
    set->size = size;
}

// With the lock.
static void note_sets(CTapedeckFork *fork, GstBuffer *buffer) {
    GstRTPBuffer packet = GST_RTP_BUFFER_INIT;
    if (!gst_rtp_buffer_map(buffer, GST_MAP_READ, &packet)) return;
    const uint8_t *payload = gst_rtp_buffer_get_payload(&packet);
    size_t size = payload == NULL ? 0 : gst_rtp_buffer_get_payload_len(&packet);
    if (size > 0 && (payload[0] & TYPE_MASK) == STAP_A) {
        // Behind each size of two bytes a unit (RFC 6184 section 5.7.1).
        for (size_t at = 1; at + 2 <= size;) {
            size_t length = (size_t)payload[at] << 8 | payload[at + 1];
            at += 2;
            if (length > size - at) break;
            note_unit(fork, payload + at, length);
            at += length;
        }
    } else {
        note_unit(fork, payload, size);
    }
    gst_rtp_buffer_unmap(&packet);
}

static void send_buffer(CTapedeckFork *fork, GstBuffer *buffer, int64_t now) {
    GstMapInfo map;
    if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) return;
    g_mutex_lock(&fork->lock);
    if (atomic_load_explicit(&fork->notes_sets, memory_order_relaxed)) note_sets(fork, buffer);
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
