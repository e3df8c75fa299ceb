// SPDX-License-Identifier: Apache-2.0

#include <gst/rtp/rtp.h>
#include <string.h>

#include "header_extension.h"
#include "receive_path.h"

// Limits of the data that a stream may send before a consumer takes it: some seconds, or one large keyframe.
enum {
    MAXIMUM_HELD_PACKETS = 4096,
    MAXIMUM_HELD_BYTES = 8 << 20,
    // A sender names its layer in each packet until the receiver has reported about one (RFC 8852 section 3).
    MAXIMUM_PACKETS_LOOKED_AT = 16,
};

struct CTapedeckHold {
    gatomicrefcount references;
    // No reference: the pad's probe has one to this.
    GstPad *pad;
    // NULL if nothing is counted; `counts` is of it.
    ReceivePath *path;
    PathSource *counts;

    // The members below are protected by the stream lock of the pad's inner end, through which all data come.
    HeldPackets held;
    bool is_open;
    bool has_tap;
};

// This many waiting packets wait no more.
static void note_waiting_over(CTapedeckHold *hold, guint packets, bool are_taken) {
    if (hold->counts == NULL) return;
    counter_add(&hold->counts->waiting, -(uint64_t)packets);
    if (!are_taken) counter_add(&hold->counts->not_taken, packets);
}

static void unref(gpointer user) {
    CTapedeckHold *hold = user;
    if (!g_atomic_ref_count_dec(&hold->references)) return;
    note_waiting_over(hold, hold->held.packets.length, false);
    held_packets_clear(&hold->held);
    if (hold->path != NULL) CTapedeck_receive_path_unref(hold->path);
    g_free(hold);
}

static GstPadProbeReturn on_packet(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    CTapedeckHold *hold = user;
    if (hold->is_open && (hold->has_tap || hold->counts == NULL)) return GST_PAD_PROBE_REMOVE;
    if (hold->is_open) {
        counter_add(&hold->counts->not_taken, 1);
        return GST_PAD_PROBE_OK;
    }
    bool is_held =
        held_packets_add(&hold->held, GST_PAD_PROBE_INFO_BUFFER(info), MAXIMUM_HELD_PACKETS, MAXIMUM_HELD_BYTES);
    if (hold->counts != NULL) counter_add(is_held ? &hold->counts->waiting : &hold->counts->not_taken, 1);
    return GST_PAD_PROBE_HANDLED;
}

CTapedeckHold *CTapedeck_hold_new(GstPad *pad, CTapedeckReceivePath *path, uint32_t ssrc) {
    CTapedeckHold *hold = g_new0(CTapedeckHold, 1);
    g_atomic_ref_count_init(&hold->references);
    g_atomic_ref_count_inc(&hold->references);
    hold->pad = pad;
    if (path != NULL) {
        hold->path = receive_path_ref(path);
        hold->counts = receive_path_source(path, ssrc, true);
    }
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_packet, hold, unref);
    return hold;
}

GstPadLinkReturn CTapedeck_hold_release(CTapedeckHold *hold, GstPad *sink, bool has_tap) {
    GstPad *inner = GST_PAD(gst_proxy_pad_get_internal(GST_PROXY_PAD(hold->pad)));
    // Sticky events that are on their way through a pad at the moment in which it is linked would be lost.
    GST_PAD_STREAM_LOCK(inner);
    GstPadLinkReturn result = gst_pad_link(hold->pad, sink);
    if (result == GST_PAD_LINK_OK) {
        hold->is_open = true;
        hold->has_tap = has_tap;
        // Without a tap the probe, which stays, counts them as not taken.
        note_waiting_over(hold, hold->held.packets.length, true);
        GstBuffer *packet;
        while ((packet = held_packets_take(&hold->held)) != NULL) gst_pad_push(hold->pad, packet);
    }
    GST_PAD_STREAM_UNLOCK(inner);
    gst_object_unref(inner);
    return result;
}

static size_t read_extension(GstBuffer *packet, uint8_t id, uint8_t *value, size_t capacity) {
    GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
    if (!gst_rtp_buffer_map(packet, GST_MAP_READ, &rtp)) return 0;
    guint size = 0;
    const uint8_t *data = header_extension(&rtp, id, &size);
    size_t copied = data != NULL && size <= capacity ? size : 0;
    if (copied > 0) memcpy(value, data, copied);
    gst_rtp_buffer_unmap(&rtp);
    return copied;
}

size_t CTapedeck_hold_extension(CTapedeckHold *hold, uint8_t id, uint8_t *value, size_t capacity) {
    GstPad *inner = GST_PAD(gst_proxy_pad_get_internal(GST_PROXY_PAD(hold->pad)));
    size_t size = 0;
    GST_PAD_STREAM_LOCK(inner);
    GList *at = hold->held.packets.head;
    for (int count = 0; at != NULL && size == 0 && count < MAXIMUM_PACKETS_LOOKED_AT; count++, at = at->next) {
        size = read_extension(at->data, id, value, capacity);
    }
    GST_PAD_STREAM_UNLOCK(inner);
    gst_object_unref(inner);
    return size;
}

void CTapedeck_hold_unref(CTapedeckHold *hold) { unref(hold); }
