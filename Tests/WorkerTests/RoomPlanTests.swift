// SPDX-License-Identifier: Apache-2.0

import Media
import Supervision
import Testing

@testable import Worker

@Suite struct RoomPlanTests {
    private static func order(_ change: (inout RoomOrder) -> Void = { _ in }) -> RoomOrder {
        var order = RoomOrder(name: "standup", url: "socketio+http://127.0.0.1:1/standup", storage: "/tmp")
        change(&order)
        return order
    }

    @Test func takesAnOrder() throws {
        let plan = try RoomPlan(
            Self.order {
                $0.record = RecordOrder()
                $0.send = CameraOrder(video: "test", audio: nil)
                $0.continues = "/tmp/recordings/x"
                ($0.ice.firstPort, $0.ice.lastPort) = (40_000, 40_100)
            },
            host: "here"
        )
        #expect(plan.recorder.isAutomatic && plan.recorder.emptyLimit == .seconds(30))
        #expect(plan.recorder.continues == "/tmp/recordings/x" && plan.recorder.host == "here")
        #expect(plan.camera?.settings.sendsVideo == true && plan.camera?.settings.sendsAudio == false)
        #expect(plan.network.portRange == 40_000...40_100)
    }

    @Test func withoutARecordOrderNothingIsRecordedByItself() throws {
        #expect(try !RoomPlan(Self.order(), host: "").recorder.isAutomatic)
    }

    @Test func rewritesServersAsWebRTCBinTakesThem() throws {
        let plan = try RoomPlan(
            Self.order {
                $0.ice.servers = [
                    ICEOrder.Server(urls: ["stun:stun.example.org:3478", "stun:second.example.org"]),
                    ICEOrder.Server(
                        urls: ["turn:192.0.2.7:3478?transport=udp", "turns:192.0.2.7"],
                        username: "a:b",
                        credential: "p@ss/ü"
                    ),
                ]
            },
            host: ""
        )
        #expect(plan.network.stunServer == "stun://stun.example.org:3478")
        #expect(
            plan.network.turnServers == [
                "turn://a%3Ab:p%40ss%2F%C3%BC@192.0.2.7:3478?transport=udp",
                "turns://a%3Ab:p%40ss%2F%C3%BC@192.0.2.7",
            ]
        )
    }

    private static let wrong: [(String, @Sendable (inout RoomOrder) -> Void)] = [
        ("no name", { $0.name = "" }),
        ("absolute path", { $0.storage = "relative" }),
        ("not a room scheme", { $0.url = "http://x/y" }),
        (
            "emptyAfterSeconds",
            {
                $0.record = RecordOrder()
                $0.record?.emptyAfterSeconds = 0
            }
        ),
        ("video takes test", { $0.send = CameraOrder(video: "tape") }),
        ("neither picture nor sound", { $0.send = CameraOrder(video: nil, audio: nil) }),
        (
            "preferredCodec",
            {
                $0.send = CameraOrder()
                $0.send?.preferredCodec = "av1"
            }
        ),
        (
            "pixels",
            {
                $0.send = CameraOrder()
                $0.send?.width = 321
            }
        ),
        (
            "framesPerSecond",
            {
                $0.send = CameraOrder()
                $0.send?.framesPerSecond = 61
            }
        ),
        (
            "bitsPerSecond",
            {
                $0.send = CameraOrder()
                $0.send?.bitsPerSecond = .max
            }
        ),
        ("port range", { $0.ice.firstPort = 1 }),
        ("port range", { ($0.ice.firstPort, $0.ice.lastPort) = (2, 1) }),
        ("stun:host", { $0.ice.servers = [ICEOrder.Server(urls: ["stun"])] }),
        ("begins with", { $0.ice.servers = [ICEOrder.Server(urls: ["http:x"])] }),
        ("username and credential", { $0.ice.servers = [ICEOrder.Server(urls: ["turn:x"])] }),
    ]

    @Test(arguments: Self.wrong.indices)
    func saysWhatIsWrong(index: Int) throws {
        let (what, change) = Self.wrong[index]
        let error = #expect(throws: RoomPlanError.self) { try RoomPlan(Self.order(change), host: "") }
        #expect(error?.message.contains(what) == true, "\(error?.message ?? "")")
    }
}
