// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
public import GStreamer
public import Matroska
internal import Synchronization

/// Puts what a browser does not take in Matroska into a file that it plays: H.264 into MP4, G.711 as Opus.
public enum BrowserRemux {
    /// The media type of a file with these codecs, once it is remuxed.
    public static func mediaType(_ codecs: [Codec]) -> String {
        codecs.contains(.h264) ? "video/mp4" : "video/webm"
    }

    /// Whether a Matroska file of ours with these codecs has to be remuxed at all.
    public static func isNeeded(_ codecs: [Codec]) -> Bool {
        codecs.contains { [.h264, .pcmu, .pcma].contains($0) }
    }

    /// Remuxes a file with at most one picture and one sound; pictures are not coded anew.
    ///
    /// Blocks until the file is written, or `limit` has passed.
    public static func run(
        from input: String,
        to output: String,
        codecs: [Codec],
        limit: Duration
    ) throws(GStreamerError) {
        let ended = DispatchSemaphore(value: 0)
        let failure = Mutex<String?>(nil)
        let pipeline = try Pipeline(launch: Self.launch(codecs)) { event in
            switch event {
            case .error(let element, let message, _):
                failure.withLock { $0 = $0 ?? "\(element): \(message)" }
                ended.signal()
            case .endOfStream: ended.signal()
            case .warning: break
            }
        }
        defer { pipeline.stop() }
        try pipeline.element(named: "in").set("location", input)
        try pipeline.element(named: "out").set("location", output)
        try pipeline.play()
        guard ended.wait(timeout: .now() + .nanoseconds(Int(clamping: limit.nanoseconds))) == .success else {
            throw GStreamerError(.timedOut, "the rendition took longer than \(limit)")
        }
        if let message = failure.withLock({ $0 }) { throw GStreamerError(.stateChange, message) }
    }

    /// The queues take what one track is ahead of the other, but not without end.
    private static func launch(_ codecs: [Codec]) -> String {
        let queue = "queue max-size-time=0 max-size-buffers=0 max-size-bytes=268435456"
        let mux = codecs.contains(.h264) ? "mp4mux name=mux faststart=true" : "webmmux name=mux"
        var branches: [String] = []
        for codec in codecs {
            switch codec {
            case .h264:
                // Parameter sets stay in band: they may change in the middle.
                let caps = "video/x-h264,stream-format=avc3,alignment=au"
                branches.append("demux.video_0 ! \(queue) ! h264parse ! \(caps) ! mux.")
            case .vp8, .vp9: branches.append("demux.video_0 ! \(queue) ! mux.")
            case .opus: branches.append("demux.audio_0 ! \(queue) ! opusparse ! mux.")
            case .pcmu, .pcma:
                let decoder = codec == .pcmu ? "mulawdec" : "alawdec"
                branches.append(
                    "demux.audio_0 ! \(queue) ! \(decoder) ! audioconvert ! audioresample ! opusenc ! mux."
                )
            }
        }
        return "filesrc name=in ! matroskademux name=demux \(mux) ! filesink name=out "
            + branches.joined(separator: " ")
    }
}
