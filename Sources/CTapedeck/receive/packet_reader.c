// SPDX-License-Identifier: Apache-2.0

#include <glib.h>
#include <time.h>

#include "CTapedeckReader.h"
#include "CTapedeckReceive.h"

enum {
    // A round that computes for longer has more connections than its reader has time for.
    LONGEST_WORK_MICROSECONDS = CTAPEDECK_ROUND_MILLISECONDS * 1000 / 2,
    LONGEST_TURN_MICROSECONDS = CTAPEDECK_LONGEST_TURN_MILLISECONDS * 1000,
    // From one look of the watch to the next: a socket holds the packets of three times the longest turn.
    WATCH_MICROSECONDS = 2 * LONGEST_TURN_MICROSECONDS,
    // Rounds after which a reader that had too much to do takes one connection more again.
    ROUNDS_UNTIL_MORE = 250,
};

// An overloaded machine makes turns long as well: a connection is not judged by one for ever.
static const gint64 ALONE_MICROSECONDS = (gint64)CTAPEDECK_ALONE_SECONDS * 1000000;

typedef struct Reader Reader;

struct CTapedeckReaderPlace {
    CTapedeckReaders *readers;
    CTapedeckTurn turn;
    void *user;
    // The connection's own thread waits for this.
    GCond changed;

    // The members below are protected by the lock. The reader in charge; NULL while its own thread reads.
    Reader *reader;
    bool is_interrupted;
    // A reader is in its turn, even if it does not belong to that reader any more.
    bool is_in_turn;
    // Its turn of this round is still to come.
    bool is_due;
    // It held up others, and may not share until then.
    bool was_slow;
    gint64 alone_until;
};

// One thread; all of it belongs to who holds the lock.
struct Reader {
    CTapedeckReaders *readers;
    Reader *next;
    CTapedeckReaderPlace *places[CTAPEDECK_READER_PLACES];
    unsigned count;
    // How many it has time for.
    unsigned capacity;
    unsigned rounds_until_more;
    // The connection in turn, and since when; NULL between turns.
    CTapedeckReaderPlace *in_turn;
    gint64 turn_began;
    // It has something to do, or is no longer needed.
    GCond changed;
};

struct CTapedeckReaders {
    // Held for moments, and never while foreign code runs.
    GMutex lock;
    Reader *first;
    // Connections that might share.
    unsigned candidates;
    // The watch runs while there are readers.
    bool is_watched;
    GCond watch_changed;
    CTapedeckReaderCounters counters;
};

// The functions up to `run`: lock held.

static void leave(CTapedeckReaderPlace *place) {
    Reader *reader = place->reader;
    if (reader == NULL) return;
    for (unsigned index = 0; index < reader->count; index++) {
        if (reader->places[index] != place) continue;
        reader->places[index] = reader->places[reader->count - 1];
        reader->count -= 1;
        break;
    }
    place->reader = NULL;
    place->is_due = false;
    place->readers->counters.connections -= 1;
    g_cond_signal(&place->changed);
}

// Whether its present turn takes longer than any may.
static bool hangs(const Reader *reader, gint64 now) {
    return reader->in_turn != NULL && now - reader->turn_began > LONGEST_TURN_MICROSECONDS;
}

// Connections that do not hang with the reader read on their own threads.
static void rescue(Reader *reader) {
    for (unsigned index = reader->count; index > 0; index--) {
        CTapedeckReaderPlace *place = reader->places[index - 1];
        if (place == reader->in_turn) continue;
        leave(place);
        reader->readers->counters.given_back += 1;
    }
}

static CTapedeckReaderPlace *next_due(Reader *reader) {
    for (unsigned index = 0; index < reader->count; index++) {
        if (reader->places[index]->is_due) return reader->places[index];
    }
    return NULL;
}

static void take_turn(Reader *reader, CTapedeckReaderPlace *place) {
    place->is_due = false;
    place->is_in_turn = true;
    reader->in_turn = place;
    reader->turn_began = g_get_monotonic_time();
    CTapedeckReaders *readers = reader->readers;
    g_mutex_unlock(&readers->lock);
    bool stays = place->turn(place->user);
    g_mutex_lock(&readers->lock);
    gint64 now = g_get_monotonic_time();
    if (hangs(reader, now)) {
        // The watch looks now and then only.
        rescue(reader);
        if (!place->was_slow) readers->counters.slow += 1;
        place->was_slow = true;
        place->alone_until = now + ALONE_MICROSECONDS;
        stays = false;
    }
    reader->in_turn = NULL;
    place->is_in_turn = false;
    if (!stays || readers->candidates < 2) leave(place);
    // Its own thread may have left in between, and wait for the end of the turn. One that shares on sleeps on.
    if (place->reader == NULL) g_cond_signal(&place->changed);
}

static void take_turns(Reader *reader) {
    for (unsigned index = 0; index < reader->count; index++) reader->places[index]->is_due = true;
    CTapedeckReaderPlace *place;
    // The recorder of all rooms is woken once for all that the round brought.
    CTapedeck_queue_hold_wake();
    while ((place = next_due(reader)) != NULL) take_turn(reader, place);
    g_mutex_unlock(&reader->readers->lock);
    CTapedeck_queue_release_wake();
    g_mutex_lock(&reader->readers->lock);
    reader->readers->counters.rounds += 1;
}

// CPU time of the calling thread: on a machine with too much to do another reader would wait as well.
static gint64 work_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (gint64)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

// Fewer connections for a reader that has too much to do or to wait for, and after a while one more again.
static void adapt(Reader *reader, gint64 worked, gint64 took) {
    bool is_late = worked > LONGEST_WORK_MICROSECONDS || took > LONGEST_TURN_MICROSECONDS;
    if (is_late && reader->count > 1) {
        reader->capacity = reader->count - 1;
        reader->rounds_until_more = ROUNDS_UNTIL_MORE;
        leave(reader->places[reader->count - 1]);
    } else if (reader->capacity < CTAPEDECK_READER_PLACES) {
        reader->rounds_until_more -= 1;
        if (reader->rounds_until_more > 0) return;
        reader->rounds_until_more = ROUNDS_UNTIL_MORE;
        reader->capacity += 1;
    }
}

static void forget(Reader *reader) {
    CTapedeckReaders *readers = reader->readers;
    Reader **link = &readers->first;
    while (*link != reader) link = &(*link)->next;
    *link = reader->next;
    readers->counters.readers -= 1;
    if (readers->first == NULL) g_cond_signal(&readers->watch_changed);
    g_cond_clear(&reader->changed);
    g_free(reader);
}

static gpointer run(gpointer user) {
    Reader *reader = user;
    CTapedeckReaders *readers = reader->readers;
    g_mutex_lock(&readers->lock);
    while (readers->candidates > 0) {
        if (reader->count == 0) {
            g_cond_wait(&reader->changed, &readers->lock);
            continue;
        }
        gint64 began = g_get_monotonic_time(), began_work = work_time();
        take_turns(reader);
        adapt(reader, work_time() - began_work, g_get_monotonic_time() - began);
        gint64 next = began + CTAPEDECK_ROUND_MILLISECONDS * 1000;
        while (reader->count > 0 && g_cond_wait_until(&reader->changed, &readers->lock, next)) {
        }
    }
    forget(reader);
    g_mutex_unlock(&readers->lock);
    return NULL;
}

static gpointer watch(gpointer user) {
    CTapedeckReaders *readers = user;
    g_mutex_lock(&readers->lock);
    while (readers->first != NULL) {
        gint64 now = g_get_monotonic_time();
        for (Reader *reader = readers->first; reader != NULL; reader = reader->next) {
            if (hangs(reader, now)) rescue(reader);
        }
        if (readers->counters.connections == 0) {
            g_cond_wait(&readers->watch_changed, &readers->lock);
        } else {
            g_cond_wait_until(&readers->watch_changed, &readers->lock, now + WATCH_MICROSECONDS);
        }
    }
    readers->is_watched = false;
    g_mutex_unlock(&readers->lock);
    return NULL;
}

static bool start(const char *name, GThreadFunc function, gpointer user) {
    GThread *thread = g_thread_try_new(name, function, user, NULL);
    if (thread != NULL) g_thread_unref(thread);
    return thread != NULL;
}

// Lock held. NULL if the system has no thread to spare.
static Reader *reader_with_room(CTapedeckReaders *readers) {
    gint64 now = g_get_monotonic_time();
    for (Reader *reader = readers->first; reader != NULL; reader = reader->next) {
        if (reader->count < reader->capacity && !hangs(reader, now)) return reader;
    }
    if (!readers->is_watched && !start("packet-watch", watch, readers)) return NULL;
    readers->is_watched = true;
    Reader *reader = g_new0(Reader, 1);
    reader->readers = readers;
    reader->capacity = CTAPEDECK_READER_PLACES;
    g_cond_init(&reader->changed);
    reader->next = readers->first;
    readers->first = reader;
    readers->counters.readers += 1;
    if (start("packet-reader", run, reader)) return reader;
    forget(reader);
    return NULL;
}

CTapedeckReaders *CTapedeck_readers_new(void) {
    CTapedeckReaders *readers = g_new0(CTapedeckReaders, 1);
    g_mutex_init(&readers->lock);
    g_cond_init(&readers->watch_changed);
    return readers;
}

static gpointer make_readers(gpointer user) {
    (void)user;
    return CTapedeck_readers_new();
}

CTapedeckReaders *CTapedeck_readers_of_process(void) {
    static GOnce once = G_ONCE_INIT;
    return g_once(&once, make_readers, NULL);
}

CTapedeckReaderPlace *CTapedeck_reader_place_new(CTapedeckReaders *readers, CTapedeckTurn turn, void *user) {
    CTapedeckReaderPlace *place = g_new0(CTapedeckReaderPlace, 1);
    place->readers = readers;
    place->turn = turn;
    place->user = user;
    g_cond_init(&place->changed);
    g_mutex_lock(&readers->lock);
    readers->candidates += 1;
    g_mutex_unlock(&readers->lock);
    return place;
}

void CTapedeck_reader_place_free(CTapedeckReaderPlace *place) {
    CTapedeckReaders *readers = place->readers;
    g_mutex_lock(&readers->lock);
    readers->candidates -= 1;
    for (Reader *reader = readers->first; readers->candidates == 0 && reader != NULL; reader = reader->next) {
        g_cond_signal(&reader->changed);
    }
    g_mutex_unlock(&readers->lock);
    g_cond_clear(&place->changed);
    g_free(place);
}

void CTapedeck_reader_share(CTapedeckReaderPlace *place) {
    CTapedeckReaders *readers = place->readers;
    g_mutex_lock(&readers->lock);
    bool may_share = !place->is_interrupted && readers->candidates >= 2 && g_get_monotonic_time() >= place->alone_until;
    Reader *reader = may_share ? reader_with_room(readers) : NULL;
    if (reader != NULL) {
        place->reader = reader;
        reader->places[reader->count] = place;
        reader->count += 1;
        readers->counters.connections += 1;
        if (reader->count == 1) g_cond_signal(&reader->changed);
        if (readers->counters.connections == 1) g_cond_signal(&readers->watch_changed);
        while (place->reader != NULL && !place->is_interrupted) g_cond_wait(&place->changed, &readers->lock);
        leave(place);
        while (place->is_in_turn) g_cond_wait(&place->changed, &readers->lock);
    }
    g_mutex_unlock(&readers->lock);
}

bool CTapedeck_reader_was_slow(CTapedeckReaderPlace *place) {
    g_mutex_lock(&place->readers->lock);
    bool was_slow = place->was_slow;
    g_mutex_unlock(&place->readers->lock);
    return was_slow;
}

void CTapedeck_reader_interrupt(CTapedeckReaderPlace *place, bool is_interrupted) {
    g_mutex_lock(&place->readers->lock);
    place->is_interrupted = is_interrupted;
    g_cond_signal(&place->changed);
    g_mutex_unlock(&place->readers->lock);
}

CTapedeckReaderCounters CTapedeck_reader_counters(CTapedeckReaders *readers) {
    g_mutex_lock(&readers->lock);
    CTapedeckReaderCounters result = readers->counters;
    g_mutex_unlock(&readers->lock);
    return result;
}
