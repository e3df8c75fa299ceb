// SPDX-License-Identifier: Apache-2.0

#include <gst/audio/audio.h>
#include <gst/video/video.h>
#include <string.h>

#include "CTapedeckCapture.h"
#include "CTapedeckSend.h"

#define KEYFRAME_SPACING_NANOSECONDS ((int64_t)200 * 1000 * 1000)

typedef struct {
    uint64_t id;
    GstElement *appsrc;
    GstClockTimeDiff offset;
    uint32_t maximum_queued;
    bool waits_for_keyframe;
    CTapedeckConsumerCounters counters;
} Consumer;

struct CTapedeckFanOut {
    gatomicrefcount references;
    bool keyframes;
    // Guards everything below. Held while buffers are pushed: gst_app_src_push_buffer with block=false does not wait.
    GMutex mutex;
    GPtrArray *consumers;
    uint64_t next_id;
    uint64_t count;
    // Clock time at which the newest buffer ends; 0 before the first.
    GstClockTime end;
    // Weak: the appsink holds the fan-out through its callbacks.
    GWeakRef appsink;
    GstClockTime base_time;
    int64_t last_request;
    bool request_pending;
};

static void free_consumer(gpointer pointer) {
    Consumer *consumer = pointer;
    gst_object_unref(consumer->appsrc);
    g_free(consumer);
}

CTapedeckFanOut *CTapedeck_fan_out_new(bool keyframes) {
    CTapedeckFanOut *fan_out = g_new0(CTapedeckFanOut, 1);
    g_atomic_ref_count_init(&fan_out->references);
    g_mutex_init(&fan_out->mutex);
    fan_out->keyframes = keyframes;
    fan_out->consumers = g_ptr_array_new_with_free_func(free_consumer);
    fan_out->next_id = 1;
    g_weak_ref_init(&fan_out->appsink, NULL);
    return fan_out;
}

void CTapedeck_fan_out_unref(CTapedeckFanOut *fan_out) {
    if (!g_atomic_ref_count_dec(&fan_out->references)) return;
    g_ptr_array_unref(fan_out->consumers);
    g_weak_ref_clear(&fan_out->appsink);
    g_mutex_clear(&fan_out->mutex);
    g_free(fan_out);
}

static void release_fan_out(gpointer fan_out) { CTapedeck_fan_out_unref(fan_out); }

// The appsink to ask, with a reference, if a request is due now. Mutex held.
static GstElement *due_request(CTapedeckFanOut *fan_out) {
    if (!fan_out->request_pending) return NULL;
    int64_t now = CTapedeck_monotonic_nanoseconds();
    if (fan_out->last_request != 0 && now - fan_out->last_request < KEYFRAME_SPACING_NANOSECONDS) return NULL;
    GstElement *appsink = g_weak_ref_get(&fan_out->appsink);
    if (appsink == NULL) return NULL;
    fan_out->last_request = now;
    fan_out->request_pending = false;
    return appsink;
}

// Sends the event outside the mutex: it runs through the encoder's pads. Not by gst_element_send_event, which takes the
// state lock: whoever stops the pipeline holds that lock while it waits for the streaming thread, where we may be.
static void send_request(GstElement *appsink) {
    if (appsink == NULL) return;
    GstPad *pad = gst_element_get_static_pad(appsink, "sink");
    gst_pad_push_event(pad, gst_video_event_new_upstream_force_key_unit(GST_CLOCK_TIME_NONE, TRUE, 0));
    gst_object_unref(pad);
    gst_object_unref(appsink);
}

// Mutex held.
static void deliver(CTapedeckFanOut *fan_out, Consumer *consumer, GstBuffer *buffer, GstClockTime running_time,
                    GstCaps *caps) {
    bool delta = fan_out->keyframes && GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
    if (consumer->waits_for_keyframe && delta) {
        fan_out->request_pending = true;
        return;
    }
    GstAppSrc *appsrc = GST_APP_SRC(consumer->appsrc);
    if (gst_app_src_get_current_level_buffers(appsrc) >= consumer->maximum_queued) {
        consumer->counters.dropped += 1;
        consumer->waits_for_keyframe = fan_out->keyframes;
        return;
    }
    GstClockTimeDiff time = (GstClockTimeDiff)running_time + consumer->offset;
    if (time < 0) return;
    consumer->waits_for_keyframe = false;
    GstBuffer *copy = gst_buffer_copy(buffer);
    GST_BUFFER_PTS(copy) = (GstClockTime)time;
    GST_BUFFER_DTS(copy) = GST_CLOCK_TIME_NONE;
    // A no-op while the caps stay the same.
    gst_app_src_set_caps(appsrc, caps);
    if (gst_app_src_push_buffer(appsrc, copy) == GST_FLOW_OK) consumer->counters.pushed += 1;
}

// Streaming thread of the source pipeline.
static GstFlowReturn on_sample(GstAppSink *sink, gpointer user) {
    CTapedeckFanOut *fan_out = user;
    GstSample *sample = gst_app_sink_pull_sample(sink);
    if (sample == NULL) return GST_FLOW_OK;
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    GstCaps *caps = gst_sample_get_caps(sample);
    GstClockTime running_time = GST_CLOCK_TIME_NONE;
    // Encoders such as x264enc move their segment by 1000 h (gstreamer.md fact 83).
    if (buffer != NULL && GST_BUFFER_PTS_IS_VALID(buffer)) {
        running_time =
            gst_segment_to_running_time(gst_sample_get_segment(sample), GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
    }
    // An Opus encoder's first packet is its pre-skip: shorter than the others in time but not in RTP, which has no way to
    // say so. It holds no sound of ours.
    GstAudioClippingMeta *clipping = buffer != NULL ? gst_buffer_get_audio_clipping_meta(buffer) : NULL;
    bool is_preskip = clipping != NULL && clipping->start > 0;
    GstElement *asked = NULL;
    if (GST_CLOCK_TIME_IS_VALID(running_time) && caps != NULL && !is_preskip) {
        g_mutex_lock(&fan_out->mutex);
        fan_out->count += 1;
        fan_out->end = fan_out->base_time + running_time;
        if (GST_BUFFER_DURATION_IS_VALID(buffer)) fan_out->end += GST_BUFFER_DURATION(buffer);
        for (guint i = 0; i < fan_out->consumers->len; i++) {
            deliver(fan_out, g_ptr_array_index(fan_out->consumers, i), buffer, running_time, caps);
        }
        asked = due_request(fan_out);
        g_mutex_unlock(&fan_out->mutex);
    }
    gst_sample_unref(sample);
    send_request(asked);
    return GST_FLOW_OK;
}

void CTapedeck_fan_out_attach(CTapedeckFanOut *fan_out, GstElement *appsink, GstClockTime base_time) {
    g_mutex_lock(&fan_out->mutex);
    g_weak_ref_set(&fan_out->appsink, appsink);
    for (guint i = 0; i < fan_out->consumers->len; i++) {
        Consumer *consumer = g_ptr_array_index(fan_out->consumers, i);
        consumer->offset += (GstClockTimeDiff)base_time - (GstClockTimeDiff)fan_out->base_time;
    }
    fan_out->base_time = base_time;
    g_mutex_unlock(&fan_out->mutex);
    g_atomic_ref_count_inc(&fan_out->references);
    GstAppSinkCallbacks callbacks = {.new_sample = on_sample};
    gst_app_sink_set_callbacks(GST_APP_SINK(appsink), &callbacks, fan_out, release_fan_out);
}

uint64_t CTapedeck_fan_out_add(CTapedeckFanOut *fan_out, GstElement *appsrc, GstClockTime base_time,
                               uint32_t maximum_queued) {
    Consumer *consumer = g_new0(Consumer, 1);
    consumer->appsrc = gst_object_ref(appsrc);
    consumer->maximum_queued = maximum_queued;
    consumer->waits_for_keyframe = fan_out->keyframes;
    g_mutex_lock(&fan_out->mutex);
    consumer->offset = (GstClockTimeDiff)fan_out->base_time - (GstClockTimeDiff)base_time;
    consumer->id = fan_out->next_id++;
    uint64_t id = consumer->id;
    g_ptr_array_add(fan_out->consumers, consumer);
    g_mutex_unlock(&fan_out->mutex);
    return id;
}

// Mutex held. NULL if there is none of that id.
static Consumer *find(CTapedeckFanOut *fan_out, uint64_t id) {
    for (guint i = 0; i < fan_out->consumers->len; i++) {
        Consumer *consumer = g_ptr_array_index(fan_out->consumers, i);
        if (consumer->id == id) return consumer;
    }
    return NULL;
}

CTapedeckConsumerCounters CTapedeck_fan_out_counters(CTapedeckFanOut *fan_out, uint64_t id) {
    g_mutex_lock(&fan_out->mutex);
    Consumer *consumer = find(fan_out, id);
    CTapedeckConsumerCounters counters = consumer != NULL ? consumer->counters : (CTapedeckConsumerCounters){0};
    g_mutex_unlock(&fan_out->mutex);
    return counters;
}

CTapedeckConsumerCounters CTapedeck_fan_out_remove(CTapedeckFanOut *fan_out, uint64_t id) {
    g_mutex_lock(&fan_out->mutex);
    Consumer *consumer = find(fan_out, id);
    CTapedeckConsumerCounters counters = consumer != NULL ? consumer->counters : (CTapedeckConsumerCounters){0};
    if (consumer != NULL) g_ptr_array_remove(fan_out->consumers, consumer);
    g_mutex_unlock(&fan_out->mutex);
    return counters;
}

uint64_t CTapedeck_fan_out_count(CTapedeckFanOut *fan_out) {
    g_mutex_lock(&fan_out->mutex);
    uint64_t count = fan_out->count;
    g_mutex_unlock(&fan_out->mutex);
    return count;
}

GstClockTime CTapedeck_fan_out_end(CTapedeckFanOut *fan_out) {
    g_mutex_lock(&fan_out->mutex);
    GstClockTime end = fan_out->end;
    g_mutex_unlock(&fan_out->mutex);
    return end;
}

void CTapedeck_fan_out_request_keyframe(CTapedeckFanOut *fan_out) {
    g_mutex_lock(&fan_out->mutex);
    fan_out->request_pending = true;
    GstElement *asked = due_request(fan_out);
    g_mutex_unlock(&fan_out->mutex);
    send_request(asked);
}

static GstPadProbeReturn on_upstream_event(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    if (!gst_video_event_is_force_key_unit(GST_PAD_PROBE_INFO_EVENT(info))) return GST_PAD_PROBE_OK;
    CTapedeck_fan_out_request_keyframe(user);
    return GST_PAD_PROBE_DROP;
}

void CTapedeck_fan_out_take_requests(CTapedeckFanOut *fan_out, GstPad *pad) {
    g_atomic_ref_count_inc(&fan_out->references);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, on_upstream_event, fan_out, release_fan_out);
}
