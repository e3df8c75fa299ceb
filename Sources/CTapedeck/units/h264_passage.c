// SPDX-License-Identifier: Apache-2.0

#include "h264_passage.h"

#include <gst/gst.h>
#include <gst/rtp/rtp.h>
#include <string.h>

#include "CTapedeckReceive.h"
#include "depayloader.h"

// Types of NAL units and of their aggregates and fragments (RFC 6184 section 5.2).
enum { TYPE_MASK = 0x1F, FIRST_TYPE = 1, STAP_A = 24, FU_A = 28, FU_HEADER_SIZE = 2, FU_START = 0x80, FU_END = 0x40 };

// Slices (ISO/IEC 14496-10 section 7.4.1). The first one of a frame begins with a bit that is set, after a start code
// and the type.
enum { SLICE = 1, SLICE_A = 2, SLICE_IDR = 5, UNIT_HEAD = 6, FIRST_SLICE = 0x80 };

// An access unit delimiter before any slices (ISO/IEC 14496-10 section 7.3.2.4).
static const uint8_t DELIMITER[] = {0x09, 0xF0};

bool h264_passage_takes(H264Passage *passage, const uint8_t *payload, size_t size) {
    uint8_t type = size > 0 ? payload[0] & TYPE_MASK : 0;
    bool is_fragment = type == FU_A;
    bool is_whole = type >= FIRST_TYPE && type <= STAP_A;
    bool passes = size == 0 ? !passage->is_within : is_whole || (is_fragment && size > FU_HEADER_SIZE);
    if (size > 0 || !passes) passage->is_within = passes && is_fragment && (payload[1] & FU_END) == 0;
    return passes;
}

bool h264_goes_on(const uint8_t *payload, size_t size) {
    return size >= FU_HEADER_SIZE && (payload[0] & TYPE_MASK) == FU_A && (payload[1] & FU_START) == 0;
}

static bool is_slice(uint8_t head) {
    uint8_t type = head & TYPE_MASK;
    return type == SLICE || type == SLICE_A || type == SLICE_IDR;
}

bool h264_begins_picture(GstBuffer *units) {
    GstMapInfo map;
    bool result = false;
    if (!gst_buffer_map(units, &map, GST_MAP_READ)) return false;
    for (size_t at = 3; at + 1 < map.size; at++) {
        const uint8_t *head = map.data + at;
        if (head[-3] != 0 || head[-2] != 0 || head[-1] != 1 || !is_slice(head[0])) continue;
        result = (head[1] & FIRST_SLICE) != 0;
        break;
    }
    gst_buffer_unmap(units, &map);
    return result;
}

GstBuffer *h264_ending_packet(GstBuffer *packet) {
    GstRTPBuffer from = GST_RTP_BUFFER_INIT;
    GstRTPBuffer to = GST_RTP_BUFFER_INIT;
    if (!gst_rtp_buffer_map(packet, GST_MAP_READ, &from)) return NULL;
    GstBuffer *ending = gst_rtp_buffer_new_allocate(sizeof(DELIMITER), 0, 0);
    if (gst_rtp_buffer_map(ending, GST_MAP_READWRITE, &to)) {
        gst_rtp_buffer_set_payload_type(&to, gst_rtp_buffer_get_payload_type(&from));
        gst_rtp_buffer_set_seq(&to, gst_rtp_buffer_get_seq(&from));
        gst_rtp_buffer_set_timestamp(&to, gst_rtp_buffer_get_timestamp(&from));
        gst_rtp_buffer_set_ssrc(&to, gst_rtp_buffer_get_ssrc(&from));
        gst_rtp_buffer_set_marker(&to, TRUE);
        memcpy(gst_rtp_buffer_get_payload(&to), DELIMITER, sizeof(DELIMITER));
        gst_rtp_buffer_unmap(&to);
        gst_buffer_copy_into(ending, packet, GST_BUFFER_COPY_TIMESTAMPS, 0, -1);
        GST_BUFFER_FLAG_SET(ending, GST_BUFFER_FLAG_DISCONT);
    } else {
        gst_clear_buffer(&ending);
    }
    gst_rtp_buffer_unmap(&from);
    return ending;
}

// A guarded depayloader of video. The probes on both of its pads hold it; its streaming thread only.
typedef struct {
    gatomicrefcount references;
    bool is_h264;
    H264Passage passage;
    // Bytes that it got since it, and the parser after one of H.264, began a frame.
    size_t undone;
} Guarded;

static void release_guarded(gpointer user) {
    Guarded *guarded = user;
    if (g_atomic_ref_count_dec(&guarded->references)) g_free(guarded);
}

static bool passes(Guarded *guarded, GstBuffer *buffer) {
    GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
    if (!guarded->is_h264) return true;
    if (!gst_rtp_buffer_map(buffer, GST_MAP_READ, &rtp)) return false;
    bool result = h264_passage_takes(&guarded->passage, gst_rtp_buffer_get_payload(&rtp),
                                     gst_rtp_buffer_get_payload_len(&rtp));
    gst_rtp_buffer_unmap(&rtp);
    return result;
}

// The buffer that the depayloader gets instead of a packet; NULL for nothing. A frame that gets too large is lost: the
// missing packet empties a depayloader of VP8 or VP9, but not one of H.264.
static GstBuffer *given(Guarded *guarded, GstBuffer *buffer) {
    size_t size = gst_buffer_get_size(buffer) + PACKET_COST;
    GstBuffer *instead = NULL;
    if (passes(guarded, buffer)) {
        if (guarded->undone + size <= GATHERED_MAXIMUM) {
            guarded->undone += size;
            return buffer;
        }
        if (guarded->is_h264) instead = h264_ending_packet(buffer);
        guarded->undone = 0;
    }
    gst_buffer_unref(buffer);
    return instead;
}

static gboolean give_list_item(GstBuffer **buffer, guint index, gpointer guarded) {
    (void)index;
    *buffer = given(guarded, *buffer);
    return TRUE;
}

// Streaming thread. Owns the buffer in `info` while it runs; never blocks.
static GstPadProbeReturn on_packet(GstPad *pad, GstPadProbeInfo *info, gpointer guarded) {
    (void)pad;
    if (info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST) {
        GstBufferList *list = gst_buffer_list_make_writable(GST_PAD_PROBE_INFO_BUFFER_LIST(info));
        gst_buffer_list_foreach(list, give_list_item, guarded);
        info->data = list;
    } else {
        info->data = given(guarded, GST_PAD_PROBE_INFO_BUFFER(info));
    }
    // Nothing is left of what was thrown away, which is as if it had been handled.
    return info->data != NULL ? GST_PAD_PROBE_OK : GST_PAD_PROBE_HANDLED;
}

static bool gives_pictures(GstPad *pad) {
    GstCaps *caps = gst_pad_get_current_caps(pad);
    if (caps == NULL) return false;
    const char *alignment = gst_structure_get_string(gst_caps_get_structure(caps, 0), "alignment");
    bool result = alignment != NULL && strcmp(alignment, "au") == 0;
    gst_caps_unref(caps);
    return result;
}

// Whether a parser after the depayloader keeps nothing from before the NAL unit: a frame ends with it, or begins.
static bool bounds_picture(GstBuffer *unit) {
    uint8_t bytes[UNIT_HEAD] = {0};
    if (GST_BUFFER_FLAG_IS_SET(unit, GST_BUFFER_FLAG_MARKER)) return true;
    if (gst_buffer_extract(unit, 0, bytes, sizeof(bytes)) < sizeof(bytes)) return false;
    return is_slice(bytes[UNIT_HEAD - 2]) && (bytes[UNIT_HEAD - 1] & FIRST_SLICE) != 0;
}

// The same thread: a depayloader gives out what it has while it takes a packet.
static GstPadProbeReturn on_unit(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    Guarded *guarded = user;
    bool is_list = (info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST) != 0;
    if (!guarded->is_h264 || is_list || bounds_picture(GST_PAD_PROBE_INFO_BUFFER(info)) || gives_pictures(pad)) {
        guarded->undone = 0;
    }
    return GST_PAD_PROBE_OK;
}

static void add_probe(GstElement *element, const char *name, GstPadProbeCallback callback, Guarded *guarded) {
    GstPad *pad = gst_element_get_static_pad(element, name);
    g_atomic_ref_count_inc(&guarded->references);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST, callback, guarded,
                      release_guarded);
    gst_object_unref(pad);
}

static void protect(GstElement *element) {
    GstElementFactory *factory = gst_element_get_factory(element);
    const char *name = factory != NULL ? GST_OBJECT_NAME(factory) : "";
    bool is_h264 = strcmp(name, "rtph264depay") == 0;
    if (!is_h264 && strcmp(name, "rtpvp8depay") != 0 && strcmp(name, "rtpvp9depay") != 0) return;
    Guarded *guarded = g_new0(Guarded, 1);
    g_atomic_ref_count_init(&guarded->references);
    guarded->is_h264 = is_h264;
    add_probe(element, "sink", on_packet, guarded);
    add_probe(element, "src", on_unit, guarded);
    release_guarded(guarded);
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

void CTapedeck_protect_depayloaders(GstElement *bin) {
    g_signal_connect(bin, "deep-element-added", G_CALLBACK(on_element_added), NULL);
    GstIterator *iterator = gst_bin_iterate_recurse(GST_BIN(bin));
    gst_iterator_foreach(iterator, on_item, NULL);
    gst_iterator_free(iterator);
}
