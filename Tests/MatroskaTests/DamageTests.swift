// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Matroska

/// Files of which the disk lost a part in the middle.
@Suite struct DamageTests {
    /// The content of a hole; the rest of the file's state does not matter.
    enum Filling: CaseIterable {
        case zeros, ones, garbage
    }

    /// A file as the recorder has it on the disk: clusters know their sizes, the Segment does not.
    private static func recorded(_ file: SampleFile) -> [UInt8] {
        let first = UInt64(file.clusterStarts[0])
        let sizes = file.writer.finish().patches.filter { $0.offset >= first }
        return SampleFile.applying(sizes.filter { $0.offset < UInt64(file.bytes.count) }, to: file.bytes)
    }

    private static func fill(
        _ hole: Range<Int>,
        of bytes: [UInt8],
        _ filling: Filling,
        _ random: inout SeededGenerator
    ) -> [UInt8] {
        var bytes = bytes
        for index in hole.clamped(to: bytes.indices) {
            bytes[index] =
                switch filling {
                case .zeros: 0
                case .ones: 0xFF
                case .garbage: UInt8(truncatingIfNeeded: random.next() >> 24)
                }
        }
        return bytes
    }

    /// The units in clusters that no hole touches.
    private static func untouched(_ file: SampleFile, _ holes: [Range<Int>]) -> [SampleFile.Unit] {
        let ends = file.clusterStarts.dropFirst() + [file.bytes.count]
        let clusters = zip(file.clusterStarts, ends).map { $0..<$1 }
        return zip(file.units, file.blockEnds).compactMap { unit, end in
            let cluster = clusters.first { $0.contains(end - 1) }
            return cluster.map { cluster in holes.contains { $0.overlaps(cluster) } } ?? true ? nil : unit
        }
    }

    /// Those of `wanted` that do not follow each other in `units`.
    private static func missing(_ wanted: [SampleFile.Unit], in units: [SampleFile.Unit]) -> Int {
        var rest = units[...]
        return wanted.count { unit in
            guard let place = rest.firstIndex(of: unit) else { return true }
            rest = rest[(place + 1)...]
            return false
        }
    }

    private static func walk(_ bytes: [UInt8]) throws -> (units: [SampleFile.Unit], damage: Damage, torn: UInt64?) {
        var reader = try Reader(MemorySource(bytes))
        var units: [SampleFile.Unit] = []
        while let block = try reader.next() {
            units.append(
                .init(
                    track: block.track,
                    time: block.timeNanoseconds,
                    isKeyframe: block.isKeyframe,
                    payload: block.payload
                )
            )
        }
        return (units, reader.damage, reader.tornTailOffset)
    }

    @Test(arguments: Filling.allCases)
    func aHoleCostsItsClusterAndNotTheRest(filling: Filling) throws {
        let file = try SampleFile.synthetic(seconds: 12, size: 1_500)
        var random = SeededGenerator(seed: 3)
        for bytes in [file.finished, Self.recorded(file)] {
            for index in file.clusterStarts.indices.dropLast() {
                let start = file.clusterStarts[index]
                for hole in [start..<(start + 2), start..<(start + 16), (start + 40)..<(start + 4_136)] {
                    let walk = try Self.walk(Self.fill(hole, of: bytes, filling, &random))
                    #expect(Self.missing(Self.untouched(file, [hole]), in: walk.units) == 0)
                    #expect(walk.torn == nil)
                }
            }
        }
    }

    @Test func whatIsMissingIsCounted() throws {
        let file = try SampleFile.synthetic(seconds: 8, size: 1_500)
        let (start, end) = (file.clusterStarts[2], file.clusterStarts[5])
        var random = SeededGenerator(seed: 1)
        let walk = try Self.walk(Self.fill(start..<(end - 10), of: file.finished, .zeros, &random))
        let range = try #require(walk.damage.ranges.first)
        #expect(walk.damage.count == 1 && walk.damage.bytes == UInt64(end - start))
        #expect((range.offset, range.end) == (UInt64(start), UInt64(end)))
        // From the last audio of the second second to the first frame of the sixth.
        #expect(range.startNanoseconds == 1_907_000_000 && range.endNanoseconds == 5_000_000_000)
        #expect(range.durationNanoseconds == 3_093_000_000)
        #expect(walk.units.count == 20 * 5)
        #expect(try SampleFile.read(file.finished).units.count == 20 * 8)
    }

    @Test func severalHolesAreEachPassedOver() throws {
        let file = try SampleFile.synthetic(seconds: 20, size: 1_500)
        var random = SeededGenerator(seed: 2)
        let holes = [1, 4, 9, 10, 17].map { file.clusterStarts[$0]..<(file.clusterStarts[$0] + 4_096) }
        var bytes = file.finished
        for hole in holes { bytes = Self.fill(hole, of: bytes, .garbage, &random) }
        let walk = try Self.walk(bytes)
        #expect(Self.missing(Self.untouched(file, holes), in: walk.units) == 0)
        // Two that follow each other may be one.
        #expect((4...5).contains(walk.damage.count))
        var reader = try Reader(MemorySource(bytes))
        while try reader.nextHead() != nil {}
        reader.rewind()
        #expect(reader.damage.count == 0)
        while try reader.nextHead() != nil {}
        #expect(reader.damage == walk.damage)
    }

    @Test func atTheEndTheTailIsTorn() throws {
        let file = try SampleFile.synthetic(seconds: 5, size: 1_500)
        let last = try #require(file.clusterStarts.last)
        var random = SeededGenerator(seed: 4)
        for start in [last, last + 3_000] {
            let walk = try Self.walk(Self.fill(start..<file.bytes.count, of: file.bytes, .zeros, &random))
            #expect(Self.missing(Self.untouched(file, [start..<file.bytes.count]), in: walk.units) == 0)
            #expect(walk.damage.count == 0)
            #expect(try #require(walk.torn) >= UInt64(last))
        }
    }

    /// A size that is damaged shows where the next cluster comes too early, or blocks come behind its end.
    @Test(arguments: [1, 100, 1_000_000] as [UInt64])
    func aWrongSizeOfAClusterCostsNoOther(size: UInt64) throws {
        let file = try SampleFile.synthetic(seconds: 6, size: 1_500)
        var bytes = file.finished
        let start = file.clusterStarts[2]
        var field: [UInt8] = []
        field.appendElementSize(size, width: 8)
        bytes.replaceSubrange((start + 4)..<(start + 12), with: field)
        let walk = try Self.walk(bytes)
        #expect(Self.missing(Self.untouched(file, [start..<(start + 12)]), in: walk.units) == 0)
        #expect(walk.damage.count == 1)
    }

    @Test func anyHoleAnywhere() throws {
        let file = try SampleFile.synthetic(seconds: 15, size: 1_500)
        let originals = [file.finished, Self.recorded(file)]
        var random = SeededGenerator(seed: 5)
        for round in 0..<300 {
            let start = file.clusterStarts[0] + Int(random.next() % UInt64(file.bytes.count - file.clusterStarts[0]))
            let size = [1, 7, 64, 512, 4_096, 16_384][Int(random.next() % 6)]
            // A disk loses whole sectors more often than single bytes.
            let hole = (round % 2 == 0 ? start : max(file.clusterStarts[0], start & ~511))..<(start + size)
            let bytes = Self.fill(hole, of: originals[round / 2 % 2], Filling.allCases[round % 3], &random)
            let walk = try Self.walk(bytes)
            #expect(Self.missing(Self.untouched(file, [hole]), in: walk.units) == 0, "round \(round), hole \(hole)")
        }
    }

    @Test func repairCompletesWhatIsDamagedInItsMiddle() throws {
        let file = try SampleFile.synthetic(seconds: 6, size: 1_500)
        let hole = (file.clusterStarts[2] + 500)..<(file.clusterStarts[2] + 4_600)
        var random = SeededGenerator(seed: 6)
        let torn = Self.fill(hole, of: Self.recorded(file), .garbage, &random).dropLast(7)
        let plan = try Repair.plan(MemorySource(Array(torn)))
        #expect(plan.truncateTo == UInt64(file.blockEnds[file.blockEnds.count - 2]))
        let repaired = SampleFile.applying(plan, to: Array(torn))
        let walk = try Self.walk(repaired)
        #expect(Self.missing(Self.untouched(file, [hole]).dropLast(), in: walk.units) == 0)
        #expect(walk.damage.count == 1 && walk.torn == nil)
        #expect(try Repair.plan(MemorySource(repaired)).isEmpty)
        #expect(try Reader(MemorySource(repaired)).durationNanoseconds != nil)
    }

    /// The name of a cluster without end, and its first byte: as many as a hostile file may have.
    @Test(arguments: [[0x1F, 0x43, 0xB6, 0x75], [0x1F], [0x1F, 0x43, 0xB6, 0x75, 0xFF, 0xE7, 0x81, 0]] as [[UInt8]])
    func searchesAreBounded(pattern: [UInt8]) throws {
        final class Counter { var total = 0 }
        struct CountingSource: Source {
            let bytes: [UInt8]
            let counter: Counter
            var count: UInt64 { UInt64(self.bytes.count) }
            func read(offset: UInt64, count: Int) -> [UInt8] {
                self.counter.total += count
                return Array(self.bytes[Int(offset)..<(Int(offset) + count)])
            }
        }
        let file = try SampleFile.synthetic(seconds: 3)
        let tail = [[UInt8]](repeating: pattern, count: (4 << 20) / pattern.count).flatMap(\.self)
        let counter = Counter()
        var reader = try Reader(CountingSource(bytes: file.bytes + tail, counter: counter))
        var units = 0
        while try reader.nextHead() != nil { units += 1 }
        #expect(units == file.units.count)
        // Clusters without a block are none of a crash, and yet may be there.
        if pattern.count <= 4 { #expect(reader.tornTailOffset == UInt64(file.bytes.count)) }
        #expect(counter.total < 2 * (file.bytes.count + tail.count))
        #expect(reader.search.strangers >= 0)
    }
}
