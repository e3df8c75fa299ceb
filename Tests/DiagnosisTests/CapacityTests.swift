// SPDX-License-Identifier: Apache-2.0

import Diagnosis
import Testing

@Suite struct CapacityTests {
    private static let large = Capacity.Media(name: "720p30", details: "VP8", bitsPerSecond: 1_600_000)
    private static let small = Capacity.Media(name: "360p15", details: "VP8", bitsPerSecond: 400_000)
    private static let host = Capacity.Host(
        processors: 2,
        memoryBytes: 1_000_000_000,
        storageBytesPerSecond: 100_000_000
    )

    private static func capacity(
        _ host: Capacity.Host = Self.host,
        roomsPerWorker: Int = 1,
        second: Capacity.Load = Capacity.Load(rooms: 6, processorShare: 0.13, residentBytes: 70_000_000)
    ) -> Capacity {
        Capacity(
            host: host,
            roomsPerWorker: roomsPerWorker,
            first: Capacity.Load(rooms: 1, processorShare: 0.03, residentBytes: 60_000_000),
            steps: [
                (Self.large, second),
                (Self.small, Capacity.Load(rooms: 11, processorShare: 0.18, residentBytes: 75_000_000)),
            ]
        )
    }

    @Test func aRoomTakesWhatOneMoreTakes() throws {
        let kinds = Self.capacity().kinds
        try #require(kinds.count == 2)
        // 2 % for a room, 1 % for its worker; 2 MB, and 58 MB.
        #expect(kinds[0].processorPercent == 3 && kinds[0].memoryBytes == 60_000_000)
        #expect(kinds[0].byProcessor == 46 && kinds[0].byMemory == 11 && kinds[0].byStorage == 250)
        #expect(kinds[0].rooms == 11)
        #expect(kinds[1].processorPercent == 2 && kinds[1].memoryBytes == 59_000_000)
    }

    @Test func roomsShareWhatAWorkerTakes() {
        let kinds = Self.capacity(roomsPerWorker: 58).kinds
        #expect(kinds[0].memoryBytes == 3_000_000)
        #expect(kinds[0].processorPercent == 2.02)
        #expect(kinds[0].rooms == kinds[0].byProcessor && kinds[0].rooms == 69)
    }

    @Test(arguments: [
        Capacity.Load(rooms: 6, processorShare: 0.01, residentBytes: 10),
        Capacity.Load(rooms: 1, processorShare: .infinity, residentBytes: .max),
        Capacity.Load(rooms: 0, processorShare: 0, residentBytes: 0),
    ])
    func whatCannotBeIsNoTrap(second: Capacity.Load) {
        let none = Capacity.Host(processors: 0, memoryBytes: 0, storageBytesPerSecond: 0)
        #expect(Self.capacity(none, second: second).kinds.allSatisfy { $0.rooms == 0 })
        let vast = Capacity.Host(processors: .max, memoryBytes: .max, storageBytesPerSecond: .max)
        #expect(Self.capacity(vast, second: second).kinds.allSatisfy { (0...Capacity.maximum).contains($0.rooms) })
    }

    @Test func itIsToldInATable() {
        let capacity = Self.capacity()
        #expect(capacity.table.allSatisfy { $0.count == capacity.table[0].count })
        #expect(capacity.table[1].starts(with: ["720p30", "VP8", "11"]))
        #expect(capacity.remarks.last == "To keep to it: workers.maximum_rooms: 11 in the configuration.")
    }
}
