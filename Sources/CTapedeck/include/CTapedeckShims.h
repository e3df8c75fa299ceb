// SPDX-License-Identifier: Apache-2.0
//
// Shims: one per macro or variadic function, nothing else.

#ifndef CTAPEDECK_SHIMS_H
#define CTAPEDECK_SHIMS_H

#define GST_USE_UNSTABLE_API
#include <gst/gst.h>
#include <gst/webrtc/webrtc.h>

/// GST_MESSAGE_TYPE is a macro with a cast.
GstMessageType CGst_message_type(const GstMessage *message);

/// GST_MESSAGE_SRC_NAME is a macro with a cast. Valid while `message` lives; may be NULL.
const char *CGst_message_source_name(const GstMessage *message);

/// Whether `object` has a property of that name. G_OBJECT_GET_CLASS is a macro.
gboolean CGst_has_property(gpointer object, const char *name);

/// Sets a property from text, as gst_util_set_object_arg does, which is silent about failures. FALSE if there is no such
/// property, or it is read-only, or it does not take the value. GValue needs macros.
gboolean CGst_set_from_text(gpointer object, const char *name, const char *text);

/// The type of a property, and whether it can be set.
typedef enum {
    CGST_PROPERTY_ABSENT,
    CGST_PROPERTY_READ_ONLY,
    CGST_PROPERTY_STRING,
    CGST_PROPERTY_INTEGER,
    CGST_PROPERTY_NUMBER,
    CGST_PROPERTY_BOOLEAN,
    CGST_PROPERTY_WORD,
    CGST_PROPERTY_CAPS,
    CGST_PROPERTY_OTHER,
} CGstPropertyKind;
CGstPropertyKind CGst_property_kind(gpointer object, const char *name);

/// Whether a property reads as `text` says; also TRUE if it cannot be read. The property must exist and take the text.
gboolean CGst_property_holds(gpointer object, const char *name, const char *text);

/// g_object_set is variadic. The property must exist and be text; unlike CGst_set_from_text it takes quotes and
/// backslashes as they are.
void CGst_set_string(gpointer object, const char *name, const char *text);

/// g_object_get is variadic. The property must exist and be of the type that the name says.
int CGst_get_int(gpointer object, const char *name);
/// Transfer full; NULL if the property holds none.
gpointer CGst_get_object(gpointer object, const char *name);
/// Transfer full (g_free); NULL if the property holds none.
char *CGst_get_string(gpointer object, const char *name);

/// g_signal_connect_data wants a GCallback: any function pointer is taken as void *.
gulong CGst_connect(gpointer object, const char *signal, void *callback, gpointer user, GClosureNotify destroy);

/// g_signal_emit_by_name is variadic: one shim for each action signal of webrtcbin that we use. Promises are
/// transfer none here: webrtcbin takes its own reference.
void CGst_webrtc_create_offer(GstElement *webrtcbin, GstPromise *promise);
void CGst_webrtc_create_answer(GstElement *webrtcbin, GstPromise *promise);
void CGst_webrtc_set_local_description(GstElement *webrtcbin, GstWebRTCSessionDescription *description,
                                       GstPromise *promise);
void CGst_webrtc_set_remote_description(GstElement *webrtcbin, GstWebRTCSessionDescription *description,
                                        GstPromise *promise);
void CGst_webrtc_add_ice_candidate(GstElement *webrtcbin, guint m_line_index, const char *candidate);
/// Transfer full.
GstWebRTCRTPTransceiver *CGst_webrtc_add_transceiver(GstElement *webrtcbin,
                                                     GstWebRTCRTPTransceiverDirection direction, GstCaps *caps);
/// Interarrival jitter in seconds (RFC 3550 section 6.4.1) of a source that an `rtpsession` element receives; FALSE if it
/// does not know the source.
gboolean CGst_rtp_source_jitter(GstElement *rtp_session, guint32 ssrc, double *seconds);
/// Makes an `rtpsession` element report packet arrivals (transport-wide congestion feedback) once per this many
/// nanoseconds; by default it does so after each frame.
void CGst_rtp_session_space_transport_feedback(GstElement *rtp_session, guint64 nanoseconds);
/// FALSE if webrtcbin does not take the URL.
gboolean CGst_webrtc_add_turn_server(GstElement *webrtcbin, const char *url);
/// Lets the transceiver of an m-line send that a remote offer made receive-only. webrtcbin 1.26 makes one for
/// each m-line as it takes the offer, and gives no sink pad for it; 1.22 has none yet, and nothing is done.
void CGst_webrtc_allow_sending(GstElement *webrtcbin, guint m_line_index);
/// FALSE if the agent refused the address.
gboolean CGst_ice_add_local_address(gpointer ice_agent, const char *address);
/// Posts a keyframe request upstream from `pad`: a FIR to a peer whose caps have `ccm fir`, else a PLI.
gboolean CGst_request_keyframe(GstPad *pad);

/// The field named `name` of a promise's reply, if it is a session description. Transfer full; NULL otherwise.
/// gst_structure_get is variadic and GST_TYPE_WEBRTC_SESSION_DESCRIPTION a macro.
GstWebRTCSessionDescription *CGst_reply_description(const GstStructure *reply, const char *name);
/// The text of the field `error` of a promise's reply. Transfer full (g_free); NULL if there is none.
char *CGst_reply_error(const GstStructure *reply);
/// Transfer full; NULL if the text does not parse.
GstWebRTCSessionDescription *CGst_session_description_new(GstWebRTCSDPType type, const char *text);

#endif
