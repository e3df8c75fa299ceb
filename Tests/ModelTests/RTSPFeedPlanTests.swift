// SPDX-License-Identifier: Apache-2.0

import Model
import Testing

@Suite struct RTSPPathTests {
    @Test(
        arguments: [
            ("standup", nil, "/standup"), ("standup", "Ada", "/standup/Ada"), ("a.b-c_d", "x~y=z", "/a.b-c_d/x~y=z"),
            ("a", "Ada L", "/a/Ada%20L"), ("a", "é", "/a/%C3%A9"), ("a", "../b", "/a/..%2Fb"), ("a", "%41", "/a/%2541"),
            ("a", "\u{0}\n", "/a/%00%0A"), ("a", "?#", "/a/%3F%23"),
        ] as [(String, String?, String)]
    )
    func namesHaveOneSpelling(room: String, participant: String?, path: String) {
        #expect(RTSPPath.path(room: room, participant: participant) == path)
    }
}

@Suite struct RTSPFeedPlanTests {
    private static let plan = RTSPFeedPlan(room: "standup", number: 258, network: 77, participants: 2)

    private static func session(_ participant: String, sdp: String = "v=0", streams: Int = 2)
        -> RoomStatus.Output.Session
    {
        let all = [Self.stream("video", "vp8", 0), Self.stream("audio", "opus", 2)]
        return RoomStatus.Output.Session(participant: participant, sdp: sdp, streams: Array(all.prefix(streams)))
    }

    private static func stream(_ kind: String, _ codec: String, _ offset: UInt16) -> RoomStatus.Output.Stream {
        RoomStatus.Output.Stream(
            kind: kind,
            codec: codec,
            port: 20_000 + offset,
            sourcePort: 40_000 + offset,
            payloadType: 96,
            ssrc: 1
        )
    }

    @Test func eachRoomHasAnAddressOfItsOwn() throws {
        let plan = try #require(Self.plan)
        #expect(plan.address == "127.77.1.2")
        #expect(RTSPFeedPlan(room: "a", number: 65_536, network: 77, participants: 1) == nil)
        #expect(RTSPFeedPlan(room: "a", number: -1, network: 77, participants: 1) == nil)
        let outputs = plan.outputs
        #expect(outputs.map(\.host) == ["127.77.1.2", "127.77.1.2"])
        #expect(outputs.map(\.participants) == [2, 1])
        #expect(outputs.map(\.followsSpeaker) == [false, true])
        // Ports of 64 participants stay below those of who speaks, and those below what systems choose themselves.
        let most = try #require(RTSPFeedPlan(room: "a", number: 0, network: 77, participants: 1000)).outputs[0]
        let last = Int(try #require(most.audioPort)) + 4 * (most.participants - 1) + 1
        #expect(last < Int(try #require(outputs[1].videoPort)))
        #expect(try #require(outputs[1].audioPort) < 32_767)
    }

    @Test func participantsHavePathsByIdAndByName() throws {
        let plan = try #require(Self.plan)
        var status = RoomStatus()
        status.participants = [
            RoomStatus.Participant(id: "1", name: "Ada L", isConnected: true),
            RoomStatus.Participant(id: "2", name: "Bob", isConnected: true),
            RoomStatus.Participant(id: "3", name: "Bob", isConnected: true),
            RoomStatus.Participant(id: "4", name: "2", isConnected: true),
            RoomStatus.Participant(id: "5", name: "", isConnected: true),
        ]
        var sessions = ["1", "2", "3", "4", "5"].map { Self.session($0) }
        sessions.append(Self.session("6", sdp: ""))
        sessions.append(Self.session("7", streams: 0))
        sessions.append(Self.session(String(repeating: "x", count: 257)))
        status.outputs = [
            RoomStatus.Output(
                name: RTSPFeedPlan.participantsLabel,
                state: "sending",
                sessions: sessions
            ),
            RoomStatus.Output(
                name: RTSPFeedPlan.speakerLabel,
                state: "sending",
                sessions: [Self.session("", streams: 1)]
            ),
            RoomStatus.Output(name: "rtp://192.0.2.1:5004", state: "sending", sessions: [Self.session("1")]),
        ]
        let mounts = plan.mounts(status, users: ["carrot"])
        #expect(
            mounts.map(\.paths) == [
                ["/standup/1", "/standup/Ada%20L"], ["/standup/2"], ["/standup/3"], ["/standup/4"], ["/standup/5"],
                ["/standup"],
            ]
        )
        #expect(mounts.allSatisfy { $0.users == ["carrot"] && $0.address == "127.77.1.2" })
        #expect(mounts[0].lines.map(\.sourcePort) == [40_000, 40_002])
        #expect(plan.mounts(RoomStatus(), users: []).isEmpty)
    }

    @Test(arguments: [
        RTSPCommand.serve(RTSPServerSpec(host: "::", port: 1)),
        .mounts([
            "a": [RTSPMountSpec(paths: ["/a"], users: ["u"], address: "127.0.0.1", sdp: "v=0\r\n", lines: [])], "b": [],
        ]),
        .shutDown,
    ])
    func commandsSurviveALine(command: RTSPCommand) throws {
        #expect(try WorkerLine.decode(RTSPCommand.self, from: WorkerLine.encode(command).dropLast()) == command)
    }
}
