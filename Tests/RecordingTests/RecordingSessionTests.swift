// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Matroska
import Recording
import Storage
import Testing
import Timeline

@Suite
struct RecordingSessionTests {
    @Test func aSessionIdlesWhileThereIsNoTrackAndNoRecording() throws {
        let feed = RecordingFeed()
        var idled = [feed.session.isIdle]
        let sound = feed.open(.opus)
        idled.append(feed.session.isIdle)
        feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        feed.tell { $0.connectionClosed(1, reason: "left") }
        idled.append(feed.session.isIdle)
        feed.isDiskBusy = true
        feed.tell { $0.stopOrdered(reason: "stopped") }
        idled.append(feed.session.isIdle)
        while feed.completes(.oldest) {}
        idled.append(feed.session.isIdle)
        // With nothing, a track, a recording of one that is gone, files to be completed, and nothing again.
        #expect(idled == [true, false, false, false, true])
    }

    // MARK: Damage

    @Test func aLossIsJournalledUntilAKeyframe() throws {
        let feed = RecordingFeed()
        let video = feed.open(.vp8)
        let audio = feed.open(.opus)
        feed.push(video, FedUnit.keyframe(), at: 0)
        feed.push(video, FedUnit.frame(), at: 100)
        feed.push(audio, FedUnit.opus, at: 100, rateHz: 48_000)
        feed.push(audio, FedUnit.opus, at: 200, rateHz: 48_000, lost: 3)
        feed.push(video, FedUnit.frame(), at: 200, lost: 2)
        feed.push(video, FedUnit.frame(), at: 300)
        feed.push(video, FedUnit.frame(), at: 400, lost: 1)
        feed.push(video, FedUnit.keyframe(), at: 500)
        feed.push(video, FedUnit.keyframe(), at: 600, lost: 4)
        feed.push(video, FedUnit.frame(), at: 700)
        // Its own packets are missing: video cannot continue from it.
        feed.push(video, FedUnit.keyframe(), at: 800, lost: 1, truncated: true)
        feed.push(video, FedUnit.frame(), at: 900)
        feed.end()
        let recording = try ReadRecording(try #require(feed.folders.first))
        #expect(recording.times("video").count == 10, "whatever came is recorded")
        #expect(recording.times("audio").count == 2)
        let damage = recording.entries.compactMap { entry -> String? in
            switch entry.record {
            case .trackDamaged(let record): "damaged \(record.track) \(record.rtpTime / 90) \(record.lostPackets)"
            case .trackMended(let record): "mended \(record.track) \(record.rtpTime / 90) \(record.units)"
            default: nil
            }
        }
        #expect(damage == ["damaged 1 200 2", "mended 1 500 3", "damaged 1 800 1"])
    }

    /// As after a server that continues with another source under the same number.
    @Test func aLossWithWhichTheClockStartsAnewIsNoneOfTheFileBefore() throws {
        let feed = RecordingFeed()
        let video = feed.open(.vp8)
        feed.push(video, FedUnit.keyframe(), at: 10_000)
        feed.push(video, FedUnit.frame(), at: 10_100)
        feed.push(video, FedUnit.frame(), at: 10_200, rtpTime: 0, lost: 20_000)
        feed.push(video, FedUnit.keyframe(), at: 10_300, rtpTime: 9_000)
        feed.end()
        let recording = try ReadRecording(try #require(feed.folders.first))
        #expect(!recording.entries.contains { if case .trackDamaged = $0.record { true } else { false } })
        #expect(feed.status.tracks.map(\.number) == [1, 2])
    }

    @Test func aFileDoesNotBeginWithAPartOfAPicture() throws {
        let feed = RecordingFeed()
        let video = feed.open(.vp8)
        feed.push(video, FedUnit.keyframe(), at: 0, lost: 1, truncated: true)
        feed.push(video, FedUnit.frame(), at: 100)
        feed.push(video, FedUnit.keyframe(), at: 200)
        feed.end()
        let recording = try ReadRecording(try #require(feed.folders.first))
        #expect(recording.times("video") == [200 * 90])
    }

    // MARK: Segments

    /// Makes a segment longer by one unit, and lets the session cut it because of that: it asks for keyframes.
    private func cut(_ feed: RecordingFeed, with track: UInt64, _ bytes: [UInt8], at time: Int64, written: UInt64) {
        feed.tick(at: time - 1)
        #expect(feed.written == written)
        let before = feed.keyframeRequests
        feed.push(track, bytes, at: time)
        feed.tick(at: time)
        #expect(feed.keyframeRequests > before)
    }

    /// The units of every segment of a feed, and that each is linked to the one before.
    private func segments(_ feed: RecordingFeed) throws -> [ReadRecording] {
        let segments = try feed.folders.map { try ReadRecording($0) }.sorted {
            ($0.started?.segment ?? 0) < ($1.started?.segment ?? 0)
        }
        #expect(segments.map { $0.started?.segment } == Array(1...max(1, segments.count)))
        #expect(Set(segments.map { $0.started?.series }) == [segments.first?.started?.id])
        return segments
    }

    /// People come and go, until the recording has as many tracks as it may: who stays loses nothing by that.
    @Test func aFullRecordingIsCutWithoutALoss() throws {
        let feed = RecordingFeed()
        let alice = feed.open(.vp8)
        var pushed: [Int64] = []
        for visit in UInt64(0)..<150 {
            let time = Int64(visit) * 100
            let (name, ssrc) = ("guest\(visit)", UInt32(1000 + visit))
            let guest = feed.open(.opus, participant: name, ssrc: ssrc, connection: 2 + visit)
            feed.push(guest, FedUnit.opus, at: time, rateHz: 48_000)
            feed.push(alice, visit % 4 == 0 ? FedUnit.keyframe() : FedUnit.frame(), at: time)
            pushed.append(time * 90)
            feed.tell { $0.connectionClosed(2 + visit, reason: "left") }
            feed.tick(at: time + 40)
        }
        feed.end()
        let recordings = try feed.folders.map { try ReadRecording($0) }
        #expect(recordings.count == 2)
        #expect(recordings.flatMap { $0.times("alice-video") }.sorted() == pushed)
        #expect(recordings.allSatisfy { $0.started?.series == nil })
        #expect(recordings.map { $0.times("audio").count }.reduce(0, +) == 150)
        #expect(feed.degraded.isEmpty)
    }

    @Test func tracksGoOverOneByOneAndNothingIsLost() throws {
        let feed = RecordingFeed { $0.segment = .bytes(47_400) }
        let alice = feed.open(.vp8)
        let sound = feed.open(.opus)
        let bob = feed.open(.vp8, participant: "bob")
        for time in Int64(0)..<40 {
            feed.push(alice, time % 20 == 0 ? FedUnit.keyframe() : FedUnit.frame(size: 600), at: time * 10)
            feed.push(sound, FedUnit.opus, at: time * 10, rateHz: 48_000)
            feed.push(bob, time == 0 ? FedUnit.keyframe() : FedUnit.frame(size: 600), at: time * 10)
        }
        // 47 381 bytes by now.
        self.cut(feed, with: alice, FedUnit.frame(), at: 400, written: 120)
        #expect(feed.folders.count == 1)
        feed.push(sound, FedUnit.opus, at: 400, rateHz: 48_000)
        #expect(feed.folders.count == 2)
        #expect(feed.finished.isEmpty, "the pictures have not gone over")
        feed.push(bob, FedUnit.frame(), at: 410)
        feed.push(alice, FedUnit.keyframe(), at: 420)
        feed.push(sound, FedUnit.opus, at: 420, rateHz: 48_000)
        feed.push(bob, FedUnit.frame(), at: 430)
        feed.push(alice, FedUnit.frame(), at: 440)
        feed.push(bob, FedUnit.keyframe(), at: 450)
        feed.push(bob, FedUnit.frame(), at: 460)
        feed.tick(at: 470)
        #expect(feed.finished.map(\.reason) == ["segment"])
        feed.end()
        let segments = try self.segments(feed)
        try #require(segments.count == 2)
        #expect(segments[0].times("alice-video") == (Int64(0)...40).map { $0 * 900 })
        #expect(segments[1].times("alice-video") == [420, 440].map { $0 * 90 })
        let bobs: [Int64] = (0..<40).map { $0 * 900 } + [410 * 90, 430 * 90]
        #expect(segments[0].times("bob-video") == bobs)
        #expect(segments[1].times("bob-video") == [450, 460].map { $0 * 90 })
        #expect(segments[0].times("audio") == (Int64(0)..<40).map { $0 * 480 })
        #expect(segments[1].times("audio") == [400, 420].map { $0 * 48 })
        #expect(feed.finished.map(\.folder.id.rawValue) == segments.compactMap { $0.started?.id })
        let joined = segments[1].entries.compactMap { entry -> String? in
            if case .participantJoined(let record) = entry.record { record.participant } else { nil }
        }
        #expect(joined == ["alice", "bob"])
        #expect(segments[1].entries.first?.monotonicNanoseconds == feed.start + 400_000_000)
        for segment in segments {
            guard case .recordingFinished = segment.entries.last?.record else {
                Issue.record("a segment was not finished")
                continue
            }
        }
    }

    /// In a room that hosts share, another host may have begun it, and another one may continue it.
    @Test func aRecordingContinuesThatOfAnotherHost() throws {
        let place = SeriesPlace(series: "other", segment: 3)
        let change = { (settings: inout RecorderSettings) in
            settings.claim = RecordingClaim(cluster: "calls", epoch: 2)
            settings.follows = place
            settings.emptyLimit = .seconds(1)
        }
        let feed = RecordingFeed(storage: nil, change)
        let sound = feed.open(.opus)
        feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        // The settings of before the host that orders them heard of it.
        var settings = RecorderSettings(storage: feed.storage, room: "r", host: "h")
        change(&settings)
        settings.tags = ["x"]
        feed.session.settingsChanged(to: settings)
        feed.tick(at: 2000)
        #expect(feed.finished.map(\.reason) == ["empty"])
        feed.push(sound, FedUnit.opus, at: 3000, rateHz: 48_000)
        feed.end()
        let started = try feed.folders.compactMap { try ReadRecording($0).started }
        #expect(started.map(\.series) == ["other", started.last?.id])
        #expect(started.map(\.segment) == [4, 1])
        let told = feed.actions.compactMap { action -> SeriesPlace? in
            if case .tellStarted(_, _, let place) = action { place } else { nil }
        }
        #expect(told == [place.next, SeriesPlace(series: started.last?.id ?? "", segment: 1)])
    }

    @Test func aTrackWithoutKeyframesGoesOverInTheEnd() throws {
        let feed = RecordingFeed { $0.segment = .bytes(1000) }
        let video = feed.open(.vp8)
        let sound = feed.open(.opus)
        feed.push(video, FedUnit.keyframe(), at: 0)
        feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        self.cut(feed, with: video, FedUnit.frame(size: 2000), at: 10, written: 2)
        feed.push(sound, FedUnit.opus, at: 1000, rateHz: 48_000)
        feed.push(video, FedUnit.frame(), at: 1000)
        // The bound is counted from the cut, whose instant is real time.
        feed.push(video, FedUnit.frame(), at: 241_000, lost: 1)
        feed.push(video, FedUnit.frame(), at: 241_100)
        feed.push(video, FedUnit.keyframe(), at: 241_200)
        feed.tick(at: 241_300)
        feed.end()
        let segments = try self.segments(feed)
        try #require(segments.count >= 2)
        #expect(segments[0].times("video") == [0, 900, 90_000])
        #expect(segments[1].times("video") == [241_000, 241_100, 241_200].map { $0 * 90 })
        let damage = segments[1].entries.compactMap { entry -> String? in
            switch entry.record {
            case .trackOpened(let record): "opened \(record.track)"
            case .trackDamaged(let record): "damaged \(record.track) \(record.rtpTime / 90)"
            case .trackMended(let record): "mended \(record.track) \(record.rtpTime / 90) \(record.units)"
            default: nil
            }
        }
        #expect(damage == ["opened 1", "opened 2", "damaged 2 241000", "mended 2 241200 2"])
    }

    /// Video that has not begun when the segment ends begins in the next one, also if that is finished without it.
    @Test(arguments: [50, 21_050] as [Int64])
    func aTrackThatWaitsForItsKeyframeGoesOverToo(keyframe: Int64) throws {
        let feed = RecordingFeed { $0.segment = .bytes(1000) }
        let video = feed.open(.vp8)
        let sound = feed.open(.opus)
        let bob = feed.open(.vp8, participant: "bob")
        feed.push(video, FedUnit.frame(), at: 0)
        feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        feed.push(bob, FedUnit.keyframe(), at: 0)
        self.cut(feed, with: bob, FedUnit.frame(size: 2000), at: 10, written: 2)
        feed.push(sound, FedUnit.opus, at: 20, rateHz: 48_000)
        feed.push(bob, FedUnit.keyframe(), at: 30)
        feed.tick(at: 30)
        #expect(feed.finished.isEmpty, "alice's pictures have not gone over")
        feed.push(video, FedUnit.frame(), at: keyframe - 10)
        feed.push(video, FedUnit.keyframe(), at: keyframe)
        feed.push(video, FedUnit.frame(), at: keyframe + 10)
        feed.tick(at: keyframe + 20)
        #expect(feed.finished.map(\.reason) == ["segment"])
        feed.end()
        let segments = try self.segments(feed)
        #expect(segments.map { $0.times("alice-video") } == [[], [keyframe, keyframe + 10].map { $0 * 90 }])
        for segment in segments {
            guard case .recordingFinished = segment.entries.last?.record else {
                Issue.record("something was written behind the end")
                continue
            }
            #expect(!segment.entries.contains { if case .trackDamaged = $0.record { true } else { false } })
        }
    }

    /// Some senders send parameter sets by themselves, and not with each keyframe.
    @Test func aSegmentBeginsWithParameterSetsThatCameBefore() throws {
        let feed = RecordingFeed { $0.segment = .bytes(1000) }
        let video = feed.open(.h264)
        let sets = [TestUnits.sequenceParameters, TestUnits.pictureParameters].flatMap { TestUnits.startCode + $0 }
        let keyframe = TestUnits.startCode + [0x65, 0x88, 0x84, 0x3A, 0xFF]
        let slice = TestUnits.startCode + TestUnits.h264Slice + [UInt8](repeating: 0x5A, count: 2000)
        feed.push(video, sets, at: 0)
        feed.push(video, keyframe, at: 1)
        self.cut(feed, with: video, slice, at: 10, written: 1)
        feed.push(video, sets, at: 20)
        feed.push(video, keyframe, at: 21)
        feed.tick(at: 30)
        self.cut(feed, with: video, slice, at: 40, written: 1)
        feed.push(video, keyframe, at: 50)
        feed.end()
        let segments = try self.segments(feed)
        #expect(segments.map { $0.times("video") } == [[1, 10], [21, 40], [50]].map { $0.map { $0 * 90 } })
    }

    @Test func aPauseEndsTheCut() throws {
        let feed = RecordingFeed { $0.segment = .bytes(1000) }
        let video = feed.open(.vp8)
        let sound = feed.open(.opus)
        feed.push(video, FedUnit.keyframe(), at: 0)
        feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        self.cut(feed, with: video, FedUnit.frame(size: 2000), at: 10, written: 2)
        feed.push(sound, FedUnit.opus, at: 20, rateHz: 48_000)
        #expect(feed.folders.count == 2)
        #expect(feed.tell { $0.pauseOrdered() } == .done)
        #expect(feed.finished.map(\.reason) == ["segment"])
        #expect(feed.tell { $0.resumeOrdered() } == .done)
        feed.push(video, FedUnit.frame(), at: 40)
        feed.push(video, FedUnit.keyframe(), at: 60)
        #expect(feed.status.tracks.contains { $0.codec == .vp8 && $0.units == 1 })
        feed.end()
        let segments = try self.segments(feed)
        #expect(segments.map { $0.times("video") } == [[0, 900], [60 * 90]])
        #expect(segments.map { $0.times("audio") } == [[0], [20 * 48]])
    }

    /// A recording's folder, copied while it is recorded, as a process that dies leaves it.
    private func copy(of folder: RecordingFolder, in feed: RecordingFeed) throws -> String {
        let room = feed.storage + "/recordings/other"
        let copy = room + "/" + (folder.path.split(separator: "/").last.map(String.init) ?? "")
        try FileManager.default.createDirectory(atPath: room, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: folder.path, toPath: copy)
        return copy
    }

    @Test func aPauseGoesOnInTheNextProcess() throws {
        let feed = RecordingFeed()
        feed.push(feed.open(.opus), FedUnit.opus, at: 0, rateHz: 48_000)
        #expect(feed.tell { $0.pauseOrdered() } == .done)
        let copy = try self.copy(of: try #require(feed.status.current?.folder), in: feed)
        let next = RecordingFeed(storage: feed.storage) { ($0.continues, $0.continuesPaused) = (copy, true) }
        let sound = next.open(.opus)
        #expect(next.push(sound, FedUnit.opus, at: 0, rateHz: 48_000) == .leftOut)
        #expect(next.tell { $0.recordOrdered(endsPause: false) } == .alreadySo)
        #expect(next.push(sound, FedUnit.opus, at: 20, rateHz: 48_000) == .leftOut)
        #expect(next.tell { $0.recordOrdered() } == .done)
        #expect(next.push(sound, FedUnit.opus, at: 40, rateHz: 48_000) == .sound)
        next.end()
        feed.end()
    }

    @Test func anotherProcessGoesOnWithTheNewestSegment() throws {
        let feed = RecordingFeed { $0.segment = .bytes(1000) }
        let sound = feed.open(.opus)
        let video = feed.open(.vp8)
        feed.push(video, FedUnit.keyframe(), at: 0)
        self.cut(feed, with: video, FedUnit.frame(size: 2000), at: 10, written: 1)
        feed.push(sound, FedUnit.opus, at: 20, rateHz: 48_000)
        #expect(feed.folders.count == 2)
        let newest = try #require(feed.status.current?.folder)
        let copy = try self.copy(of: newest, in: feed)
        let next = RecordingFeed(storage: feed.storage) {
            $0.segment = .bytes(1000)
            $0.continues = copy
        }
        let later = next.open(.vp8)
        next.push(later, FedUnit.keyframe(), at: 0)
        self.cut(next, with: later, FedUnit.frame(size: 2000), at: 10, written: 1)
        next.push(later, FedUnit.keyframe(), at: 20)
        next.tick(at: 30)
        #expect(next.finished.map(\.reason) == ["segment"])
        let third = try ReadRecording(try #require(next.status.current?.folder))
        next.end()
        feed.end()
        #expect(third.started?.segment == 3)
        #expect(third.started?.series == (try ReadRecording(newest)).started?.series)
    }

    // MARK: Pre-roll

    @Test func tagsAndNotesMayComeLater() throws {
        let feed = RecordingFeed { $0.tags = ["weekly"] }
        let sound = feed.open(.opus)
        feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        var settings = RecorderSettings(storage: feed.storage, room: "r", host: "h")
        settings.tags = ["weekly", "late"]
        settings.notes = "With guests"
        feed.tell { $0.settingsChanged(to: settings) }
        feed.tell { $0.settingsChanged(to: settings) }
        settings.notes = nil
        feed.tell { $0.settingsChanged(to: settings) }
        feed.end()
        let details = try ReadRecording(try #require(feed.folders.first)).entries.compactMap { entry in
            if case .detailsChanged(let record) = entry.record { record } else { nil }
        }
        #expect(
            details == [
                DetailsChanged(tags: ["weekly", "late"], notes: "With guests"),
                DetailsChanged(tags: ["weekly", "late"], notes: ""),
            ]
        )
    }

    @Test func aRecordingBeginsInThePast() throws {
        let feed = RecordingFeed {
            $0.isAutomatic = false
            $0.preroll = .seconds(10)
        }
        let video = feed.open(.vp8)
        let sound = feed.open(.opus)
        // 40 s, with a keyframe each 4 s.
        for second in Int64(-40)..<0 {
            feed.push(video, second % 4 == 0 ? FedUnit.keyframe() : FedUnit.frame(), at: second * 1000)
            feed.push(sound, FedUnit.opus, at: second * 1000, rateHz: 48_000)
        }
        #expect(feed.folders.isEmpty)
        #expect(feed.tell { $0.recordOrdered() } == .done)
        feed.push(video, FedUnit.frame(), at: 0)
        feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        #expect(feed.tell { $0.pauseOrdered() } == .done)
        feed.push(video, FedUnit.keyframe(), at: 1000)
        #expect(feed.tell { $0.resumeOrdered() } == .done)
        feed.push(video, FedUnit.frame(), at: 2000)
        feed.push(video, FedUnit.keyframe(), at: 3000)
        feed.end()
        let recording = try ReadRecording(try #require(feed.folders.first))
        // The newest keyframe that is 10 s old begins it, and nothing between is missing.
        let pictures: [Int64] = (-12...0).map { $0 * 90_000 } + [3 * 90_000]
        #expect(recording.times("alice-video") == pictures)
        #expect(recording.times("audio") == (Int64(-11)...0).map { $0 * 48_000 })
        #expect(recording.entries.first?.monotonicNanoseconds == feed.start - 12_000_000_000)
        let markers = recording.entries.compactMap { entry -> String? in
            if case .marker(let marker) = entry.record { marker.name } else { nil }
        }
        #expect(markers == ["paused", "resumed"])
        #expect(feed.folders.count == 1)
    }

    @Test func whatIsKeptWaitsForNobody() throws {
        let feed = RecordingFeed {
            $0.isAutomatic = false
            $0.preroll = .seconds(10)
        }
        let sound = feed.open(.opus)
        feed.push(sound, FedUnit.opus, at: -2000, rateHz: 48_000)
        feed.go(to: 0)
        #expect(feed.tell { $0.recordOrdered() } == .done)
        #expect(feed.written == 1, "the recording is there before the next unit")
        #expect(feed.tell { $0.stopOrdered(reason: "stopped") } == .finish)
        // A second recording has nothing of the first.
        #expect(feed.tell { $0.recordOrdered() } == .done)
        #expect(feed.folders.count == 1)
        feed.end()
    }
}
