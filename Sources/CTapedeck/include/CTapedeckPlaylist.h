// SPDX-License-Identifier: Apache-2.0
//
// Playlists of an `hlssink2`, which begins a new one at 0 with each pipeline: they are ours to write.

#ifndef CTAPEDECK_PLAYLIST_H
#define CTAPEDECK_PLAYLIST_H

#include <gst/gst.h>

/// Writes a playlist, of `size` bytes; 0 or an errno. On a thread of the pipeline.
typedef int (*CTapedeckPlaylistWriter)(void *user, const char *text, size_t size);

/// Gives every playlist of an `hlssink2` to `write` instead of a file, whole. An error ends the pipeline, as one of a file
/// does. `release` is called once with `user`, after the last call.
void CTapedeck_take_playlists(GstElement *sink, CTapedeckPlaylistWriter write, void *user, GDestroyNotify release);

#endif
