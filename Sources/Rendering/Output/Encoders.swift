// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
internal import Model

/// The elements that code and pack, and the packages of Debian 12 that bring them.
enum Encoders {
    private static let packages: KeyValuePairs<String, [String]> = [
        "gstreamer1.0-plugins-ugly": ["x264enc"],
        "gstreamer1.0-plugins-bad": ["openh264enc", "openh264dec", "h264parse", "opusparse", "voaacenc"],
        "gstreamer1.0-plugins-good": [
            "aacparse", "vp8enc", "vp8dec", "vp9dec", "mulawdec", "alawdec", "mp4mux", "matroskamux", "webmmux",
            "qtdemux",
            "matroskademux",
        ],
        "gstreamer1.0-plugins-base": [
            "appsrc", "audioconvert", "audioresample", "opusenc", "opusdec", "oggmux", "oggdemux",
        ],
    ]

    /// Elements that a grid needs.
    static func elements(_ grid: ExportSpec.Grid) -> [String] {
        let coding =
            switch grid.codec {
            case .h264: ["voaacenc", "aacparse", "h264parse", self.h264]
            case .vp8: ["vp8enc", "opusenc", "opusparse"]
            }
        return switch grid.container {
        case .mp4: coding + ["mp4mux", "qtdemux"]
        case .mkv: coding + ["matroskamux", "matroskademux"]
        case .webm: coding + ["webmmux", "matroskademux"]
        }
    }

    /// Elements that mixed audio needs.
    static func elements(_ audio: ExportSpec.Audio) -> [String] {
        audio.format == .wav ? [] : ["opusenc", "oggmux", "oggdemux"]
    }

    /// Which of these elements, and of which packages, this host does not have; one sentence, `nil` for none.
    static func missing(_ needed: [String]) -> String? {
        let absent = Runtime.missingElements(needed)
        guard !absent.isEmpty else { return nil }
        let names = absent.map { element in
            let package = self.packages.first { $0.value.contains(element) }?.key
            return package.map { "\(element) (install \($0))" } ?? element
        }
        return "this export needs what is not installed: \(names.joined(separator: ", "))"
    }

    /// The better encoder of H.264 that is there.
    private static var h264: String {
        Runtime.missingElements(["x264enc"]).isEmpty || !Runtime.missingElements(["openh264enc"]).isEmpty
            ? "x264enc" : "openh264enc"
    }

    /// A pipeline from the sources `video` and `audio` to the file `out`; without a grid from `audio` to Opus.
    static func launch(_ grid: ExportSpec.Grid?) -> String {
        let samples = "audio/x-raw,format=F32LE,rate=48000,channels=2,layout=interleaved"
        let audio = "appsrc name=audio caps=\"\(samples)\" ! audioconvert"
        guard let grid else {
            return "\(audio) ! opusenc bitrate=96000 bitrate-type=vbr ! oggmux ! filesink name=out"
        }
        let rate = grid.framesPerSecond
        let size = "width=\(grid.size.width),height=\(grid.size.height),framerate=\(rate)/1"
        let video =
            "appsrc name=video caps=\"video/x-raw,format=I420,\(size),pixel-aspect-ratio=1/1,"
            + "interlace-mode=progressive,colorimetry=bt601\""
        let mux =
            switch grid.container {
            case .mp4: "mp4mux name=mux"
            case .webm: "webmmux name=mux"
            case .mkv: "matroskamux name=mux"
            }
        let queue = "queue max-size-buffers=0 max-size-bytes=67108864 max-size-time=0"
        let coded =
            switch grid.codec {
            case .h264: "\(self.h264Launch(grid)) ! \(queue) ! mux.  \(audio) ! voaacenc bitrate=128000 ! aacparse"
            // One thread: those of libvpx spin while they wait for each other, and block a busy machine. Behind the
            // parser every packet of audio counts as a keyframe; without that Chromium finds no way back to 0.
            case .vp8:
                "vp8enc deadline=1 cpu-used=12 threads=1 static-threshold=100 min-quantizer=4 "
                    + "max-quantizer=56 target-bitrate=\(self.bitsPerSecond(grid)) keyframe-max-dist=\(rate * 4) "
                    + "! \(queue) ! mux.  \(audio) ! opusenc bitrate=96000 bitrate-type=vbr ! opusparse"
            }
        return "\(mux) ! filesink name=out  \(video) ! \(coded) ! \(queue) ! mux."
    }

    private static func h264Launch(_ grid: ExportSpec.Grid) -> String {
        let rate = grid.framesPerSecond
        let parse = "h264parse ! video/x-h264,stream-format=avc,alignment=au"
        guard self.h264 == "x264enc" else {
            return "openh264enc complexity=medium rate-control=bitrate bitrate=\(self.bitsPerSecond(grid)) "
                + "gop-size=\(rate * 4) ! \(parse)"
        }
        // No B-frames: every player agrees on the time of the first frame.
        return "x264enc pass=qual quantizer=23 speed-preset=veryfast bframes=0 key-int-max=\(rate * 4) ! "
            + "video/x-h264,profile=main ! \(parse)"
    }

    /// A tenth of a bit for each pixel.
    private static func bitsPerSecond(_ grid: ExportSpec.Grid) -> Int {
        max(300_000, grid.size.width * grid.size.height * grid.framesPerSecond / 10)
    }
}
