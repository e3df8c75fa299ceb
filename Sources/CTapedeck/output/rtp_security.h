// SPDX-License-Identifier: Apache-2.0
//
// Encryption of one RTP stream of ours and of its RTCP (RFC 3711), by libsrtp2. One thread at a time.

#ifndef CTAPEDECK_RTP_SECURITY_H
#define CTAPEDECK_RTP_SECURITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /// Most bytes that a packet grows by.
    RTP_SECURITY_GROWTH = 160,
};

typedef struct RTPSecurity RTPSecurity;

/// AES_CM_128_HMAC_SHA1_80 with CTAPEDECK_RTP_KEY_SIZE bytes of key and salt. Receivers' reports are read with the same
/// key: a receiver with a description has no other. NULL if libsrtp2 refuses.
RTPSecurity *rtp_security_new(uint32_t ssrc, const uint8_t *key);
void rtp_security_free(RTPSecurity *security);

/// Encrypts a packet where it is, in a buffer with RTP_SECURITY_GROWTH bytes behind it. `size` is the new size then.
bool rtp_security_protect(RTPSecurity *security, uint8_t *packet, size_t *size);
bool rtp_security_protect_rtcp(RTPSecurity *security, uint8_t *packet, size_t *size);
/// Decrypts what a receiver sent, where it is; false if it is not from one who has the key, or is old.
bool rtp_security_unprotect_rtcp(RTPSecurity *security, uint8_t *packet, size_t *size);

#endif
