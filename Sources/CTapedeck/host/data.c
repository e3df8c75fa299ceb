// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckData.h"

#include "CTapedeckReceive.h"

#define SECOND 1000000000LL

/// State of one connection; only its streaming thread touches it.
typedef struct {
    CTapedeckDataCallback callback;
    void *user;
    GDestroyNotify release;
    int64_t packets_per_second;
    /// Packets that may be passed on now, in parts of `SECOND`.
    int64_t credit;
    int64_t latest;
} Receiver;

static void free_receiver(gpointer pointer) {
    Receiver *receiver = pointer;
    receiver->release(receiver->user);
    g_free(receiver);
}

static bool may_pass(Receiver *receiver, int64_t now) {
    int64_t passed = CLAMP(now - receiver->latest, 0, SECOND);
    receiver->latest = now;
    receiver->credit = MIN(receiver->credit + passed * receiver->packets_per_second,
                           receiver->packets_per_second * SECOND);
    if (receiver->credit < SECOND) return false;
    receiver->credit -= SECOND;
    return true;
}

static void hand_over(Receiver *receiver, GstBuffer *buffer) {
    int64_t now = CTapedeck_monotonic_nanoseconds();
    if (!may_pass(receiver, now)) return;
    GstMapInfo map;
    if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) return;
    receiver->callback(map.data, map.size, now, receiver->user);
    gst_buffer_unmap(buffer, &map);
}

/// A packet dropped in a probe counts as taken, even if nothing is linked after it.
static GstPadProbeReturn take(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    Receiver *receiver = user;
    if (info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST) {
        GstBufferList *list = GST_PAD_PROBE_INFO_BUFFER_LIST(info);
        for (guint index = 0; index < gst_buffer_list_length(list); index++) {
            hand_over(receiver, gst_buffer_list_get(list, index));
        }
    } else {
        hand_over(receiver, GST_PAD_PROBE_INFO_BUFFER(info));
    }
    return GST_PAD_PROBE_DROP;
}

bool CTapedeck_data_receive(GstElement *dtlssrtpdec, uint32_t packets_per_second, CTapedeckDataCallback callback,
                            void *user, GDestroyNotify release) {
    Receiver *receiver = g_new0(Receiver, 1);
    receiver->callback = callback;
    receiver->user = user;
    receiver->release = release;
    receiver->packets_per_second = packets_per_second;
    receiver->credit = packets_per_second * SECOND;
    GstPad *pad = gst_element_get_static_pad(dtlssrtpdec, "data_src");
    if (pad == NULL) {
        free_receiver(receiver);
        return false;
    }
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, take, receiver, free_receiver);
    gst_object_unref(pad);
    return true;
}

bool CTapedeck_data_send(GstElement *dtlssrtpenc, const uint8_t *bytes, size_t size) {
    GstPad *pad = gst_element_get_static_pad(dtlssrtpenc, "data_sink");
    if (pad == NULL) return false;
    // A pad takes data only after these events; nothing else feeds it.
    GstEvent *start = gst_pad_get_sticky_event(pad, GST_EVENT_STREAM_START, 0);
    if (start == NULL) {
        GstSegment segment;
        gst_segment_init(&segment, GST_FORMAT_BYTES);
        gst_pad_send_event(pad, gst_event_new_stream_start("data"));
        gst_pad_send_event(pad, gst_event_new_segment(&segment));
    } else {
        gst_event_unref(start);
    }
    GstFlowReturn result = gst_pad_chain(pad, gst_buffer_new_memdup(bytes, size));
    gst_object_unref(pad);
    return result == GST_FLOW_OK;
}
