// SPDX-License-Identifier: Apache-2.0

#include <gst/audio/audio.h>
#include <gst/video/video.h>
#include <string.h>

#include "CTapedeckReceive.h"
#include "CTapedeckSend.h"

#define KEYFRAME_SPACING_NANOSECONDS ((int64_t)200 * 1000 * 1000)
// A receiver shows a longer gap as frozen video.
#define LONGEST_HOLD_NANOSECONDS ((int64_t)400 * 1000 * 1000)
// A time stamp that is further behind begins a new time line.
#define LONGEST_OVERLAP_NANOSECONDS ((GstClockTime)1000 * 1000 * 1000)

typedef struct {
    uint64_t id;
    GstElement *appsrc;
    // Where requests for keyframes come in, and the probe there that takes them.
    GstPad *pad;
    gulong requests;
    GstClockTimeDiff offset;
    uint32_t maximum_queued;
    bool waits_for_keyframe;
    // One of this many buffers is passed on, with caps that say so; `turn` counts them.
    uint32_t divisor;
    uint32_t turn;
    // Until then every buffer is left out; 0: none.
    int64_t held_until;
    // The caps of the source, and what became of them.
    GstCaps *whole_caps;
    GstCaps *thin_caps;
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
    // Clock time at which the newest buffer begins and ends; 0 before the first.
    GstClockTime start;
    GstClockTime end;
    // Which of the appsinks that were attached is listened to.
    uint64_t attachment;
    // Weak: the appsink holds the fan-out through its callbacks.
    GWeakRef appsink;
    GstClockTime base_time;
    int64_t keyframe_spacing;
    int64_t last_request;
    bool request_pending;
};

static void free_consumer(gpointer pointer) {
    Consumer *consumer = pointer;
    gst_pad_remove_probe(consumer->pad, consumer->requests);
    gst_object_unref(consumer->pad);
    gst_object_unref(consumer->appsrc);
    gst_clear_caps(&consumer->whole_caps);
    gst_clear_caps(&consumer->thin_caps);
    g_free(consumer);
}

CTapedeckFanOut *CTapedeck_fan_out_new(bool keyframes) {
    CTapedeckFanOut *fan_out = g_new0(CTapedeckFanOut, 1);
    g_atomic_ref_count_init(&fan_out->references);
    g_mutex_init(&fan_out->mutex);
    fan_out->keyframes = keyframes;
    fan_out->keyframe_spacing = KEYFRAME_SPACING_NANOSECONDS;
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

// Data for the callbacks of an attached appsink.
typedef struct {
    CTapedeckFanOut *fan_out;
    uint64_t number;
    // How much earlier than its input an Opus encoder stamps its packets. Streaming thread of the source only.
    GstClockTime look_ahead;
} Attachment;

static void release_attachment(gpointer pointer) {
    Attachment *attachment = pointer;
    CTapedeck_fan_out_unref(attachment->fan_out);
    g_free(attachment);
}

// The appsink to ask, with a reference, if a request is due now. Mutex held.
static GstElement *due_request(CTapedeckFanOut *fan_out) {
    if (!fan_out->request_pending) return NULL;
    int64_t now = CTapedeck_monotonic_nanoseconds();
    if (fan_out->last_request != 0 && now - fan_out->last_request < fan_out->keyframe_spacing) return NULL;
    GstElement *appsink = g_weak_ref_get(&fan_out->appsink);
    if (appsink == NULL) return NULL;
    fan_out->last_request = now;
    fan_out->request_pending = false;
    return appsink;
}

// Sends the event outside the mutex: it runs through the encoder's pads. It does not use gst_element_send_event, which
// takes the state lock: the thread that stops the pipeline holds that lock while it waits for the streaming thread,
// where we may be.
static void send_request(GstElement *appsink) {
    if (appsink == NULL) return;
    GstPad *pad = gst_element_get_static_pad(appsink, "sink");
    gst_pad_push_event(pad, gst_video_event_new_upstream_force_key_unit(GST_CLOCK_TIME_NONE, TRUE, 0));
    gst_object_unref(pad);
    gst_object_unref(appsink);
}

// Mutex held. The caps for one of this many buffers.
static GstCaps *thinned(Consumer *consumer, GstCaps *caps) {
    if (consumer->divisor == 1) return caps;
    if (consumer->whole_caps == caps && consumer->thin_caps != NULL) return consumer->thin_caps;
    gst_caps_replace(&consumer->whole_caps, caps);
    gst_clear_caps(&consumer->thin_caps);
    consumer->thin_caps = gst_caps_copy(caps);
    GstStructure *format = gst_caps_get_structure(consumer->thin_caps, 0);
    int numerator = 0, denominator = 1;
    if (gst_structure_get_fraction(format, "framerate", &numerator, &denominator) &&
        denominator <= G_MAXINT / (int)consumer->divisor) {
        denominator *= (int)consumer->divisor;
        gst_structure_set(format, "framerate", GST_TYPE_FRACTION, numerator, denominator, NULL);
    }
    return consumer->thin_caps;
}

// Mutex held.
static bool is_full(const Consumer *consumer) {
    return gst_app_src_get_current_level_buffers(GST_APP_SRC(consumer->appsrc)) >= consumer->maximum_queued;
}

// Mutex held.
static void deliver(CTapedeckFanOut *fan_out, Consumer *consumer, GstBuffer *buffer, GstClockTime running_time,
                    GstCaps *caps) {
    bool delta = fan_out->keyframes && GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
    if (consumer->waits_for_keyframe && delta) {
        // One that is full could not take it: the others would get keyframe upon keyframe.
        if (!is_full(consumer)) fan_out->request_pending = true;
        return;
    }
    if (consumer->held_until != 0 && CTapedeck_monotonic_nanoseconds() < consumer->held_until) return;
    if (consumer->turn++ % consumer->divisor != 0) return;
    GstAppSrc *appsrc = GST_APP_SRC(consumer->appsrc);
    if (is_full(consumer)) {
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
    gst_app_src_set_caps(appsrc, thinned(consumer, caps));
    if (gst_app_src_push_buffer(appsrc, copy) == GST_FLOW_OK) consumer->counters.pushed += 1;
}

// Raw media that begin no later than what is delivered already: a source that took the place of another was captured
// before the other's newest. Encoders refuse time stamps that do not rise. Mutex held.
static bool comes_late(const CTapedeckFanOut *fan_out, GstClockTime start) {
    return !fan_out->keyframes && start <= fan_out->start && fan_out->start - start < LONGEST_OVERLAP_NANOSECONDS;
}

// Mutex held.
static void distribute(CTapedeckFanOut *fan_out, GstBuffer *buffer, GstClockTime running_time, GstCaps *caps) {
    GstClockTime start = fan_out->base_time + running_time;
    if (comes_late(fan_out, start)) return;
    fan_out->start = start;
    fan_out->end = start + (GST_BUFFER_DURATION_IS_VALID(buffer) ? GST_BUFFER_DURATION(buffer) : 0);
    for (guint i = 0; i < fan_out->consumers->len; i++) {
        deliver(fan_out, g_ptr_array_index(fan_out->consumers, i), buffer, running_time, caps);
    }
}

static GstClockTime sound_duration(const GstCaps *caps, uint64_t samples) {
    int rate = 0;
    if (caps == NULL || !gst_structure_get_int(gst_caps_get_structure(caps, 0), "rate", &rate) || rate <= 0) return 0;
    return GST_FRAMES_TO_CLOCK_TIME(samples, rate);
}

// Streaming thread of the source pipeline.
static GstFlowReturn on_sample(GstAppSink *sink, gpointer user) {
    Attachment *attachment = user;
    CTapedeckFanOut *fan_out = attachment->fan_out;
    GstSample *sample = gst_app_sink_pull_sample(sink);
    if (sample == NULL) return GST_FLOW_OK;
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    GstCaps *caps = gst_sample_get_caps(sample);
    GstClockTime running_time = GST_CLOCK_TIME_NONE;
    // Encoders such as x264enc move their segment by 1000 h.
    if (buffer != NULL && GST_BUFFER_PTS_IS_VALID(buffer)) {
        running_time =
            gst_segment_to_running_time(gst_sample_get_segment(sample), GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
    }
    // An Opus encoder's first packet is its pre-skip: shorter than the others in time but not in RTP, which has no way
    // to say so. It holds no audio of ours. opusenc stamps the packets after it with the time at which they are heard
    // if a player skips that; RTP wants the time at which their samples were taken (RFC 7587 section 4.1), which
    // browsers send and receivers assume.
    GstAudioClippingMeta *clipping = buffer != NULL ? gst_buffer_get_audio_clipping_meta(buffer) : NULL;
    bool is_preskip = clipping != NULL && clipping->start > 0;
    if (is_preskip) attachment->look_ahead = sound_duration(caps, clipping->start);
    if (GST_CLOCK_TIME_IS_VALID(running_time)) running_time += attachment->look_ahead;
    GstElement *asked = NULL;
    if (GST_CLOCK_TIME_IS_VALID(running_time) && caps != NULL && !is_preskip) {
        g_mutex_lock(&fan_out->mutex);
        if (attachment->number == fan_out->attachment) {
            fan_out->count += 1;
            distribute(fan_out, buffer, running_time, caps);
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
    Attachment *attachment = g_new(Attachment, 1);
    *attachment = (Attachment){.fan_out = fan_out, .number = ++fan_out->attachment};
    g_mutex_unlock(&fan_out->mutex);
    g_atomic_ref_count_inc(&fan_out->references);
    GstAppSinkCallbacks callbacks = {.new_sample = on_sample};
    gst_app_sink_set_callbacks(GST_APP_SINK(appsink), &callbacks, attachment, release_attachment);
}

static GstPadProbeReturn on_upstream_event(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    if (!gst_video_event_is_force_key_unit(GST_PAD_PROBE_INFO_EVENT(info))) return GST_PAD_PROBE_OK;
    CTapedeck_fan_out_request_keyframe(user);
    return GST_PAD_PROBE_DROP;
}

uint64_t CTapedeck_fan_out_add(CTapedeckFanOut *fan_out, GstElement *appsrc, GstPad *pad, GstClockTime base_time,
                               uint32_t maximum_queued) {
    Consumer *consumer = g_new0(Consumer, 1);
    consumer->appsrc = gst_object_ref(appsrc);
    consumer->pad = gst_object_ref(pad);
    g_atomic_ref_count_inc(&fan_out->references);
    consumer->requests =
        gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, on_upstream_event, fan_out, release_fan_out);
    consumer->maximum_queued = maximum_queued;
    consumer->waits_for_keyframe = fan_out->keyframes;
    consumer->divisor = 1;
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

void CTapedeck_fan_out_thin(CTapedeckFanOut *fan_out, uint64_t id, uint32_t divisor) {
    g_mutex_lock(&fan_out->mutex);
    Consumer *consumer = find(fan_out, id);
    if (consumer != NULL && consumer->divisor != CLAMP(divisor, 1, 64)) {
        consumer->divisor = CLAMP(divisor, 1, 64);
        gst_clear_caps(&consumer->thin_caps);
    }
    g_mutex_unlock(&fan_out->mutex);
}

void CTapedeck_fan_out_hold(CTapedeckFanOut *fan_out, uint64_t id, int64_t nanoseconds) {
    g_mutex_lock(&fan_out->mutex);
    Consumer *consumer = find(fan_out, id);
    if (consumer != NULL) {
        consumer->held_until = CTapedeck_monotonic_nanoseconds() + CLAMP(nanoseconds, 0, LONGEST_HOLD_NANOSECONDS);
    }
    g_mutex_unlock(&fan_out->mutex);
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

uint32_t CTapedeck_fan_out_consumers(CTapedeckFanOut *fan_out) {
    g_mutex_lock(&fan_out->mutex);
    uint32_t count = fan_out->consumers->len;
    g_mutex_unlock(&fan_out->mutex);
    return count;
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

void CTapedeck_fan_out_space_keyframes(CTapedeckFanOut *fan_out, int64_t nanoseconds) {
    g_mutex_lock(&fan_out->mutex);
    fan_out->keyframe_spacing = MAX(nanoseconds, KEYFRAME_SPACING_NANOSECONDS);
    g_mutex_unlock(&fan_out->mutex);
}

void CTapedeck_fan_out_request_keyframe(CTapedeckFanOut *fan_out) {
    g_mutex_lock(&fan_out->mutex);
    fan_out->request_pending = true;
    GstElement *asked = due_request(fan_out);
    g_mutex_unlock(&fan_out->mutex);
    send_request(asked);
}
