// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Matroska

/// The branch that turns RTP packets of one codec into units, and what the file says about them.
struct Depayloader {
    let codec: Matroska.Codec
    let launch: String
    let channels: Int

    /// Nil for everything that is not recorded: telephone events, comfort noise, redundancy.
    init?(_ format: GStreamer.RTPFormat) {
        switch format.encodingName {
        case "VP8": (self.codec, self.launch, self.channels) = (.vp8, "rtpvp8depay", 0)
        case "VP9": (self.codec, self.launch, self.channels) = (.vp9, "rtpvp9depay", 0)
        case "H264":
            self.codec = .h264
            self.launch = "rtph264depay ! video/x-h264,stream-format=byte-stream,alignment=au"
            self.channels = 0
        case "OPUS": (self.codec, self.launch, self.channels) = (.opus, "rtpopusdepay", 2)
        case "PCMU": (self.codec, self.launch, self.channels) = (.pcmu, "rtppcmudepay", 1)
        case "PCMA": (self.codec, self.launch, self.channels) = (.pcma, "rtppcmadepay", 1)
        default: return nil
        }
    }
}
