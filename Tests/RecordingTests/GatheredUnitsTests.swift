// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Foundation
import Glibc
import Matroska
import Storage
import TestSupport
import Testing
import Timeline

@testable import Recording

/// Units that come together go to the kernel together, and no observer sees them before they are there.
extension TrackFileWriterTests {
    /// How many calls that write this thread has made (proc(5), `/proc/pid/io`).
    private static func writingCalls() throws -> Int {
        let text = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("syscw: ") })
        return try #require(Int(line.dropFirst("syscw: ".count)))
    }

    @Test func aRoundIsOneWrite() throws {
        let writer = self.makeWriter(.opus, rate: 48_000)
        _ = try writer.write(TestUnits.opusPacket, rtpTime: 0)
        let before = try Self.writingCalls()
        for unit in 1...10 as ClosedRange<Int64> { _ = try writer.gather(TestUnits.opusPacket, rtpTime: unit * 960) }
        #expect(try Self.writingCalls() == before)
        #expect(writer.statistics.units == 11 && writer.unitsInFile == 1)
        #expect(try self.blocks(writer).count == 1)
        try writer.writeGathered()
        #expect(try Self.writingCalls() == before + 1)
        #expect(writer.unitsInFile == 11)
        #expect(try self.blocks(writer).count == 11)
        try writer.writeGathered()
        #expect(try Self.writingCalls() == before + 1)
    }

    @Test func theFirstUnitDoesNotWait() throws {
        let writer = self.makeWriter(.vp8)
        #expect(try writer.gather(TestUnits.vp8Keyframe(), rtpTime: 0) == .taken(isKeyframe: true))
        #expect(writer.unitsInFile == 1)
        #expect(try self.blocks(writer).count == 1)
    }

    @Test func aLargeUnitTakesThoseBeforeItAlong() throws {
        let writer = self.makeWriter(.vp8)
        _ = try writer.gather(TestUnits.vp8Keyframe(), rtpTime: 0)
        _ = try writer.gather(TestUnits.vp8Frame(), rtpTime: 3000)
        let before = try Self.writingCalls()
        _ = try writer.gather(TestUnits.vp8Frame(size: 200_000), rtpTime: 6000)
        #expect(try Self.writingCalls() == before + 1)
        #expect(writer.unitsInFile == 3)
        #expect(try self.blocks(writer).map(\.payload.count) == [210, 103, 200_003])
    }

    /// In rounds of any length the file becomes what it is when each unit is written alone.
    @Test func theFileIsThatOfSingleUnits() throws {
        let folders = try ["gathered", "single"].map { room in
            // Of the same identity, which is in the head of each file.
            try RecordingFolder.create(
                storage: self.storage.path,
                room: room,
                start: UTCTime(nanosecondsSince1970: 0),
                id: try #require(RecordingID(rawValue: "0123456789abcdef"))
            )
        }
        let writers = try folders.map { folder in
            TrackFileWriter(
                folder: folder,
                journal: try JournalWriter(folder: folder),
                track: TrackDescription(number: 1, participant: "alice", codec: .vp8, clockRateHz: 90_000)
            )
        }
        let (gathered, single) = (writers[0], writers[1])
        for unit in 0..<1500 as Range<Int64> {
            let size = [10, 900, 6000, 30_000, 90_000][Int.random(in: 0..<5)] + Int.random(in: 0..<100)
            let bytes = unit % 50 == 0 ? TestUnits.vp8Keyframe(size: size) : TestUnits.vp8Frame(size: size)
            let arrival = unit * 33_000_000
            #expect(
                try gathered.gather(bytes, rtpTime: unit * 3000, arrival: arrival)
                    == single.write(bytes, rtpTime: unit * 3000, arrival: arrival)
            )
            if Int.random(in: 0..<6) == 0 { try gathered.writeGathered() }
        }
        for writer in writers { try writer.close(reason: "end", monotonicNanoseconds: 0) }
        let bodies = try folders.map { folder in
            let data = try Data(contentsOf: URL(filePath: folder.path + "/" + gathered.relativePath))
            // The date in the head is that of the clock.
            return data[try #require(data.range(of: Data([0x1F, 0x43, 0xB6, 0x75]))).lowerBound...]
        }
        #expect(bodies[0].count > 1 << 20 && bodies[0] == bodies[1])
        #expect(gathered.statistics == single.statistics)
    }

    /// What a kill costs: the units that were taken since the last write.
    @Test func aKillCostsWhatIsGathered() async throws {
        let path = self.folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let folder = try RecordingFolder.open(path: path)
            let writer = TrackFileWriter(
                folder: folder,
                journal: try JournalWriter(folder: folder),
                track: TrackDescription(number: 1, participant: "alice", codec: .opus, clockRateHz: 48_000)
            )
            for unit in 0..<100 as Range<Int64> {
                _ = try writer.gather(TestUnits.opusPacket, rtpTime: unit * 960)
                if unit % 10 == 9 && unit < 90 { try writer.writeGathered() }
            }
            kill(getpid(), SIGKILL)
        }
        var reader = try Reader(File(path + "/tracks/001-alice-audio.mka", .read))
        var units = 0
        while try reader.nextHead() != nil { units += 1 }
        #expect(units == 90 && reader.tornTailOffset == nil)
    }

    @Test func aSessionWritesTheRoundsOfAllTracks() throws {
        let feed = RecordingFeed()
        let tracks = [feed.open(.vp8), feed.open(.opus, ssrc: 8)]
        feed.push(tracks[0], FedUnit.keyframe(), at: 0)
        feed.push(tracks[1], FedUnit.opus, at: 0, rateHz: 48_000)
        #expect(feed.pictures.all.count == 1)
        #expect(feed.push(tracks[0], FedUnit.frame(), at: 33, endsRound: false) == .picture)
        #expect(feed.push(tracks[1], FedUnit.opus, at: 34, rateHz: 48_000, endsRound: false) == .sound)
        feed.push(tracks[0], FedUnit.frame(), at: 66, endsRound: false)
        #expect(feed.hasGathered && feed.pictures.all.count == 1)
        let folder = try #require(feed.folders.first)
        #expect(try ReadRecording(folder).units.values.map(\.count) == [1, 1])
        feed.go(to: 70)
        feed.session.writeGathered()
        #expect(!feed.hasGathered)
        #expect(feed.pictures.all.map(\.rtpTime) == [0, 2970, 5940])
        #expect(feed.pictures.all.last?.nanoseconds == feed.start + 70_000_000)
        #expect(try ReadRecording(folder).times("video") == [0, 2970, 5940])
        #expect(feed.tell { $0.takeLag() }.figures?.maximum == .milliseconds(37))
        feed.end()
    }

    /// A file that ends has the units that came before, whatever ends it.
    @Test(arguments: ["tick", "closed", "stopped", "end", "discontinuity"])
    func whatIsGatheredIsWrittenFirst(by what: String) throws {
        let feed = RecordingFeed()
        let receiver = AccountTests.Receiver()
        let sound = feed.open(.opus, counters: receiver.counters)
        for time in 0..<5 as Range<Int64> {
            receiver.comes(1)
            feed.push(sound, FedUnit.opus, at: time * 20, rateHz: 48_000, endsRound: time == 0)
        }
        switch what {
        case "tick": feed.tick(at: 100)
        case "closed": feed.session.connectionClosed(1, reason: "left")
        case "stopped": _ = feed.session.stopOrdered(reason: "stopped")
        case "discontinuity":
            receiver.comes(1)
            feed.push(sound, FedUnit.opus, at: 120, rateHz: 48_000, rtpTime: 1 << 40, endsRound: false)
        default: break
        }
        feed.end()
        let folder = try #require(feed.folders.first)
        let recording = try ReadRecording(folder)
        #expect(recording.units["tracks/001-alice-audio.mka"] == (0..<5).map { Int64($0) * 960 })
        #expect(recording.units.count == (what == "discontinuity" ? 2 : 1))
        let accounts = recording.entries.compactMap { entry -> SourceCounted? in
            if case .sourceCounted(let account) = entry.record { account } else { nil }
        }
        #expect(accounts.last?.imbalance == 0)
        #expect(accounts.last?.recorded == receiver.all)
    }
}
