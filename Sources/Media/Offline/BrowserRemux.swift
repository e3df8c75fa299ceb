// SPDX-License-Identifier: Apache-2.0

public import Codecs
public import GStreamer

/// Puts the tracks of a Matroska file into MP4 or WebM, without coding pictures anew; G.711 becomes Opus.
public enum BrowserRemux {
    /// The media type of a file with these codecs, once it is remuxed.
    public static func mediaType(_ codecs: [MediaCodec]) -> String {
        codecs.contains(.h264) ? "video/mp4" : "video/webm"
    }

    /// Whether a Matroska file of ours with these codecs has to be remuxed at all.
    public static func isNeeded(_ codecs: [MediaCodec]) -> Bool {
        codecs.contains { $0 == .h264 || Self.isCodedAnew($0) }
    }

    /// Whether a track of this codec becomes Opus, with other units than it had.
    public static func isCodedAnew(_ codec: MediaCodec) -> Bool {
        [.pcmu, .pcma].contains(codec)
    }

    /// What a demultiplexer calls the pads of tracks with these codecs: it counts pictures and sounds by themselves.
    public static func pads(_ codecs: [MediaCodec]) -> [String] {
        codecs.enumerated().map { index, codec in
            "\(codec.kind.rawValue)_\(codecs[..<index].count { $0.kind == codec.kind })"
        }
    }

    /// Remuxes all tracks of a file; blocks until the file is written, or `limit` has passed.
    ///
    /// - Parameters:
    ///   - codecs: those of the tracks, in the order of the file.
    ///   - asMP4: whether the file becomes MP4 in any case; if not, only where H.264 asks for it.
    ///   - limit: after so long the remux counts as hanging.
    public static func run(
        from input: String,
        to output: String,
        codecs: [MediaCodec],
        asMP4: Bool = false,
        limit: Duration
    ) throws(GStreamerError) {
        let end = StreamEnd()
        let pipeline = try Pipeline(launch: Self.launch(codecs, asMP4: asMP4)) { end.take($0) }
        defer { pipeline.stop() }
        try pipeline.element(named: "in").set("location", verbatim: input)
        try pipeline.element(named: "out").set("location", verbatim: output)
        try pipeline.play()
        guard end.wait(atMost: limit) else {
            throw GStreamerError(.timedOut, "the rendition took longer than \(limit)")
        }
        if let failure = end.failure { throw GStreamerError(.stateChange, "\(failure.element): \(failure.message)") }
    }

    /// The queues take what one track is ahead of the other, but not without end.
    private static func launch(_ codecs: [MediaCodec], asMP4: Bool) -> String {
        let queue = "queue max-size-time=0 max-size-buffers=0 max-size-bytes=268435456"
        let mux = asMP4 || codecs.contains(.h264) ? "mp4mux name=mux faststart=true" : "webmmux name=mux"
        var branches: [String] = []
        for (codec, pad) in zip(codecs, Self.pads(codecs)) {
            switch codec {
            case .h264:
                // Parameter sets stay in band: they may change in the middle. MP4 says when pictures are decoded, too.
                let caps = "video/x-h264,stream-format=avc3,alignment=au"
                branches.append("demux.\(pad) ! \(queue) ! h264timestamper ! h264parse ! \(caps) ! mux.")
            case .vp9 where asMP4: branches.append("demux.\(pad) ! \(queue) ! vp9parse ! mux.")
            case .vp8, .vp9: branches.append("demux.\(pad) ! \(queue) ! mux.")
            case .opus: branches.append("demux.\(pad) ! \(queue) ! opusparse ! mux.")
            case .pcmu, .pcma:
                let decoder = codec == .pcmu ? "mulawdec" : "alawdec"
                branches.append(
                    "demux.\(pad) ! \(queue) ! \(decoder) ! audioconvert ! audioresample ! opusenc ! mux."
                )
            }
        }
        return "filesrc name=in ! matroskademux name=demux \(mux) ! filesink name=out "
            + branches.joined(separator: " ")
    }
}
