// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Supervision
import Testing

@testable import Daemon

@Suite struct RoomOrderTests {
    private static func order(_ text: String, ice: String = "") throws -> RoomOrder {
        let configuration = try DaemonConfiguration.parse(
            text:
                "storage: { directory: /srv/tapedeck }\n\(ice)\nrooms:\n  a:\n    url: socketio+http://192.0.2.1/a\n\(text)"
        )
        return RoomOrder(try #require(configuration.rooms["a"]), in: configuration)
    }

    @Test func aBareRoomIsRecordedAndSendsNothing() throws {
        let order = try Self.order("")
        var expected = RoomOrder(name: "a", url: "socketio+http://192.0.2.1/a", storage: "/srv/tapedeck")
        expected.record = RecordOrder()
        expected.whenFullSeconds = 30
        expected.afterKickSeconds = 300
        #expect(order == expected)
    }

    @Test func everyKeyArrives() throws {
        let order = try Self.order(
            """
                display_name: recorder
                record: { video: false, automatic: false, empty_after: 5s }
                send: { capture: "v4l2:/dev/video0", audio: test, preferred_codec: h264, size: 640x360, fps: 15,
                  bitrate: 500k }
                rejoin: { after_kick: 2m, when_full: 1h }
            """,
            ice: """
                ice:
                  servers: [{ urls: ["turn:192.0.2.2:3478"], username: u, credential: p }]
                  host_addresses: [192.0.2.3]
                  port_range: 40000-40100
                """
        )
        #expect(order.displayName == "recorder")
        var record = RecordOrder()
        (record.video, record.isAutomatic, record.emptyAfterSeconds) = (false, false, 5)
        #expect(order.record == record)
        var send = CameraOrder(video: "v4l2:/dev/video0", audio: "test")
        (send.preferredCodec, send.width, send.height) = ("h264", 640, 360)
        (send.framesPerSecond, send.bitsPerSecond) = (15, 500_000)
        #expect(order.send == send)
        #expect(order.whenFullSeconds == 3600)
        #expect(order.afterKickSeconds == 120)
        #expect(order.ice.servers == [ICEOrder.Server(urls: ["turn:192.0.2.2:3478"], username: "u", credential: "p")])
        #expect(order.ice.hostAddresses == ["192.0.2.3"])
        #expect(order.ice.firstPort == 40000 && order.ice.lastPort == 40100)
    }

    @Test func neverIsNoTimeAndNoneIsNoRecording() throws {
        let order = try Self.order("    record: none\n    rejoin: { after_kick: never }\n")
        #expect(order.record == nil)
        #expect(order.afterKickSeconds == nil)
        #expect(order.whenFullSeconds == 30)
    }
}

@Suite struct RecordingLimitTests {
    private static func order(video: Bool, audio: Bool) -> RecordOrder {
        var order = RecordOrder()
        (order.video, order.audio) = (video, audio)
        return order
    }

    @Test func aDiskThatFillsTakesPicturesFirst() {
        let all = Self.order(video: true, audio: true)
        #expect(RecordingLimit.everything.limited(all) == all)
        #expect(RecordingLimit.soundOnly.limited(all) == Self.order(video: false, audio: true))
        #expect(RecordingLimit.soundOnly.limited(Self.order(video: true, audio: false)) == nil)
        #expect(RecordingLimit.nothing.limited(all) == nil)
        for limit in [RecordingLimit.everything, .soundOnly, .nothing] { #expect(limit.limited(nil) == nil) }
    }
}
