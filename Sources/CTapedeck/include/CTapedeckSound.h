// SPDX-License-Identifier: Apache-2.0
//
// Audio levels, in dBov (RFC 6464 section 3): 0 is the loudest square wave, -127 digital silence.

#ifndef CTAPEDECK_SOUND_H
#define CTAPEDECK_SOUND_H

#include <gst/gst.h>
#include <stdbool.h>
#include <stdint.h>

/// The reading of a meter.
typedef struct {
    /// Whether any audio came yet, silent or not; else nothing below holds.
    bool is_known;
    /// Whether `decibels` is of now: it is the mean of a whole second that ended less than two seconds ago.
    bool is_measured;
    double decibels;
    /// How long it has been no louder than -60 dBov.
    int64_t silent_nanoseconds;
} CTapedeckSoundLevel;

/// A meter for raw audio. Reference counted; each pad that it is attached to holds one.
typedef struct CTapedeckSoundMeter CTapedeckSoundMeter;

CTapedeckSoundMeter *CTapedeck_sound_meter_new(void);
void CTapedeck_sound_meter_unref(CTapedeckSoundMeter *meter);
/// Measures the S16LE audio that passes `pad`. One pad at a time may carry buffers.
void CTapedeck_sound_meter_attach(CTapedeckSoundMeter *meter, GstPad *pad);
/// Any thread.
CTapedeckSoundLevel CTapedeck_sound_meter_read(CTapedeckSoundMeter *meter);

#endif
