// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Foundation
import Logging
import Matroska
import Model
import Recording
import Synchronization
import Testing

@testable import GStreamer
@testable import Media

@Suite struct RTPOutputsTests {
    /// The events of outputs.
    final class Said: Sendable {
        private let events = Mutex<[RTPOutputEvent]>([])

        var all: [RTPOutputEvent] { self.events.withLock { $0 } }
        func append(_ event: RTPOutputEvent) { self.events.withLock { $0.append(event) } }
    }

    private let folder = FileManager.default.temporaryDirectory.appending(path: "outputs-\(UUID().uuidString)")
    private let said = Said()

    init() throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    /// These ports have no listener, and no packet is sent: the test checks which participant would be sent where.
    private func settings(_ change: (inout OutputSpec) -> Void = { _ in }) -> RTPOutputSettings {
        var spec = OutputSpec(host: "127.0.0.1")
        spec.videoPort = 5004
        spec.sdpFile = self.file.path
        change(&spec)
        return RTPOutputSettings(spec)
    }

    private var file: URL { self.folder.appending(path: "room.sdp") }
    private var text: String? { try? String(contentsOf: self.file, encoding: .utf8) }

    private func outputs(
        _ settings: [RTPOutputSettings],
        addresses: @escaping @Sendable (String) -> [String] = { _ in [] }
    ) -> RTPOutputs {
        RTPOutputs(
            settings,
            room: "standup",
            resolver: HostResolver(knowsMulticastNames: false, ask: addresses),
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
            onEvent: { [said] in said.append($0) }
        )
    }

    private func add(
        _ participant: String,
        _ codec: MediaCodec = .vp8,
        connection: UInt64 = 1,
        to outputs: RTPOutputs
    ) {
        let track = ReceivedTrack(
            participant: participant,
            codec: codec,
            clockRateHz: codec == .opus ? 48_000 : 90_000,
            channels: codec == .opus ? 2 : 0,
            ssrc: 7,
            payloadType: 100,
            mid: nil,
            connection: connection
        )
        let fork = RTPFork(watcher: RTCPWatcher(id: connection, queue: nil), ssrc: 7, isVideo: codec != .opus)
        outputs.add(track, profileLevelID: nil, fork: fork)
    }

    @Test func descriptionsComeChangeAndGo() throws {
        let outputs = self.outputs([self.settings { $0.audioPort = 5006 }])
        #expect(self.text == nil)
        #expect(outputs.status.map(\.state) == [.idle])
        self.add("a", to: outputs)
        // Audio may be about to come.
        #expect(self.text == nil)
        self.add("a", .opus, to: outputs)
        let first = try #require(self.text)
        #expect(first.contains("m=video 5004 RTP/AVP 96\r\n") && first.contains("m=audio 5006 RTP/AVP 111\r\n"))
        #expect(first.contains("s=standup a\r\n"))
        let session = try #require(outputs.status.first?.sessions.first)
        #expect(session.description == first)
        #expect(session.streams.map(\.codec) == [.vp8, .opus])
        self.add("b", to: outputs)
        #expect(outputs.status.first?.sessions.map(\.participant) == ["a"])
        outputs.left(participant: "a")
        // The slot is free for the participant that is present, whose audio may be about to come.
        #expect(outputs.status.first?.sessions.map(\.participant) == ["b"])
        #expect(self.text == nil)
        self.add("b", .opus, to: outputs)
        #expect(try #require(self.text).contains("s=standup b\r\n"))
        outputs.finish()
        #expect(self.text == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path).isEmpty)
    }

    @Test func aCallThatIsMadeAnewGoesOnInItsStreams() throws {
        let outputs = self.outputs([self.settings()])
        self.add("a", connection: 1, to: outputs)
        let before = try #require(outputs.status.first?.sessions.first)
        let text = try #require(self.text)
        outputs.remove(connection: 1)
        outputs.tick()
        #expect(self.text == text)
        self.add("a", connection: 2, to: outputs)
        let after = try #require(outputs.status.first?.sessions.first)
        #expect(after.streams.map(\.ssrc) == before.streams.map(\.ssrc))
        #expect(self.text == text)
        // Another codec is another description of the same stream.
        outputs.remove(connection: 2)
        self.add("a", .h264, connection: 3, to: outputs)
        #expect(outputs.status.first?.sessions.first?.streams.map(\.ssrc) == before.streams.map(\.ssrc))
        #expect(try #require(self.text).contains("m=video 5004 RTP/AVP 102\r\n"))
        outputs.finish()
    }

    @Test func severalParticipantsHaveTheirPorts() throws {
        let outputs = self.outputs([
            self.settings {
                ($0.participants, $0.portStep) = (2, 10)
                $0.sdpFile = self.folder.appending(path: "{place}.sdp").path
            }
        ])
        for name in ["a", "b", "c"] { self.add(name, to: outputs) }
        let sessions = try #require(outputs.status.first?.sessions)
        #expect(sessions.map(\.participant) == ["a", "b"])
        #expect(sessions.flatMap { $0.streams.map(\.port) } == [5004, 5014])
        let names = try FileManager.default.contentsOfDirectory(atPath: self.folder.path).sorted()
        #expect(names == ["1.sdp", "2.sdp"])
        outputs.finish()
    }

    @Test func oneParticipantByName() throws {
        let outputs = self.outputs([self.settings { $0.participant = "Ada" }])
        self.add("x", connection: 1, to: outputs)
        self.add("y", connection: 2, to: outputs)
        #expect(outputs.status.first?.sessions.isEmpty == true)
        outputs.named(participant: "y", "Ada")
        #expect(outputs.status.first?.sessions.map(\.participant) == ["y"])
        #expect(try #require(self.text).contains("s=standup Ada\r\n"))
        outputs.finish()
    }

    @Test func otherSettingsTouchOnlyWhatDiffers() throws {
        let kept = self.settings()
        let outputs = self.outputs([self.settings { ($0.videoPort, $0.sdpFile) = (6004, nil) }, kept])
        self.add("a", to: outputs)
        let ssrc = outputs.status.last?.sessions.first?.streams.first?.ssrc
        #expect(ssrc != nil)
        outputs.take([
            kept, self.settings { ($0.videoPort, $0.sdpFile) = (7004, nil) }, RTPOutputSettings(OutputSpec(host: "h")),
        ])
        #expect(outputs.status.map(\.name) == ["rtp://127.0.0.1:5004", "rtp://127.0.0.1:7004"])
        #expect(outputs.status.first?.sessions.first?.streams.first?.ssrc == ssrc)
        #expect(outputs.status.last?.sessions.map(\.participant) == ["a"])
        outputs.take([])
        #expect(outputs.status.isEmpty && self.text == nil)
    }

    @Test func onlyDescriptionsOfOursAreReplaced() throws {
        try Data("v=0\r\no=tapedeck 1 1 IN IP4 192.0.2.1\r\n".utf8).write(to: self.file)
        var outputs = self.outputs([self.settings()])
        #expect(self.text == nil)
        outputs.finish()
        try Data("somebody's".utf8).write(to: self.file)
        outputs = self.outputs([self.settings()])
        self.add("a", to: outputs)
        outputs.tick()
        #expect(self.text == "somebody's")
        #expect(outputs.status.first?.state == .failing)
        #expect(outputs.status.first?.sessions.first?.description.isEmpty == false)
        guard case .failed(output: "rtp://127.0.0.1:5004", let reason)? = self.said.all.first else {
            Issue.record("\(self.said.all)")
            return
        }
        #expect(reason.contains("room.sdp"))
        outputs.tick()
        #expect(self.said.all.count == 1)
        outputs.finish()
        #expect(self.text == "somebody's")
    }

    @Test func namesOfHostsAreLookedUp() async throws {
        let outputs = self.outputs([self.settings { $0.host = "mixer" }]) { $0 == "mixer" ? ["127.0.0.1"] : [] }
        self.add("a", to: outputs)
        await self.wait {
            outputs.tick(); return outputs.status.first?.state == .sending
        }
        #expect(try #require(self.text).contains("c=IN IP4 127.0.0.1\r\n"))
        outputs.finish()
        let lost = self.outputs([self.settings { $0.host = "nowhere" }])
        await self.wait {
            lost.tick(); return lost.status.first?.state == .failing
        }
        #expect(self.said.all == [.failed(output: "rtp://nowhere:5004", reason: "the host is not found")])
        lost.finish()
    }

    /// A host whose addresses change.
    final class Host: Sendable {
        private let state: Mutex<(addresses: [String], asked: Int)>

        init(_ addresses: [String]) { self.state = Mutex((addresses: addresses, asked: 0)) }

        /// How often it was looked up.
        var asked: Int { self.state.withLock { $0.asked } }
        func move(to addresses: [String]) { self.state.withLock { $0.addresses = addresses } }

        func ask() -> [String] {
            self.state.withLock { state in
                state.asked += 1
                return state.addresses
            }
        }
    }

    @Test func aHostThatMovesIsFollowed() async throws {
        let host = Host(["127.0.0.1", "127.0.0.2"])
        let outputs = self.outputs([self.settings { $0.host = "mixer" }]) { _ in host.ask() }
        self.add("a", to: outputs)
        await self.wait {
            outputs.tick(); return outputs.status.first?.state == .sending
        }
        let ssrc = try #require(outputs.status.first?.sessions.first?.streams.first?.ssrc)
        #expect(try #require(self.text).contains("c=IN IP4 127.0.0.1\r\n"))
        // An hour later names are due to be looked up again.
        let later = Runtime.monotonicNanoseconds + 3_600_000_000_000
        // Another order is no other host, and no answer is none.
        for addresses in [["127.0.0.2", "127.0.0.1"], []] {
            host.move(to: addresses)
            let asked = host.asked
            // A resolver asked for the second time means that its first answer was taken.
            await self.wait {
                outputs.tick(now: later); return host.asked >= asked + 2
            }
            #expect(outputs.status.first?.state == .sending)
            #expect(outputs.status.first?.sessions.first?.streams.first?.ssrc == ssrc)
        }
        host.move(to: ["127.0.0.2"])
        await self.wait {
            outputs.tick(now: later); return self.text?.contains("c=IN IP4 127.0.0.2\r\n") == true
        }
        let streams = try #require(outputs.status.first?.sessions.first?.streams)
        #expect(streams.count == 1 && streams.first?.ssrc != ssrc)
        outputs.finish()
        #expect(self.said.all.isEmpty)
    }

    @Test func aPictureThatEndedBesideSoundIsSilent() {
        func track(_ id: UInt64, _ codec: MediaCodec) -> OutputTrack {
            OutputTrack(
                id: id,
                connection: 1,
                participant: "a",
                format: OutputFormat(codec: codec, clockRateHz: 90_000, channels: 0, profileLevelID: nil),
                mid: nil,
                fork: RTPFork(watcher: RTCPWatcher(id: 1, queue: nil), ssrc: 7, isVideo: codec != .opus)
            )
        }
        var output = RTPOutput(self.settings { $0.audioPort = 5006 }, room: "standup")
        let (picture, sound) = (track(1, .vp8), track(2, .opus))
        output.settle([picture], names: ParticipantNames(), speaker: nil, now: 1_000_000_000)
        #expect(output.status.sessions.first?.streams.map(\.isSilent) == [false])
        // Audio begins, and no video came for this long.
        output.settle([picture, sound], names: ParticipantNames(), speaker: nil, now: 7_500_000_000)
        #expect(output.status.sessions.first?.streams.map(\.isSilent) == [true, false])
        output.close()
    }

    /// Waits until the condition holds, for as long as the machine may need.
    private func wait(_ condition: () -> Bool) async {
        let deadline = ContinuousClock.now + .seconds(30)
        while !condition() {
            guard ContinuousClock.now < deadline else {
                Issue.record("not within 30 s")
                return
            }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }
}
