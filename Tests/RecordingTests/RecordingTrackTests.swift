// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Storage
import TestSupport
import Testing
import Timeline

@testable import Recording

/// A session's knowledge and reports of its tracks.
@Suite struct RecordingTrackTests {
    @Test func theFirstUnitIsToldWithItsDelay() {
        let feed = RecordingFeed()
        let (video, sound) = (feed.open(.vp8, offered: -400), feed.open(.opus))
        feed.push(video, FedUnit.frame(), at: 50)
        feed.push(video, FedUnit.keyframe(), at: 100)
        feed.push(video, FedUnit.frame(), at: 200)
        feed.push(sound, FedUnit.opus, at: 200, rateHz: 48_000)
        let first = feed.actions.compactMap { action -> Int64? in
            if case .tellFirstUnit(video, let nanoseconds) = action { nanoseconds - feed.start } else { nil }
        }
        #expect(first == [100_000_000])
        #expect(feed.status.tracks.map(\.firstUnitDelay) == [.milliseconds(500), nil])
        feed.end()
    }

    @Test func picturesGoOnWhereSoundIsNotWantedAnyMore() {
        let feed = RecordingFeed()
        let (video, sound) = (feed.open(.vp8, ssrc: 1), feed.open(.opus, ssrc: 2))
        feed.push(video, FedUnit.keyframe(), at: 0)
        feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        let asked = feed.keyframeRequests
        var settings = feed.session.settings
        settings.recordsAudio = false
        feed.tell { $0.settingsChanged(to: settings) }
        feed.push(video, FedUnit.frame(), at: 33)
        #expect(feed.status.tracks.first { $0.codec == .vp8 }?.units == 2)
        #expect(feed.keyframeRequests == asked)
        // Video that comes back begins with a keyframe.
        settings.recordsVideo = false
        feed.tell { $0.settingsChanged(to: settings) }
        settings.recordsVideo = true
        feed.tell { $0.settingsChanged(to: settings) }
        feed.push(video, FedUnit.frame(), at: 66)
        #expect(feed.written == 3)
        feed.push(video, FedUnit.keyframe(), at: 99)
        #expect(feed.written == 4)
        feed.end()
    }

    @Test func packetsAreCountedFromTheBeginningOfTheFile() throws {
        let feed = RecordingFeed { $0.isAutomatic = false }
        let video = feed.open(.vp8)
        feed.count { ($0.received, $0.lost, $0.repaired) = (100, 7, 3) }
        feed.push(video, FedUnit.keyframe(), at: 0)
        feed.tell { _ = $0.recordOrdered() }
        feed.count { ($0.received, $0.lost, $0.repaired) = (150, 9, 4) }
        feed.push(video, FedUnit.keyframe(), at: 100)
        #expect(feed.status.tracks.map(\.lostPackets) == [2])
        feed.end()
        let counted = try Journal.entries(of: try #require(feed.folders.first)).compactMap { entry in
            if case .packetsCounted(let record) = entry.record { record } else { nil }
        }
        #expect(counted == [PacketsCounted(track: 1, received: 50, lost: 2, repaired: 1)])
    }

    @Test func aFileThatIsClosedKeepsWhatWasCountedForIt() {
        let feed = RecordingFeed()
        let video = feed.open(.vp8)
        feed.push(video, FedUnit.keyframe(), at: 10_000)
        feed.count { ($0.received, $0.lost) = (100, 3) }
        feed.tell { _ = $0.keyframesOrdered() }
        feed.tell { _ = $0.keyframesOrdered() }
        // The sender's clock restarts: another file.
        feed.push(video, FedUnit.keyframe(), at: 10_100, rtpTime: 0)
        #expect(feed.status.tracks.map(\.number) == [1, 2])
        #expect(feed.status.tracks.map(\.lostPackets) == [3, 0])
        #expect(feed.status.tracks.map(\.keyframeRequests) == [2, 0])
        feed.count { ($0.received, $0.lost) = (150, 4) }
        feed.tell { _ = $0.keyframesOrdered() }
        feed.tell { $0.connectionClosed(1, reason: "gone") }
        #expect(feed.status.tracks.map(\.isOpen) == [false, false])
        #expect(feed.status.tracks.map(\.lostPackets) == [3, 1])
        #expect(feed.status.tracks.map(\.keyframeRequests) == [2, 1])
        feed.end()
    }

    /// Two sources of one m-line: the first one's next turn is another file, which an export puts behind the other's.
    @Test func sourcesThatTakeTurnsAreAFileEach() {
        let feed = RecordingFeed()
        let (front, back) = (feed.open(.vp8, ssrc: 1), feed.open(.vp8, ssrc: 2))
        for turn in 0..<4 as Range<Int64> {
            let track = turn % 2 == 0 ? front : back
            feed.push(track, FedUnit.keyframe(), at: turn * 2000)
            feed.push(track, FedUnit.frame(), at: turn * 2000 + 900)
        }
        #expect(feed.status.tracks.map(\.number) == [1, 2, 3, 4])
        feed.end()
    }

    /// A camera that is off for a while next to another one, and one that sends nothing for a while alone, keep their files.
    @Test func aPauseBesideAnotherSourceIsNoTurn() {
        let feed = RecordingFeed()
        let (camera, screen, other) = (
            feed.open(.vp8, ssrc: 1), feed.open(.vp8, ssrc: 2), feed.open(.vp8, participant: "bob", ssrc: 3)
        )
        for time in stride(from: Int64(0), to: 8000, by: 500) {
            feed.push(screen, FedUnit.keyframe(), at: time)
            if !(2000..<6000).contains(time) { feed.push(camera, FedUnit.keyframe(), at: time) }
            if (3000..<5000).contains(time) { feed.push(other, FedUnit.keyframe(), at: time) }
        }
        #expect(feed.status.tracks.map(\.number).count == 3)
        feed.end()
    }

    private static func report(_ feed: RecordingFeed, _ ssrc: UInt32, connection: UInt64 = 1, at milliseconds: Int64) {
        feed.tell {
            $0.reportCame(
                ReceivedReport(
                    connection: connection,
                    ssrc: ssrc,
                    rtpTimestamp: UInt32(milliseconds),
                    ntpTime: 5,
                    arrivalNanoseconds: feed.start + milliseconds * 1_000_000
                )
            )
        }
    }

    /// The journal would go back to when it came.
    @Test func aReportFromBeforeALongSilenceBeginsNoFile() throws {
        let feed = RecordingFeed()
        let (video, sound) = (feed.open(.vp8, ssrc: 1), feed.open(.opus, ssrc: 2))
        Self.report(feed, 1, at: 1)
        Self.report(feed, 2, at: 31_000)
        feed.push(video, FedUnit.keyframe(), at: 31_010)
        feed.push(sound, FedUnit.opus, at: 31_010, rateHz: 48_000)
        feed.end()
        let reports = try Journal.entries(of: try #require(feed.folders.first)).compactMap { entry -> Int? in
            if case .senderReport(let record) = entry.record { record.track } else { nil }
        }
        #expect(reports == [2])
    }

    @Test func reportsGoIntoTheJournalOfTheirTrack() throws {
        let feed = RecordingFeed()
        let (video, sound) = (feed.open(.vp8, ssrc: 1), feed.open(.opus, ssrc: 2))
        func report(_ ssrc: UInt32, connection: UInt64 = 1, at milliseconds: Int64) {
            Self.report(feed, ssrc, connection: connection, at: milliseconds)
        }
        // The newest before the file begins it.
        report(1, at: 1)
        report(1, at: 2)
        feed.push(video, FedUnit.keyframe(), at: 10)
        feed.push(sound, FedUnit.opus, at: 10, rateHz: 48_000)
        report(2, at: 20)
        report(1, connection: 9, at: 30)
        report(3, at: 40)
        feed.tell { _ = $0.pauseOrdered() }
        report(1, at: 50)
        feed.end()
        let reports = try Journal.entries(of: try #require(feed.folders.first)).compactMap { entry -> [Int]? in
            if case .senderReport(let record) = entry.record { [record.track, Int(record.rtpTimestamp)] } else { nil }
        }
        #expect(reports == [[1, 2], [2, 20]])
    }

    @Test func stillsAreKeptForAWhile() throws {
        let feed = RecordingFeed { $0.recordsVideo = false }
        let video = feed.open(.vp8)
        feed.push(video, FedUnit.keyframe(), at: 0)
        #expect(feed.tell { $0.stillOrdered(of: "alice") } == nil)
        #expect(feed.tell { $0.stillOrdered(of: "bob") } == nil)
        #expect(feed.keyframeRequests == 1)
        feed.push(video, FedUnit.keyframe(size: 300), at: 100)
        feed.push(video, FedUnit.keyframe(size: 400), at: 200, lost: 1, truncated: true)
        feed.push(video, FedUnit.frame(), at: 300)
        let still = try #require(feed.tell { $0.stillOrdered(of: "alice") })
        #expect(still.codec == .vp8)
        #expect(still.bytes == FedUnit.keyframe(size: 300))
        feed.push(video, FedUnit.frame(), at: 31_000)
        #expect(feed.tell { $0.stillOrdered(of: "alice") } == nil)
        #expect(feed.folders.isEmpty, "nothing is recorded for it")
    }

    @Test func aNewTimelineGoesIntoAFileOfItsOwn() throws {
        let feed = RecordingFeed()
        let video = feed.open(.vp8)
        feed.push(video, FedUnit.keyframe(), at: 10_000)
        let unit = ReceivedUnit(track: video, rtpTime: 0, arrivalNanoseconds: feed.start + 10_100_000_000)
        let bytes = FedUnit.keyframe()
        #expect(feed.tell { session in bytes.withUnsafeBytes { session.unitCame(unit, $0) } } != .leftOut)
        #expect(feed.status.tracks.map(\.number) == [1, 2])
        #expect(feed.status.tracks.map(\.isOpen) == [false, true])
        feed.end()
        let recording = try ReadRecording(try #require(feed.folders.first))
        #expect(recording.times("video") == [900_000, 0])
    }

    @Test func lagIsTakenOnce() {
        let feed = RecordingFeed()
        let sound = feed.open(.opus)
        feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        feed.go(to: 130)
        let unit = ReceivedUnit(track: sound, rtpTime: 4800, arrivalNanoseconds: feed.start + 100_000_000)
        #expect(feed.tell { session in FedUnit.opus.withUnsafeBytes { session.unitCame(unit, $0) } } == .sound)
        var lag = feed.tell { $0.takeLag() }
        #expect(lag.figures == RecordingLag.Figures(maximum: .milliseconds(30), mean: .milliseconds(15)))
        #expect(feed.tell { $0.takeLag() }.figures == nil)
        lag.add(lag)
        #expect(lag.figures == RecordingLag.Figures(maximum: .milliseconds(30), mean: .milliseconds(15)))
    }
}
