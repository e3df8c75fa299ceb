// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
internal import Matroska
internal import PipelineCatalogue

/// The input of an output's pipeline: the streams of one participant, on this host.
struct PipelineSource: Sendable, Hashable {
    /// One stream.
    struct Stream: Sendable, Hashable {
        var codec: MediaCodec
        /// Where RTP goes; RTCP goes to the next port.
        var port: UInt16
        /// Where it comes from; RTCP is taken at the next port.
        var sourcePort: UInt16
        var payloadType: UInt8
        var ssrc: UInt32
        /// The value of `sprop-parameter-sets` (RFC 6184 section 8.1); nil for none.
        var statedSets: String?
    }

    /// The participant's id.
    var participant: String
    var streams: [MediaKind: Stream] = [:]

    init(participant: String) {
        self.participant = participant
    }

    /// The streams of an output, once it is described; nil before, and without a participant.
    ///
    /// A stream in which nothing comes any more is left out where a substitute exists: muxers would wait for it.
    init?(_ status: RTPOutputStatus, for settings: PipelineOutputSettings) {
        guard let session = status.sessions.first, !session.description.isEmpty else { return nil }
        self.init(participant: session.participant)
        for stream in session.streams where !stream.isSilent || !settings.fills(stream.codec.kind) {
            self.streams[stream.codec.kind] = Stream(
                codec: stream.codec,
                port: stream.port,
                sourcePort: stream.sourcePort,
                payloadType: stream.payloadType,
                ssrc: stream.ssrc,
                statedSets: stream.statedSets
            )
        }
    }
}

/// The elements between the sockets of a source and the ports of a file.
///
/// Streams are put on one clock by their sender reports. A kind that the file takes raw and no participant sends is
/// black or silence. Nothing waits for the file: queues in front of its ports drop media that it does not take in time.
struct PipelineReceiver: Sendable, Hashable {
    /// A value that is set on one of the elements.
    struct Setting: Sendable, Hashable {
        var element: String
        var property: String
        var text: String
    }

    static let address = "127.0.0.1"
    /// The names of the queues in front of the ports.
    static let queues = [MediaKind.video, .audio].map { "tapedeck_\($0.rawValue)" }
    /// The wait for late packets, in milliseconds.
    private static let latency = 200

    /// Launch text that refers to the ports by their names.
    private(set) var launch = ""
    private(set) var settings: [Setting] = []

    /// Elements for a source and a file.
    ///
    /// - Parameter decodesWithFFmpeg: whether H.264 has FFmpeg's decoder, the better one, on this host.
    /// - Throws: `link` if the file takes nothing of what is sent.
    init(_ source: PipelineSource, _ file: PipelineFile, decodesWithFFmpeg: Bool) throws(GStreamerError) {
        var lines: [String] = []
        for kind in [MediaKind.video, .audio] {
            guard let accepted = file.accepts[kind] else { continue }
            let queue = Self.queue(kind)
            let port = "\(PipelineFile.input(kind)).sink"
            guard let stream = source.streams[kind] else {
                guard accepted.contains("raw") else {
                    let wanted = accepted.joined(separator: ", ")
                    throw GStreamerError(.link, "\(file.path) takes \(wanted), and no \(kind.rawValue) is sent")
                }
                lines.append("\(Self.nothing(kind)) ! \(queue) ! \(port)")
                continue
            }
            let name = stream.codec.capsName
            let elements: String
            if accepted.contains(name) {
                elements = Self.depayloader(stream.codec)
            } else if accepted.contains("raw") {
                elements = "\(Self.depayloader(stream.codec)) ! \(Self.decoder(stream.codec, decodesWithFFmpeg))"
            } else {
                throw GStreamerError(.link, "\(file.path) takes \(accepted.joined(separator: ", ")), not \(name)")
            }
            lines += self.receive(kind, stream, "\(elements) ! \(queue) ! \(port)")
        }
        if !self.settings.isEmpty {
            lines.insert("rtpbin name=tapedeck_rtp latency=\(Self.latency) drop-on-latency=true", at: 0)
        }
        self.launch = lines.joined(separator: "\n")
    }

    /// The sockets of a stream; reports of ours go back, for they ask for keyframes.
    private mutating func receive(_ kind: MediaKind, _ stream: PipelineSource.Stream, _ chain: String) -> [String] {
        let name = "tapedeck_\(kind.rawValue)"
        let number = kind == .video ? 0 : 1
        self.settings += [
            Setting(element: "\(name)_rtp", property: "address", text: Self.address),
            Setting(element: "\(name)_rtp", property: "port", text: "\(stream.port)"),
            Setting(element: "\(name)_rtp", property: "caps", text: stream.caps),
            Setting(element: "\(name)_rtcp", property: "address", text: Self.address),
            Setting(element: "\(name)_rtcp", property: "port", text: "\(Int(stream.port) + 1)"),
            Setting(element: "\(name)_report", property: "host", text: Self.address),
            Setting(element: "\(name)_report", property: "port", text: "\(Int(stream.sourcePort) + 1)"),
        ]
        return [
            "udpsrc name=\(name)_rtp reuse=false buffer-size=4000000 ! tapedeck_rtp.recv_rtp_sink_\(number)",
            "udpsrc name=\(name)_rtcp reuse=false caps=application/x-rtcp ! tapedeck_rtp.recv_rtcp_sink_\(number)",
            "tapedeck_rtp.send_rtcp_src_\(number) ! udpsink name=\(name)_report sync=false async=false",
            "tapedeck_rtp.recv_rtp_src_\(number)_\(stream.ssrc)_\(stream.payloadType) ! \(chain)",
        ]
    }

    private static func queue(_ kind: MediaKind) -> String {
        // A raw frame takes megabytes: a quarter of a second of them. Two seconds of audio.
        let buffers = kind == .video ? 8 : 100
        return "queue name=tapedeck_\(kind.rawValue) leaky=downstream max-size-time=0 max-size-bytes=0 "
            + "max-size-buffers=\(buffers)"
    }

    /// Black, or silence.
    private static func nothing(_ kind: MediaKind) -> String {
        switch kind {
        case .video: "videotestsrc is-live=true pattern=black ! video/x-raw,width=320,height=180,framerate=10/1"
        case .audio: "audiotestsrc is-live=true wave=silence ! audio/x-raw,rate=48000,channels=2"
        }
    }

    /// From packets to what decoders, and files that decode themselves, take.
    private static func depayloader(_ codec: MediaCodec) -> String {
        switch codec {
        case .vp8: "rtpvp8depay request-keyframe=true wait-for-keyframe=true"
        case .vp9: "rtpvp9depay request-keyframe=true wait-for-keyframe=true"
        case .h264: "rtph264depay request-keyframe=true wait-for-keyframe=true ! h264parse"
        case .opus: "rtpopusdepay ! opusparse"
        case .pcmu: "rtppcmudepay"
        case .pcma: "rtppcmadepay"
        }
    }

    private static func decoder(_ codec: MediaCodec, _ decodesWithFFmpeg: Bool) -> String {
        switch codec {
        case .vp8: "vp8dec"
        case .vp9: "vp9dec"
        case .h264: decodesWithFFmpeg ? "avdec_h264 max-threads=1" : "openh264dec"
        case .opus: "opusdec"
        case .pcmu: "mulawdec"
        case .pcma: "alawdec"
        }
    }

    /// A pipeline of the file that reads the source, not started.
    ///
    /// Control thread only.
    static func make(
        _ plan: PipelinePlan,
        _ source: PipelineSource,
        onBus: @escaping @Sendable (BusEvent) -> Void
    ) throws(GStreamerError) -> Pipeline {
        try Runtime.initialise()
        let receiver = try PipelineReceiver(source, plan.file, decodesWithFFmpeg: VideoDecoder.hasFFmpeg)
        let pipeline = try Pipeline(plan, beside: receiver.launch, onBus: onBus)
        for setting in receiver.settings {
            try pipeline.element(named: setting.element).set(setting.property, setting.text)
        }
        return pipeline
    }
}

extension PipelineSource.Stream {
    /// The caps of the packets, in GStreamer's notation.
    fileprivate var caps: String {
        // Base64 has nothing that ends a value in quotes.
        let sets = self.statedSets.map { ",sprop-parameter-sets=(string)\"\($0)\"" } ?? ""
        return "application/x-rtp,media=\(self.codec.kind.rawValue),clock-rate=\(self.codec.clockRateHz),"
            + "encoding-name=\(self.codec.capsName),payload=\(self.payloadType)\(sets)"
    }
}
