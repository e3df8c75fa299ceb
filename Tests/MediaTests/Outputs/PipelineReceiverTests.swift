// SPDX-License-Identifier: Apache-2.0

internal import Basics
import GStreamer
import Matroska
import PipelineCatalogue
import Testing

@testable import Media

@Suite struct PipelineReceiverTests {
    private static func file(_ accepts: [MediaKind: [String]]) -> PipelineFile {
        var file = PipelineFile(kind: .output, name: "x", description: "X.", launch: "fakesink name=in_video")
        file.accepts = accepts
        return file
    }

    private static func source(_ codecs: MediaCodec...) -> PipelineSource {
        var source = PipelineSource(participant: "ada")
        for codec in codecs {
            source.streams[codec.kind] = PipelineSource.Stream(
                codec: codec,
                port: codec.kind == .video ? 21_000 : 21_002,
                sourcePort: codec.kind == .video ? 40_000 : 50_000,
                payloadType: codec.kind == .video ? 96 : 111,
                ssrc: codec.kind == .video ? 7 : 8
            )
        }
        return source
    }

    private static func launch(_ accepts: [MediaKind: [String]], _ codecs: MediaCodec...) throws -> String {
        var source = PipelineSource(participant: "ada")
        for codec in codecs { source.streams.merge(Self.source(codec).streams) { $1 } }
        return try PipelineReceiver(source, Self.file(accepts), decodesWithFFmpeg: false).launch
    }

    @Test(arguments: [
        (MediaCodec.vp8, "! vp8dec !"), (.vp9, "! vp9dec !"), (.h264, "! openh264dec !"), (.opus, "! opusdec !"),
        (.pcmu, "! mulawdec !"), (.pcma, "! alawdec !"),
    ])
    func whatIsWantedRawIsDecoded(codec: MediaCodec, decoder: String) throws {
        let media = codec.kind == .video ? MediaKind.video : .audio
        let text = try Self.launch([media: ["raw"]], codec)
        #expect(text.contains(decoder), "\(text)")
        #expect(text.contains("leaky=downstream") && text.hasSuffix("! in_\(media.rawValue).sink"), "\(text)")
    }

    @Test func whatIsWantedAsItIsPasses() throws {
        let text = try Self.launch([.video: ["raw", "H264"], .audio: ["OPUS"]], .h264, .opus)
        #expect(text.contains("! h264parse ! queue") && text.contains("! opusparse ! queue"), "\(text)")
        #expect(!text.contains("dec "), "\(text)")
    }

    @Test func whatNobodySendsIsBlackOrSilent() throws {
        let text = try Self.launch([.video: ["raw"], .audio: ["raw"]], .opus)
        #expect(text.contains("pattern=black") && !text.contains("wave=silence"), "\(text)")
        #expect(try Self.launch([.audio: ["raw"]], .vp8).contains("wave=silence"))
        #expect(try !Self.launch([.audio: ["raw"]], .vp8).contains("rtpbin"))
    }

    @Test func whatIsNotSentAnyMoreIsBlackOrSilentWhereItCanBe() {
        func stream(_ codec: MediaCodec, isSilent: Bool) -> RTPOutputStatus.Stream {
            RTPOutputStatus.Stream(
                codec: codec,
                port: 21_000,
                sourcePort: 40_000,
                payloadType: 96,
                ssrc: 7,
                counters: RTPStreamCounters(),
                isSilent: isSilent
            )
        }
        func kinds(_ accepts: [MediaKind: [String]], isDark: Bool, isMute: Bool) -> Set<MediaKind>? {
            let session = RTPOutputStatus.Session(
                participant: "ada",
                description: "v=0",
                streams: [stream(.vp8, isSilent: isDark), stream(.opus, isSilent: isMute)]
            )
            let status = RTPOutputStatus(
                name: "pipeline:x",
                state: .sending,
                reason: nil,
                sessions: [session],
                total: RTPStreamCounters()
            )
            let settings = PipelineOutputSettings(.ready(PipelinePlan(Self.file(accepts))))
            return PipelineSource(status, for: settings).map { Set($0.streams.keys) }
        }
        let raw: [MediaKind: [String]] = [.video: ["raw"], .audio: ["raw"]]
        #expect(kinds(raw, isDark: false, isMute: false) == [.video, .audio])
        #expect(kinds(raw, isDark: true, isMute: false) == [.audio])
        #expect(kinds(raw, isDark: false, isMute: true) == [.video])
        // Nothing can take the place of packets.
        let coded: [MediaKind: [String]] = [.video: ["VP8"], .audio: ["raw"]]
        #expect(kinds(coded, isDark: true, isMute: false) == [.video, .audio])
    }

    @Test func whatAFileDoesNotTakeIsSaid() {
        let wrong = #expect(throws: GStreamerError.self) { try Self.launch([.video: ["H264"]], .vp8) }
        #expect(wrong?.message == "output/x takes H264, not VP8")
        let missing = #expect(throws: GStreamerError.self) { try Self.launch([.audio: ["OPUS"]], .vp8) }
        #expect(missing?.message == "output/x takes OPUS, and no audio is sent")
    }

    @Test func packetsAndReportsHaveTheirPorts() throws {
        let receiver = try PipelineReceiver(
            Self.source(.vp8, .opus),
            Self.file([.video: ["raw"], .audio: ["raw"]]),
            decodesWithFFmpeg: true
        )
        func value(_ element: String, _ property: String) -> String? {
            receiver.settings.first { $0.element == element && $0.property == property }?.text
        }
        #expect(value("tapedeck_video_rtp", "port") == "21000")
        #expect(value("tapedeck_video_rtcp", "port") == "21001")
        #expect(value("tapedeck_video_report", "port") == "40001")
        #expect(value("tapedeck_audio_rtp", "port") == "21002")
        #expect(value("tapedeck_audio_report", "port") == "50001")
        #expect(Set(receiver.settings.filter { $0.property == "address" }.map(\.text)) == ["127.0.0.1"])
        let caps = "application/x-rtp,media=audio,clock-rate=48000,encoding-name=OPUS,payload=111"
        #expect(value("tapedeck_audio_rtp", "caps") == caps)
        #expect(receiver.launch.contains("tapedeck_rtp.recv_rtp_src_0_7_96 ! "))
        #expect(receiver.launch.contains("tapedeck_rtp.recv_rtp_src_1_8_111 ! "))
    }

    @Test func reasonsShowNoSecrets() throws {
        var file = Self.file([.video: ["raw"]])
        for name in ["url", "path", "word"] {
            file.parameters[name] = PipelineParameter(element: "in_video", property: name, form: .string)
        }
        var plan = PipelinePlan(file)
        try plan.set("url", "rtmp://ada:hunter22@192.0.2.7:1935/live/s3cretkey?token=t0ken-t0ken")
        try plan.set("path", "/run/tapedeck/a.socket")
        try plan.set("word", "passphrase")
        let said = plan.concealing(
            "rtmp://ada:hunter22@192.0.2.7:1935/live/s3cretkey?token=t0ken-t0ken: no stream s3cretkey for hunter22 at "
                + "/run/tapedeck/a.socket with passphrase, t0ken-t0ken"
        )
        for secret in ["s3cretkey", "hunter22", "passphrase", "t0ken"] { #expect(!said.contains(secret), "\(said)") }
        #expect(said.contains("rtmp://192.0.2.7:1935") && said.contains("/run/tapedeck/a.socket"), "\(said)")
    }
}
