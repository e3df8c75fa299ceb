// SPDX-License-Identifier: Apache-2.0
//
// An audio level: written by one streaming thread, read by any.

#ifndef CTAPEDECK_SOUND_METER_H
#define CTAPEDECK_SOUND_METER_H

#include <stdatomic.h>
#include <stdint.h>

#include "CTapedeckSound.h"

/// Mean squares are in units of 2^-30 of full scale's: 16 bits have no softer audio.
enum { SOUND_METER_FULL_SCALE_BITS = 30 };

typedef struct {
    // Streaming thread only: what came since `since`.
    uint64_t squares;
    uint64_t samples;
    int64_t since;
    // Any thread. Times are CLOCK_MONOTONIC in nanoseconds, 0 before the first.
    atomic_int_fast64_t mean_square;
    atomic_int_fast64_t measured_at;
    atomic_int_fast64_t last_sound;
} SoundMeter;

/// Takes the sum of the squares of a number of samples. Streaming thread.
void sound_meter_note(SoundMeter *meter, uint64_t squares, uint64_t samples, int64_t now);
/// Takes a packet's level in the form of RFC 6464, 0 to 127 for 0 to -127 dBov. Streaming thread.
void sound_meter_note_level(SoundMeter *meter, uint8_t level, int64_t now);
/// Any thread.
CTapedeckSoundLevel sound_meter_read(const SoundMeter *meter, int64_t now);

#endif
