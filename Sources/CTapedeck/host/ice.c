// SPDX-License-Identifier: Apache-2.0

#include "CTapedeckICE.h"

#include <nice.h>
#include <string.h>

G_STATIC_ASSERT(CTAPEDECK_ADDRESS_SIZE >= NICE_ADDRESS_STRING_LEN);

void CTapedeck_read_candidate(gpointer nice_candidate, CTapedeckCandidate *candidate) {
    const NiceCandidate *from = nice_candidate;
    *candidate = (CTapedeckCandidate){.type = from->type, .transport = from->transport};
    nice_address_to_string(&from->addr, candidate->address);
    candidate->port = nice_address_get_port(&from->addr);
}

// Held while a candidate of an agent is read, and while its stream is removed, which frees its candidates.
static GMutex candidate_lock;

static gboolean read_relay(gpointer nice_agent, guint stream, guint component,
                           char address[CTAPEDECK_ADDRESS_SIZE], uint16_t *port) {
    NiceCandidate *local = NULL;
    NiceCandidate *remote = NULL;
    if (!nice_agent_get_selected_pair(nice_agent, stream, component, &local, &remote) ||
        local->type != NICE_CANDIDATE_TYPE_RELAYED)
        return FALSE;
    NiceAddress server;
    nice_address_init(&server);
    nice_candidate_relay_address(local, &server);
    if (!nice_address_is_valid(&server)) return FALSE;
    nice_address_to_string(&server, address);
    *port = nice_address_get_port(&server);
    return TRUE;
}

gboolean CTapedeck_selected_relay(gpointer nice_agent, guint stream, guint component,
                                  char address[CTAPEDECK_ADDRESS_SIZE], uint16_t *port) {
    g_mutex_lock(&candidate_lock);
    gboolean is_relayed = read_relay(nice_agent, stream, component, address, port);
    g_mutex_unlock(&candidate_lock);
    return is_relayed;
}

// With max-bundle webrtcbin has one stream; the agent counts from 1.
enum { ONLY_STREAM = 1 };

gboolean CTapedeck_ice_restart(gpointer nice_agent, char **ufrag, char **password) {
    return nice_agent_restart_stream(nice_agent, ONLY_STREAM) &&
           nice_agent_get_local_credentials(nice_agent, ONLY_STREAM, ufrag, password);
}

static void handle_message(const char *domain, GLogLevelFlags level, const char *message, gpointer user) {
    // The stream is gone by the time the server confirms that it has the address back.
    if (strstr(message, "still have alive TURN refreshes") != NULL) return;
    g_log_default_handler(domain, level, message, user);
}

void CTapedeck_quiet_agents(void) { g_log_set_handler("libnice", G_LOG_LEVEL_WARNING, handle_message, NULL); }

void CTapedeck_ice_end(gpointer nice_agent) {
    g_mutex_lock(&candidate_lock);
    nice_agent_remove_stream(nice_agent, ONLY_STREAM);
    g_mutex_unlock(&candidate_lock);
}

gboolean CTapedeck_rtp_session_round_trip(GstElement *rtp_session, double *seconds) {
    GObject *session = NULL;
    GstStructure *stats = NULL;
    gboolean is_known = FALSE;
    g_object_get(rtp_session, "internal-session", &session, NULL);
    if (session != NULL) g_object_get(session, "stats", &stats, NULL);
    const GValue *field = stats != NULL ? gst_structure_get_value(stats, "source-stats") : NULL;
    G_GNUC_BEGIN_IGNORE_DEPRECATIONS
    const GValueArray *sources = field != NULL ? g_value_get_boxed(field) : NULL;
    for (guint index = 0; sources != NULL && index < sources->n_values; index++) {
        const GstStructure *source = g_value_get_boxed(&sources->values[index]);
        gboolean has_block = FALSE;
        guint round_trip = 0;
        // 16.16 fixed point; 0 until the peer has had a sender report of ours.
        if (source == NULL || !gst_structure_get_boolean(source, "have-rb", &has_block) || !has_block ||
            !gst_structure_get_uint(source, "rb-round-trip", &round_trip) || round_trip == 0)
            continue;
        double value = round_trip / 65536.0;
        if (!is_known || value > *seconds) *seconds = value;
        is_known = TRUE;
    }
    G_GNUC_END_IGNORE_DEPRECATIONS
    if (stats != NULL) gst_structure_free(stats);
    g_clear_object(&session);
    return is_known;
}
