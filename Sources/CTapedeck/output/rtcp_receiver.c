// SPDX-License-Identifier: Apache-2.0

#include <gst/rtp/rtp.h>
#include <stdatomic.h>

#include "CTapedeckOutput.h"
#include "units/rtp_clock.h"
#include "units/sender_clock.h"

struct CTapedeckReceiver {
    gatomicrefcount references;
    uint64_t id;
    CTapedeckQueue *queue;
    int64_t base_nanoseconds;
    SenderClock clock;
    atomic_int_fast64_t last_report;
    atomic_uint_fast64_t dropped;
    // For the RTCP thread: reports that were passed on in the second that began then.
    int64_t second;
    uint32_t passed;
};

CTapedeckReceiver *CTapedeck_receiver_new(uint64_t id, CTapedeckQueue *queue, int64_t base_nanoseconds) {
    CTapedeckReceiver *receiver = g_new0(CTapedeckReceiver, 1);
    g_atomic_ref_count_init(&receiver->references);
    receiver->id = id;
    receiver->queue = queue != NULL ? CTapedeck_queue_ref(queue) : NULL;
    receiver->base_nanoseconds = base_nanoseconds;
    g_mutex_init(&receiver->clock.lock);
    return receiver;
}

CTapedeckReceiver *CTapedeck_receiver_ref(CTapedeckReceiver *receiver) {
    g_atomic_ref_count_inc(&receiver->references);
    return receiver;
}

void CTapedeck_receiver_unref(CTapedeckReceiver *receiver) {
    if (!g_atomic_ref_count_dec(&receiver->references)) return;
    if (receiver->queue != NULL) CTapedeck_queue_unref(receiver->queue);
    g_mutex_clear(&receiver->clock.lock);
    g_free(receiver);
}

// A peer that reports about ever new sources costs the recorder no more than this.
enum { REPORTS_PER_SECOND = 100 };

static bool may_pass(CTapedeckReceiver *receiver, int64_t now) {
    if (now - receiver->second >= 1000000000) {
        receiver->second = now;
        receiver->passed = 0;
    }
    return receiver->passed++ < REPORTS_PER_SECOND;
}

// RTCP thread of the session. The buffer stays the session's; never blocks.
static void on_rtcp(gpointer session, GstBuffer *buffer, gpointer user) {
    (void)session;
    CTapedeckReceiver *receiver = user;
    int64_t now = CTapedeck_monotonic_nanoseconds();
    atomic_store_explicit(&receiver->last_report, now, memory_order_relaxed);
    int64_t arrival = rtp_clock_arrival(buffer, receiver->base_nanoseconds, now);

    GstRTCPBuffer rtcp = GST_RTCP_BUFFER_INIT;
    GstRTCPPacket packet;
    if (!gst_rtcp_buffer_map(buffer, GST_MAP_READ, &rtcp)) return;
    gboolean more = gst_rtcp_buffer_get_first_packet(&rtcp, &packet);
    while (more) {
        if (gst_rtcp_packet_get_type(&packet) == GST_RTCP_TYPE_SR) {
            guint32 ssrc, rtp_time;
            guint64 ntp_time;
            gst_rtcp_packet_sr_get_sender_info(&packet, &ssrc, &ntp_time, &rtp_time, NULL, NULL);
            bool is_news = sender_clock_note(&receiver->clock, ssrc, ntp_time, rtp_time, arrival);
            CTapedeckItem item = {
                .kind = CTAPEDECK_ITEM_SENDER_REPORT,
                .source = receiver->id,
                .ssrc = ssrc,
                .rtp_time = rtp_time,
                .arrival_nanoseconds = arrival,
                .ntp_time = ntp_time,
            };
            if (receiver->queue == NULL || ntp_time == 0) {
                // The track is not recorded, or the report is empty.
            } else if (!is_news || !may_pass(receiver, now) || !CTapedeck_queue_push(receiver->queue, &item)) {
                atomic_fetch_add_explicit(&receiver->dropped, 1, memory_order_relaxed);
            }
        }
        more = gst_rtcp_packet_move_to_next(&packet);
    }
    gst_rtcp_buffer_unmap(&rtcp);
}

static void release_receiver(gpointer receiver, GClosure *closure) {
    (void)closure;
    CTapedeck_receiver_unref(receiver);
}

void CTapedeck_receiver_watch(CTapedeckReceiver *receiver, gpointer rtp_session) {
    g_atomic_ref_count_inc(&receiver->references);
    g_signal_connect_data(rtp_session, "on-receiving-rtcp", G_CALLBACK(on_rtcp), receiver, release_receiver, 0);
}

int64_t CTapedeck_receiver_last_report_nanoseconds(CTapedeckReceiver *receiver) {
    return atomic_load_explicit(&receiver->last_report, memory_order_relaxed);
}

uint64_t CTapedeck_receiver_dropped_reports(CTapedeckReceiver *receiver) {
    return atomic_load_explicit(&receiver->dropped, memory_order_relaxed);
}

bool CTapedeck_receiver_sender_clock(CTapedeckReceiver *receiver, uint32_t ssrc, uint64_t *ntp_time,
                                     uint32_t *rtp_time) {
    return sender_clock_find(&receiver->clock, ssrc, ntp_time, rtp_time);
}
