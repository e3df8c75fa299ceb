// SPDX-License-Identifier: Apache-2.0

import Foundation
import GStreamer
import Model
import Recording
import Session
import Signalling
import Storage
import Testing
import Timeline

@testable import Media

/// The holdings of a process: the things that a peer must not leave behind.
private struct Holdings: CustomStringConvertible {
    var descriptors: Int
    var threads: Int
    var objects: Int

    static var now: Holdings {
        func count(_ directory: String) -> Int {
            (try? FileManager.default.contentsOfDirectory(atPath: directory).count) ?? -1
        }
        return Holdings(
            descriptors: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            objects: Runtime.liveObjectCount
        )
    }

    /// The most of each in five samples.
    static func most() async throws -> Holdings {
        var most = Holdings.now
        for _ in 0..<5 {
            try await Task.sleep(for: .milliseconds(200))
            let sample = Holdings.now
            most.descriptors = max(most.descriptors, sample.descriptors)
            most.threads = max(most.threads, sample.threads)
            most.objects = max(most.objects, sample.objects)
        }
        return most
    }

    /// Pools may hold a few threads and descriptors more; objects have no other owner.
    func isWithin(_ other: Holdings, slack: Int) -> Bool {
        self.descriptors <= other.descriptors + slack && self.threads <= other.threads + slack
            && self.objects <= other.objects
    }

    var description: String {
        "\(self.descriptors) descriptors, \(self.threads) threads, \(self.objects) GStreamer objects"
    }
}

@Suite(.serialized, .timeLimit(.minutes(10)))
struct JoinLeaveTests {
    /// Many more than the slack of the comparison, so that one thing left behind by each stands out.
    private static let joins: UInt64 = ProcessInfo.processInfo.environment["TAPEDECK_TEST_ALL"] == "1" ? 200 : 20

    /// One call of two peer connections in this process, from the offer to the first recorded unit and to the end.
    ///
    /// Every other one has a data channel, into which the camera writes a word.
    private func call(
        _ number: UInt64,
        _ sending: PeerConnectionContext,
        _ receiving: PeerConnectionContext,
        _ recorder: RoomRecorder
    ) async throws {
        let hasData = number.isMultiple(of: 2)
        let (offererEvents, offererFeed) = AsyncStream.makeStream(of: ConnectionEvent.self)
        let (answererEvents, answererFeed) = AsyncStream.makeStream(of: ConnectionEvent.self)
        let offerer = PeerConnection(
            id: ConnectionID(number * 2),
            peer: PeerID("recorder"),
            context: sending,
            logger: TestSession.logger
        ) { offererFeed.yield($0) }
        let answerer = PeerConnection(
            id: ConnectionID(number * 2 + 1),
            peer: PeerID("camera-\(number)"),
            context: receiving,
            logger: TestSession.logger
        ) { answererFeed.yield($0) }
        await offerer.open()
        await answerer.open()
        await offerer.createOffer()
        for await event in offererEvents {
            guard case .offerCreated(let sdp) = event else { continue }
            await answerer.applyOffer(hasData ? try SpeakingPeer.offer(sdp) : sdp)
            break
        }
        for await event in answererEvents {
            guard case .answerCreated(let sdp) = event else { continue }
            let answer = hasData ? try SpeakingPeer.answer(sdp) : (sdp: sdp, takesData: false)
            #expect(answer.takesData == hasData)
            await offerer.applyAnswer(answer.sdp)
            break
        }
        let deadline = ContinuousClock.now + .seconds(60)
        let name = "camera-\(number)"
        while recorder.status.tracks.filter({ $0.participant == name && $0.units > 0 }).count < 2,
            ContinuousClock.now < deadline
        {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(recorder.status.tracks.filter { $0.participant == name && $0.units > 0 }.count == 2)
        if hasData { #expect(try await SpeakingPeer.write(["word"], on: offerer, sending.control)) }
        await answerer.close(reason: "left")
        await offerer.close(reason: "left")
    }

    @Test
    func leavesNothingBehindAfterManyJoins() async throws {
        try Runtime.startCountingObjects()
        let storage = FileManager.default.temporaryDirectory.appending(path: "tapedeck-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: storage) }
        let control = ControlThread(name: "control")
        let camera = try TestSession.camera(TestSession.small)
        let recorder = TestSession.recorder(in: storage)
        let sending = try TestSession.context(control: control, camera: camera)
        let receiving = try TestSession.context(control: control, recorder: recorder, recordsChat: true)
        for number in 1...10 { try await self.call(UInt64(number), sending, receiving, recorder) }
        let before = try await Holdings.most()
        #expect(before.objects > 0, "objects are not counted")
        for number in 11...(10 + Self.joins) { try await self.call(number, sending, receiving, recorder) }
        // Thread pools let idle threads go after a while.
        let deadline = ContinuousClock.now + .seconds(60)
        while !Holdings.now.isWithin(before, slack: 3), ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(250))
        }
        let after = Holdings.now
        #expect(after.isWithin(before, slack: 3), "before: \(before); after \(Self.joins) joins: \(after)")
        try await control.run("camera", deadline: .seconds(60)) { camera.stop() }
        try await control.run("recorder", deadline: .seconds(60)) { recorder.finish(reason: "test over") }
        // A recording takes a limited number of tracks; the next one continues.
        var entries: [JournalEntry] = []
        for folder in try RecordingFolder.list(storage: storage) {
            try Journal.events(of: folder) { entries.append($0) }
        }
        let words = entries.compactMap { entry -> String? in
            guard case .chatMessage(let message) = entry.record else { return nil }
            return message.text
        }
        #expect(words == Array(repeating: "word", count: Int(10 + Self.joins) / 2))
    }
}
