// SPDX-License-Identifier: Apache-2.0

#include "h264_passage.h"

#include <gst/gst.h>
#include <gst/rtp/rtp.h>
#include <string.h>

#include "CTapedeckReceive.h"

// Types of NAL units and of what stands in their place (RFC 6184 section 5.2).
enum { TYPE_MASK = 0x1F, FIRST_TYPE = 1, STAP_A = 24, FU_A = 28, FU_HEADER_SIZE = 2, FU_END = 0x40 };

bool h264_passage_takes(H264Passage *passage, const uint8_t *payload, size_t size) {
    uint8_t type = size > 0 ? payload[0] & TYPE_MASK : 0;
    bool is_fragment = type == FU_A;
    bool is_whole = type >= FIRST_TYPE && type <= STAP_A;
    bool passes = size == 0 ? !passage->is_within : is_whole || (is_fragment && size > FU_HEADER_SIZE);
    if (size > 0 || !passes) passage->is_within = passes && is_fragment && (payload[1] & FU_END) == 0;
    return passes;
}

// Streaming thread.
static GstPadProbeReturn on_packet(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
    if (!gst_rtp_buffer_map(GST_PAD_PROBE_INFO_BUFFER(info), GST_MAP_READ, &rtp)) return GST_PAD_PROBE_DROP;
    bool passes = h264_passage_takes(user, gst_rtp_buffer_get_payload(&rtp), gst_rtp_buffer_get_payload_len(&rtp));
    gst_rtp_buffer_unmap(&rtp);
    return passes ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP;
}

static void protect(GstElement *element) {
    GstElementFactory *factory = gst_element_get_factory(element);
    if (factory == NULL || strcmp(GST_OBJECT_NAME(factory), "rtph264depay") != 0) return;
    GstPad *sink = gst_element_get_static_pad(element, "sink");
    gst_pad_add_probe(sink, GST_PAD_PROBE_TYPE_BUFFER, on_packet, g_new0(H264Passage, 1), g_free);
    gst_object_unref(sink);
}

static void on_item(const GValue *item, gpointer user) {
    (void)user;
    protect(g_value_get_object(item));
}

// Any thread.
static void on_element_added(GstBin *bin, GstBin *holder, GstElement *element, gpointer user) {
    (void)bin, (void)holder, (void)user;
    protect(element);
}

void CTapedeck_protect_h264_depayloaders(GstElement *bin) {
    g_signal_connect(bin, "deep-element-added", G_CALLBACK(on_element_added), NULL);
    GstIterator *iterator = gst_bin_iterate_recurse(GST_BIN(bin));
    gst_iterator_foreach(iterator, on_item, NULL);
    gst_iterator_free(iterator);
}
