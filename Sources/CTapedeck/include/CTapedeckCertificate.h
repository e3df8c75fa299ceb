// SPDX-License-Identifier: Apache-2.0
//
// The DTLS identity, by libcrypto, which GStreamer's dtls plugin loads anyway.

#ifndef CTAPEDECK_CERTIFICATE_H
#define CTAPEDECK_CERTIFICATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A new self-signed ECDSA P-256 certificate (RFC 8827 section 6.5), valid from a day ago for 30 days, and its private
/// key: PEM text, certificate first. Free with CTapedeck_certificate_free. NULL if libcrypto fails.
char *CTapedeck_certificate_new(void);
/// Wipes and frees.
void CTapedeck_certificate_free(char *pem);

/// The digest of the first certificate of `pem` (DER, as RFC 8122 section 5 says) by the hash that OpenSSL calls
/// `hash` ("sha1", "sha256", "sha384", "sha512"). `digest` has room for 64 bytes. Returns its length, 0 on failure.
size_t CTapedeck_certificate_digest(const char *pem, const char *hash, uint8_t *digest);

#endif
