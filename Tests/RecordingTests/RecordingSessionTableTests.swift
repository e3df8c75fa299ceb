// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Storage
import TestSupport
import Testing
import Timeline

@testable import Recording

/// A session's reaction to events in each of its phases.
@Suite struct RecordingSessionTableTests {
    typealias Phase = RecordingStateMachine.Phase

    enum Event: String, CaseIterable {
        case keyframe, frame, sound, damaged, record, stop, pause, resume, mark, still, keyframes, audioOnly, message
        case emptiness, dropped, closed, end
    }

    /// A feed in a phase, with a participant in the room that sends video and audio, and one frame if there is a
    /// recording.
    private static func feed(in phase: Phase) -> (RecordingFeed, video: UInt64, audio: UInt64) {
        let feed = RecordingFeed {
            $0.isAutomatic = phase != .off
            $0.emptyLimit = .seconds(30)
            $0.synchroniseEvery = .seconds(1_000_000_000)
        }
        feed.tell { $0.presenceChanged(isEmpty: false) }
        let (video, audio) = (feed.open(.vp8), feed.open(.opus))
        if phase == .recording || phase == .paused { feed.push(video, FedUnit.keyframe(), at: 0) }
        if phase == .paused { feed.tell { _ = $0.pauseOrdered() } }
        _ = feed.takeNames()
        return (feed, video, audio)
    }

    /// The result of each event in each phase: the answer, the phase after it, the actions.
    private static let table: [Phase: [Event: String]] = [
        .off: [
            .keyframe: "leftOut off", .frame: "leftOut off", .sound: "leftOut off", .damaged: "leftOut off",
            .record: "done waiting", .stop: "alreadySo off", .pause: "nothingRecorded off",
            .resume: "nothingRecorded off", .mark: "false off", .still: "none off keyframe",
            .keyframes: "1 off keyframe", .audioOnly: "- off", .message: "0 off", .emptiness: "- off",
            .dropped: "- off degraded", .closed: "- off", .end: "- off",
        ],
        .waiting: [
            .keyframe: "picture recording started", .frame: "leftOut recording started",
            .sound: "sound recording started", .damaged: "leftOut recording started keyframe",
            .record: "alreadySo waiting", .stop: "done off", .pause: "nothingRecorded waiting",
            .resume: "nothingRecorded waiting", .mark: "false waiting", .still: "none waiting keyframe",
            .keyframes: "1 waiting keyframe", .audioOnly: "- waiting", .message: "0 waiting",
            .emptiness: "- waiting keyframe", .dropped: "- waiting keyframe degraded", .closed: "- waiting",
            .end: "- off",
        ],
        .recording: [
            .keyframe: "picture recording", .frame: "picture recording", .sound: "sound recording",
            .damaged: "picture recording keyframe", .record: "alreadySo recording",
            .stop: "finish off file journal finished", .pause: "done paused", .resume: "alreadySo recording",
            .mark: "true recording", .still: "none recording keyframe", .keyframes: "1 recording keyframe",
            .audioOnly: "- recording file", .message: "1 recording",
            .emptiness: "- waiting file journal finished", .dropped: "- recording degraded",
            .closed: "- recording file", .end: "- off file journal finished",
        ],
        .paused: [
            .keyframe: "leftOut paused", .frame: "leftOut paused", .sound: "leftOut paused",
            .damaged: "leftOut paused", .record: "done recording", .stop: "finish off file journal finished",
            .pause: "alreadySo paused", .resume: "done recording", .mark: "true paused",
            .still: "none paused keyframe", .keyframes: "1 paused keyframe", .audioOnly: "- paused file",
            .message: "0 paused", .emptiness: "- waiting file journal finished", .dropped: "- paused degraded",
            .closed: "- paused file", .end: "- off file journal finished",
        ],
    ]

    private static func name(_ result: RecordingSession.OnUnit) -> String {
        switch result {
        case .leftOut: "leftOut"
        case .sound: "sound"
        case .picture: "picture"
        }
    }

    private static func perform(_ event: Event, on feed: RecordingFeed, _ video: UInt64, _ audio: UInt64) -> String {
        switch event {
        case .keyframe: return self.name(feed.push(video, FedUnit.keyframe(), at: 100))
        case .frame: return self.name(feed.push(video, FedUnit.frame(), at: 100))
        case .sound: return self.name(feed.push(audio, FedUnit.opus, at: 100, rateHz: 48_000))
        case .damaged: return self.name(feed.push(video, FedUnit.frame(), at: 100, lost: 2))
        case .record: return "\(feed.tell { $0.recordOrdered() })"
        case .stop: return "\(feed.tell { $0.stopOrdered(reason: "stopped") })"
        case .pause: return "\(feed.tell { $0.pauseOrdered() })"
        case .resume: return "\(feed.tell { $0.resumeOrdered() })"
        case .mark: return "\(feed.tell { $0.markOrdered(text: "here") })"
        case .still: return feed.tell { $0.stillOrdered(of: "alice") } == nil ? "none" : "still"
        case .keyframes: return "\(feed.tell { $0.keyframesOrdered(of: nil) })"
        case .audioOnly:
            var settings = feed.session.settings
            settings.recordsVideo = false
            feed.tell { $0.settingsChanged(to: settings) }
        case .message:
            let time = feed.start
            feed.tell { $0.messageCame(from: "alice", "hello", label: "", at: time) }
            let records = feed.status.folder.flatMap { try? Journal.entries(of: $0).map(\.record) } ?? []
            return "\(records.count { if case .chatMessage = $0 { true } else { false } })"
        case .emptiness:
            feed.tell { $0.presenceChanged(isEmpty: true) }
            feed.tick(at: 30_000)
        case .dropped: feed.tick(at: 50, droppedUnits: 3)
        case .closed: feed.tell { $0.connectionClosed(1, reason: "left") }
        case .end: feed.end()
        }
        return "-"
    }

    @Test(arguments: Phase.allCases)
    func everyEventInEveryPhase(phase: Phase) throws {
        let expected = try #require(Self.table[phase])
        for event in Event.allCases {
            let (feed, video, audio) = Self.feed(in: phase)
            #expect(feed.status.phase == phase)
            let answer = Self.perform(event, on: feed, video, audio)
            let outcome = ([answer, "\(feed.status.phase)"] + feed.takeNames()).joined(separator: " ")
            #expect(outcome == expected[event], "\(event) in \(phase)")
        }
    }

    @Test func whatComesForATrackThatIsGoneIsLeftOut() {
        let (feed, video, _) = Self.feed(in: .recording)
        feed.tell { $0.connectionClosed(2, reason: "another one") }
        #expect(feed.push(video, FedUnit.frame(), at: 100) != .leftOut)
        feed.tell { $0.connectionClosed(1, reason: "left") }
        #expect(feed.push(video, FedUnit.keyframe(), at: 200) == .leftOut)
        #expect(feed.push(77, FedUnit.keyframe(), at: 200) == .leftOut)
        #expect(feed.status.tracks.map(\.isOpen) == [false])
    }
}
