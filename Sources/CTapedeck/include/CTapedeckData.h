// SPDX-License-Identifier: Apache-2.0
//
// Data that travel next to the media inside DTLS: SCTP packets of data channels, which webrtcbin never sees.
//
//   dtlssrtpdec data_src ──probe──► callback          streaming thread: count, limit, hand over
//   caller ──CTapedeck_data_send──► dtlssrtpenc data_sink ──► dtlsenc's own queue

#ifndef CTAPEDECK_DATA_H
#define CTAPEDECK_DATA_H

#include <gst/gst.h>
#include <stdbool.h>
#include <stdint.h>

/// Gets one packet; its bytes are valid during the call only. Streaming thread: must not block.
typedef void (*CTapedeckDataCallback)(const uint8_t *bytes, size_t size, int64_t arrival_nanoseconds, void *user);

/// Takes every data packet that comes out of a `dtlssrtpdec`, refusing none: a flow error would stop the media too. At
/// most `packets_per_second` are passed on; SCTP repeats the others, more slowly. `release` is called with `user` when
/// the element goes, after the last callback. False if the element has no pad for data, and nothing is called then but
/// `release`.
bool CTapedeck_data_receive(GstElement *dtlssrtpdec, uint32_t packets_per_second, CTapedeckDataCallback callback,
                            void *user, GDestroyNotify release);

/// Sends one packet through a `dtlssrtpenc`; it is encrypted and queued, never waited for. False if the element has no
/// pad for data, or does not take any now.
bool CTapedeck_data_send(GstElement *dtlssrtpenc, const uint8_t *bytes, size_t size);

#endif
