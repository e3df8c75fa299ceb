// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckShims.h"

#include <gst/video/video.h>

GstMessageType CGst_message_type(const GstMessage *message) { return GST_MESSAGE_TYPE(message); }

const char *CGst_message_source_name(const GstMessage *message) {
    return GST_MESSAGE_SRC(message) ? GST_OBJECT_NAME(GST_MESSAGE_SRC(message)) : NULL;
}

gboolean CGst_has_property(gpointer object, const char *name) {
    return g_object_class_find_property(G_OBJECT_GET_CLASS(object), name) != NULL;
}

gboolean CGst_set_from_text(gpointer object, const char *name, const char *text) {
    GParamSpec *property = g_object_class_find_property(G_OBJECT_GET_CLASS(object), name);
    if (property == NULL || !(property->flags & G_PARAM_WRITABLE)) return FALSE;
    GValue value = G_VALUE_INIT;
    g_value_init(&value, property->value_type);
    gboolean fits = gst_value_deserialize_with_pspec(&value, text, property);
    if (fits) g_object_set_property(object, property->name, &value);
    g_value_unset(&value);
    return fits;
}

CGstPropertyKind CGst_property_kind(gpointer object, const char *name) {
    GParamSpec *property = g_object_class_find_property(G_OBJECT_GET_CLASS(object), name);
    if (property == NULL) return CGST_PROPERTY_ABSENT;
    if (!(property->flags & G_PARAM_WRITABLE)) return CGST_PROPERTY_READ_ONLY;
    if (property->value_type == GST_TYPE_CAPS) return CGST_PROPERTY_CAPS;
    switch (G_TYPE_FUNDAMENTAL(property->value_type)) {
        case G_TYPE_STRING:
            return CGST_PROPERTY_STRING;
        case G_TYPE_INT:
        case G_TYPE_UINT:
        case G_TYPE_LONG:
        case G_TYPE_ULONG:
        case G_TYPE_INT64:
        case G_TYPE_UINT64:
            return CGST_PROPERTY_INTEGER;
        case G_TYPE_FLOAT:
        case G_TYPE_DOUBLE:
            return CGST_PROPERTY_NUMBER;
        case G_TYPE_BOOLEAN:
            return CGST_PROPERTY_BOOLEAN;
        case G_TYPE_ENUM:
        case G_TYPE_FLAGS:
            return CGST_PROPERTY_WORD;
        default:
            return CGST_PROPERTY_OTHER;
    }
}

gboolean CGst_property_holds(gpointer object, const char *name, const char *text) {
    GParamSpec *property = g_object_class_find_property(G_OBJECT_GET_CLASS(object), name);
    if (property == NULL) return FALSE;
    if (!(property->flags & G_PARAM_READABLE)) return TRUE;
    GValue wanted = G_VALUE_INIT;
    GValue found = G_VALUE_INIT;
    g_value_init(&wanted, property->value_type);
    g_value_init(&found, property->value_type);
    g_object_get_property(object, property->name, &found);
    gboolean holds = FALSE;
    if (property->value_type == G_TYPE_STRING) {
        holds = g_strcmp0(g_value_get_string(&found), text) == 0;
    } else if (gst_value_deserialize_with_pspec(&wanted, text, property)) {
        holds = gst_value_compare(&wanted, &found) == GST_VALUE_EQUAL;
    }
    g_value_unset(&wanted);
    g_value_unset(&found);
    return holds;
}

void CGst_set_string(gpointer object, const char *name, const char *text) { g_object_set(object, name, text, NULL); }

int CGst_get_int(gpointer object, const char *name) {
    int value = 0;
    g_object_get(object, name, &value, NULL);
    return value;
}

gpointer CGst_get_object(gpointer object, const char *name) {
    gpointer value = NULL;
    g_object_get(object, name, &value, NULL);
    return value;
}

char *CGst_get_string(gpointer object, const char *name) {
    char *value = NULL;
    g_object_get(object, name, &value, NULL);
    return value;
}

gulong CGst_connect(gpointer object, const char *signal, void *callback, gpointer user, GClosureNotify destroy) {
    return g_signal_connect_data(object, signal, G_CALLBACK(callback), user, destroy, 0);
}

void CGst_webrtc_create_offer(GstElement *webrtcbin, GstPromise *promise) {
    g_signal_emit_by_name(webrtcbin, "create-offer", NULL, promise);
}

void CGst_webrtc_create_answer(GstElement *webrtcbin, GstPromise *promise) {
    g_signal_emit_by_name(webrtcbin, "create-answer", NULL, promise);
}

void CGst_webrtc_set_local_description(GstElement *webrtcbin, GstWebRTCSessionDescription *description,
                                       GstPromise *promise) {
    g_signal_emit_by_name(webrtcbin, "set-local-description", description, promise);
}

void CGst_webrtc_set_remote_description(GstElement *webrtcbin, GstWebRTCSessionDescription *description,
                                        GstPromise *promise) {
    g_signal_emit_by_name(webrtcbin, "set-remote-description", description, promise);
}

void CGst_webrtc_add_ice_candidate(GstElement *webrtcbin, guint m_line_index, const char *candidate) {
    g_signal_emit_by_name(webrtcbin, "add-ice-candidate", m_line_index, candidate);
}

GstWebRTCRTPTransceiver *CGst_webrtc_add_transceiver(GstElement *webrtcbin,
                                                     GstWebRTCRTPTransceiverDirection direction, GstCaps *caps) {
    GstWebRTCRTPTransceiver *transceiver = NULL;
    g_signal_emit_by_name(webrtcbin, "add-transceiver", direction, caps, &transceiver);
    return transceiver;
}

gboolean CGst_rtp_source_jitter(GstElement *rtp_session, guint32 ssrc, double *seconds) {
    GObject *session = NULL;
    GObject *source = NULL;
    GstStructure *stats = NULL;
    g_object_get(rtp_session, "internal-session", &session, NULL);
    if (session != NULL) g_signal_emit_by_name(session, "get-source-by-ssrc", ssrc, &source);
    if (source != NULL) g_object_get(source, "stats", &stats, NULL);
    guint jitter = 0;
    gint clock_rate = 0;
    gboolean known = stats != NULL && gst_structure_get_uint(stats, "jitter", &jitter) &&
                     gst_structure_get_int(stats, "clock-rate", &clock_rate) && clock_rate > 0;
    if (known) *seconds = (double)jitter / clock_rate;
    if (stats != NULL) gst_structure_free(stats);
    g_clear_object(&source);
    g_clear_object(&session);
    return known;
}

void CGst_rtp_session_space_transport_feedback(GstElement *rtp_session, guint64 nanoseconds) {
    GObject *session = NULL;
    g_object_get(rtp_session, "internal-session", &session, NULL);
    if (session != NULL) g_object_set(session, "twcc-feedback-interval", nanoseconds, NULL);
    g_clear_object(&session);
}

gboolean CGst_webrtc_add_turn_server(GstElement *webrtcbin, const char *url) {
    gboolean added = FALSE;
    g_signal_emit_by_name(webrtcbin, "add-turn-server", url, &added);
    return added;
}

void CGst_webrtc_allow_sending(GstElement *webrtcbin, guint m_line_index) {
    GArray *transceivers = NULL;
    g_signal_emit_by_name(webrtcbin, "get-transceivers", &transceivers);
    if (transceivers == NULL) return;
    for (guint index = 0; index < transceivers->len; index++) {
        GstWebRTCRTPTransceiver *transceiver = g_array_index(transceivers, GstWebRTCRTPTransceiver *, index);
        guint line = 0;
        GstWebRTCRTPTransceiverDirection direction = GST_WEBRTC_RTP_TRANSCEIVER_DIRECTION_NONE;
        g_object_get(transceiver, "mlineindex", &line, "direction", &direction, NULL);
        if (line == m_line_index && direction == GST_WEBRTC_RTP_TRANSCEIVER_DIRECTION_RECVONLY) {
            g_object_set(transceiver, "direction", GST_WEBRTC_RTP_TRANSCEIVER_DIRECTION_SENDRECV, NULL);
        }
    }
    g_array_unref(transceivers);
}

gboolean CGst_ice_add_local_address(gpointer ice_agent, const char *address) {
    gboolean added = FALSE;
    g_signal_emit_by_name(ice_agent, "add-local-ip-address", address, &added);
    return added;
}

gboolean CGst_request_keyframe(GstPad *pad) {
    // With all headers: rtpsession makes a FIR of no other request.
    return gst_pad_send_event(pad, gst_video_event_new_upstream_force_key_unit(GST_CLOCK_TIME_NONE, TRUE, 0));
}

GstWebRTCSessionDescription *CGst_reply_description(const GstStructure *reply, const char *name) {
    GstWebRTCSessionDescription *description = NULL;
    gst_structure_get(reply, name, GST_TYPE_WEBRTC_SESSION_DESCRIPTION, &description, NULL);
    return description;
}

char *CGst_reply_error(const GstStructure *reply) {
    GError *error = NULL;
    if (reply == NULL || !gst_structure_get(reply, "error", G_TYPE_ERROR, &error, NULL)) return NULL;
    char *text = g_strdup(error->message);
    g_error_free(error);
    return text;
}

GstWebRTCSessionDescription *CGst_session_description_new(GstWebRTCSDPType type, const char *text) {
    GstSDPMessage *message = NULL;
    if (gst_sdp_message_new_from_text(text, &message) != GST_SDP_OK) return NULL;
    return gst_webrtc_session_description_new(type, message);
}
