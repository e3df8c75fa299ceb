// SPDX-License-Identifier: Apache-2.0
//
// An RTSP server of what rooms send on as RTP.
//
//   worker ──RTP, RTCP──► feed (sockets on loopback) ──► source ──► GstRTSPMedia ──► clients
//                           ▲ sender reports: when a packet was sampled       │
//                           └───────── PLI, at most two a second ◄────────────┘
//
// Everything here may be called from any thread. The server's own thread and those of its clients do the rest.

#ifndef CTAPEDECK_RTSP_H
#define CTAPEDECK_RTSP_H

#include <stdbool.h>
#include <stdint.h>

#include "CTapedeckRTSPTimes.h"

/// A server that listens.
typedef struct CTapedeckRTSPServer CTapedeckRTSPServer;

/// Media that clients find at some paths of a server.
typedef struct CTapedeckRTSPMount CTapedeckRTSPMount;

/// Where a server listens, and what it lets clients do.
typedef struct {
    /// An address or a host name.
    const char *host;
    /// 0 lets the system choose.
    uint16_t port;
    /// PEM files; NULL serves without TLS.
    const char *certificate;
    const char *key;
    unsigned maximum_clients;
    /// Names and passwords of users, one after the other; NULL admits every client.
    const char *const *users;
    unsigned user_count;
} CTapedeckRTSPSettings;

/// One stream of a mount, as a worker sends it.
typedef struct {
    /// Our RTP port on the mount's address; RTCP uses the next one.
    uint16_t port;
    /// The worker's RTP port on 127.0.0.1: what comes from elsewhere is not taken.
    uint16_t source_port;
    uint32_t ssrc;
} CTapedeckRTSPLine;

/// Media to mount.
typedef struct {
    /// Paths as `CTapedeck_rtsp_canonical_path` makes them.
    const char *const *paths;
    unsigned path_count;
    /// Users who may see it.
    const char *const *users;
    unsigned user_count;
    /// The loopback address that the worker sends to.
    const char *address;
    /// The worker's description; its m-lines are those of `lines`.
    const char *description;
    const CTapedeckRTSPLine *lines;
    unsigned line_count;
} CTapedeckRTSPMountSettings;

/// Listens. NULL, with a human-readable message in `error` (free it), if that is refused.
CTapedeckRTSPServer *CTapedeck_rtsp_server_new(const CTapedeckRTSPSettings *settings, char **error);
/// Frees what `error` holds.
void CTapedeck_rtsp_free_words(char *error);
/// The port that it listens on.
uint16_t CTapedeck_rtsp_server_port(CTapedeckRTSPServer *server);
/// Clients that are connected now.
unsigned CTapedeck_rtsp_server_clients(CTapedeckRTSPServer *server);
/// Shows clients that come from now on another certificate, of PEM files; those that are connected stay. Reads the files
/// in the caller's thread. False, with words in `error` (free it), if they cannot be used: the one before stays.
bool CTapedeck_rtsp_server_use_certificate(CTapedeckRTSPServer *server, const char *certificate, const char *key,
                                           char **error);
/// Whether the server's thread answers within a second.
bool CTapedeck_rtsp_server_answers(CTapedeckRTSPServer *server);
/// Ends every client and the thread. Mounts must be gone before.
void CTapedeck_rtsp_server_free(CTapedeckRTSPServer *server);

/// Opens the sockets and lets clients in. NULL, with words in `error` (free it), if that cannot be.
CTapedeckRTSPMount *CTapedeck_rtsp_mount_new(CTapedeckRTSPServer *server, const CTapedeckRTSPMountSettings *settings,
                                             char **error);
/// Says goodbye to the clients (RTCP BYE), ends their sessions within a second, and closes the sockets.
void CTapedeck_rtsp_mount_free(CTapedeckRTSPMount *mount);

#endif
