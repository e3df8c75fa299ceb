// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Matroska

@Suite struct RepairTests {
    @Test func completesAsACleanFinishWould() throws {
        let file = try SampleFile.synthetic(seconds: 4)
        let plan = try Repair.plan(MemorySource(file.bytes))
        #expect(plan.truncateTo == UInt64(file.bytes.count))
        #expect(SampleFile.applying(plan, to: file.bytes) == file.finished)
        #expect(try Repair.plan(MemorySource(file.finished)).isEmpty)
    }

    @Test func everyCutOfTheLastTwoClusters() throws {
        let file = try SampleFile.synthetic(seconds: 3)
        // The same file written up to each block and finished cleanly: what repair must arrive at.
        var partial = try SampleFile.synthetic(seconds: 0)
        var finished = [partial.finished]
        for unit in file.units {
            try partial.append(unit.payload, track: unit.track, time: unit.time, isKeyframe: unit.isKeyframe)
            finished.append(partial.finished)
        }
        for cut in file.clusterStarts[file.clusterStarts.count - 2]...file.bytes.count {
            let bytes = Array(file.bytes.prefix(cut))
            let whole = file.blockEnds.filter { $0 <= cut }.count
            let plan = try Repair.plan(MemorySource(bytes))
            let repaired = SampleFile.applying(plan, to: bytes)
            #expect(repaired == finished[whole])
            #expect(try Repair.plan(MemorySource(repaired)).isEmpty)
        }
    }

    @Test func whatComesBehindADamagedPlaceStays() throws {
        let file = try SampleFile.synthetic(seconds: 4)
        for index in 1..<(file.clusterStarts.count - 1) {
            var bytes = file.bytes
            for place in file.clusterStarts[index]..<(file.clusterStarts[index] + 16) { bytes[place] = 0 }
            let plan = try Repair.plan(MemorySource(bytes))
            #expect(plan.truncateTo == UInt64(bytes.count) && !plan.append.isEmpty)
        }
        // The name of a cluster in a torn unit is none.
        var torn = file.bytes
        torn += [0xA3, 0x4F, 0xFF, 0x81, 0, 0, 0x80, 0x1F, 0x43, 0xB6, 0x75, 0xFF, 0xE7, 0x81, 0]
        #expect(try Repair.plan(MemorySource(torn)).truncateTo == UInt64(file.bytes.count))
    }

    /// A crash after each step of finishing, and a copy of a finished file cut at each byte behind its clusters.
    @Test func interruptedFinishesAreDoneAgain() throws {
        let file = try SampleFile.synthetic(seconds: 2)
        let finish = file.writer.finish()
        for count in 0...finish.patches.count {
            let bytes = SampleFile.applying(Array(finish.patches.prefix(count)), to: file.bytes + finish.append)
            let plan = try Repair.plan(MemorySource(bytes))
            #expect(plan.append.isEmpty)
            #expect(plan.patches == Array(finish.patches.dropFirst(count)))
            #expect(SampleFile.applying(plan, to: bytes) == file.finished)
        }
        for cut in file.bytes.count..<file.finished.count {
            let torn = Array(file.finished.prefix(cut))
            #expect(SampleFile.applying(try Repair.plan(MemorySource(torn)), to: torn) == file.finished)
        }
    }

    @Test func anEmptyRecordingIsRepaired() throws {
        let file = try SampleFile.synthetic(seconds: 0)
        let bytes = file.bytes + [0x1F, 0x43, 0xB6]
        let plan = try Repair.plan(MemorySource(bytes))
        #expect(plan.truncateTo == UInt64(file.bytes.count))
        #expect(SampleFile.applying(plan, to: bytes) == file.finished)
    }

    @Test func aTornHeadIsRefused() throws {
        let header = try SampleFile.synthetic(seconds: 0).bytes
        for cut in [0, 10, 60, 200, header.count / 2] {
            let error = #expect(throws: MatroskaError.self) { try Repair.plan(MemorySource(Array(header.prefix(cut)))) }
            #expect(error?.code == .notMatroska)
        }
    }

    @Test func filesWithoutRoomGetWhatFits() throws {
        var bytes = ReaderTests.foreignFile { cluster in
            cluster.appendBinary(ElementID.simpleBlock, ReaderTests.block(flags: 0, [0xF8]))
        }
        bytes.appendMaster(ElementID.tags) { _ in }
        let whole = bytes.count
        bytes += [0xA3, 0x99, 1]
        let plan = try Repair.plan(MemorySource(bytes))
        #expect(plan.truncateTo == UInt64(whole))
        let repaired = SampleFile.applying(plan, to: bytes)
        #expect(try SampleFile.read(repaired).tornTailOffset == nil)
        #expect(try SampleFile.read(repaired).units.count == 1)
        #expect(try Repair.plan(MemorySource(repaired)).isEmpty)
    }
}
