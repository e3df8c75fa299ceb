// SPDX-License-Identifier: Apache-2.0

#include "rtp_security.h"

#include <glib.h>
#include <srtp2/srtp.h>

#include "CTapedeckOutput.h"

G_STATIC_ASSERT(RTP_SECURITY_GROWTH >= SRTP_MAX_TRAILER_LEN + 4);
G_STATIC_ASSERT(CTAPEDECK_RTP_KEY_SIZE == SRTP_AES_ICM_128_KEY_LEN_WSALT);

struct RTPSecurity {
    srtp_t sent;
    srtp_t received;
};

static gpointer initialise(gpointer unused) {
    (void)unused;
    // Fails where GStreamer's plug-in was first; opening a session shows whether it is ready.
    srtp_init();
    return NULL;
}

// Window 0 is libsrtp's own: 128 packets.
static srtp_t open_session(srtp_ssrc_t ssrc, const uint8_t *key) {
    srtp_policy_t policy = {.ssrc = ssrc, .key = (unsigned char *)(uintptr_t)key};
    srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy.rtp);
    srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy.rtcp);
    srtp_t session = NULL;
    return srtp_create(&session, &policy) == srtp_err_status_ok ? session : NULL;
}

RTPSecurity *rtp_security_new(uint32_t ssrc, const uint8_t *key) {
    static GOnce once = G_ONCE_INIT;
    g_once(&once, initialise, NULL);
    RTPSecurity *security = g_new0(RTPSecurity, 1);
    security->sent = open_session((srtp_ssrc_t){.type = ssrc_specific, .value = ssrc}, key);
    security->received = open_session((srtp_ssrc_t){.type = ssrc_any_inbound}, key);
    if (security->sent != NULL && security->received != NULL) return security;
    rtp_security_free(security);
    return NULL;
}

void rtp_security_free(RTPSecurity *security) {
    if (security->sent != NULL) srtp_dealloc(security->sent);
    if (security->received != NULL) srtp_dealloc(security->received);
    g_free(security);
}

static bool apply(srtp_err_status_t (*operation)(srtp_t, void *, int *), srtp_t session, uint8_t *packet, size_t *size) {
    int length = (int)*size;
    if (operation(session, packet, &length) != srtp_err_status_ok) return false;
    *size = (size_t)length;
    return true;
}

bool rtp_security_protect(RTPSecurity *security, uint8_t *packet, size_t *size) {
    return apply(srtp_protect, security->sent, packet, size);
}

bool rtp_security_protect_rtcp(RTPSecurity *security, uint8_t *packet, size_t *size) {
    return apply(srtp_protect_rtcp, security->sent, packet, size);
}

bool rtp_security_unprotect_rtcp(RTPSecurity *security, uint8_t *packet, size_t *size) {
    return apply(srtp_unprotect_rtcp, security->received, packet, size);
}
