// SPDX-License-Identifier: Apache-2.0
//
// The load of `make bench`: many participants in one process, each a webrtcbin that sends the same encoded media
// over and over. Nothing is encoded here, and packets are made once: a copy costs a header.
//
//   load_sender FILE vp8|h264 PERIOD CERTIFICATE paced|bursts|TRACE
//
// Packets of a frame follow each other after 1 ms (paced), at once (bursts), or as those of a sender whose trace this is:
// a file that sender_trace.py wrote.
//
// FILE is Matroska with one video and one audio (Opus) track, PERIOD its length in milliseconds, CERTIFICATE a PEM file
// of a certificate and its key on an elliptic curve: aiortc accepts no RSA certificate, which is what webrtcbin makes.
// Standard input:
//
//   offer      makes another participant; answered with its offer, every candidate inside, and a line with a dot
//   answer N   followed by the answer to the offer of participant N, counted from 0, and a line with a dot. It sends
//              from its first keyframe on as soon as it is connected, and begins there again when it is asked for a
//              keyframe, at most every half second
//   count      answered with a line for each participant, four numbers: connected, frames, RTP packets of video, and
//              RTP packets of audio; a line that says by how many milliseconds the latest packet was late, and a line
//              with a dot
//   stop       sends no more media; answered like count
//
// It ends with its standard input.

#define GST_USE_UNSTABLE_API
#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gst/sdp/sdp.h>
#include <gst/webrtc/webrtc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURE, SOUND, KINDS };

enum { HEADER = 12, MAXIMUM = 256 };

/// How often packets that are due are sent; and the least distance between packets of one frame where they are paced,
/// which keeps a keyframe from coming in one burst.
static const GstClockTime tick = 2 * GST_MSECOND, spacing = GST_MSECOND, longest = 25 * GST_MSECOND;

/// How long a keyframe is not asked for in vain: encoders of browsers limit it so.
static const GstClockTime keyframe_pause = 500 * GST_MSECOND;

/// One RTP packet of the media, and when it is due after their beginning.
struct packet {
    GstClockTime due;
    /// Its place in the file.
    guint number;
    guint32 rtp_time;
    guint8 first_bytes[2];
    gboolean is_last;
    int kind;
    GstMemory *payload;
};

struct participant {
    GstElement *bin;
    GstPad *pads[KINDS];
    guint32 sources[KINDS];
    guint16 numbers[KINDS];
    /// When it sent its first packet, and when the first of the present media.
    GstClockTime first, begin;
    size_t next;
    guint64 rounds;
    atomic_bool connected, wants_keyframe;
    atomic_ulong packets[KINDS], frames;
};

static GstElement *pipeline;
static GstClock *the_clock;
static char *certificate;
static GArray *packets;
static GstCaps *formats[KINDS];
static const guint32 rates[KINDS] = {90000, 48000};
static GstClockTime period;
static struct participant participants[MAXIMUM];
static atomic_int participant_count;
static atomic_bool stopped;
static atomic_ulong latest;

static void end(const char *why) {
    fprintf(stderr, "load_sender: %s\n", why);
    _Exit(1);
}

// MARK: The media

static void take(GstAppSink *sink, int kind) {
    GstSample *sample;
    guint32 base = 0;
    guint first = packets->len;
    while ((sample = gst_app_sink_pull_sample(sink)) != NULL) {
        GstBuffer *buffer = gst_sample_get_buffer(sample);
        guint8 header[HEADER];
        if (gst_buffer_extract(buffer, 0, header, HEADER) != HEADER || header[0] != 0x80) {
            end("a packet has another header");
        }
        guint32 time = GST_READ_UINT32_BE(header + 4);
        if (formats[kind] == NULL) {
            formats[kind] = gst_caps_copy(gst_sample_get_caps(sample));
            base = time;
        }
        GstBuffer *payload = gst_buffer_copy_region(buffer, GST_BUFFER_COPY_MEMORY | GST_BUFFER_COPY_DEEP, HEADER, -1);
        struct packet packet = {
            .due = GST_BUFFER_PTS(buffer),
            .number = packets->len,
            .rtp_time = time - base,
            .first_bytes = {header[0], header[1]},
            .is_last = (header[1] & 0x80) != 0,
            .kind = kind,
            .payload = gst_buffer_get_all_memory(payload),
        };
        if (!GST_CLOCK_TIME_IS_VALID(packet.due) || packet.due >= period) end("a packet is beyond the media's length");
        g_array_append_val(packets, packet);
        gst_buffer_unref(payload);
        gst_sample_unref(sample);
    }
    if (packets->len == first) end("the file lacks a track");
}

/// The packets of one frame are due at once until they are spread, and follow each other.
static gboolean is_of_frame(const struct packet *packet, const struct packet *first) {
    return packet->kind == first->kind && packet->rtp_time == first->rtp_time;
}

/// Spreads the packets of each frame.
static void pace(void) {
    for (guint at = 0, count; at < packets->len; at += count) {
        struct packet *first = &g_array_index(packets, struct packet, at);
        for (count = 1; at + count < packets->len && is_of_frame(&first[count], first); count++) {}
        GstClockTime distance = MIN(spacing, longest / count);
        for (guint number = 1; number < count; number++) first[number].due += number * distance;
    }
}

/// Gives the packets of each frame the delays of a frame of the trace, frame after frame, and again from its beginning.
static void follow(const char *path) {
    char *text;
    if (!g_file_get_contents(path, &text, NULL, NULL)) end("the trace cannot be read");
    GPtrArray *delays = g_ptr_array_new();
    char **lines = g_strsplit(g_strchomp(text), "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        if (**line != '#') g_ptr_array_add(delays, g_strsplit(*line, " ", -1));
    }
    if (delays->len == 0) end("the trace has no frame");
    guint of_trace = 0;
    GstClockTime before = 0;
    for (guint at = 0, count; at < packets->len; at += count) {
        struct packet *first = &g_array_index(packets, struct packet, at);
        for (count = 1; at + count < packets->len && is_of_frame(&first[count], first); count++) {}
        if (first->kind != PICTURE) continue;
        char **frame = g_ptr_array_index(delays, of_trace++ % delays->len);
        guint length = g_strv_length(frame);
        for (guint number = 0; number < count; number++) {
            double delay = g_ascii_strtod(frame[number * length / count], NULL);
            GstClockTime due = first[number].due + (GstClockTime)(delay * GST_MSECOND);
            before = first[number].due = MIN(MAX(due, before), period - 1);
        }
    }
}

static int is_later(const void *left, const void *right) {
    const struct packet *one = left, *other = right;
    if (one->due != other->due) return one->due > other->due ? 1 : -1;
    return (one->number > other->number) - (one->number < other->number);
}

static void load(const char *path, gboolean is_h264, const char *shape) {
    char *text = g_strdup_printf(
        "matroskademux name=demux filesrc name=file ! demux. "
        "demux.video_0 ! queue max-size-bytes=0 max-size-time=0 max-size-buffers=0 ! %s "
        "! appsink name=picture sync=false "
        "demux.audio_0 ! queue max-size-bytes=0 max-size-time=0 max-size-buffers=0 ! rtpopuspay pt=97 mtu=1200 "
        "! appsink name=sound sync=false",
        is_h264 ? "h264parse ! rtph264pay pt=96 mtu=1200 config-interval=-1 aggregate-mode=zero-latency"
                : "rtpvp8pay pt=96 mtu=1200");
    GstElement *reader = gst_parse_launch(text, NULL);
    g_free(text);
    if (reader == NULL) end("an element is missing");
    GstElement *file = gst_bin_get_by_name(GST_BIN(reader), "file");
    g_object_set(file, "location", path, NULL);
    gst_object_unref(file);
    gst_element_set_state(reader, GST_STATE_PLAYING);
    packets = g_array_new(FALSE, FALSE, sizeof(struct packet));
    const char *names[KINDS] = {"picture", "sound"};
    for (int kind = 0; kind < KINDS; kind++) {
        GstElement *sink = gst_bin_get_by_name(GST_BIN(reader), names[kind]);
        take(GST_APP_SINK(sink), kind);
        gst_object_unref(sink);
    }
    gst_element_set_state(reader, GST_STATE_NULL);
    gst_object_unref(reader);
    if (strcmp(shape, "paced") == 0) {
        pace();
    } else if (strcmp(shape, "bursts") != 0) {
        follow(shape);
    }
    qsort(packets->data, packets->len, sizeof(struct packet), is_later);
}

// MARK: Sending

static GstBuffer *copy_of(struct participant *to, const struct packet *packet) {
    guint8 *header = g_malloc(HEADER);
    memcpy(header, packet->first_bytes, 2);
    GstClockTime before = to->begin - to->first + to->rounds * period;
    guint32 time = packet->rtp_time + (guint32)gst_util_uint64_scale(before, rates[packet->kind], GST_SECOND);
    GST_WRITE_UINT16_BE(header + 2, to->numbers[packet->kind]++);
    GST_WRITE_UINT32_BE(header + 4, time);
    GST_WRITE_UINT32_BE(header + 8, to->sources[packet->kind]);
    GstBuffer *buffer = gst_buffer_new_wrapped(header, HEADER);
    gst_buffer_append_memory(buffer, gst_memory_ref(packet->payload));
    GST_BUFFER_PTS(buffer) = GST_BUFFER_DTS(buffer) = to->begin + to->rounds * period + packet->due;
    return buffer;
}

/// Sends what is due to one participant.
static void send_due(struct participant *to, GstClockTime now) {
    GstBufferList *lists[KINDS] = {NULL, NULL};
    guint64 frames = 0, sent[KINDS] = {0, 0};
    while (TRUE) {
        const struct packet *packet = &g_array_index(packets, struct packet, to->next);
        GstClockTime due = to->begin + to->rounds * period + packet->due;
        if (due > now) break;
        if (now - due > atomic_load(&latest)) atomic_store(&latest, now - due);
        if (lists[packet->kind] == NULL) lists[packet->kind] = gst_buffer_list_new();
        gst_buffer_list_add(lists[packet->kind], copy_of(to, packet));
        sent[packet->kind]++;
        if (packet->kind == PICTURE && packet->is_last) frames++;
        if (++to->next == packets->len) {
            to->next = 0;
            to->rounds++;
        }
    }
    for (int kind = 0; kind < KINDS; kind++) {
        if (lists[kind] == NULL) continue;
        if (gst_pad_push_list(to->pads[kind], lists[kind]) != GST_FLOW_OK) end("webrtcbin takes no media");
        atomic_fetch_add(&to->packets[kind], sent[kind]);
    }
    atomic_fetch_add(&to->frames, frames);
}

static gpointer run(gpointer user) {
    (void)user;
    GstClockTime base = gst_element_get_base_time(pipeline);
    while (!atomic_load(&stopped)) {
        GstClockTime now = gst_clock_get_time(the_clock) - base;
        int count = atomic_load(&participant_count);
        for (int number = 0; number < count; number++) {
            struct participant *to = &participants[number];
            if (!atomic_load(&to->connected)) continue;
            if (!GST_CLOCK_TIME_IS_VALID(to->begin)) to->first = to->begin = now;
            if (now - to->begin >= keyframe_pause && atomic_exchange(&to->wants_keyframe, FALSE)) {
                to->begin = now;
                to->next = to->rounds = 0;
            }
            send_due(to, now);
        }
        GstClockTime spent = gst_clock_get_time(the_clock) - base - now;
        if (spent < tick) g_usleep((tick - spent) / GST_USECOND);
    }
    return NULL;
}

// MARK: Connections

static void state_changed(GstElement *bin, GParamSpec *property, gpointer user) {
    (void)property;
    struct participant *whose = user;
    GstWebRTCPeerConnectionState state;
    g_object_get(bin, "connection-state", &state, NULL);
    if (state == GST_WEBRTC_PEER_CONNECTION_STATE_CONNECTED) atomic_store(&whose->connected, TRUE);
}

static void element_added(GstBin *bin, GstBin *parent, GstElement *element, gpointer user) {
    (void)bin;
    (void)parent;
    (void)user;
    GstElementFactory *factory = gst_element_get_factory(element);
    if (factory != NULL && strcmp(GST_OBJECT_NAME(factory), "dtlssrtpdec") == 0) {
        g_object_set(element, "pem", certificate, NULL);
    }
}

static void new_transceiver(GstElement *bin, GstWebRTCRTPTransceiver *transceiver, gpointer user) {
    (void)bin;
    (void)user;
    g_object_set(transceiver, "do-nack", TRUE, "direction", GST_WEBRTC_RTP_TRANSCEIVER_DIRECTION_SENDONLY, NULL);
}

/// Any thread: webrtcbin passes on what the receiver asks for.
static gboolean take_request(GstPad *pad, GstObject *parent, GstEvent *event) {
    struct participant *whose = gst_pad_get_element_private(pad);
    if (!gst_event_has_name(event, "GstForceKeyUnit")) return gst_pad_event_default(pad, parent, event);
    atomic_store(&whose->wants_keyframe, TRUE);
    gst_event_unref(event);
    return TRUE;
}

static void add_track(struct participant *to, int kind) {
    to->sources[kind] = g_random_int();
    to->numbers[kind] = (guint16)g_random_int();
    GstPad *sink = gst_element_request_pad_simple(to->bin, "sink_%u");
    to->pads[kind] = gst_pad_new(NULL, GST_PAD_SRC);
    gst_pad_set_element_private(to->pads[kind], to);
    gst_pad_set_event_function(to->pads[kind], take_request);
    gst_pad_set_active(to->pads[kind], TRUE);
    if (gst_pad_link_full(to->pads[kind], sink, GST_PAD_LINK_CHECK_NOTHING) != GST_PAD_LINK_OK) {
        end("no link to webrtcbin");
    }
    gst_object_unref(sink);
    char *stream = g_strdup_printf("track-%08x", to->sources[kind]);
    gst_pad_push_event(to->pads[kind], gst_event_new_stream_start(stream));
    g_free(stream);
    GstCaps *caps = gst_caps_copy(formats[kind]);
    gst_caps_set_simple(caps, "ssrc", G_TYPE_UINT, to->sources[kind], NULL);
    GstStructure *format = gst_caps_get_structure(caps, 0);
    gst_structure_remove_fields(format, "timestamp-offset", "seqnum-offset", NULL);
    gst_pad_push_event(to->pads[kind], gst_event_new_caps(caps));
    gst_caps_unref(caps);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(to->pads[kind], gst_event_new_segment(&segment));
}

static GstPromise *answered(GstPromise *promise) {
    if (gst_promise_wait(promise) != GST_PROMISE_RESULT_REPLIED) end("webrtcbin does not answer");
    return promise;
}

static void print_offer(void) {
    int number = atomic_load(&participant_count);
    if (number == MAXIMUM) end("too many participants");
    struct participant *to = &participants[number];
    to->begin = GST_CLOCK_TIME_NONE;
    to->bin = gst_element_factory_make("webrtcbin", NULL);
    if (to->bin == NULL) end("there is no webrtcbin");
    g_object_set(to->bin, "bundle-policy", GST_WEBRTC_BUNDLE_POLICY_MAX_BUNDLE, NULL);
    g_signal_connect(to->bin, "on-new-transceiver", G_CALLBACK(new_transceiver), NULL);
    g_signal_connect(to->bin, "deep-element-added", G_CALLBACK(element_added), NULL);
    g_signal_connect(to->bin, "notify::connection-state", G_CALLBACK(state_changed), to);
    gst_bin_add(GST_BIN(pipeline), to->bin);
    gst_element_sync_state_with_parent(to->bin);
    for (int kind = 0; kind < KINDS; kind++) add_track(to, kind);

    GstPromise *promise = gst_promise_new();
    g_signal_emit_by_name(to->bin, "create-offer", NULL, promise);
    GstWebRTCSessionDescription *offer = NULL;
    const GstStructure *reply = gst_promise_get_reply(answered(promise));
    gst_structure_get(reply, "offer", GST_TYPE_WEBRTC_SESSION_DESCRIPTION, &offer, NULL);
    if (offer == NULL) end("webrtcbin has no offer");
    gst_promise_unref(promise);
    promise = gst_promise_new();
    g_signal_emit_by_name(to->bin, "set-local-description", offer, promise);
    gst_promise_unref(answered(promise));
    gst_webrtc_session_description_free(offer);

    GstWebRTCICEGatheringState state = GST_WEBRTC_ICE_GATHERING_STATE_NEW;
    for (int turns = 0; turns < 1000 && state != GST_WEBRTC_ICE_GATHERING_STATE_COMPLETE; turns++) {
        g_usleep(10000);
        g_object_get(to->bin, "ice-gathering-state", &state, NULL);
    }
    GstWebRTCSessionDescription *local = NULL;
    g_object_get(to->bin, "local-description", &local, NULL);
    char *text = gst_sdp_message_as_text(local->sdp);
    printf("%s.\n", text);
    g_free(text);
    gst_webrtc_session_description_free(local);
    atomic_store(&participant_count, number + 1);
}

static void take_answer(int number) {
    if (number < 0 || number >= atomic_load(&participant_count)) end("an answer for nobody");
    GString *text = g_string_new(NULL);
    char line[4096];
    while (fgets(line, sizeof line, stdin) != NULL && strcmp(line, ".\n") != 0) g_string_append(text, line);
    GstSDPMessage *message;
    if (gst_sdp_message_new_from_text(text->str, &message) != GST_SDP_OK) end("the answer is no SDP");
    g_string_free(text, TRUE);
    GstWebRTCSessionDescription *answer = gst_webrtc_session_description_new(GST_WEBRTC_SDP_TYPE_ANSWER, message);
    GstPromise *promise = gst_promise_new();
    g_signal_emit_by_name(participants[number].bin, "set-remote-description", answer, promise);
    gst_promise_unref(answered(promise));
    gst_webrtc_session_description_free(answer);
}

static void print_counts(void) {
    for (int number = 0; number < atomic_load(&participant_count); number++) {
        struct participant *whose = &participants[number];
        printf("%d %lu %lu %lu\n", (int)atomic_load(&whose->connected), atomic_load(&whose->frames),
               atomic_load(&whose->packets[PICTURE]), atomic_load(&whose->packets[SOUND]));
    }
    printf("%.1f\n.\n", (double)atomic_load(&latest) / GST_MSECOND);
}

int main(int count, char **words) {
    gst_init(&count, &words);
    if (count != 6) end("usage: load_sender FILE vp8|h264 PERIOD CERTIFICATE paced|bursts|TRACE");
    if (!g_file_get_contents(words[4], &certificate, NULL, NULL)) end("the certificate cannot be read");
    period = strtoull(words[3], NULL, 10) * GST_MSECOND;
    load(words[1], strcmp(words[2], "h264") == 0, words[5]);
    pipeline = gst_pipeline_new(NULL);
    the_clock = gst_system_clock_obtain();
    gst_pipeline_use_clock(GST_PIPELINE(pipeline), the_clock);
    gst_element_set_start_time(pipeline, GST_CLOCK_TIME_NONE);
    gst_element_set_base_time(pipeline, gst_clock_get_time(the_clock));
    if (gst_element_set_state(pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
        end("the pipeline does not start");
    }
    GThread *sender = g_thread_new("sender", run, NULL);
    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL) {
        int number;
        if (strcmp(line, "offer\n") == 0) {
            print_offer();
        } else if (sscanf(line, "answer %d", &number) == 1) {
            take_answer(number);
        } else if (strcmp(line, "count\n") == 0) {
            print_counts();
        } else if (strcmp(line, "stop\n") == 0) {
            atomic_store(&stopped, TRUE);
            g_thread_join(g_steal_pointer(&sender));
            print_counts();
        } else {
            end("an unknown command");
        }
        fflush(stdout);
    }
    _Exit(0);
}
