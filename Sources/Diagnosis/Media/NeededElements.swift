// SPDX-License-Identifier: Apache-2.0

/// Elements of GStreamer that serve one purpose, and the Debian packages that bring them.
struct NeededElements: Sendable, Hashable {
    /// What for, in a few words.
    var purpose: String
    /// How bad it is if one is missing.
    var ifMissing: Finding.Level
    /// What does not work then.
    var meaning: String
    /// What each package of Debian 12 brings.
    private var parts: [Part]

    private struct Part: Sendable, Hashable {
        var package: String
        var elements: [String]
    }

    /// The name of every element.
    var elements: [String] { self.parts.flatMap(\.elements) }

    init(_ purpose: String, _ ifMissing: Finding.Level, _ meaning: String, _ elements: KeyValuePairs<String, [String]>)
    {
        self.purpose = purpose
        self.ifMissing = ifMissing
        self.meaning = meaning
        self.parts = elements.map { Part(package: $0.key, elements: $0.value) }
    }

    /// Everything that Tapedeck uses but encoders.
    static let all = [
        NeededElements(
            "peer connections",
            .problem,
            "no room can be joined",
            [
                "gstreamer1.0-plugins-bad": [
                    "webrtcbin", "dtlssrtpdec", "dtlssrtpenc", "dtlsdec", "dtlsenc", "srtpdec", "srtpenc", "sctpdec",
                ],
                "gstreamer1.0-nice": ["nicesrc", "nicesink"],
                "gstreamer1.0-plugins-good": [
                    "rtpbin", "rtpsession", "rtpssrcdemux", "rtpptdemux", "rtprtxreceive", "rtprtxsend",
                    "rtpstorage", "rtpulpfecdec", "rtpreddec", "rtpfunnel",
                ],
            ]
        ),
        NeededElements(
            "recording",
            .problem,
            "what peers send cannot be written",
            [
                "gstreamer1.0-plugins-good": [
                    "rtpvp8depay", "rtpvp9depay", "rtph264depay", "rtpopusdepay", "rtppcmudepay", "rtppcmadepay",
                ],
                "gstreamer1.0-plugins-base": ["appsink", "appsrc"],
                "libgstreamer1.0-0": ["capsfilter", "fakesink", "identity", "queue", "tee"],
            ]
        ),
        NeededElements(
            "sending",
            .warning,
            "no picture or no sound can be sent",
            [
                "gstreamer1.0-plugins-base": [
                    "audioconvert", "audioresample", "opusenc", "videoconvert", "videorate", "videoscale",
                ],
                "gstreamer1.0-plugins-good": ["rtpvp8pay", "rtph264pay", "rtpopuspay"],
            ]
        ),
        NeededElements(
            "test picture",
            .warning,
            "`tapedeck demo` and `tapedeck camera --video test` have nothing to send",
            [
                "gstreamer1.0-plugins-base": ["audiotestsrc", "videotestsrc"],
                "gstreamer1.0-x": ["clockoverlay"],
            ]
        ),
        NeededElements(
            "cameras, microphones, files",
            .warning,
            "devices or files of this host cannot be sent",
            [
                "gstreamer1.0-plugins-good": ["v4l2src", "jpegdec"],
                "gstreamer1.0-alsa": ["alsasrc"],
                "gstreamer1.0-plugins-base": ["audiorate", "decodebin"],
                "libgstreamer1.0-0": ["filesrc"],
            ]
        ),
        NeededElements(
            "stills, screens, RTSP",
            .warning,
            "still pictures, screens or network cameras cannot be sent, or nothing is shown while a camera is away",
            [
                "gstreamer1.0-plugins-good": ["imagefreeze", "rtpvp9pay", "rtspsrc", "ximagesrc"],
                "gstreamer1.0-plugins-bad": ["sdpdemux"],
                "gstreamer1.0-x": ["textoverlay"],
            ]
        ),
        NeededElements(
            "pictures, renditions",
            .warning,
            "the dashboard shows no pictures of rooms, or plays no recordings",
            [
                "gstreamer1.0-plugins-good": [
                    "alawdec", "jpegenc", "matroskademux", "mp4mux", "mulawdec", "vp8dec", "vp9dec", "webmmux",
                ],
                "gstreamer1.0-plugins-bad": ["h264parse", "h264timestamper", "openh264dec", "opusparse"],
                "gstreamer1.0-plugins-base": ["videoconvertscale"],
                "libgstreamer1.0-0": ["filesink"],
            ]
        ),
        NeededElements(
            "grids, mixed sound",
            .warning,
            "`tapedeck export` makes no grid or no sound of everybody",
            [
                "gstreamer1.0-plugins-ugly": ["x264enc"],
                "gstreamer1.0-plugins-bad": ["voaacenc"],
                "gstreamer1.0-plugins-good": ["aacparse", "matroskamux", "qtdemux", "vp8enc"],
                "gstreamer1.0-plugins-base": ["oggdemux", "oggmux", "opusdec"],
                "gstreamer1.0-x": ["textrender"],
            ]
        ),
    ]

    /// What the absence of `missing` elements means for this purpose.
    ///
    /// - Parameter missing: names of elements that this host does not have; others than ours are ignored.
    func finding(missing: Set<String>) -> Finding {
        let absent = self.parts.compactMap { part -> Part? in
            let elements = part.elements.filter(missing.contains)
            return elements.isEmpty ? nil : Part(package: part.package, elements: elements)
        }
        guard !absent.isEmpty else {
            return Finding(.gstreamer, self.purpose, .ok, "all \(self.elements.count) elements are there")
        }
        let names = absent.map { "\($0.elements.joined(separator: ", ")) (\($0.package))" }
        return Finding(
            .gstreamer,
            self.purpose,
            self.ifMissing,
            "missing: \(names.joined(separator: "; "))",
            meaning: self.meaning,
            packages: absent.map(\.package)
        )
    }
}
