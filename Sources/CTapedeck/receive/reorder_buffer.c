// SPDX-License-Identifier: Apache-2.0
//
// The element around a reorder window. rtpjitterbuffer does the same with two threads for each source, one of which is
// woken for each packet; a recorder needs neither its clock nor its timer for packets that are yet to come.

#include "reorder_buffer.h"

#include <gst/rtp/rtp.h>

#include "CTapedeckReorder.h"
#include "receive_path.h"
#include "rtp_header.h"

// Payload types of one source that have a separate exit. Those of a call are one, and up to four after changes of the
// codec: VP8, two of H.264, VP9.
enum { MAXIMUM_EXITS = 4 };

// Requests that one connection may make at once, and again within a second: its sources are as many as its peer likes, and
// each request goes through all of rtpbin, most of them in a thread that all connections share.
enum { MAXIMUM_REQUESTS_AT_ONCE = 1024, REQUESTS_PER_SECOND = 2000 };

// A buffer that has used up all of them looks again after this time.
static const int64_t SPENT_PAUSE_NANOSECONDS = 5000000;

typedef struct {
    uint8_t payload_type;
    GstPad *pad;
} Exit;

typedef struct {
    GstElement parent;
    GstPad *sink;
    GstPad *source;
    GstClock *clock;
    // A reference; NULL for one that no path made.
    ReceivePath *path;
    atomic_bool asks;
    atomic_uint latency_milliseconds;

    // The members below are protected by the stream lock of the sink pad.
    CTapedeckReorderWindow *window;
    // The one wait on the clock, and what it is for; NULL if nothing is waited for.
    GstClockID wait;
    int64_t wait_until;
    // Its source, from the first packet on.
    PathSource *row;
    // Amounts added to its counts so far.
    uint32_t counted_held;
    uint64_t counted_dropped;
    // Packets that were not accepted since the last one that was.
    uint32_t passed_over;
    Exit exits[MAXIMUM_EXITS];
    unsigned exit_count;
    // It runs.
    bool is_open;

    // Nothing is missing.
    atomic_bool is_whole;
    // A bit for each payload type that has an exit.
    atomic_uint_fast64_t exit_types[2];

    // For the property `stats`, which webrtcbin reads on any thread.
    atomic_uint_fast64_t lost;
    atomic_uint_fast64_t late;
    atomic_uint_fast64_t duplicates;
    atomic_uint_fast64_t repaired;
    atomic_uint_fast64_t requested;
} TapedeckReorderBuffer;

typedef struct {
    GstElementClass parent;
} TapedeckReorderBufferClass;

// Properties that rtpbin and webrtcbin set and read.
enum { PROPERTY_NONE, PROPERTY_LATENCY, PROPERTY_RETRANSMISSION, PROPERTY_STATISTICS };

G_DEFINE_TYPE(TapedeckReorderBuffer, tapedeck_reorder_buffer, GST_TYPE_ELEMENT)

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS("application/x-rtp"));
static GstStaticPadTemplate source_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("application/x-rtp"));

static int64_t now_of(TapedeckReorderBuffer *self) { return (int64_t)gst_clock_get_time(self->clock); }

static void publish(TapedeckReorderBuffer *self) {
    CTapedeckReorderCounters counters = CTapedeck_reorder_window_counters(self->window);
    atomic_store_explicit(&self->lost, counters.lost, memory_order_relaxed);
    atomic_store_explicit(&self->late, counters.late, memory_order_relaxed);
    atomic_store_explicit(&self->duplicates, counters.duplicates, memory_order_relaxed);
    atomic_store_explicit(&self->repaired, counters.repaired, memory_order_relaxed);
}

// The event that rtpsession makes a NACK of (RFC 4585 section 6.2.1); rtpssrcdemux adds the SSRC.
static void ask(TapedeckReorderBuffer *self, const CTapedeckRequest *request) {
    int64_t round_trip = CTapedeck_reorder_window_counters(self->window).round_trip_nanoseconds;
    GstStructure *structure = gst_structure_new(
        "GstRTPRetransmissionRequest", "seqnum", G_TYPE_UINT, (guint)request->sequence, "delay", G_TYPE_UINT,
        (guint)(request->missing_nanoseconds / 1000000), "retry", G_TYPE_UINT, (guint)request->requests, "deadline",
        G_TYPE_UINT, (guint)atomic_load(&self->latency_milliseconds), "avg-rtt", G_TYPE_UINT,
        (guint)(round_trip / 1000000), NULL);
    gst_pad_push_event(self->sink, gst_event_new_custom(GST_EVENT_CUSTOM_UPSTREAM, structure));
    atomic_fetch_add_explicit(&self->requested, 1, memory_order_relaxed);
}

// Whether one more packet may be asked for now. If not, it is asked for later.
static bool may_ask(ReceivePath *path, int64_t now) {
    if (path == NULL) return true;
    g_mutex_lock(&path->lock);
    int64_t more = (now - path->requests_filled) / ((int64_t)GST_SECOND / REQUESTS_PER_SECOND);
    if (more > 0) {
        path->requests_left = (unsigned)MIN(path->requests_left + more, MAXIMUM_REQUESTS_AT_ONCE);
        path->requests_filled = now;
    }
    bool may = path->requests_left > 0;
    if (may) path->requests_left -= 1;
    g_mutex_unlock(&path->lock);
    return may;
}

static gboolean on_time(GstClock *clock, GstClockTime time, GstClockID id, gpointer user);

static void cancel_wait(TapedeckReorderBuffer *self) {
    if (self->wait == NULL) return;
    gst_clock_id_unschedule(self->wait);
    g_clear_pointer(&self->wait, gst_clock_id_unref);
}

static void wait_for(TapedeckReorderBuffer *self, int64_t deadline) {
    // A wait that ends too early finds out and waits again.
    if (self->wait != NULL && self->wait_until <= deadline) return;
    cancel_wait(self);
    self->wait_until = deadline;
    self->wait = gst_clock_new_single_shot_id(self->clock, (GstClockTime)deadline);
    gst_clock_id_wait_async(self->wait, on_time, gst_object_ref(self), gst_object_unref);
}

static void close_exits(TapedeckReorderBuffer *self) {
    for (int half = 0; half < 2; half++) atomic_store(&self->exit_types[half], 0);
    for (unsigned index = 0; index < self->exit_count; index++) gst_object_unref(self->exits[index].pad);
    self->exit_count = 0;
}

static GstPad *way_of(TapedeckReorderBuffer *self, uint8_t payload_type) {
    for (unsigned index = 0; index < self->exit_count; index++) {
        if (self->exits[index].payload_type == payload_type) return self->exits[index].pad;
    }
    return self->source;
}

// Names what a packet carries the number of packets in, in front of which it was not accepted.
static GstCaps *passed_over_caps(void) {
    static gsize caps = 0;
    if (g_once_init_enter(&caps)) {
        g_once_init_leave(&caps, (gsize)gst_caps_new_empty_simple("timestamp/x-tapedeck-passed-over"));
    }
    return (GstCaps *)caps;
}

uint32_t reorder_buffer_passed_over(GstBuffer *packet) {
    const GstReferenceTimestampMeta *meta = gst_buffer_get_reference_timestamp_meta(packet, passed_over_caps());
    return meta != NULL ? (uint32_t)meta->timestamp : 0;
}

// Passes a packet on, if it is accepted.
static GstFlowReturn pass(TapedeckReorderBuffer *self, GstBuffer *packet) {
    uint8_t second = 0;
    gst_buffer_extract(packet, 1, &second, 1);
    uint8_t payload_type = second & 0x7F;
    if (self->row != NULL && !receive_path_accepts(self->path, payload_type)) {
        counter_add(&self->row->not_accepted, 1);
        self->passed_over += 1;
        gst_buffer_unref(packet);
        return GST_FLOW_OK;
    }
    if (self->passed_over > 0) {
        packet = gst_buffer_make_writable(packet);
        gst_buffer_add_reference_timestamp_meta(packet, passed_over_caps(), self->passed_over, GST_CLOCK_TIME_NONE);
        self->passed_over = 0;
    }
    return gst_pad_push(way_of(self, payload_type), packet);
}

// Adds what changed in the window to the counts. While packets come in order nothing does.
static void count(TapedeckReorderBuffer *self) {
    if (self->row == NULL) return;
    uint32_t held = CTapedeck_reorder_window_held(self->window);
    if (held != self->counted_held) {
        counter_add(&self->row->waiting, (uint64_t)held - self->counted_held);
        self->counted_held = held;
    }
    uint64_t dropped = CTapedeck_reorder_window_dropped(self->window);
    if (dropped != self->counted_dropped) {
        counter_add(&self->row->dropped, dropped - self->counted_dropped);
        self->counted_dropped = dropped;
    }
}

// Passes on what may go.
static GstFlowReturn drain(TapedeckReorderBuffer *self, int64_t now) {
    GstFlowReturn flow = GST_FLOW_OK;
    CTapedeckNext next;
    while ((next = CTapedeck_reorder_window_take(self->window, now)).kind != CTAPEDECK_NEXT_NOTHING) {
        // Depayloaders and taps see from the sequence numbers what is missing.
        if (next.kind == CTAPEDECK_NEXT_LOSS) continue;
        GstFlowReturn result = pass(self, next.packet);
        if (result != GST_FLOW_OK) flow = result;
    }
    count(self);
    return flow;
}

// Passes on what may go, and asks for what is due.
static GstFlowReturn run(TapedeckReorderBuffer *self, int64_t now) {
    GstFlowReturn flow = drain(self, now);
    bool asks = atomic_load_explicit(&self->asks, memory_order_relaxed);
    CTapedeckRequest request;
    bool is_spent = false;
    while (asks && !is_spent && CTapedeck_reorder_window_request_at(self->window) <= now) {
        is_spent = !may_ask(self->path, now);
        if (is_spent || !CTapedeck_reorder_window_request(self->window, now, &request)) break;
        ask(self, &request);
    }
    int64_t deadline = CTapedeck_reorder_window_deadline(self->window, asks);
    if (is_spent) deadline = MAX(deadline, now + SPENT_PAUSE_NANOSECONDS);
    atomic_store_explicit(&self->is_whole, deadline == INT64_MAX, memory_order_relaxed);
    if (deadline != INT64_MAX || self->wait != NULL) {
        publish(self);
        wait_for(self, deadline);
    }
    return flow;
}

// The system clock's thread.
static gboolean on_time(GstClock *clock, GstClockTime time, GstClockID id, gpointer user) {
    (void)clock;
    (void)time;
    TapedeckReorderBuffer *self = user;
    GST_PAD_STREAM_LOCK(self->sink);
    // Another wait may have taken its place while this one came to the lock.
    if (self->wait == id) {
        g_clear_pointer(&self->wait, gst_clock_id_unref);
        if (!GST_PAD_IS_FLUSHING(self->sink)) run(self, now_of(self));
    }
    GST_PAD_STREAM_UNLOCK(self->sink);
    return TRUE;
}

static bool read_header(GstBuffer *packet, uint16_t *sequence, uint32_t *ssrc) {
    uint8_t header[RTP_FIXED_HEADER_SIZE];
    if (gst_buffer_extract(packet, 0, header, sizeof(header)) != sizeof(header) || header[0] >> 6 != 2) return false;
    *sequence = GST_READ_UINT16_BE(header + 2);
    *ssrc = GST_READ_UINT32_BE(header + 8);
    return true;
}

// Makes it the buffer of a source, or of none.
static void belong_to(TapedeckReorderBuffer *self, PathSource *row) {
    g_mutex_lock(&self->path->lock);
    if (row != NULL) row->buffer = GST_ELEMENT(self);
    if (row == NULL && self->row != NULL && self->row->buffer == GST_ELEMENT(self)) self->row->buffer = NULL;
    g_mutex_unlock(&self->path->lock);
    self->row = row;
}

static void count_entered(TapedeckReorderBuffer *self, GstBuffer *packet, uint32_t ssrc) {
    if (self->path == NULL) return;
    if (self->row == NULL) belong_to(self, receive_path_source(self->path, ssrc, true));
    counter_add(&self->row->entered, 1);
    if (GST_BUFFER_FLAG_IS_SET(packet, GST_RTP_BUFFER_FLAG_RETRANSMISSION)) counter_add(&self->row->restored, 1);
}

static GstFlowReturn take_packet(GstPad *pad, GstObject *parent, GstBuffer *packet) {
    (void)pad;
    TapedeckReorderBuffer *self = (TapedeckReorderBuffer *)parent;
    uint16_t sequence;
    uint32_t ssrc;
    if (!read_header(packet, &sequence, &ssrc)) {
        gst_buffer_unref(packet);
        return GST_FLOW_OK;
    }
    count_entered(self, packet, ssrc);
    int64_t now = now_of(self);
    CTapedeckPacketFate fate;
    while ((fate = CTapedeck_reorder_window_put(self->window, sequence, packet, now)) == CTAPEDECK_PACKET_NO_ROOM) {
        drain(self, now);
    }
    if (fate == CTAPEDECK_PACKET_DUPLICATE || fate == CTAPEDECK_PACKET_LATE) gst_buffer_unref(packet);
    return run(self, now);
}

static gboolean take_event(GstPad *pad, GstObject *parent, GstEvent *event) {
    TapedeckReorderBuffer *self = (TapedeckReorderBuffer *)parent;
    if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
        cancel_wait(self);
        CTapedeck_reorder_window_clear(self->window);
        count(self);
    }
    // Held packets belong before the end.
    if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) drain(self, INT64_MAX / 2);
    return gst_pad_event_default(pad, parent, event);
}

static GstStateChangeReturn change_state(GstElement *element, GstStateChange transition) {
    TapedeckReorderBuffer *self = (TapedeckReorderBuffer *)element;
    GstStateChangeReturn result =
        GST_ELEMENT_CLASS(tapedeck_reorder_buffer_parent_class)->change_state(element, transition);
    if (transition == GST_STATE_CHANGE_READY_TO_PAUSED || transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
        GST_PAD_STREAM_LOCK(self->sink);
        self->is_open = transition == GST_STATE_CHANGE_READY_TO_PAUSED;
        if (!self->is_open) {
            cancel_wait(self);
            CTapedeck_reorder_window_clear(self->window);
            count(self);
            close_exits(self);
            if (self->path != NULL) belong_to(self, NULL);
        }
        GST_PAD_STREAM_UNLOCK(self->sink);
    }
    return result;
}

static void set_property(GObject *object, guint property, const GValue *value, GParamSpec *specification) {
    TapedeckReorderBuffer *self = (TapedeckReorderBuffer *)object;
    switch (property) {
        case PROPERTY_LATENCY:
            atomic_store(&self->latency_milliseconds, g_value_get_uint(value));
            GST_PAD_STREAM_LOCK(self->sink);
            CTapedeck_reorder_window_set_latency(self->window, (int64_t)g_value_get_uint(value) * 1000000);
            GST_PAD_STREAM_UNLOCK(self->sink);
            break;
        case PROPERTY_RETRANSMISSION:
            atomic_store(&self->asks, g_value_get_boolean(value));
            break;
        default:
            G_OBJECT_WARN_INVALID_PROPERTY_ID(object, property, specification);
    }
}

static void get_property(GObject *object, guint property, GValue *value, GParamSpec *specification) {
    TapedeckReorderBuffer *self = (TapedeckReorderBuffer *)object;
    switch (property) {
        case PROPERTY_LATENCY:
            g_value_set_uint(value, atomic_load(&self->latency_milliseconds));
            break;
        case PROPERTY_RETRANSMISSION:
            g_value_set_boolean(value, atomic_load(&self->asks));
            break;
        case PROPERTY_STATISTICS:
            g_value_take_boxed(
                value,
                gst_structure_new("application/x-rtp-jitterbuffer-stats", "num-lost", G_TYPE_UINT64,
                                  (guint64)atomic_load(&self->lost), "num-late", G_TYPE_UINT64,
                                  (guint64)atomic_load(&self->late), "num-duplicates", G_TYPE_UINT64,
                                  (guint64)atomic_load(&self->duplicates), "rtx-count", G_TYPE_UINT64,
                                  (guint64)atomic_load(&self->requested), "rtx-success-count", G_TYPE_UINT64,
                                  (guint64)atomic_load(&self->repaired), NULL));
            break;
        default:
            G_OBJECT_WARN_INVALID_PROPERTY_ID(object, property, specification);
    }
}

static void finalize(GObject *object) {
    TapedeckReorderBuffer *self = (TapedeckReorderBuffer *)object;
    CTapedeck_reorder_window_free(self->window);
    close_exits(self);
    if (self->path != NULL) CTapedeck_receive_path_unref(self->path);
    gst_object_unref(self->clock);
    G_OBJECT_CLASS(tapedeck_reorder_buffer_parent_class)->finalize(object);
}

static void tapedeck_reorder_buffer_init(TapedeckReorderBuffer *self) {
    self->clock = gst_system_clock_obtain();
    self->window = CTapedeck_reorder_window_new(0);
    self->sink = gst_pad_new_from_static_template(&sink_template, "sink");
    self->source = gst_pad_new_from_static_template(&source_template, "src");
    gst_pad_set_chain_function(self->sink, take_packet);
    gst_pad_set_event_function(self->sink, take_event);
    // The SSRC is in the caps.
    GST_PAD_SET_PROXY_CAPS(self->sink);
    GST_PAD_SET_PROXY_CAPS(self->source);
    gst_element_add_pad(GST_ELEMENT(self), self->sink);
    gst_element_add_pad(GST_ELEMENT(self), self->source);
}

static void tapedeck_reorder_buffer_class_init(TapedeckReorderBufferClass *class) {
    GObjectClass *object = G_OBJECT_CLASS(class);
    GstElementClass *element = GST_ELEMENT_CLASS(class);
    object->set_property = set_property;
    object->get_property = get_property;
    object->finalize = finalize;
    element->change_state = change_state;
    g_object_class_install_property(
        object, PROPERTY_LATENCY,
        g_param_spec_uint("latency", "Latency", "How long a missing packet is waited for, in milliseconds", 0, G_MAXUINT, 0,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS));
    g_object_class_install_property(
        object, PROPERTY_RETRANSMISSION,
        g_param_spec_boolean("do-retransmission", "Retransmission", "Whether missing packets are asked for again", FALSE,
                             G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS));
    g_object_class_install_property(
        object, PROPERTY_STATISTICS,
        g_param_spec_boxed("stats", "Statistics", "Counters", GST_TYPE_STRUCTURE,
                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
    gst_element_class_add_static_pad_template(element, &sink_template);
    gst_element_class_add_static_pad_template(element, &source_template);
    gst_element_class_set_static_metadata(element, "Reorder buffer", "Filter/Network/RTP",
                                          "Puts RTP packets in order and asks for missing ones", "Tapedeck");
}

static GstElement *make_buffer(GstElement *rtpbin, guint session, gpointer user) {
    (void)rtpbin;
    (void)session;
    GstElement *element = gst_element_factory_make("tapedeckreorderbuffer", NULL);
    if (element == NULL) return NULL;
    ((TapedeckReorderBuffer *)element)->path = receive_path_ref(user);
    return element;
}

static void release_path(gpointer path, GClosure *closure) {
    (void)closure;
    CTapedeck_receive_path_unref(path);
}

void reorder_buffers_meet(ReceivePath *path, GstElement *rtpbin) {
    static gsize is_registered = 0;
    // With a name it can be found in a bin, and read in a graph.
    if (g_once_init_enter(&is_registered)) {
        gst_element_register(NULL, "tapedeckreorderbuffer", GST_RANK_NONE, tapedeck_reorder_buffer_get_type());
        g_once_init_leave(&is_registered, 1);
    }
    g_signal_connect_data(rtpbin, "request-jitterbuffer", G_CALLBACK(make_buffer), receive_path_ref(path), release_path, 0);
}

static TapedeckReorderBuffer *buffer_of(GstElement *element) {
    bool is_one = G_TYPE_CHECK_INSTANCE_TYPE(element, tapedeck_reorder_buffer_get_type());
    return is_one ? (TapedeckReorderBuffer *)element : NULL;
}

// Passes on what waits: what is missing will not come any more.
static void finish(gpointer buffer, gpointer user) {
    (void)user;
    TapedeckReorderBuffer *self = buffer;
    GST_PAD_STREAM_LOCK(self->sink);
    if (self->is_open) {
        drain(self, INT64_MAX / 2);
        publish(self);
    }
    GST_PAD_STREAM_UNLOCK(self->sink);
}

void reorder_buffers_finish(ReceivePath *path) {
    GPtrArray *buffers = g_ptr_array_new_with_free_func(gst_object_unref);
    GHashTableIter rows;
    gpointer row;
    g_mutex_lock(&path->lock);
    g_hash_table_iter_init(&rows, path->sources);
    while (g_hash_table_iter_next(&rows, NULL, &row)) {
        GstElement *buffer = ((PathSource *)row)->buffer;
        if (buffer != NULL) g_ptr_array_add(buffers, gst_object_ref(buffer));
    }
    g_mutex_unlock(&path->lock);
    g_ptr_array_foreach(buffers, finish, NULL);
    g_ptr_array_unref(buffers);
}

GstPad *reorder_buffer_sink(GstElement *element) {
    TapedeckReorderBuffer *self = buffer_of(element);
    return self != NULL ? self->sink : NULL;
}

bool reorder_buffer_is_whole(GstElement *element) {
    return atomic_load_explicit(&buffer_of(element)->is_whole, memory_order_relaxed);
}

bool reorder_buffer_has_exit(GstElement *element, uint8_t payload_type) {
    return (counter_read(&buffer_of(element)->exit_types[payload_type / 64]) >> payload_type % 64 & 1) != 0;
}

bool reorder_buffer_takes(ReceivePath *path, PathTrack *track) {
    (void)path;
    if (track->buffer == NULL) return false;
    TapedeckReorderBuffer *self = buffer_of(track->buffer);
    // Waits for the packet that is under way.
    GST_PAD_STREAM_LOCK(self->sink);
    bool fits = self->is_open && self->exit_count < MAXIMUM_EXITS && self->row != NULL && self->row->ssrc == track->ssrc;
    if (fits) {
        self->exits[self->exit_count] = (Exit){.payload_type = track->payload_type, .pad = gst_object_ref(track->pad)};
        self->exit_count += 1;
        atomic_fetch_or(&self->exit_types[track->payload_type / 64], (uint_fast64_t)1 << track->payload_type % 64);
    }
    GST_PAD_STREAM_UNLOCK(self->sink);
    return fits;
}

void CTapedeck_receive_path_ask(CTapedeckReceivePath *path, uint32_t ssrc, bool asks) {
    PathSource *source = receive_path_source(path, ssrc, false);
    g_mutex_lock(&path->lock);
    if (source != NULL && source->buffer != NULL) atomic_store(&buffer_of(source->buffer)->asks, asks);
    g_mutex_unlock(&path->lock);
}
