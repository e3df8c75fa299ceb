// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer

/// Elements that turn RTP packets of one codec into units, and the file's data about them.
struct Depayloader {
    let codec: MediaCodec
    let depayloading: Depayloading
    let channels: Int

    /// Nil for everything that is not recorded: telephone events, comfort noise, redundancy.
    init?(_ format: GStreamer.RTPFormat) {
        guard let codec = MediaCodec(encodingName: format.encodingName) else { return nil }
        self.codec = codec
        switch codec {
        case .vp8: (self.depayloading, self.channels) = (.vp8, 0)
        case .vp9: (self.depayloading, self.channels) = (.vp9, 0)
        case .h264: (self.depayloading, self.channels) = (.h264, 0)
        case .opus: (self.depayloading, self.channels) = (.sound, 2)
        case .pcmu, .pcma: (self.depayloading, self.channels) = (.sound, 1)
        }
    }
}
