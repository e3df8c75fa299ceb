// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import Model
import Testing

@testable import Daemon

@Suite struct RoomConfigurationTests {
    private static func order(_ text: String, ice: String = "", storage: String = "") throws -> RoomSpec {
        let configuration = try DaemonConfiguration.parse(
            text:
                "storage: { directory: /srv/tapedeck\(storage) }\n\(ice)\nrooms:\n  a:\n    url: socketio+http://192.0.2.1/a\n\(text)"
        )
        return try #require(configuration.rooms["a"]).spec(in: configuration)
    }

    @Test func aBareRoomIsRecordedAndSendsNothing() throws {
        let order = try Self.order("")
        var expected = RoomSpec(name: "a", url: "socketio+http://192.0.2.1/a", storage: "/srv/tapedeck")
        expected.record = RecordSpec()
        expected.whenFullSeconds = 30
        expected.afterKickSeconds = 300
        #expect(order == expected)
    }

    @Test func everyKeyArrives() throws {
        let order = try Self.order(
            """
                display_name: recorder
                secret: "p w"
                priority: 80
                record: { video: false, chat: false, automatic: false, empty_after: 5s, preferred_codec: h264, segment: 2GB,
                  preroll: 10s, tags: [weekly], notes: With guests }
                send: { capture: "v4l2:/dev/video0", audio: test, preferred_codec: h264, size: 640x360, fps: 15,
                  bitrate: 500k, min_bitrate: 90k, audio_bitrate: 24k, audio_fec: false, audio_dtx: true, open: always }
                outputs:
                  - { rtp: { host: "239.1.2.3", video_port: 5004, audio_port: 6004, participants: 3, port_step: 2,
                      participant: Ada, source_port: 7000, interface: eth0, ttl: 9, video_payload_type: 101,
                      audio_payload_type: 102, sdp_file: "/run/a-{place}.sdp" } }
                  - { rtp: { host: h, audio_port: 5004 } }
                  - { pipeline: { file: hls, participant: Ada, parameters: { folder: /srv/hls, bitrate: 900 } } }
                rejoin: { after_kick: 2m, when_full: 1h }
            """,
            ice: """
                ice:
                  servers: [{ urls: ["turn:192.0.2.2:3478"], username: u, credential: p }]
                  host_addresses: [192.0.2.3]
                  port_range: 40000-40100
                """,
            storage: ", synchronise_every: 250ms"
        )
        #expect(order.displayName == "recorder")
        #expect(order.secret?.value == "p w")
        #expect(order.priority == 80)
        var record = RecordSpec()
        (record.video, record.chat, record.isAutomatic, record.emptyAfterSeconds) = (false, false, false, 5)
        record.preferredCodec = .h264
        (record.segmentBytes, record.prerollMilliseconds) = (2_000_000_000, 10_000)
        (record.tags, record.notes, record.synchroniseMilliseconds) = (["weekly"], "With guests", 250)
        #expect(order.record == record)
        var send = SendSpec(video: .camera("/dev/video0"), audio: .test)
        (send.preferredCodec, send.width, send.height) = (.h264, 640, 360)
        (send.framesPerSecond, send.bitsPerSecond, send.minimumBitsPerSecond) = (15, 500_000, 90_000)
        (send.audioBitsPerSecond, send.usesAudioFEC, send.usesAudioDTX, send.keepsOpen) = (24_000, false, true, true)
        #expect(order.send == send)
        var output = OutputSpec(host: "239.1.2.3")
        (output.videoPort, output.audioPort, output.participants, output.portStep) = (5004, 6004, 3, 2)
        (output.participant, output.sourcePort, output.interface) = ("Ada", 7000, "eth0")
        (output.timeToLive, output.videoPayloadType, output.audioPayloadType) = (9, 101, 102)
        output.sdpFile = "/run/a-{place}.sdp"
        var sound = OutputSpec(host: "h")
        (sound.audioPort, sound.participants, sound.portStep) = (5004, 1, 4)
        var playlist = OutputSpec(host: "127.0.0.1")
        playlist.participant = "Ada"
        playlist.pipeline = PipelineOutputSpec(file: "hls")
        playlist.pipeline?.parameters = ["folder": Secret("/srv/hls"), "bitrate": Secret("900")]
        #expect(order.outputs == [output, sound, playlist])
        #expect(order.whenFullSeconds == 3600)
        #expect(order.afterKickSeconds == 120)
        #expect(
            order.ice.servers == [
                NetworkSpec.Server(urls: ["turn:192.0.2.2:3478"], username: "u", credential: Secret("p"))
            ]
        )
        #expect(order.ice.hostAddresses == ["192.0.2.3"])
        #expect(order.ice.portRange == 40000...40100)
    }

    @Test func neverIsNoTimeAndNoneIsNoRecording() throws {
        let order = try Self.order("    record: none\n    rejoin: { after_kick: never }\n")
        #expect(order.record == nil)
        #expect(order.afterKickSeconds == nil)
        #expect(order.whenFullSeconds == 30)
    }
}
