// SPDX-License-Identifier: Apache-2.0

/// Elements of GStreamer that our own code names, by what they serve; what pipeline files use, they say themselves.
struct NeededElements: Sendable, Hashable {
    /// The purpose, in a few words.
    var purpose: String
    /// How bad it is if one is missing.
    var ifMissing: Finding.Level
    /// The effect of their absence.
    var meaning: String
    /// The name of every element.
    var elements: [String]

    init(_ purpose: String, _ ifMissing: Finding.Level, _ meaning: String, _ elements: [String]) {
        self.purpose = purpose
        self.ifMissing = ifMissing
        self.meaning = meaning
        self.elements = elements
    }

    /// Everything.
    static let all = [
        NeededElements(
            "peer connections",
            .problem,
            "no room can be joined",
            [
                "webrtcbin", "dtlssrtpdec", "dtlssrtpenc", "dtlsdec", "dtlsenc", "srtpdec", "srtpenc", "sctpdec",
                "nicesrc",
                "nicesink", "rtpbin", "rtpsession", "rtpssrcdemux", "rtpptdemux", "rtprtxreceive", "rtprtxsend",
                "rtpstorage", "rtpulpfecdec", "rtpreddec", "rtpfunnel",
            ]
        ),
        NeededElements(
            "recording",
            .problem,
            "what peers send cannot be written",
            [
                "rtpvp8depay", "rtpvp9depay", "rtph264depay", "rtpopusdepay", "rtppcmudepay", "rtppcmadepay", "appsink",
                "appsrc", "capsfilter", "fakesink", "identity", "queue", "tee",
            ]
        ),
        NeededElements(
            "sending",
            .warning,
            "no video or no audio can be sent",
            [
                "audioconvert", "audioresample", "videoconvert", "videorate", "videoscale", "rtpvp8pay", "rtpvp9pay",
                "rtph264pay", "rtpopuspay", "jpegdec",
            ]
        ),
        NeededElements(
            "stills, renditions",
            .warning,
            "the dashboard shows no stills of rooms, or plays no recordings",
            [
                "jpegenc", "matroskademux", "vp8dec", "vp9dec", "h264parse", "openh264dec",
                "videoconvertscale", "filesrc",
            ]
        ),
        NeededElements(
            "grids, mixed audio",
            .warning,
            "`tapedeck export` makes no grid or no mixed audio",
            [
                "x264enc", "voaacenc", "aacparse", "alawdec", "matroskamux", "mp4mux", "mulawdec", "qtdemux", "webmmux",
                "vp8enc",
                "oggdemux", "oggmux", "opusdec", "opusenc", "opusparse", "textrender", "filesink",
            ]
        ),
        NeededElements(
            "outputs by pipeline file",
            .warning,
            "no output with a pipeline file works",
            ["udpsrc", "udpsink"]
        ),
    ]

    /// The finding about `missing` elements for this purpose.
    ///
    /// - Parameter missing: names of elements that this host does not have; others than ours are ignored.
    func finding(missing: Set<String>) -> Finding {
        let absent = self.elements.filter(missing.contains)
        guard !absent.isEmpty else {
            return Finding(.gstreamer, self.purpose, .ok, "all \(self.elements.count) elements are there")
        }
        return Finding(
            .gstreamer,
            self.purpose,
            self.ifMissing,
            "missing: \(DebianPackage.list(absent))",
            meaning: self.meaning,
            packages: DebianPackage.packages(absent)
        )
    }
}
