// SPDX-License-Identifier: Apache-2.0
//
// The least that receiving with webrtcbin costs: it answers offers, and every received track ends in a fakesink, or,
// with a folder as argument, every call in a Matroska file by matroskamux there: 0.mkv, 1.mkv and so on.
//
// Standard input: an offer's SDP and a line with a dot, for each call. Standard output: its answer, with every
// candidate, and a line with a dot. When standard input ends, the files are finished, and it says how many packets
// came. Lost packets are asked for again, as recorders do.

#define GST_USE_UNSTABLE_API
#include <gst/gst.h>
#include <gst/sdp/sdp.h>
#include <gst/webrtc/webrtc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MAXIMUM = 256 };

enum { PICTURE, SOUND, KINDS };

/// One call: a separate pipeline, as in programs with many peers.
struct call {
    GstElement *pipeline, *bin;
    /// The inputs of the muxer, by kind; NULL without a file. Both are there before media: a muxer takes no track
    /// later.
    GstElement *queues[KINDS];
    /// Everything is in the file.
    atomic_bool is_written;
};

static struct call calls[MAXIMUM];
static int call_count;
static const char *folder;
static atomic_ulong packets;

static void end(const char *why) {
    fprintf(stderr, "webrtcbin_receiver: %s\n", why);
    _Exit(1);
}

static GstPadProbeReturn count(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    (void)info;
    (void)user;
    atomic_fetch_add_explicit(&packets, 1, memory_order_relaxed);
    return GST_PAD_PROBE_OK;
}

static void new_transceiver(GstElement *element, GstWebRTCRTPTransceiver *transceiver, gpointer user) {
    (void)element;
    (void)user;
    g_object_set(transceiver, "do-nack", TRUE, NULL);
}

static GstElement *add(struct call *call, const char *factory) {
    GstElement *element = gst_element_factory_make(factory, NULL);
    if (element == NULL) end("an element is missing");
    gst_bin_add(GST_BIN(call->pipeline), element);
    return element;
}

/// Adds the elements between a track and its call's file; returns the first of them.
static GstElement *add_branch(struct call *call, GstPad *pad) {
    GstCaps *caps = gst_pad_get_current_caps(pad);
    const char *name = gst_structure_get_string(gst_caps_get_structure(caps, 0), "encoding-name");
    gboolean is_h264 = g_strcmp0(name, "H264") == 0, is_vp8 = g_strcmp0(name, "VP8") == 0;
    gst_caps_unref(caps);
    GstElement *first = add(call, is_h264 ? "rtph264depay" : is_vp8 ? "rtpvp8depay" : "rtpopusdepay"), *last = first;
    if (is_h264) {
        last = add(call, "h264parse");
        if (!gst_element_link(first, last)) end("no parser");
        gst_element_sync_state_with_parent(last);
    }
    if (!gst_element_link(last, call->queues[is_h264 || is_vp8 ? PICTURE : SOUND])) end("a track too many");
    return first;
}

/// The muxer sends the end on when it has completed the file. The pipeline itself never reports it: webrtcbin has
/// internal sinks.
static GstPadProbeReturn notice_end(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    (void)pad;
    struct call *call = user;
    if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_EOS) atomic_store(&call->is_written, TRUE);
    return GST_PAD_PROBE_OK;
}

static void add_file(struct call *call, int number) {
    GstElement *mux = add(call, "matroskamux"), *file = add(call, "filesink");
    char *path = g_strdup_printf("%s/%d.mkv", folder, number);
    // Written as it comes: a clock would hold units back.
    g_object_set(file, "location", path, "sync", FALSE, "async", FALSE, NULL);
    g_free(path);
    if (!gst_element_link(mux, file)) end("no file");
    GstPad *entry = gst_element_get_static_pad(file, "sink");
    gst_pad_add_probe(entry, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, notice_end, call, NULL);
    gst_object_unref(entry);
    const char *names[KINDS] = {"video_%u", "audio_%u"};
    for (int kind = 0; kind < KINDS; kind++) {
        call->queues[kind] = add(call, "queue");
        if (!gst_element_link_pads(call->queues[kind], "src", mux, names[kind])) end("the muxer takes no track");
    }
}

static void pad_added(GstElement *element, GstPad *pad, gpointer user) {
    (void)element;
    struct call *call = user;
    if (GST_PAD_DIRECTION(pad) != GST_PAD_SRC) return;
    GstElement *sink;
    if (folder != NULL) {
        sink = add_branch(call, pad);
    } else {
        sink = add(call, "fakesink");
        g_object_set(sink, "sync", FALSE, "async", FALSE, NULL);
    }
    gst_element_sync_state_with_parent(sink);
    GstPad *target = gst_element_get_static_pad(sink, "sink");
    if (gst_pad_link(pad, target) != GST_PAD_LINK_OK) end("a track could not be linked");
    gst_pad_add_probe(target, GST_PAD_PROBE_TYPE_BUFFER, count, NULL, NULL);
    gst_object_unref(target);
}

static void wait_for(GstPromise *promise) {
    if (gst_promise_wait(promise) != GST_PROMISE_RESULT_REPLIED) end("webrtcbin does not answer");
}

/// NULL if there is no other.
static char *read_offer(void) {
    GString *text = g_string_new(NULL);
    char line[4096];
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strcmp(line, ".\n") == 0) return g_string_free(text, FALSE);
        g_string_append(text, line);
    }
    if (text->len > 0) end("the offer has no end");
    return g_string_free(text, TRUE);
}

static void take_offer(struct call *call, const char *text) {
    GstSDPMessage *message;
    if (gst_sdp_message_new_from_text(text, &message) != GST_SDP_OK) end("the offer is no SDP");
    GstWebRTCSessionDescription *offer = gst_webrtc_session_description_new(GST_WEBRTC_SDP_TYPE_OFFER, message);
    GstPromise *promise = gst_promise_new();
    g_signal_emit_by_name(call->bin, "set-remote-description", offer, promise);
    wait_for(promise);
    gst_promise_unref(promise);
    gst_webrtc_session_description_free(offer);
}

static void make_answer(struct call *call) {
    GstPromise *promise = gst_promise_new();
    g_signal_emit_by_name(call->bin, "create-answer", NULL, promise);
    wait_for(promise);
    GstWebRTCSessionDescription *answer = NULL;
    gst_structure_get(gst_promise_get_reply(promise), "answer", GST_TYPE_WEBRTC_SESSION_DESCRIPTION, &answer, NULL);
    if (answer == NULL) end("webrtcbin has no answer");
    GstPromise *set = gst_promise_new();
    g_signal_emit_by_name(call->bin, "set-local-description", answer, set);
    wait_for(set);
    gst_promise_unref(set);
    gst_promise_unref(promise);
    gst_webrtc_session_description_free(answer);
}

static void print_answer(struct call *call) {
    GstWebRTCICEGatheringState state = GST_WEBRTC_ICE_GATHERING_STATE_NEW;
    for (int turns = 0; turns < 1000 && state != GST_WEBRTC_ICE_GATHERING_STATE_COMPLETE; turns++) {
        g_object_get(call->bin, "ice-gathering-state", &state, NULL);
        g_usleep(10000);
    }
    GstWebRTCSessionDescription *local = NULL;
    g_object_get(call->bin, "local-description", &local, NULL);
    char *text = gst_sdp_message_as_text(local->sdp);
    printf("%s.\n", text);
    fflush(stdout);
    g_free(text);
    gst_webrtc_session_description_free(local);
}

static struct call *begin(void) {
    if (call_count == MAXIMUM) end("too many calls");
    struct call *call = &calls[call_count];
    call->pipeline = gst_pipeline_new(NULL);
    call->bin = add(call, "webrtcbin");
    if (folder != NULL) add_file(call, call_count);
    call_count++;
    g_object_set(call->bin, "bundle-policy", GST_WEBRTC_BUNDLE_POLICY_MAX_BUNDLE, "latency", 500, NULL);
    g_signal_connect(call->bin, "pad-added", G_CALLBACK(pad_added), call);
    g_signal_connect(call->bin, "on-new-transceiver", G_CALLBACK(new_transceiver), NULL);
    if (gst_element_set_state(call->pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
        end("the pipeline does not start");
    }
    return call;
}

/// Ends the tracks of a call, and waits until its file is finished.
static void finish(struct call *call) {
    if (folder != NULL) {
        for (int kind = 0; kind < KINDS; kind++) {
            GstPad *entry = gst_element_get_static_pad(call->queues[kind], "sink");
            gst_pad_send_event(entry, gst_event_new_eos());
            gst_object_unref(entry);
        }
        for (int turns = 0; turns < 1000 && !atomic_load(&call->is_written); turns++) g_usleep(10000);
        if (!atomic_load(&call->is_written)) fprintf(stderr, "webrtcbin_receiver: a file is not finished\n");
    }
    gst_element_set_state(call->pipeline, GST_STATE_NULL);
}

int main(int count, char **words) {
    gst_init(&count, &words);
    folder = count > 1 ? words[1] : NULL;
    char *offer;
    while ((offer = read_offer()) != NULL) {
        struct call *call = begin();
        take_offer(call, offer);
        g_free(offer);
        make_answer(call);
        print_answer(call);
    }
    for (int number = 0; number < call_count; number++) finish(&calls[number]);
    printf("%lu\n", atomic_load(&packets));
    return 0;
}
