// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import GStreamer
import Model
import Recording
import SDP
import Session
import Signalling
import Testing

@testable import Media

/// A peer that pauses and resumes: its offers change direction, and the media pipeline does not notice.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct DirectionChangeTests {
    /// A camera and a recorder, each with a separate connection, one of which has offered.
    private final class Talk {
        let control = ControlThread(name: "control")
        let camera: CameraSource
        let recorder: RoomRecorder
        let offerer: PeerConnection
        let answerer: PeerConnection
        let offer: SessionDescription
        /// The events of the answerer.
        let answered: AsyncStream<ConnectionEvent>
        let answeredFeed: AsyncStream<ConnectionEvent>.Continuation
        private let storage = FileManager.default.temporaryDirectory.appending(path: "tapedeck-\(UUID())").path

        init(_ id: UInt64, _ settings: SendSpec = TestSession.small, cameraOffers: Bool) async throws {
            self.camera = try TestSession.camera(settings)
            self.recorder = TestSession.recorder(in: self.storage)
            let sending = try TestSession.context(control: self.control, camera: self.camera)
            let receiving = try TestSession.context(control: self.control, recorder: self.recorder)
            let (made, madeFeed) = AsyncStream.makeStream(of: ConnectionEvent.self)
            let (answered, answeredFeed) = AsyncStream.makeStream(of: ConnectionEvent.self)
            (self.answered, self.answeredFeed) = (answered, answeredFeed)
            self.offerer = PeerConnection(
                id: ConnectionID(id),
                peer: PeerID(cameraOffers ? "recorder" : "camera"),
                context: cameraOffers ? sending : receiving,
                logger: TestSession.logger
            ) { madeFeed.yield($0) }
            self.answerer = PeerConnection(
                id: ConnectionID(id + 1),
                peer: PeerID(cameraOffers ? "camera" : "recorder"),
                context: cameraOffers ? receiving : sending,
                logger: TestSession.logger
            ) { answeredFeed.yield($0) }
            await self.offerer.open()
            await self.answerer.open()
            await self.offerer.createOffer()
            var offer: SessionDescription?
            for await event in made {
                guard case .offerCreated(let created) = event else { continue }
                offer = created
                break
            }
            self.offer = try #require(offer)
        }

        deinit { try? FileManager.default.removeItem(atPath: self.storage) }

        func end() async throws {
            await self.answerer.close(reason: "left")
            await self.offerer.close(reason: "left")
            try await self.control.run("camera", deadline: .seconds(60)) { [camera] in camera.stop() }
            try await self.control.run("recorder", deadline: .seconds(60)) { [recorder] in
                recorder.finish(reason: "test over")
            }
        }
    }

    /// The answer to one more offer of the same session.
    private func answer(
        to offer: String,
        version: Int,
        _ connection: PeerConnection,
        _ events: AsyncStream<ConnectionEvent>
    ) async -> String? {
        // o=<username> <sess-id> <sess-version> …
        let lines = offer.split(separator: "\r\n", omittingEmptySubsequences: false).map { line -> String in
            guard line.hasPrefix("o=") else { return String(line) }
            var words = line.split(separator: " ").map(String.init)
            if words.count > 2 { words[2] = "\(version)" }
            return words.joined(separator: " ")
        }
        guard let offer = try? SessionDescription(parsing: lines.joined(separator: "\r\n")) else { return nil }
        await connection.applyOffer(offer)
        for await event in events {
            switch event {
            case .answerCreated(let answer): return answer.text
            case .descriptionRefused, .negotiationFailed, .rebuildNeeded, .closed:
                Issue.record("\(event)")
                return nil
            default: continue
            }
        }
        return nil
    }

    /// The description without what it says of candidates.
    private func bare(_ sdp: String) -> String {
        let lines = sdp.split(separator: "\r\n", omittingEmptySubsequences: false)
        return lines.filter { !$0.hasPrefix("a=candidate:") && $0 != "a=end-of-candidates" }.joined(separator: "\r\n")
    }

    private func directions(_ sdp: String) -> [Substring] {
        let all = ["a=sendrecv", "a=sendonly", "a=recvonly", "a=inactive"]
        return sdp.split(separator: "\r\n").filter { all.contains(String($0)) }.map { $0.dropFirst(2) }
    }

    @Test
    func inactiveAndBackKeepsTheTracks() async throws {
        let talk = try await Talk(1, cameraOffers: true)
        let (recorder, offerer, answerer) = (talk.recorder, talk.offerer, talk.answerer)
        let offer = talk.offer.text
        let first = try #require(await self.answer(to: offer, version: 100, answerer, talk.answered))
        #expect(self.directions(first) == ["recvonly", "recvonly"])
        await offerer.applyAnswer(try SessionDescription(parsing: first))
        #expect(await self.units(of: recorder, exceed: 5))

        let pause = offer.replacing("a=sendonly", with: "a=inactive").replacing("a=sendrecv", with: "a=inactive")
        #expect(pause != offer)
        for round in 0..<3 {
            let paused = await self.answer(to: pause, version: 101 + round * 2, answerer, talk.answered)
            #expect(paused.map(self.directions) == ["inactive", "inactive"])
            let resumed = await self.answer(to: offer, version: 102 + round * 2, answerer, talk.answered)
            #expect(resumed.map(self.directions) == ["recvonly", "recvonly"])
        }
        let before = recorder.status.tracks.map(\.units).min() ?? 0
        #expect(await self.units(of: recorder, exceed: before + 10))
        #expect(recorder.status.tracks.count == 2, "the same two tracks go on")
        #expect(recorder.status.tracks.allSatisfy { $0.isOpen })
        try await talk.end()
    }

    private func turned(_ media: MediaDescription, _ direction: Direction) -> MediaDescription {
        var media = media
        media.lines = media.lines.map { line in
            Direction(rawValue: line.value) == nil ? line : .attribute(direction.rawValue)
        }
        return media
    }

    /// webrtcbin takes a sender before the peer listens, and a second one for an m-line that comes later.
    @Test
    func ourVideoMovesToAnotherMLineAndBack() async throws {
        let talk = try await Talk(5, cameraOffers: false)
        let answerer = talk.answerer
        var deaf = talk.offer
        let video = deaf.media[1]
        deaf.media[1] = self.turned(video, .sendonly)
        let first = try #require(await self.answer(to: deaf.text, version: 100, answerer, talk.answered))
        #expect(self.directions(first) == ["sendonly", "inactive"])

        var moved = deaf
        var other = self.turned(video, .recvonly)
        other.lines = other.lines.map { $0.value == "mid:1" ? .attribute("mid", "2") : $0 }
        moved.media.append(other)
        moved.lines = moved.lines.map {
            $0.value == "group:BUNDLE 0 1" ? .attribute("group", "BUNDLE 0 1 2") : $0
        }
        let second = try #require(await self.answer(to: moved.text, version: 101, answerer, talk.answered))
        #expect(self.directions(second) == ["sendonly", "inactive", "sendonly"])
        #expect(try SessionDescription(parsing: second).media.map(\.sources.isEmpty) == [false, true, false])

        moved.media[1] = self.turned(video, .recvonly)
        moved.media[2] = self.turned(other, .inactive)
        let third = try #require(await self.answer(to: moved.text, version: 102, answerer, talk.answered))
        #expect(self.directions(third) == ["sendonly", "sendonly", "inactive"])
        #expect(try SessionDescription(parsing: third).media.map(\.sources.isEmpty) == [false, false, true])
        try await talk.end()
    }

    /// On hold nothing is sent, and media without a receiver are not encoded either.
    @Test
    func aPeerThatHoldsTheCallGetsNothingUntilItGoesOn() async throws {
        let talk = try await Talk(7, cameraOffers: false)
        let (camera, recorder, offerer, answerer) = (talk.camera, talk.recorder, talk.offerer, talk.answerer)
        let offer = talk.offer.text
        let first = try #require(await self.answer(to: offer, version: 100, answerer, talk.answered))
        #expect(self.directions(first) == ["sendonly", "sendonly"])
        await offerer.applyAnswer(try SessionDescription(parsing: first))
        #expect(await self.units(of: recorder, exceed: 5))

        let pause = offer.replacing("a=recvonly", with: "a=inactive").replacing("a=sendrecv", with: "a=inactive")
        let paused = await self.answer(to: pause, version: 101, answerer, talk.answered)
        #expect(paused.map(self.directions) == ["inactive", "inactive"])
        let held = answerer.sent
        #expect(held.count == 2)
        #expect(await self.eventually { camera.encoders.isEmpty })
        #expect(answerer.sent == held)
        let resumed = await self.answer(to: offer, version: 102, answerer, talk.answered)
        #expect(resumed.map(self.directions) == ["sendonly", "sendonly"])
        #expect(await self.eventually { held.allSatisfy { answerer.sent[$0.key]?.pushed ?? 0 > $0.value.pushed + 10 } })
        let before = recorder.status.tracks.map(\.units).min() ?? 0
        #expect(await self.units(of: recorder, exceed: before + 10))
        try await talk.end()
    }

    /// A room may get another `min_bitrate` during a call.
    @Test
    func theRateFollowsTheNetworkFromWhenItMay() async throws {
        var settings = TestSession.small
        settings.audio = nil
        let talk = try await Talk(9, settings, cameraOffers: true)
        settings.minimumBitsPerSecond = settings.bitsPerSecond
        let (control, camera, offerer, answerer) = (talk.control, talk.camera, talk.offerer, talk.answerer)
        let offer = talk.offer.text
        let answer = try #require(await self.answer(to: offer, version: 100, answerer, talk.answered))
        await offerer.applyAnswer(try SessionDescription(parsing: answer))
        #expect(await self.eventually { offerer.sent[.vp8]?.pushed ?? 0 > 5 })
        func follow() -> Int? { offerer.followNetwork(at: UInt64(Runtime.monotonicNanoseconds))?.limit.bitsPerSecond }
        #expect(follow() == nil, "the rate is fixed")
        settings.minimumBitsPerSecond = 100_000
        let adaptive = settings
        #expect(try await control.run("the camera", deadline: .seconds(60)) { try camera.capture(adaptive) })
        #expect(await self.eventually { follow() != nil })
        settings.minimumBitsPerSecond = settings.bitsPerSecond
        let fixed = settings
        #expect(try await control.run("the camera", deadline: .seconds(60)) { try camera.capture(fixed) })
        #expect(follow() == nil)
        try await talk.end()
    }

    /// The first answer is superseded: what was in it, and what the second offer adds, must not be lost.
    @Test
    func anOfferThatOnlyAddsCandidatesBringsAndGetsThem() async throws {
        let talk = try await Talk(3, cameraOffers: true)
        let (offerer, answerer) = (talk.offerer, talk.answerer)
        let offer = talk.offer.text
        #expect(offer.contains("a=candidate:"))
        talk.control.enqueue(after: .seconds(60)) { [feed = talk.answeredFeed] in feed.finish() }
        let first = try #require(await self.answer(to: self.bare(offer), version: 100, answerer, talk.answered))
        let second = try #require(await self.answer(to: offer, version: 101, answerer, talk.answered))
        #expect(second.contains("a=candidate:"))
        #expect(self.directions(second) == self.directions(first))
        // The offerer learns no address of ours: only we can begin, with those of the second offer.
        await offerer.applyAnswer(try SessionDescription(parsing: self.bare(second)))
        var isConnected = false
        for await event in talk.answered where event == .connected {
            isConnected = true
            break
        }
        #expect(isConnected)
        try await talk.end()
    }

    private func eventually(_ condition: () -> Bool) async -> Bool {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            guard ContinuousClock.now < deadline else { return false }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    private func units(of recorder: RoomRecorder, exceed limit: UInt64) async -> Bool {
        let deadline = ContinuousClock.now + .seconds(60)
        while recorder.status.tracks.count < 2 || recorder.status.tracks.contains(where: { $0.units <= limit }) {
            guard ContinuousClock.now < deadline else { return false }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return true
    }
}
