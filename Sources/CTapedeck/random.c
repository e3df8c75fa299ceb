// SPDX-License-Identifier: Apache-2.0
//
// Random numbers for libnice, in place of GnuTLS's. That one keeps 200 bytes for each thread that ever asked, until the
// process ends, and two threads of each connection ask: pieces that keep a page each (docs/decisions/0105).

#include <errno.h>
#include <stddef.h>
#include <sys/random.h>

// As in gnutls/crypto.h. A library that looks the name up finds the executable's before GnuTLS's (ld.so(8)), since
// Package.swift has it exported.
int gnutls_rnd(int level, void *data, size_t size);

enum { GNUTLS_E_RANDOM_FAILED = -206 };

// Any thread. Whatever the level is, they are good enough for keys (getrandom(2)).
__attribute__((visibility("default"))) int gnutls_rnd(int level, void *data, size_t size) {
    (void)level;
    for (size_t filled = 0; filled < size;) {
        ssize_t count = getrandom((char *)data + filled, size - filled, 0);
        if (count > 0) filled += (size_t)count;
        if (count < 0 && errno != EINTR) return GNUTLS_E_RANDOM_FAILED;
    }
    return 0;
}
