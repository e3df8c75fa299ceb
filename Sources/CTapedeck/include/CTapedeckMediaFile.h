// SPDX-License-Identifier: Apache-2.0
//
// Contents of a media file, by GStreamer's own discoverer: it tries the demuxer and the decoders that would play it.

#ifndef CTAPEDECK_MEDIA_FILE_H
#define CTAPEDECK_MEDIA_FILE_H

#include <stdbool.h>

/// The playable contents.
typedef struct {
    bool has_video;
    bool has_audio;
    /// The only video is still images.
    bool is_still;
} CTapedeckMediaFacts;

/// Looks into the file at `path`; blocks for 15 s at most. NULL if `facts` was filled in, else why not: free with
/// g_free.
char *CTapedeck_inspect_media(const char *path, CTapedeckMediaFacts *facts);

#endif
