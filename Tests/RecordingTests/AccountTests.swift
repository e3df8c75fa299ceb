// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Foundation
import Matroska
import Storage
import Synchronization
import TestSupport
import Testing
import Timeline

@testable import Recording

/// The fate of every packet: each is counted once, whatever happens to it.
@Suite struct AccountTests {
    /// The sources of a connection: as the test says.
    final class Sources: Sendable {
        let now: Mutex<[SourceCounts]>
        init(_ counts: [SourceCounts]) { self.now = Mutex(counts) }
        var counts: [SourceCounts] { self.now.withLock { $0 } }
    }

    /// Keeps the counters of one track as a receiver would: packets go into units, or have another end.
    final class Receiver {
        let counters = RecordingFeed.Counters()
        private(set) var all: UInt64 = 0

        func comes(_ packets: Int) {
            self.all += UInt64(packets)
            self.counters.now.withLock {
                $0.received += UInt64(packets)
                $0.outcomes.inUnits += UInt64(packets)
            }
        }

        func ends(_ packets: UInt64, _ outcome: WritableKeyPath<PacketOutcomes, UInt64>) {
            self.all += packets
            self.counters.now.withLock {
                $0.received += packets
                $0.outcomes[keyPath: outcome] += packets
            }
        }
    }

    private static func accounts(_ folder: RecordingFolder) throws -> [SourceCounted] {
        try Journal.entries(of: folder).compactMap {
            if case .sourceCounted(let record) = $0.record { record } else { nil }
        }
    }

    /// The last account of the only recording.
    private static func account(_ feed: RecordingFeed) throws -> SourceCounted {
        let folder = try #require(feed.folders.first)
        return try #require(try Self.accounts(folder).last)
    }

    private static func close(_ feed: RecordingFeed) {
        feed.tell { $0.connectionClosed(1, reason: "left") }
        feed.end()
    }

    private let bare = TestUnits.startCode + [0x65, 0x88, 0x84, 0x3A, 0xFF]

    @Test func whatIsRecordedIsCounted() throws {
        let feed = RecordingFeed()
        let receiver = Receiver()
        let video = feed.open(.vp8, counters: receiver.counters)
        for (index, packets) in [5, 2, 3].enumerated() {
            receiver.comes(packets)
            feed.push(video, index == 0 ? FedUnit.keyframe() : FedUnit.frame(), at: Int64(index) * 33, packets: packets)
        }
        Self.close(feed)
        let account = try Self.account(feed)
        #expect(account.isFinal)
        #expect(account.imbalance == 0)
        #expect((account.received, account.recorded, account.refusedPackets) == (10, 10, 0))
        #expect(account.tracks == [1])
        #expect(account.participant == "alice")
        #expect(account.media == "video")
        #expect(!account.losesMedia)
        let closed = try Journal.entries(of: try #require(feed.folders.first)).compactMap {
            if case .trackClosed(let record) = $0.record { record.packets } else { nil }
        }
        #expect(closed == [10])
    }

    /// What looks like media in the padding of packets, and frames that a server lost, are counted for the recording that has them.
    @Test func doubtfulPaddingAndSkippedFramesAreCounted() throws {
        let feed = RecordingFeed()
        let receiver = Receiver()
        let video = feed.open(.vp8, counters: receiver.counters)
        receiver.comes(5)
        receiver.counters.now.withLock { ($0.outcomes.doubtful, $0.outcomes.skipped) = (2, 4) }
        feed.push(video, FedUnit.keyframe(), at: 0, packets: 5)
        receiver.comes(1)
        receiver.counters.now.withLock { ($0.outcomes.doubtful, $0.outcomes.skipped) = (3, 6) }
        feed.push(video, FedUnit.frame(), at: 33, packets: 1)
        Self.close(feed)
        let account = try Self.account(feed)
        // The first two were counted before there was a recording.
        #expect(account.doubtful == 1 && account.skipped == 2 && account.recorded == 6 && account.imbalance == 0)
        #expect(feed.actions.contains { if case .logRefused = $0 { true } else { false } })
    }

    /// Packets of another key are in no source's account, and are a loss.
    @Test func packetsOfAnotherKeyHaveAnAccount() throws {
        let feed = RecordingFeed()
        var forged = SourceCounts(ssrc: .max)
        forged.forged = 120
        let sources = Sources([forged])
        feed.tell { $0.connectionOpened(1, participant: "alice") { sources.counts } }
        let audio = feed.open(.opus, connection: 2)
        feed.push(audio, FedUnit.opus, at: 0, rateHz: 48_000)
        sources.now.withLock { $0[0].forged = 320 }
        Self.close(feed)
        let found = try Self.accounts(try #require(feed.folders.first)).filter { $0.ssrc == .max }
        let account = try #require(found.last)
        #expect(account.refused == [.notAuthentic: RefusedPackets(packets: 200)])
        #expect((account.received, account.before, account.imbalance) == (320, 120, 0) && account.isUnrecorded)
    }

    /// What a peer says of the media that it sends from now on explains why none comes.
    @Test func whatAPeerStopsSendingIsJournalled() throws {
        let feed = RecordingFeed()
        feed.tell {
            $0.connectionOpened(1, participant: "alice") { [] }
            $0.connectionOpened(2, participant: "alice") { [] }
            $0.mediaAwaited([.audio, .video], of: 1)
            $0.mediaAwaited([.video], of: 2)
            $0.connectionCameUp(1)
            // Nothing is recorded yet.
            $0.mediaAwaited([.video], of: 1)
            $0.mediaAwaited([.audio, .video], of: 1)
        }
        let audio = feed.open(.opus)
        feed.push(audio, FedUnit.opus, at: 0, rateHz: 48_000)
        let said: [(Int64, UInt64, Set<MediaKind>)] = [
            (100, 1, []), (200, 1, []), (300, 2, []), (400, 1, [.video]), (500, 1, [.audio, .video]),
            (600, 1, [.audio]),
        ]
        for (milliseconds, connection, kinds) in said {
            feed.go(to: milliseconds)
            feed.tell { $0.mediaAwaited(kinds, of: connection) }
        }
        feed.go(to: 700)
        feed.tell {
            $0.participantLeft("alice", reason: "left")
            // Another one of that id.
            $0.connectionOpened(3, participant: "alice") { [] }
            $0.mediaAwaited([.audio, .video], of: 3)
        }
        feed.end()
        let markers = try Journal.entries(of: try #require(feed.folders.first)).compactMap { entry -> String? in
            guard case .marker(let marker) = entry.record, marker.participant == "alice" else { return nil }
            return "\((entry.monotonicNanoseconds - feed.start) / 1_000_000) \(marker.name)"
        }
        #expect(
            markers == ["100 muted", "300 camera-off", "400 camera-on", "500 unmuted", "600 camera-off"]
        )
    }

    /// A codec that changes in mid-call begins another track, which the log says.
    @Test func aChangeOfTheCodecIsTold() {
        let feed = RecordingFeed()
        func changes() -> [String] {
            feed.actions.compactMap {
                if case .logCodecChanged(let track, let before) = $0 { "\(before) \(track.codec)" } else { nil }
            }
        }
        _ = feed.open(.vp8)
        _ = feed.open(.opus)
        _ = feed.open(.h264, ssrc: 8)
        _ = feed.open(.h264, connection: 2)
        #expect(changes().isEmpty)
        _ = feed.open(.h264)
        _ = feed.open(.vp9)
        #expect(changes() == ["vp8 h264", "h264 vp9"])
    }

    /// A connection that does not come about is reported, once for each participant and kind, if it was awaited long
    /// enough.
    @Test(arguments: [(4_900 as Int64, false, false), (5_100, true, false), (5_100, false, true)])
    func aConnectionThatDoesNotComeAboutIsTold(after milliseconds: Int64, comesUp: Bool, isTold: Bool) throws {
        let feed = RecordingFeed()
        let other = feed.open(.opus, ssrc: 99, connection: 9)
        feed.push(other, FedUnit.opus, at: 0, rateHz: 48_000)
        for connection in 1...2 as ClosedRange<UInt64> {
            feed.tell {
                $0.connectionOpened(connection, participant: "bob") { [] }
                $0.mediaAwaited([.audio, .video], of: connection)
                if comesUp { $0.connectionCameUp(connection) }
                // An offer that is answered later makes it wait no more.
                if comesUp { $0.mediaAwaited([.audio, .video], of: connection) }
            }
            feed.go(to: milliseconds * Int64(connection))
            feed.tell { $0.connectionClosed(connection, reason: "no path") }
        }
        feed.end()
        let told = try Journal.entries(of: try #require(feed.folders.first)).compactMap {
            if case .mediaRefused(let record) = $0.record { record } else { nil }
        }
        let expected = [MediaKind.audio, .video].map {
            MediaRefused(participant: "bob", media: $0, reason: "no path", awaitedNanoseconds: milliseconds * 1_000_000)
        }
        #expect(told == (isTold ? expected : []))
    }

    /// The recording may end while a connection is still awaited.
    @Test func theEndOfARecordingTellsOfAConnectionThatIsAwaited() throws {
        let feed = RecordingFeed()
        feed.tell {
            $0.connectionOpened(1, participant: "bob") { [] }
            $0.mediaAwaited([.audio], of: 1)
        }
        let other = feed.open(.opus, ssrc: 99, connection: 9)
        feed.push(other, FedUnit.opus, at: 3_000, rateHz: 48_000)
        feed.go(to: 9_000)
        feed.end()
        let told = try Journal.entries(of: try #require(feed.folders.first)).compactMap {
            if case .mediaRefused(let record) = $0.record { record.awaitedNanoseconds } else { nil }
        }
        #expect(told == [6_000_000_000])
    }

    /// Each reason that the session has, once.
    @Test(arguments: [
        RefusalReason.noKeyframe, .noParameterSets, .undecodable, .paused, .videoOff, .audioOff, .impossibleClock,
        .tooManyTracks, .disk, .incompleteFrame,
    ])
    func eachReasonIsCountedOnce(reason: RefusalReason) throws {
        let feed = RecordingFeed()
        let receiver = Receiver()
        let codec: MediaCodec = reason == .noParameterSets ? .h264 : reason == .audioOff ? .opus : .vp8
        // Something that is recorded, so that there is a recording.
        let other = feed.open(.opus, ssrc: 99, connection: 2)
        feed.push(other, FedUnit.opus, at: 0, rateHz: 48_000)
        let track = feed.open(codec, counters: receiver.counters)
        func comes(_ bytes: [UInt8], at time: Int64, rtpTime: Int64? = nil) {
            receiver.comes(4)
            feed.push(track, bytes, at: time, rtpTime: rtpTime, packets: 4)
        }
        var packets: UInt64 = 8
        switch reason {
        case .noKeyframe:
            for time in [10, 20] as [Int64] { comes(FedUnit.frame(), at: time) }
        case .noParameterSets:
            for time in [10, 20] as [Int64] { comes(self.bare, at: time) }
        case .undecodable:
            for time in [10, 20] as [Int64] { comes([0xFF], at: time) }
        case .paused:
            #expect(feed.tell { $0.pauseOrdered() } == .done)
            for time in [10, 20] as [Int64] { comes(FedUnit.keyframe(), at: time) }
        case .videoOff, .audioOff:
            var settings = RecorderSettings(storage: feed.storage, room: "r", host: "h")
            (settings.recordsVideo, settings.recordsAudio) = (reason == .audioOff, reason == .videoOff)
            feed.tell { [settings] in $0.settingsChanged(to: settings) }
            for time in [10, 20] as [Int64] { comes(codec == .opus ? FedUnit.opus : FedUnit.keyframe(), at: time) }
        case .impossibleClock:
            packets = 0
            for step in 0..<400 as Range<Int64> {
                comes(FedUnit.keyframe(), at: 10 + step, rtpTime: step % 2 == 0 ? 0 : 1 << 40)
            }
        case .tooManyTracks:
            packets = 0
            for index in 0..<60 as Range<UInt32> {
                let more = feed.open(.vp8, ssrc: 1000 + index, counters: RecordingFeed.Counters())
                feed.push(more, FedUnit.keyframe(), at: 30)
            }
            for time in [40, 50] as [Int64] { comes(FedUnit.keyframe(), at: time) }
            packets = 8
        case .disk:
            feed.push(track, FedUnit.keyframe(), at: 5, packets: 0)
            try #require(feed.folders.first).replaceTracks()
            for time in [10, 20] as [Int64] {
                comes(FedUnit.keyframe(), at: time, rtpTime: (1 << 36) + time * 90)
            }
        case .incompleteFrame:
            receiver.ends(8, \.incomplete)
        default:
            Issue.record("no case for \(reason)")
        }
        Self.close(feed)
        let folder = try #require(feed.folders.first)
        let account = try #require(try Self.accounts(folder).last { $0.ssrc == 7 && $0.isFinal })
        #expect(account.imbalance == 0)
        #expect(account.received == receiver.all)
        if packets > 0 { #expect(account.refused[reason]?.packets == packets) }
        #expect(account.refused[reason]?.packets ?? 0 > 0)
        #expect(Set(account.refused.keys) == [reason])
        let isOrdered = [.paused, .videoOff, .audioOff].contains(reason)
        #expect(account.losesMedia != isOrdered)
        let logged = feed.takeNames().count { $0 == "refused" }
        #expect(logged >= (isOrdered ? 0 : 1))
    }

    /// A layer in whose place a better one is recorded is accounted for, and is no loss.
    @Test func layersThatAreNotTakenAreCounted() throws {
        let feed = RecordingFeed()
        let sources = Sources([SourceCounts(ssrc: 8, packets: [96: 50], uses: [96: .media(.vp8)])])
        sources.now.withLock { $0[0].otherLayer = 50 }
        feed.tell { $0.connectionOpened(1, participant: "alice") { sources.counts } }
        let receiver = Receiver()
        let video = feed.open(.vp8, counters: receiver.counters)
        receiver.comes(5)
        feed.push(video, FedUnit.keyframe(), at: 0, packets: 5)
        sources.now.withLock {
            $0[0].packets[96] = 80
            $0[0].otherLayer = 80
        }
        Self.close(feed)
        let folder = try #require(feed.folders.first)
        let account = try #require(try Self.accounts(folder).last { $0.ssrc == 8 })
        #expect(Set(account.refused.keys) == [.simulcastLayer])
        #expect(account.imbalance == 0 && !account.losesMedia)
        #expect(!feed.takeNames().contains("refused"))
    }

    @Test func whatEndsBeforeTheSessionIsCounted() throws {
        let feed = RecordingFeed()
        let receiver = Receiver()
        let video = feed.open(.vp8, counters: receiver.counters)
        receiver.comes(5)
        feed.push(video, FedUnit.keyframe(), at: 0, packets: 5)
        receiver.ends(1, \.empty)
        receiver.ends(2, \.late)
        receiver.ends(3, \.beforeKeyframe)
        receiver.ends(4, \.incomplete)
        receiver.ends(6, \.undecodable)
        receiver.ends(7, \.queueFull)
        Self.close(feed)
        let account = try Self.account(feed)
        #expect(account.imbalance == 0)
        #expect((account.empty, account.waiting, account.recorded) == (1, 0, 5))
        let expected: [RefusalReason: UInt64] = [
            .late: 2, .noKeyframe: 3, .incompleteFrame: 4, .undecodable: 6, .queueFull: 7,
        ]
        #expect(account.refused.mapValues(\.packets) == expected)
    }

    /// Nothing waits any more of a source that is over: those packets have no account.
    @Test func whatWaitsForEverHasNoAccount() throws {
        let feed = RecordingFeed()
        let receiver = Receiver()
        let video = feed.open(.vp8, counters: receiver.counters)
        receiver.comes(5)
        feed.push(video, FedUnit.keyframe(), at: 0, packets: 5)
        receiver.ends(8, \.waiting)
        feed.tell { $0.stopOrdered(reason: "stopped") }
        #expect(try Self.account(feed).imbalance == 0)
        feed.tell { $0.recordOrdered() }
        receiver.comes(5)
        feed.push(video, FedUnit.keyframe(), at: 10, packets: 5)
        Self.close(feed)
        #expect(try feed.folders.map { try #require(Self.accounts($0).last).imbalance }.sorted() == [0, 8])
    }

    /// A unit that the queue had and the session never got.
    @Test func aUnitThatIsNowhereUnbalancesTheAccount() throws {
        let feed = RecordingFeed()
        let receiver = Receiver()
        let video = feed.open(.vp8, counters: receiver.counters)
        receiver.comes(9)
        feed.push(video, FedUnit.keyframe(), at: 0, packets: 5)
        Self.close(feed)
        #expect(try Self.account(feed).imbalance == 4)
    }

    /// The depayloader of VP8 leaves out what comes before the first keyframe: how long that was is known here.
    @Test func theWaitForTheFirstKeyframeIsTimed() throws {
        let feed = RecordingFeed()
        let receiver = Receiver()
        let audio = feed.open(.opus, ssrc: 99, connection: 2)
        let video = feed.open(.vp8, counters: receiver.counters)
        feed.push(audio, FedUnit.opus, at: 0, rateHz: 48_000)
        receiver.ends(50, \.beforeKeyframe)
        receiver.comes(1)
        feed.push(video, FedUnit.keyframe(), at: 9000)
        Self.close(feed)
        let folder = try #require(feed.folders.first)
        let account = try #require(try Self.accounts(folder).last { $0.ssrc == 7 })
        #expect(account.refused[.noKeyframe] == RefusedPackets(packets: 50, nanoseconds: 9_000_000_000))
        #expect(account.losesMedia)
    }

    /// Sources whose packets never reach a track: payload types that no description names, or that the answer refused.
    @Test func sourcesWithoutATrackHaveAnAccount() throws {
        let feed = RecordingFeed()
        var unknown = SourceCounts(ssrc: 21, packets: [77: 40], uses: [77: .unknown])
        unknown.notAccepted = 40
        var refused = SourceCounts(ssrc: 22, packets: [98: 30], uses: [98: .refused])
        refused.notAccepted = 30
        let repair = SourceCounts(ssrc: 23, packets: [97: 9], uses: [97: .repair])
        let sources = Sources([unknown, refused, repair])
        feed.tell { $0.connectionOpened(1, participant: "alice", sources: { sources.counts }) }
        let sound = feed.open(.opus, ssrc: 5, connection: 2)
        feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        sources.now.withLock {
            $0[0].packets = [77: 103]
            $0[0].notAccepted = 100
            $0[0].queueFull = 3
            $0[1].packets = [98: 50]
            $0[1].notAccepted = 50
            // Repair packets that come twice are no loss of media.
            $0[2].packets = [97: 20]
            $0[2].late = 2
        }
        feed.tick(at: 10_000)
        Self.close(feed)
        let folder = try #require(feed.folders.first)
        let accounts = Dictionary(grouping: try Self.accounts(folder), by: \.ssrc).compactMapValues(\.last)
        #expect(accounts[21]?.refused.mapValues(\.packets) == [.payloadTypeNotAccepted: 60, .queueFull: 3])
        #expect(accounts[21]?.before == 40)
        #expect(accounts[22]?.refused.mapValues(\.packets) == [.codecRefused: 20])
        #expect(accounts[23] == nil)
        for ssrc in [21, 22] as [UInt32] {
            #expect(accounts[ssrc]?.imbalance == 0)
            #expect(accounts[ssrc]?.isUnrecorded == true)
            #expect(accounts[ssrc]?.tracks == [])
        }
    }

    /// A peer with many sources that cannot be recorded costs a bounded number of lines, in journal and log.
    @Test func manySourcesCostFewLines() throws {
        let feed = RecordingFeed()
        let sources = Sources([])
        feed.tell { $0.connectionOpened(1, participant: "mallory", sources: { sources.counts }) }
        let sound = feed.open(.opus, ssrc: 5, connection: 2)
        feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        for time in 1...1000 as ClosedRange<Int64> {
            sources.now.withLock { counts in
                counts = (1...64).map { ssrc in
                    var source = SourceCounts(ssrc: UInt32(1000 + ssrc), packets: [77: UInt64(time) * 10])
                    source.notAccepted = UInt64(time) * 10
                    return source
                }
            }
            feed.tick(at: time * 5000)
        }
        Self.close(feed)
        let accounts = try Self.accounts(try #require(feed.folders.first)).filter { $0.participant == "mallory" }
        #expect(accounts.count < 17 * 20)
        #expect(accounts.suffix(17).reduce(0) { $0 + $1.refusedPackets } == 64 * 10_000)
        #expect(accounts.suffix(17).allSatisfy { $0.imbalance == 0 && $0.isFinal })
        #expect(feed.takeNames().count { $0 == "refused" } <= 17)
        #expect(feed.status.unrecorded["mallory"] == [.payloadTypeNotAccepted: 640_000])
    }

    /// The first packets of a source wait: a warning comes only if more are refused and still none is in a file.
    @Test(arguments: [
        ([1, 1, 1, 1], 10, [0, 0, 0, 0, 0]), ([1, 1, 1, 1], 0, [0, 0, 0, 0, 1]), ([1, 2, 3, 3], 0, [0, 0, 1, 0, 0]),
    ])
    func aSourceThatBeginsCausesNoWarning(refused: [UInt64], recorded: Int, warnings: [Int]) throws {
        let feed = RecordingFeed()
        let receiver = Receiver()
        let audio = feed.open(.opus, ssrc: 99, connection: 2)
        let video = feed.open(.vp8, counters: receiver.counters)
        feed.push(audio, FedUnit.opus, at: 0, rateHz: 48_000)
        var logged: [Int] = []
        var before: UInt64 = 0
        for (index, packets) in refused.enumerated() {
            receiver.ends(packets - before, \.late)
            before = packets
            feed.tick(at: [50, 1050, 7050, 19_050][index])
            logged.append(feed.takeNames().count { $0 == "refused" })
            if index == 0, recorded > 0 {
                receiver.comes(recorded)
                feed.push(video, FedUnit.keyframe(), at: 60, packets: recorded)
            }
        }
        Self.close(feed)
        #expect(logged + [feed.takeNames().count { $0 == "refused" }] == warnings)
    }

    /// Packets before the recording, or between two, are in the account and not of the recording.
    @Test func eachRecordingHasItsOwn() throws {
        let feed = RecordingFeed { $0.isAutomatic = false }
        let receiver = Receiver()
        let sources = Sources([])
        feed.tell { $0.connectionOpened(1, participant: "alice", sources: { sources.counts }) }
        let video = feed.open(.vp8, counters: receiver.counters)
        func comes(_ bytes: [UInt8], at time: Int64, packets: Int) {
            receiver.comes(packets)
            sources.now.withLock { $0 = [SourceCounts(ssrc: 7, packets: [96: receiver.all], uses: [96: .media(.vp8)])] }
            feed.push(video, bytes, at: time, packets: packets)
        }
        comes(FedUnit.keyframe(), at: 0, packets: 3)
        receiver.ends(2, \.empty)
        #expect(feed.tell { $0.recordOrdered() } == .done)
        comes(FedUnit.frame(), at: 10, packets: 4)
        comes(FedUnit.keyframe(), at: 20, packets: 5)
        #expect(feed.tell { $0.stopOrdered(reason: "stopped") } == .finish)
        comes(FedUnit.keyframe(), at: 30, packets: 6)
        #expect(feed.tell { $0.recordOrdered() } == .done)
        comes(FedUnit.keyframe(), at: 40, packets: 7)
        receiver.ends(1, \.late)
        sources.now.withLock { $0[0].packets = [96: receiver.all] }
        Self.close(feed)
        let accounts = try feed.folders.sorted { $0.path < $1.path }.compactMap { try Self.accounts($0).last }
        try #require(accounts.count == 2)
        let byBeginning = accounts.sorted { $0.received < $1.received }
        #expect(byBeginning.map(\.before) == [5, 20])
        #expect(byBeginning.map(\.recorded) == [5, 7])
        #expect(byBeginning.map { $0.refused.mapValues(\.packets) } == [[.noKeyframe: 4], [.late: 1]])
        #expect(byBeginning.map(\.isFinal) == [false, true])
        #expect(byBeginning.allSatisfy { $0.imbalance == 0 })
    }

    /// Across a cut each packet is in the account of one segment.
    @Test func segmentsShareThePackets() throws {
        let feed = RecordingFeed { $0.segment = .bytes(1000) }
        let receiver = Receiver()
        let video = feed.open(.vp8, counters: receiver.counters)
        func comes(_ bytes: [UInt8], at time: Int64) {
            receiver.comes(2)
            feed.push(video, bytes, at: time, packets: 2)
        }
        for step in 0..<40 as Range<Int64> {
            comes(step % 10 == 0 ? FedUnit.keyframe() : FedUnit.frame(size: 300), at: step * 30)
            feed.tick(at: step * 30 + 10)
        }
        Self.close(feed)
        let accounts = try feed.folders.map { try #require(try Self.accounts($0).last) }
        #expect(accounts.count > 2)
        #expect(accounts.allSatisfy { $0.imbalance == 0 })
        #expect(accounts.reduce(0) { $0 + $1.recorded } == 80)
        for folder in feed.folders {
            let entries = try Journal.entries(of: folder)
            let written = entries.reduce(UInt64(0)) {
                if case .trackClosed(let record) = $1.record { $0 + (record.packets ?? 0) } else { $0 }
            }
            #expect(try Self.accounts(folder).last?.recorded == written)
        }
    }

    /// One who comes and goes while a cut waits for the keyframe of another has an account in the new segment alone.
    @Test func whoComesWithinACutIsOfTheNextSegment() throws {
        let feed = RecordingFeed { $0.segment = .bytes(1000) }
        let (slow, quick) = (Receiver(), Receiver())
        let video = feed.open(.vp8, ssrc: 7, connection: 2, counters: slow.counters)
        slow.comes(1)
        feed.push(video, FedUnit.keyframe(), at: 0)
        slow.comes(1)
        feed.push(video, FedUnit.frame(size: 2000), at: 10)
        feed.tick(at: 20)
        let audio = feed.open(.opus, ssrc: 8, counters: quick.counters)
        for time in [30, 50] as [Int64] {
            quick.comes(3)
            feed.push(audio, FedUnit.opus, at: time, rateHz: 48_000, packets: 3)
        }
        #expect(feed.folders.count == 2)
        feed.tell { $0.connectionClosed(1, reason: "left") }
        let accounts = try feed.folders.flatMap { try Self.accounts($0) }.filter { $0.ssrc == 8 }
        #expect(accounts.map(\.recorded) == [6])
        #expect(accounts.allSatisfy { $0.imbalance == 0 && $0.isFinal })
        feed.end()
    }

    @Test func whatThePrerollKeptIsRecorded() throws {
        let feed = RecordingFeed {
            $0.isAutomatic = false
            $0.preroll = .seconds(5)
        }
        let receiver = Receiver()
        let video = feed.open(.vp8, counters: receiver.counters)
        for (index, bytes) in [FedUnit.frame(), FedUnit.keyframe(), FedUnit.frame()].enumerated() {
            receiver.comes(2)
            feed.push(video, bytes, at: Int64(index) * 10, packets: 2)
        }
        #expect(feed.tell { $0.recordOrdered() } == .done)
        receiver.comes(2)
        feed.push(video, FedUnit.frame(), at: 30, packets: 2)
        Self.close(feed)
        let account = try Self.account(feed)
        #expect(account.imbalance == 0)
        #expect((account.received, account.before, account.recorded) == (8, 2, 6))
    }

    /// Whatever comes in whatever order: the account of a connection that is over balances.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func balancesWhateverCame(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let feed = RecordingFeed { $0.segment = .bytes(4000) }
        let receivers = (0..<3).map { _ in Receiver() }
        let codecs: [MediaCodec] = [.vp8, .h264, .opus]
        let tracks = receivers.indices.map { index in
            feed.open(codecs[index], ssrc: UInt32(index), counters: receivers[index].counters)
        }
        for step in 0..<300 as Range<Int64> {
            let index = Int.random(in: 0..<3, using: &generator)
            switch Int.random(in: 0..<40, using: &generator) {
            case 0: feed.tell { _ = $0.pauseOrdered() }
            case 1...3: feed.tell { _ = $0.resumeOrdered() }
            case 4: feed.tell { _ = $0.stopOrdered(reason: "stopped") }
            case 5...8: feed.tell { _ = $0.recordOrdered() }
            case 9: receivers[index].ends(3, \.late)
            case 10: receivers[index].ends(2, \.incomplete)
            case 11: receivers[index].ends(1, \.empty)
            default:
                let packets = Int.random(in: 1...9, using: &generator)
                let units: [[UInt8]] =
                    switch codecs[index] {
                    case .vp8: [FedUnit.keyframe(), FedUnit.frame(), FedUnit.frame(), [0xFF]]
                    case .h264: [self.bare, TestUnits.h264Keyframe(), TestUnits.startCode + TestUnits.h264Slice]
                    default: [FedUnit.opus]
                    }
                let unit = units.randomElement(using: &generator) ?? []
                receivers[index].comes(packets)
                let jumps = Int.random(in: 0..<30, using: &generator) == 0
                feed.push(tracks[index], unit, at: step * 20, rtpTime: jumps ? 1 << 40 : nil, packets: packets)
            }
            feed.tick(at: step * 20 + 5)
        }
        Self.close(feed)
        var recorded: [UInt32: UInt64] = [:]
        for folder in feed.folders {
            let accounts = Dictionary(grouping: try Self.accounts(folder), by: \.ssrc).compactMapValues(\.last)
            for (ssrc, account) in accounts {
                #expect(account.imbalance == 0)
                recorded[ssrc, default: 0] += account.recorded
                if account.isFinal { #expect(account.received == receivers[Int(ssrc)].all) }
            }
        }
        #expect(recorded.values.reduce(0, +) > 0)
    }
}

extension RecordingFolder {
    /// Puts a file in the place of the folder of tracks, so that none can be created.
    fileprivate func replaceTracks() throws {
        try FileManager.default.moveItem(atPath: self.tracksPath, toPath: self.path + "/elsewhere")
        try Data().write(to: URL(fileURLWithPath: self.tracksPath))
    }
}
