// SPDX-License-Identifier: Apache-2.0

/// Which packages of Debian 12 bring the elements of GStreamer that we and our pipeline files use.
enum DebianPackage {
    private static let elements: KeyValuePairs<String, [String]> = [
        "gstreamer1.0-alsa": ["alsasrc"],
        "gstreamer1.0-libav": ["avdec_h264"],
        "gstreamer1.0-nice": ["nicesink", "nicesrc"],
        "gstreamer1.0-plugins-bad": [
            "dtlsdec", "dtlsenc", "dtlssrtpdec", "dtlssrtpenc", "h264parse", "hlssink2", "mpegtsmux",
            "nvh264enc",
            "openh264dec", "openh264enc", "opusparse", "rtmp2sink", "sctpdec", "sdpdemux", "shmsink", "srtpdec",
            "srtpenc",
            "srtsink", "vah264enc", "voaacenc", "webrtcbin",
        ],
        "gstreamer1.0-plugins-base": [
            "appsink", "appsrc", "audioconvert", "audiorate", "audioresample", "audiotestsrc", "decodebin", "oggdemux",
            "oggmux", "opusdec", "opusenc", "videoconvert", "videoconvertscale", "videorate", "videoscale",
            "videotestsrc",
        ],
        "gstreamer1.0-plugins-good": [
            "aacparse", "alawdec", "audiofirfilter", "flvmux", "imagefreeze", "jpegdec", "jpegenc", "matroskademux",
            "matroskamux",
            "mp4mux", "mulawdec", "qtdemux", "rtpbin", "rtpfunnel", "rtph264depay", "rtph264pay", "rtpopusdepay",
            "rtpopuspay", "rtppcmadepay", "rtppcmudepay", "rtpptdemux", "rtpreddec", "rtprtxreceive", "rtprtxsend",
            "rtpsession", "rtpssrcdemux", "rtpstorage", "rtpulpfecdec", "rtpvp8depay", "rtpvp8pay", "rtpvp9depay",
            "rtpvp9pay", "rtspsrc", "udpsink", "udpsrc", "v4l2h264enc", "v4l2sink", "v4l2src", "videoflip", "vp8dec",
            "vp8enc", "vp9dec",
            "vp9enc", "webmmux", "ximagesrc",
        ],
        "gstreamer1.0-plugins-ugly": ["x264enc"],
        "gstreamer1.0-x": ["clockoverlay", "textoverlay", "textrender"],
        "libgstreamer1.0-0": ["capsfilter", "fakesink", "filesink", "filesrc", "identity", "queue", "tee"],
    ]

    private static let table: [String: String] = .init(
        Self.elements.flatMap { package, elements in elements.map { ($0, package) } },
        uniquingKeysWith: { first, _ in first }
    )

    /// The package that brings an element; nil if it is none of ours.
    static func bringing(_ element: String) -> String? { Self.table[element] }

    /// Elements with their packages, in the order of the packages: `x264enc (gstreamer1.0-plugins-ugly)`.
    static func list(_ elements: [String]) -> String {
        let groups = Dictionary(grouping: elements) { Self.bringing($0) ?? "" }.sorted { $0.key < $1.key }
        return groups.map { package, elements in
            elements.joined(separator: ", ") + (package.isEmpty ? "" : " (\(package))")
        }.joined(separator: "; ")
    }

    /// The packages that bring some elements, each once.
    static func packages(_ elements: [String]) -> [String] { Set(elements.compactMap(Self.bringing)).sorted() }
}
