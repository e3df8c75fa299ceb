// SPDX-License-Identifier: Apache-2.0

import Foundation
import GStreamer
import Media
import Model
import Recording
import SDP
import Session
import Signalling
import Storage
import Testing

/// A recorder and a camera in a room with peers that vanish or send what they should not.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct HostilePeerTests {
    private static let recorderName = PeerID("recorder")
    private static let mallory = PeerID("mallory")

    /// Objects of a test while recorder and camera are in their call.
    private struct Call {
        let room: SharedRoom
        let recorder: RoomRecorder
        let recording: RoomSession
        let sending: RoomSession

        func count(_ counter: String) -> Int { self.recording.status.counters[counter] ?? 0 }

        /// Units of the camera's tracks, fewest first.
        var units: [UInt64] {
            self.recorder.status.tracks.filter { $0.participant == "camera" }.map(\.units).sorted()
        }
    }

    private func eventually(within limit: Duration = .seconds(60), _ condition: () -> Bool) async -> Bool {
        let deadline = ContinuousClock.now + limit
        while !condition() {
            guard ContinuousClock.now < deadline else { return condition() }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    /// Runs `body` once both tracks of the camera are recorded, then ends everything.
    private func withCall(vanishes: Bool = false, _ body: (Call) async -> Void) async throws {
        let storage = FileManager.default.temporaryDirectory.appending(path: "tapedeck-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: storage) }
        let control = ControlThread(name: "control")
        let recorder = RoomRecorder(
            settings: RecorderSettings(storage: storage, room: "test", host: "here"),
            logger: TestSession.logger
        )
        var settings = SendSpec()
        (settings.width, settings.height, settings.framesPerSecond) = (320, 180, 15)
        let camera = try TestSession.camera(settings)
        let room = SharedRoom()
        let recorderEnd = SharedRoomMember("recorder", in: room)
        let cameraEnd = SharedRoomMember("camera", in: room, vanishes: vanishes)
        let recording = RoomSession(
            signaller: recorderEnd,
            context: try TestSession.context(control: control, recorder: recorder),
            logger: TestSession.logger
        )
        let sending = RoomSession(
            signaller: cameraEnd,
            context: try TestSession.context(control: control, camera: camera),
            logger: TestSession.logger
        )
        let call = Call(room: room, recorder: recorder, recording: recording, sending: sending)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await recording.run() }
            group.addTask { _ = await sending.run() }
            room.enter(recorderEnd)
            room.enter(cameraEnd)
            let isRecorded = await self.eventually { call.units.count == 2 && call.units.allSatisfy { $0 > 5 } }
            #expect(isRecorded, "the camera is not recorded")
            if isRecorded { await body(call) }
            recording.stop()
            sending.stop()
            await group.waitForAll()
        }
        try await control.run("camera", deadline: .seconds(60)) { camera.stop() }
        try await control.run("recorder", deadline: .seconds(60)) { recorder.finish(reason: "test over") }
        #expect(recorder.status.failure == nil)
    }

    @Test
    func aPeerThatVanishesIsReported() async throws {
        try await self.withCall(vanishes: true) { call in
            call.sending.stop()
            #expect(await self.eventually { call.sending.status.hasEnded })
            // After 9 s of silence.
            #expect(await self.eventually { call.count("peer_stale") == 1 })
            #expect(call.recording.status.connectedPeers.isEmpty)
            #expect(!call.recording.status.hasEnded)
            // The recording stays.
            let units = call.units
            #expect(units.count == 2)
            #expect(units.allSatisfy { $0 > 5 })
            let files = call.recorder.status.folder.flatMap {
                try? FileManager.default.contentsOfDirectory(atPath: $0.tracksPath)
            }
            #expect(files?.count == 2, "\(files ?? [])")
        }
    }

    /// An offer that keys its media with SDES.
    private static let sdesOffer = """
        v=0\r
        o=- 4611730928374655012 2 IN IP4 127.0.0.1\r
        s=-\r
        t=0 0\r
        a=group:BUNDLE audio\r
        m=audio 9 RTP/SAVPF 111\r
        c=IN IP4 0.0.0.0\r
        a=ice-ufrag:Qm3x\r
        a=ice-pwd:hT6kq0bP2vXr8sYw4zLm1cNd\r
        a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz\r
        a=mid:audio\r
        a=sendrecv\r
        a=rtcp-mux\r
        a=rtpmap:111 opus/48000/2\r

        """

    @Test
    func anOfferWithSDESIsRefusedWithItsReason() async throws {
        try await self.withCall { call in
            call.room.inject(.offerReceived(from: Self.mallory, sdp: Self.sdesOffer), into: Self.recorderName)
            #expect(await self.eventually { call.count("call_failed") == 1 })
            #expect(call.recording.status.lastRefusal?.contains("SDES") == true)
            #expect(call.recording.status.connectedPeers == [PeerID("camera")])
            #expect(call.room.undelivered.isEmpty, "nothing is answered")
            let units = call.units
            #expect(await self.eventually { zip(call.units, units).allSatisfy { $0 > $1 + 10 } })
        }
    }

    @Test
    func aConnectionThatRefusedItsOfferIsGone() async throws {
        let recorder = RoomRecorder(
            settings: RecorderSettings(storage: "/nonexistent", room: "test", host: "here"),
            logger: TestSession.logger
        )
        let control = ControlThread(name: "control")
        let (events, feed) = AsyncStream.makeStream(of: ConnectionEvent.self)
        weak var gone: PeerConnection?
        do {
            let connection = PeerConnection(
                id: ConnectionID(1),
                peer: Self.mallory,
                context: try TestSession.context(control: control, recorder: recorder),
                logger: TestSession.logger
            ) { feed.yield($0) }
            gone = connection
            await connection.open()
            await connection.applyOffer(try SessionDescription(parsing: Self.sdesOffer))
            await connection.close(reason: "refused")
        }
        feed.finish()
        var seen: [ConnectionEvent] = []
        for await event in events { seen.append(event) }
        #expect(seen.count == 2 && seen.last == .closed, "\(seen)")
        guard case .descriptionRefused(let reason) = seen.first else {
            Issue.record("\(seen)")
            return
        }
        #expect(reason.contains("SDES"))
        #expect(await self.eventually { gone == nil })
        try await control.run("recorder", deadline: .seconds(60)) { recorder.finish(reason: "test over") }
        #expect(recorder.status.tracks.isEmpty && recorder.status.failure == nil)
    }

    /// As when the thread that builds connections is held up by a device: what comes too late is ended at once.
    @Test
    func aConnectionThatIsBuiltTooLateLeavesNothingPlaying() async throws {
        let control = ControlThread(name: "control")
        let context = try TestSession.context(control: control)
        let open = { @Sendable (id: UInt64) in
            PeerConnection(id: ConnectionID(id), peer: Self.mallory, context: context, logger: TestSession.logger) {
                _ in
            }
        }
        // Descriptors that are opened once and stay.
        let first = open(1)
        await first.open()
        await first.close(reason: "over")
        try Runtime.startCountingObjects()
        let before = Runtime.liveObjectCount
        let isHeldUp = DispatchSemaphore(value: 0)
        control.enqueue { isHeldUp.wait() }
        do {
            let late = open(2)
            // Returns when its limit of 5 s is over.
            await late.open()
            async let closing: Void = late.close(reason: "it did not open")
            isHeldUp.signal()
            await closing
        }
        #expect(await self.eventually { Runtime.liveObjectCount <= before })
    }

    /// Whether a command is an answer that refuses every m-line (RFC 3264 section 6).
    private static func takesNothing(_ command: RoomCommand) -> Bool {
        guard case .answer(_, let sdp) = command else { return false }
        let media = sdp.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("m=") }
        return !media.isEmpty && media.allSatisfy { $0.split(separator: " ").dropFirst().first == "0" }
    }

    private static let hostileOffers: [String] = [
        "", "v=0", "garbage", "{\"type\":\"offer\"}", String(repeating: "a=x\r\n", count: 60_000),
        "o=- 1 1 IN IP4 127.0.0.1", "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n",
        "v=0\r\no=- 2 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=\r\nm=audio\r\na=rtpmap:99999999999999999999 opus/48000\r\n",
        String(repeating: "v=0\r\no=- 3 1 IN IP4 127.0.0.1\r\ns=-\r\nm=video 9 x y\r\n", count: 40),
        "v=0\r\no=- 4 1 IN IP4 127.0.0.1\r\ns=\u{0}\u{1F4FC}\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n",
        Self.offer(media: "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:0\r\na=sctp-port:5000\r\n"),
        Self.offer(media: "m=video 9 UDP/TLS/RTP/SAVPF 45\r\na=mid:0\r\na=rtcp-mux\r\na=rtpmap:45 AV1/90000\r\n"),
    ]

    private static func offer(media: String) -> String {
        """
        v=0\r
        o=- 77 2 IN IP4 127.0.0.1\r
        s=-\r
        t=0 0\r
        a=group:BUNDLE 0\r
        a=ice-ufrag:Qm3x\r
        a=ice-pwd:hT6kq0bP2vXr8sYw4zLm1cNd\r
        a=fingerprint:sha-256 \(Array(repeating: "AB", count: 32).joined(separator: ":"))\r
        a=setup:actpass\r

        """ + media
    }

    @Test
    func noiseOfOnePeerLeavesTheOthersRecordingAlone() async throws {
        try await self.withCall { call in
            let tracks = call.recorder.status.tracks.map(\.number)
            let inject = { (event: RoomEvent) in call.room.inject(event, into: Self.recorderName) }
            // Answers without offers, from strangers and from the camera.
            for index in 0..<20 {
                inject(.answerReceived(from: PeerID("stranger-\(index)"), sdp: Self.offer(media: "")))
                inject(.answerReceived(from: PeerID("camera"), sdp: "v=0 \(index)"))
            }
            #expect(await self.eventually { call.count("ignored_unknown_peer") == 20 })
            #expect(await self.eventually { call.count("ignored_duplicate_answer") == 20 })
            // Candidates before any description, half of them none at all.
            for index in 0..<10_000 {
                let line =
                    index % 2 == 0 ? "candidate:\(index) 1 udp 1 192.0.2.1 \(index % 65_536) typ host" : "\u{0}\(index)"
                inject(
                    .candidateReceived(
                        from: Self.mallory,
                        ICECandidate(line: line, mLineIndex: index % 7 == 0 ? .max : 0, mid: nil)
                    )
                )
            }
            #expect(await self.eventually { call.count("ignored_candidate_overflow") == 10_000 - 256 })
            inject(.endOfCandidatesReceived(from: Self.mallory))
            inject(.peerLeft(PeerID("nobody")))
            for (index, sdp) in Self.hostileOffers.enumerated() {
                inject(.offerReceived(from: PeerID("mallory-\(index % 3)"), sdp: sdp))
            }
            inject(.offerReceived(from: Self.mallory, sdp: Self.hostileOffers[11]))
            #expect(await self.eventually { call.count("ignored_malformed_description") >= 4 })
            #expect(await self.eventually { call.count("ignored_oversized_description") == 1 })
            #expect(await self.eventually { call.count("call_failed") >= 3 })
            // Noise in the name of the camera itself.
            inject(.offerReceived(from: PeerID("camera"), sdp: "garbage"))
            for index in 0..<1000 {
                inject(
                    .candidateReceived(from: PeerID("camera"), ICECandidate(line: "x\(index)", mLineIndex: 0, mid: nil))
                )
            }
            let units = call.units
            #expect(await self.eventually { zip(call.units, units).allSatisfy { $0 > $1 + 20 } })
            #expect(call.recorder.status.tracks.map(\.number) == tracks, "no track was opened anew")
            #expect(call.recorder.status.tracks.allSatisfy { $0.isOpen })
            // The recorder's queue holds the units of a minute.
            #expect(call.recorder.droppedUnits == 0)
            #expect(call.recording.status.connectedPeers == [PeerID("camera")])
            #expect(!call.recording.status.hasEnded)
            let answers = call.room.undelivered.map(\.command)
            #expect(answers.allSatisfy(Self.takesNothing), "noise is not answered, or refused: \(answers)")
        }
    }
}
