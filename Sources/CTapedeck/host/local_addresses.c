// SPDX-License-Identifier: Apache-2.0
//
// This host's addresses for libnice, in place of its own function. libnice ranks a candidate by its address's index
// among all of them, whichever it was configured to use, and ends the process where that is 64 or more (candidate.c,
// nice_candidate_ice_local_preference_full): on a host with many bridges no call could be made.

// RTLD_NEXT.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <nice.h>

// An address that is not in the list gets the index after its end, which must be allowed too.
enum { MOST_ADDRESSES = NICE_CANDIDATE_MAX_LOCAL_ADDRESSES - 1 };

// As in libnice's interfaces.h. libnice finds the executable's before its own (ld.so(8)), since Package.swift has it
// exported.
GList *nice_interfaces_get_local_ips(gboolean include_loopback);

// Any thread.
__attribute__((visibility("default"))) GList *nice_interfaces_get_local_ips(gboolean include_loopback) {
    static gsize original = 0;
    if (g_once_init_enter(&original)) {
        g_once_init_leave(&original, (gsize)dlsym(RTLD_NEXT, "nice_interfaces_get_local_ips"));
    }
    GList *(*list)(gboolean) = (GList * (*)(gboolean)) original;
    GList *addresses = list(include_loopback);
    GList *beyond = g_list_nth(addresses, MOST_ADDRESSES);
    if (beyond != NULL) {
        beyond->prev->next = NULL;
        beyond->prev = NULL;
        g_list_free_full(beyond, g_free);
    }
    return addresses;
}
