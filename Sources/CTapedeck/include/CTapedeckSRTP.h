// SPDX-License-Identifier: Apache-2.0
//
// The receiving side of SRTP (RFC 3711) for one key: AES_CM_128 with HMAC_SHA1_80 or _32, which is what DTLS-SRTP agrees on
// with webrtcbin. The ciphers are libcrypto's.

#ifndef CTAPEDECK_SRTP_H
#define CTAPEDECK_SRTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /// Bytes of master key and master salt (RFC 3711 section 8.2).
    CTAPEDECK_SRTP_KEY_SIZE = 30,
    /// Packets of a source that may come behind its newest one, which counts: without RTX a packet that is sent again comes behind
    /// all that were sent since. As libwebrtc; half a second of 2000 packets a second. A power of two.
    CTAPEDECK_SRTP_WINDOW = 1024,
};

/// One key and the sources (SSRC) that send with it. One thread at a time.
typedef struct CTapedeckSRTPReceiver CTapedeckSRTPReceiver;

/// `key` has CTAPEDECK_SRTP_KEY_SIZE bytes; `tag_size` is 10 or 4. At most `maximum_sources` are known: a packet of another one
/// is refused. NULL if libcrypto refuses.
CTapedeckSRTPReceiver *CTapedeck_srtp_receiver_new(const uint8_t *key, size_t tag_size, uint32_t maximum_sources);
void CTapedeck_srtp_receiver_free(CTapedeckSRTPReceiver *receiver);

/// Decrypts an RTP packet where it is. Returns its size without the tag; 0, and the bytes are as they were, if it is no RTP
/// packet, is not by who has the key, came before, or is older than the window. The roll-over counter of a source is 0 when
/// its first packet comes (RFC 3711 section 3.3.1).
size_t CTapedeck_srtp_receiver_open(CTapedeckSRTPReceiver *receiver, uint8_t *packet, size_t size);
/// RTP packets that were refused because their tag is wrong for the index of their sequence number (RFC 3711 section
/// 3.3.1): their sender does not have the key, or they are very old.
uint64_t CTapedeck_srtp_receiver_forged(const CTapedeckSRTPReceiver *receiver);

#endif
