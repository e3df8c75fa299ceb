// SPDX-License-Identifier: Apache-2.0
//
// Random numbers for libnice, in place of GnuTLS's. That one keeps 200 bytes for each thread that ever asked, until the
// process ends, and two threads of each connection ask: pieces of which each may keep a page (docs/decisions/0105).

#include <stddef.h>
#include <stdlib.h>

// As in gnutls/crypto.h. A library that looks the name up finds the executable's before GnuTLS's (ld.so(8)), since
// Package.swift has it exported.
int gnutls_rnd(int level, void *data, size_t size);

// Any thread. Whatever the level is, the kernel's are good enough for keys (arc4random(3), getrandom(2)).
__attribute__((visibility("default"))) int gnutls_rnd(int level, void *data, size_t size) {
    (void)level;
    arc4random_buf(data, size);
    return 0;
}
