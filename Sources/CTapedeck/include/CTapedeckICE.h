// SPDX-License-Identifier: Apache-2.0
//
// Facts that webrtcbin does not report, or reports wrongly (1.22 swaps local and remote in its statistics), from the
// libnice agent inside it.

#ifndef CTAPEDECK_ICE_H
#define CTAPEDECK_ICE_H

#include <gst/gst.h>
#include <stdint.h>

/// Longest text of an address, with its end.
#define CTAPEDECK_ADDRESS_SIZE 64

/// An ICE candidate.
typedef struct {
    /// 0 host, 1 server-reflexive, 2 peer-reflexive, 3 relayed.
    int type;
    /// 0 UDP, else TCP.
    int transport;
    char address[CTAPEDECK_ADDRESS_SIZE];
    uint16_t port;
} CTapedeckCandidate;

/// Reads a NiceCandidate.
void CTapedeck_read_candidate(gpointer nice_candidate, CTapedeckCandidate *candidate);

/// The address and port of the TURN server that lends us our end of the selected pair; FALSE if none does. Only inside the
/// signal `new-selected-pair-full`: the agent's own candidate is read, because its copies do not know their server.
gboolean CTapedeck_selected_relay(gpointer nice_agent, guint stream, guint component,
                                  char address[CTAPEDECK_ADDRESS_SIZE], uint16_t *port);

/// Restarts ICE in the agent's only stream (RFC 8445 section 9): candidates and pairs of the peer are forgotten, and
/// media keep the old pair until there is a new one. FALSE if there is no stream; else our new credentials, transfer
/// full (g_free).
gboolean CTapedeck_ice_restart(gpointer nice_agent, char **ufrag, char **password);

/// Keeps one warning of libnice off standard error: CTapedeck_ice_end gives back what it says is still held. Once.
void CTapedeck_quiet_agents(void);

/// Releases the allocations of TURN servers; the agent's thread must keep running for a moment. Nothing flows any more.
void CTapedeck_ice_end(gpointer nice_agent);

/// Lets every webrtcbin of this process that is made from now on read its sockets through our own element, registered
/// instead of libnice's `nicesrc`. Once; any thread.
///
/// Buffers have the time at which the kernel got the packet (`SIOCGSTAMPNS`) as DTS and PTS, which is what rtpsession puts
/// into transport-wide feedback and jitter; where the kernel does not tell (relayed pairs, TCP), the time of reading. Where the
/// settings of its receive path say so, packets gather before the thread looks at them, at rates at which that saves wake-ups and
/// the socket's buffer has room; otherwise each wakes it.
void CTapedeck_use_packet_sources(void);

/// Longest round trip in seconds that a peer's report blocks on our media, or its answers to our receiver reference
/// times, tell an `rtpsession` element (RFC 3550 section 6.4.1). FALSE if there is none yet.
gboolean CTapedeck_rtp_session_round_trip(GstElement *rtp_session, double *seconds);

#endif
