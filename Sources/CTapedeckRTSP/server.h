// SPDX-License-Identifier: Apache-2.0
//
// Functions of a server for its mounts.

#ifndef CTAPEDECK_RTSP_SERVER_H
#define CTAPEDECK_RTSP_SERVER_H

#include <gst/rtsp-server/rtsp-server.h>

#include "CTapedeckRTSP.h"

/// The role of every client where there are no users.
#define RTSP_EVERYONE "everyone"

struct CTapedeckRTSPServer {
    GstRTSPServer *server;
    GstRTSPMountPoints *mounts;
    GMainContext *context;
    GMainLoop *loop;
    GThread *thread;
    GSource *housekeeping;
    /// How many there are, in a box (g_atomic_rc_box_new) that each of them holds: one may be closed after the server.
    gint *clients;
    unsigned maximum_clients;
    bool has_users;
    bool has_tls;
    uint16_t port;
};

/// Ends a client's connection: the client's own thread reads the end, and closes it.
///
/// Any thread. gst_rtsp_client_close() from another one takes the streams away from under that thread, which may then
/// look for requests endlessly and answer no client (GStreamer 1.22; 2 of 1200 clients that were refused).
void rtsp_client_shut_out(GstRTSPClient *client);

#endif
