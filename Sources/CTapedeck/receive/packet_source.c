// SPDX-License-Identifier: Apache-2.0
//
// A replacement of libnice's nicesrc for a recorder. It may let packets gather in the kernel before it looks, which
// wakes a thread once for all of them, and takes the times of their arrival from the kernel instead of from its own
// waking up. While packets gather, a thread that does the same for other connections may do it in its place.

#include <gst/base/gstpushsrc.h>
#include <linux/sockios.h>
#include <nice.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "CTapedeckICE.h"
#include "CTapedeckReader.h"
#include "CTapedeckReceive.h"
#include "receive_path.h"

enum {
    // Packets per second from which gathering saves more wake-ups than it makes, and up to which the socket's buffer
    // has room for the packets of that time.
    MINIMUM_RATE = 40,
    MAXIMUM_RATE = 2000,
    // Up to this the buffer has room even for what comes while another connection's turn hangs, and the watch finds out.
    MAXIMUM_SHARED_RATE = 400,
    // More than this at one look is a burst, which may last longer.
    BURST = 32,
    // Packets of one look, if nothing else is set; a peer may send faster than they can be read.
    PACKETS_PER_LOOK = 2048,
    // As much as the system allows; it doubles the number and bounds it by net.core.rmem_max.
    SOCKET_BUFFER_BYTES = 1 << 20,
};

static const int64_t RATE_WINDOW_NANOSECONDS = 500000000;
static const int64_t SOCKET_CHECK_NANOSECONDS = 1000000000;
// While ICE has chosen none: its buffer is small.
static const int64_t FIRST_SOCKET_CHECK_NANOSECONDS = 50000000;
// A time stamp of the kernel that is older is no time stamp of this packet.
static const int64_t MAXIMUM_AGE_NANOSECONDS = 1000000000;

typedef struct {
    GstPushSrc parent;
    NiceAgent *agent;
    guint stream;
    guint component;
    // A reference; NULL if packets do not gather. Set, as the next two, before it runs.
    ReceivePath *path;
    guint gather_milliseconds;
    guint packets_per_look;
    GMainContext *context;
    // While it plays, and may share; NULL else.
    CTapedeckReaderPlace *place;

    GMutex lock;
    GCond interruption;
    bool is_interrupted;

    // The members below belong to the streaming thread while there is one, and to a reader during a turn.
    GQueue packets;
    // The base class got a packet, and first pushes the events that must come before it.
    bool has_begun;
    GSocket *socket;
    int64_t socket_checked;
    int64_t last_stamp;
    // Whether the kernel reported the arrival of everything that the last look brought.
    bool knows_arrivals;
    guint brought;
    // A turn of it among others took too long.
    bool was_slow;
    // The last look was ended with packets left; the next one does not wait.
    bool is_paused;
    int64_t looked;
    int64_t window_start;
    guint window_packets;
    guint rate;
} TapedeckPacketSource;

typedef struct {
    GstPushSrcClass parent;
} TapedeckPacketSourceClass;

// Properties that webrtcbin sets.
enum { PROPERTY_NONE, PROPERTY_AGENT, PROPERTY_STREAM, PROPERTY_COMPONENT };

G_DEFINE_TYPE(TapedeckPacketSource, tapedeck_packet_source, GST_TYPE_PUSH_SRC)

static GstStaticPadTemplate source_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

static void check_socket(TapedeckPacketSource *self, int64_t now) {
    int64_t pause = self->socket != NULL ? SOCKET_CHECK_NANOSECONDS : FIRST_SOCKET_CHECK_NANOSECONDS;
    if (self->socket_checked != 0 && now - self->socket_checked < pause) return;
    self->socket_checked = now;
    // None for a relayed pair, nor for one over TCP.
    GSocket *socket = nice_agent_get_selected_socket(self->agent, self->stream, self->component);
    if (socket != NULL && socket != self->socket) {
        g_socket_set_option(socket, SOL_SOCKET, SO_RCVBUF, SOCKET_BUFFER_BYTES, NULL);
    }
    g_clear_object(&self->socket);
    self->socket = socket;
}

// How long ago the packet that was just read came to this host; -1 if the kernel does not tell.
static int64_t age_of_packet(TapedeckPacketSource *self) {
    struct timespec stamp, now;
    if (self->socket == NULL || ioctl(g_socket_get_fd(self->socket), SIOCGSTAMPNS, &stamp) != 0) return -1;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t time = (int64_t)stamp.tv_sec * GST_SECOND + stamp.tv_nsec;
    int64_t age = (int64_t)now.tv_sec * GST_SECOND + now.tv_nsec - time;
    // Once more that of an earlier packet: this one came by another socket.
    bool is_new = time != self->last_stamp;
    self->last_stamp = time;
    return is_new && age >= 0 && age < MAXIMUM_AGE_NANOSECONDS ? age : -1;
}

// Streaming thread, or a reader, while it looks at the sockets. libnice continues for as long as anything waits in
// them.
static void take_packet(NiceAgent *agent, guint stream, guint component, guint length, gchar *data, gpointer user) {
    TapedeckPacketSource *self = user;
    GstBuffer *packet = gst_buffer_new_memdup(data, length);
    GstClockTime now = gst_element_get_current_running_time(GST_ELEMENT(self));
    int64_t age = age_of_packet(self);
    if (age < 0) self->knows_arrivals = false;
    if (GST_CLOCK_TIME_IS_VALID(now)) {
        GstClockTime arrival = age < 0 ? now : now - MIN(now, (GstClockTime)age);
        GST_BUFFER_DTS(packet) = arrival;
        GST_BUFFER_PTS(packet) = arrival;
    }
    g_queue_push_tail(&self->packets, packet);
    self->brought += 1;
    if (self->brought < self->packets_per_look || self->is_paused) return;
    // The agent's lock is not held here, and with the same context no socket is attached again.
    self->is_paused = true;
    nice_agent_attach_recv(agent, stream, component, self->context, NULL, NULL);
}

// Whether the last look found media that flow steadily.
static bool is_steady(TapedeckPacketSource *self) {
    return self->brought <= BURST && !self->is_paused && self->knows_arrivals && self->rate >= MINIMUM_RATE &&
           self->rate <= MAXIMUM_RATE;
}

static bool may_gather(TapedeckPacketSource *self) { return self->brought > 0 && is_steady(self); }

// Waits until `gather` has passed since the last look. False if it was interrupted.
static bool gather(TapedeckPacketSource *self) {
    int64_t wait = may_gather(self) ? (int64_t)self->gather_milliseconds * 1000000 : 0;
    gint64 deadline = (self->looked + wait) / 1000;
    g_mutex_lock(&self->lock);
    while (wait > 0 && !self->is_interrupted &&
           g_cond_wait_until(&self->interruption, &self->lock, deadline)) {
    }
    bool is_interrupted = self->is_interrupted;
    g_mutex_unlock(&self->lock);
    return !is_interrupted;
}

static void look(TapedeckPacketSource *self, bool waits) {
    self->brought = 0;
    self->knows_arrivals = true;
    self->is_paused = false;
    g_main_context_iteration(self->context, waits);
    if (self->is_paused) {
        nice_agent_attach_recv(self->agent, self->stream, self->component, self->context, take_packet, self);
    }
    self->looked = CTapedeck_monotonic_nanoseconds();
    check_socket(self, self->looked);
    if (self->path != NULL) {
        atomic_fetch_add(&self->path->looks, 1);
        atomic_fetch_add(&self->path->packets_read, self->brought);
    }
    self->window_packets += self->brought;
    int64_t elapsed = self->looked - self->window_start;
    if (elapsed < RATE_WINDOW_NANOSECONDS) return;
    self->rate = (guint)((int64_t)self->window_packets * (int64_t)GST_SECOND / elapsed);
    self->window_start = self->looked;
    self->window_packets = 0;
}

// A round that brings nothing is no reason to wake the connection's own thread; the rate soon says whether media end.
static bool may_share(TapedeckPacketSource *self) { return is_steady(self) && self->rate <= MAXIMUM_SHARED_RATE; }

// Pushes packets until `left` remain; the recorder is woken once for all of them.
static GstFlowReturn push(TapedeckPacketSource *self, guint left) {
    GstFlowReturn flow = GST_FLOW_OK;
    CTapedeck_queue_hold_wake();
    while (flow == GST_FLOW_OK && g_queue_get_length(&self->packets) > left) {
        flow = gst_pad_push(GST_BASE_SRC_PAD(self), g_queue_pop_head(&self->packets));
    }
    CTapedeck_queue_release_wake();
    return flow;
}

// A reader's thread. Data that remain after an error belong to the streaming thread, which then handles the error.
static bool take_turn(void *user) {
    TapedeckPacketSource *self = user;
    look(self, false);
    return push(self, 0) == GST_FLOW_OK && may_share(self);
}

// Sleeps while a reader does what is to be done, if one may.
static void share(TapedeckPacketSource *self) {
    if (self->place == NULL || !may_gather(self) || !may_share(self)) return;
    CTapedeck_reader_share(self->place);
    if (self->was_slow || !CTapedeck_reader_was_slow(self->place)) return;
    self->was_slow = true;
    receive_path_report(self->path, CTAPEDECK_PATH_HELD_UP_OTHERS);
}

static GstFlowReturn create(GstPushSrc *source, GstBuffer **buffer) {
    TapedeckPacketSource *self = (TapedeckPacketSource *)source;
    while (g_queue_is_empty(&self->packets)) {
        share(self);
        if (!g_queue_is_empty(&self->packets)) break;
        if (!gather(self)) return GST_FLOW_FLUSHING;
        look(self, true);
    }
    // The base class has the last of those that came together.
    GstFlowReturn flow = self->has_begun ? push(self, 1) : GST_FLOW_OK;
    if (flow != GST_FLOW_OK) return flow;
    self->has_begun = true;
    *buffer = g_queue_pop_head(&self->packets);
    return GST_FLOW_OK;
}

static void interrupt(TapedeckPacketSource *self, bool is_interrupted) {
    g_mutex_lock(&self->lock);
    self->is_interrupted = is_interrupted;
    g_cond_signal(&self->interruption);
    g_mutex_unlock(&self->lock);
    if (self->place != NULL) CTapedeck_reader_interrupt(self->place, is_interrupted);
    g_main_context_wakeup(self->context);
}

static gboolean unlock(GstBaseSrc *source) {
    interrupt((TapedeckPacketSource *)source, true);
    return TRUE;
}

static gboolean unlock_stop(GstBaseSrc *source) {
    interrupt((TapedeckPacketSource *)source, false);
    return TRUE;
}

static void drop_packet(gpointer packet) { gst_buffer_unref(packet); }

static GstStateChangeReturn change_state(GstElement *element, GstStateChange transition) {
    TapedeckPacketSource *self = (TapedeckPacketSource *)element;
    if (transition == GST_STATE_CHANGE_NULL_TO_READY &&
        (self->agent == NULL || self->stream == 0 || self->component == 0)) {
        GST_ELEMENT_ERROR(self, RESOURCE, SETTINGS, (NULL), ("no agent, stream or component to read from"));
        return GST_STATE_CHANGE_FAILURE;
    }
    // Before the streaming thread begins.
    if (transition == GST_STATE_CHANGE_READY_TO_PAUSED && self->place == NULL &&
        self->gather_milliseconds >= CTAPEDECK_ROUND_MILLISECONDS) {
        self->place = CTapedeck_reader_place_new(CTapedeck_readers_of_process(), take_turn, self);
    }
    GstStateChangeReturn result =
        GST_ELEMENT_CLASS(tapedeck_packet_source_parent_class)->change_state(element, transition);
    if (result == GST_STATE_CHANGE_FAILURE) return result;
    switch (transition) {
        case GST_STATE_CHANGE_READY_TO_PAUSED:
            nice_agent_attach_recv(self->agent, self->stream, self->component, self->context, take_packet, self);
            break;
        case GST_STATE_CHANGE_PAUSED_TO_READY:
            // The streaming thread, which waits for the end of a turn, has ended: no thread is in take_packet.
            nice_agent_attach_recv(self->agent, self->stream, self->component, self->context, NULL, NULL);
            g_clear_pointer(&self->place, CTapedeck_reader_place_free);
            g_queue_clear_full(&self->packets, drop_packet);
            self->has_begun = false;
            g_clear_object(&self->socket);
            break;
        default:
            break;
    }
    return result;
}

static void set_property(GObject *object, guint property, const GValue *value, GParamSpec *specification) {
    TapedeckPacketSource *self = (TapedeckPacketSource *)object;
    switch (property) {
        case PROPERTY_AGENT:
            g_set_object(&self->agent, g_value_get_object(value));
            break;
        case PROPERTY_STREAM:
            self->stream = g_value_get_uint(value);
            break;
        case PROPERTY_COMPONENT:
            self->component = g_value_get_uint(value);
            break;
        default:
            G_OBJECT_WARN_INVALID_PROPERTY_ID(object, property, specification);
    }
}

static void get_property(GObject *object, guint property, GValue *value, GParamSpec *specification) {
    TapedeckPacketSource *self = (TapedeckPacketSource *)object;
    switch (property) {
        case PROPERTY_AGENT:
            g_value_set_object(value, self->agent);
            break;
        case PROPERTY_STREAM:
            g_value_set_uint(value, self->stream);
            break;
        case PROPERTY_COMPONENT:
            g_value_set_uint(value, self->component);
            break;
        default:
            G_OBJECT_WARN_INVALID_PROPERTY_ID(object, property, specification);
    }
}

static void finalize(GObject *object) {
    TapedeckPacketSource *self = (TapedeckPacketSource *)object;
    g_clear_pointer(&self->place, CTapedeck_reader_place_free);
    g_clear_object(&self->agent);
    g_clear_pointer(&self->path, CTapedeck_receive_path_unref);
    g_main_context_unref(self->context);
    g_cond_clear(&self->interruption);
    g_mutex_clear(&self->lock);
    G_OBJECT_CLASS(tapedeck_packet_source_parent_class)->finalize(object);
}

static void tapedeck_packet_source_init(TapedeckPacketSource *self) {
    gst_base_src_set_live(GST_BASE_SRC(self), TRUE);
    gst_base_src_set_format(GST_BASE_SRC(self), GST_FORMAT_TIME);
    self->packets_per_look = PACKETS_PER_LOOK;
    self->context = g_main_context_new();
    g_mutex_init(&self->lock);
    g_cond_init(&self->interruption);
    g_queue_init(&self->packets);
}

static void tapedeck_packet_source_class_init(TapedeckPacketSourceClass *class) {
    GObjectClass *object = G_OBJECT_CLASS(class);
    GstElementClass *element = GST_ELEMENT_CLASS(class);
    GstBaseSrcClass *base = GST_BASE_SRC_CLASS(class);
    object->set_property = set_property;
    object->get_property = get_property;
    object->finalize = finalize;
    element->change_state = change_state;
    base->unlock = unlock;
    base->unlock_stop = unlock_stop;
    GST_PUSH_SRC_CLASS(class)->create = create;
    GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;
    g_object_class_install_property(
        object, PROPERTY_AGENT,
        g_param_spec_object("agent", "Agent", "The ICE agent to read from", NICE_TYPE_AGENT, flags));
    g_object_class_install_property(
        object, PROPERTY_STREAM,
        g_param_spec_uint("stream", "Stream", "The agent's stream", 0, G_MAXUINT, 0, flags));
    g_object_class_install_property(
        object, PROPERTY_COMPONENT,
        g_param_spec_uint("component", "Component", "The stream's component", 0, G_MAXUINT, 0, flags));
    gst_element_class_add_static_pad_template(element, &source_template);
    gst_element_class_set_static_metadata(element, "Packet source", "Source/Network",
                                          "Reads from an ICE agent, many packets at a time", "Tapedeck");
}

void CTapedeck_use_packet_sources(void) {
    static gsize is_done = 0;
    if (!g_once_init_enter(&is_done)) return;
    // A plug-in that is loaded later would put its own nicesrc back.
    GstPlugin *plugin = gst_plugin_load_by_name("nice");
    if (plugin != NULL) {
        gst_element_register(NULL, "nicesrc", GST_RANK_NONE, tapedeck_packet_source_get_type());
        gst_object_unref(plugin);
    }
    g_once_init_leave(&is_done, 1);
}

void packet_source_meet(ReceivePath *path, GstElement *nicesrc) {
    bool is_ours = G_TYPE_CHECK_INSTANCE_TYPE(nicesrc, tapedeck_packet_source_get_type());
    if (!is_ours || path->settings.gather_milliseconds == 0) return;
    TapedeckPacketSource *self = (TapedeckPacketSource *)nicesrc;
    self->path = receive_path_ref(path);
    self->gather_milliseconds = path->settings.gather_milliseconds;
    if (path->settings.packets_per_look > 0) self->packets_per_look = path->settings.packets_per_look;
    atomic_store(&path->reads_socket, true);
}

bool packet_source_takes(ReceivePath *path, PathTrack *track) {
    (void)track;
    return path->settings.gather_milliseconds == 0 || atomic_load(&path->reads_socket);
}
