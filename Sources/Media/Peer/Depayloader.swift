// SPDX-License-Identifier: Apache-2.0

internal import Codecs
internal import GStreamer

/// The branch that turns RTP packets of one codec into units, and what the file says about them.
struct Depayloader {
    let codec: MediaCodec
    let launch: String
    let channels: Int

    /// Nil for everything that is not recorded: telephone events, comfort noise, redundancy.
    init?(_ format: GStreamer.RTPFormat) {
        guard let codec = MediaCodec(encodingName: format.encodingName) else { return nil }
        self.codec = codec
        switch codec {
        case .vp8: (self.launch, self.channels) = ("rtpvp8depay", 0)
        case .vp9: (self.launch, self.channels) = ("rtpvp9depay", 0)
        case .h264:
            self.launch = "rtph264depay ! video/x-h264,stream-format=byte-stream,alignment=au"
            self.channels = 0
        case .opus: (self.launch, self.channels) = ("rtpopusdepay", 2)
        case .pcmu: (self.launch, self.channels) = ("rtppcmudepay", 1)
        case .pcma: (self.launch, self.channels) = ("rtppcmadepay", 1)
        }
    }
}
