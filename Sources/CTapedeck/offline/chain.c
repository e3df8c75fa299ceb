// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckRender.h"

#include <gst/video/video.h>

struct CTapedeckChain {
    GstElement *bin;
    GstPad *source;
    GstPad *sink;
    GMutex lock;
    GQueue samples;
    GstCaps *caps;
};

static GstFlowReturn take(GstPad *pad, GstObject *parent, GstBuffer *buffer) {
    (void)parent;
    CTapedeckChain *chain = gst_pad_get_element_private(pad);
    g_mutex_lock(&chain->lock);
    g_queue_push_tail(&chain->samples, gst_sample_new(buffer, chain->caps, NULL, NULL));
    g_mutex_unlock(&chain->lock);
    gst_buffer_unref(buffer);
    return GST_FLOW_OK;
}

static gboolean hear(GstPad *pad, GstObject *parent, GstEvent *event) {
    (void)parent;
    CTapedeckChain *chain = gst_pad_get_element_private(pad);
    if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
        GstCaps *caps = NULL;
        gst_event_parse_caps(event, &caps);
        g_mutex_lock(&chain->lock);
        gst_caps_replace(&chain->caps, caps);
        g_mutex_unlock(&chain->lock);
    }
    gst_event_unref(event);
    return TRUE;
}

// Decoders pass their own buffers on if lines may be padded; otherwise they copy each frame.
static gboolean answer(GstPad *pad, GstObject *parent, GstQuery *query) {
    if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION) {
        gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
        return TRUE;
    }
    // By default a pad without a template takes only the caps that it had before: a frame of another size would be
    // refused.
    if (GST_QUERY_TYPE(query) == GST_QUERY_ACCEPT_CAPS) {
        gst_query_set_accept_caps_result(query, TRUE);
        return TRUE;
    }
    if (GST_QUERY_TYPE(query) == GST_QUERY_CAPS) {
        GstCaps *filter = NULL;
        gst_query_parse_caps(query, &filter);
        GstCaps *all = filter != NULL ? gst_caps_ref(filter) : gst_caps_new_any();
        gst_query_set_caps_result(query, all);
        gst_caps_unref(all);
        return TRUE;
    }
    return gst_pad_query_default(pad, parent, query);
}

static bool link_up(CTapedeckChain *chain) {
    GstPad *in = gst_element_get_static_pad(chain->bin, "sink");
    GstPad *out = gst_element_get_static_pad(chain->bin, "src");
    bool linked = in != NULL && out != NULL && gst_pad_link(chain->source, in) == GST_PAD_LINK_OK &&
                  gst_pad_link(out, chain->sink) == GST_PAD_LINK_OK;
    if (in != NULL) gst_object_unref(in);
    if (out != NULL) gst_object_unref(out);
    return linked;
}

static GstCaps *parse_caps(const char *text, const uint8_t *codec_data, size_t size) {
    GstCaps *caps = gst_caps_from_string(text);
    if (caps == NULL || codec_data == NULL) return caps;
    GstBuffer *buffer = gst_buffer_new_memdup(codec_data, size);
    gst_caps_set_simple(caps, "codec_data", GST_TYPE_BUFFER, buffer, NULL);
    gst_buffer_unref(buffer);
    return caps;
}

CTapedeckChain *CTapedeck_chain_new(const char *launch, const char *caps_text, const uint8_t *codec_data, size_t size) {
    GstElement *bin = gst_parse_bin_from_description_full(launch, TRUE, NULL, GST_PARSE_FLAG_FATAL_ERRORS, NULL);
    if (bin == NULL) return NULL;
    CTapedeckChain *chain = g_new0(CTapedeckChain, 1);
    g_mutex_init(&chain->lock);
    g_queue_init(&chain->samples);
    chain->bin = gst_object_ref_sink(bin);
    chain->source = gst_object_ref_sink(gst_pad_new("out", GST_PAD_SRC));
    chain->sink = gst_object_ref_sink(gst_pad_new("in", GST_PAD_SINK));
    gst_pad_set_element_private(chain->sink, chain);
    gst_pad_set_chain_function(chain->sink, take);
    gst_pad_set_event_function(chain->sink, hear);
    gst_pad_set_query_function(chain->sink, answer);
    gst_pad_set_active(chain->sink, TRUE);
    gst_pad_set_active(chain->source, TRUE);
    GstCaps *caps = parse_caps(caps_text, codec_data, size);
    bool works = caps != NULL && link_up(chain) &&
                 gst_element_set_state(bin, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
    if (works) {
        GstSegment segment;
        gst_segment_init(&segment, GST_FORMAT_TIME);
        works = gst_pad_push_event(chain->source, gst_event_new_stream_start("chain")) &&
                gst_pad_push_event(chain->source, gst_event_new_caps(caps)) &&
                gst_pad_push_event(chain->source, gst_event_new_segment(&segment));
    }
    if (caps != NULL) gst_caps_unref(caps);
    if (works) return chain;
    CTapedeck_chain_free(chain);
    return NULL;
}

void CTapedeck_chain_free(CTapedeckChain *chain) {
    gst_pad_set_active(chain->source, FALSE);
    gst_element_set_state(chain->bin, GST_STATE_NULL);
    gst_pad_set_active(chain->sink, FALSE);
    gst_object_unref(chain->bin);
    gst_object_unref(chain->source);
    gst_object_unref(chain->sink);
    g_queue_clear_full(&chain->samples, (GDestroyNotify)gst_sample_unref);
    gst_caps_replace(&chain->caps, NULL);
    g_mutex_clear(&chain->lock);
    g_free(chain);
}

bool CTapedeck_chain_push(CTapedeckChain *chain, const uint8_t *data, size_t size, int64_t nanoseconds) {
    GstBuffer *buffer = gst_buffer_new_memdup(data, size);
    GST_BUFFER_PTS(buffer) = nanoseconds < 0 ? 0 : (GstClockTime)nanoseconds;
    return gst_pad_push(chain->source, buffer) == GST_FLOW_OK;
}

void CTapedeck_chain_finish(CTapedeckChain *chain) {
    gst_pad_push_event(chain->source, gst_event_new_eos());
}

GstSample *CTapedeck_chain_pull(CTapedeckChain *chain) {
    g_mutex_lock(&chain->lock);
    GstSample *sample = g_queue_pop_head(&chain->samples);
    g_mutex_unlock(&chain->lock);
    return sample;
}

void CTapedeck_sample_release(GstSample *sample) {
    gst_sample_unref(sample);
}

uint8_t *CTapedeck_sample_bytes(GstSample *sample, size_t *size, int64_t *nanoseconds) {
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    GstMapInfo map;
    *size = 0;
    *nanoseconds = -1;
    if (buffer == NULL || !gst_buffer_map(buffer, &map, GST_MAP_READ)) return NULL;
    uint8_t *bytes = g_memdup2(map.data, map.size);
    *size = map.size;
    if (GST_BUFFER_PTS_IS_VALID(buffer)) *nanoseconds = (int64_t)GST_BUFFER_PTS(buffer);
    gst_buffer_unmap(buffer, &map);
    return bytes;
}
