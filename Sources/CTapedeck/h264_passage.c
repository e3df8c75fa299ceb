// SPDX-License-Identifier: Apache-2.0

#include "h264_passage.h"

#include <gst/gst.h>
#include <gst/rtp/rtp.h>

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

static void protect(const GValue *item, gpointer user) {
    (void)user;
    GstPad *sink = gst_element_get_static_pad(g_value_get_object(item), "sink");
    gst_pad_add_probe(sink, GST_PAD_PROBE_TYPE_BUFFER, on_packet, g_new0(H264Passage, 1), g_free);
    gst_object_unref(sink);
}

void CTapedeck_protect_h264_depayloaders(GstElement *bin) {
    GstIterator *iterator = gst_bin_iterate_all_by_element_factory_name(GST_BIN(bin), "rtph264depay");
    gst_iterator_foreach(iterator, protect, NULL);
    gst_iterator_free(iterator);
}
