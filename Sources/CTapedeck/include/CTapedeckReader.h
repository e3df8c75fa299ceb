// SPDX-License-Identifier: Apache-2.0
//
// Threads that look at the sockets of many connections in turn, so that a worker wakes once for all of them.
//
//   a connection's own thread ──share──► sleeps, while ──► a reader takes its turn, one connection after the other,
//                             ◄─────────────────────────   once a round; the watch returns all others if a turn hangs
//
// docs/decisions/0101 states which work may wait in a turn, and why no other connection loses anything by it.

#ifndef CTAPEDECK_READER_H
#define CTAPEDECK_READER_H

#include <stdbool.h>
#include <stdint.h>

/// From the beginning of one round to that of the next, unless the work takes longer.
#define CTAPEDECK_ROUND_MILLISECONDS 40
/// While a turn takes longer the reader's other connections read on their own threads; afterwards its own does for a
/// while.
#define CTAPEDECK_LONGEST_TURN_MILLISECONDS 100
#define CTAPEDECK_ALONE_SECONDS 30
/// Connections of one reader; there are as many readers as that needs.
#define CTAPEDECK_READER_PLACES 16

/// One look at a connection's sockets, and all that is done with what they brought; a reader's thread. False if the
/// connection is to be read by its own thread again.
typedef bool (*CTapedeckTurn)(void *user);

/// Readers, as many as their connections need. Both functions give what lives as long as the process; the second is for
/// tests, which others do not disturb then.
typedef struct CTapedeckReaders CTapedeckReaders;

CTapedeckReaders *CTapedeck_readers_of_process(void);
CTapedeckReaders *CTapedeck_readers_new(void);

/// A connection's registration with the readers. Its own thread is the one that calls CTapedeck_reader_share.
typedef struct CTapedeckReaderPlace CTapedeckReaderPlace;

CTapedeckReaderPlace *CTapedeck_reader_place_new(CTapedeckReaders *readers, CTapedeckTurn turn, void *user);
/// No thread is in CTapedeck_reader_share. The readers end with the last place; any thread.
void CTapedeck_reader_place_free(CTapedeckReaderPlace *place);

/// Lets a reader take the connection's turns, and waits for as long as one does. Returns as soon as no reader is in a turn
/// of it, after a turn that said so, after CTapedeck_reader_interrupt, and because of what another connection does; at once
/// if sharing saves nothing, or the connection may not share for now.
void CTapedeck_reader_share(CTapedeckReaderPlace *place);
/// Whether any turn of the connection took too long. Any thread.
bool CTapedeck_reader_was_slow(CTapedeckReaderPlace *place);
/// Lets CTapedeck_reader_share return, and every later call return at once, until it is called with false. Any thread.
void CTapedeck_reader_interrupt(CTapedeckReaderPlace *place, bool is_interrupted);

/// Counters of the readers. Any thread.
typedef struct {
    /// Threads of readers, and connections that they read.
    uint32_t readers;
    uint32_t connections;
    /// Rounds so far.
    uint64_t rounds;
    /// Connections that were slow, each counted once.
    uint64_t slow;
    /// How often a connection was given back because another's turn took too long.
    uint64_t given_back;
} CTapedeckReaderCounters;

CTapedeckReaderCounters CTapedeck_reader_counters(CTapedeckReaders *readers);

#endif
