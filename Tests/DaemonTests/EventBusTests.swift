// SPDX-License-Identifier: Apache-2.0

import API
import FoundationEssentials
import Logging
import Rooms
import Synchronization
import Testing

@testable import Daemon

@Suite struct EventBusTests {
    @Test func numbersEventsAndTellsEveryListener() {
        let first = Mutex<[DaemonEvent]>([])
        let second = Mutex<[UInt64]>([])
        let bus = EventBus(
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            listeners: [
                { event in first.withLock { $0.append(event) } },
                { event in second.withLock { $0.append(event.sequence) } },
            ]
        )
        bus.publish(.roomJoined, room: "a")
        bus.publish(.recordingStarted, room: "a", recording: "r", ["part": "1"])
        bus.publish(.configurationReloaded)
        let events = first.withLock { $0 }
        #expect(events.map(\.sequence) == [1, 2, 3])
        #expect(second.withLock { $0 } == [1, 2, 3])
        #expect(events.map(\.kind) == [.roomJoined, .recordingStarted, .configurationReloaded])
        #expect(events.map(\.room) == ["a", "a", nil])
        #expect(events[1].recording == "r" && events[1].details == ["part": "1"])
        #expect(events.allSatisfy { $0.time.hasSuffix("Z") })
    }

    @Test func eventsFromManyThreadsKeepNumbersOfTheirOwn() async {
        let numbers = Mutex<Set<UInt64>>([])
        let bus = EventBus(
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            listeners: [{ event in numbers.withLock { _ = $0.insert(event.sequence) } }]
        )
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<100 { bus.publish(.exportProgress) } }
            }
        }
        #expect(numbers.withLock { $0 } == Set(1...800))
    }
}

@Suite struct ExportProgressTests {
    @Test func remembersHowFarAJobIs() {
        let progress = ExportProgress()
        #expect(progress.fraction == 0 && progress.file == nil && progress.error == nil)
        #expect(progress.take(Self.line(.progress(bytesDone: 1, bytesTotal: 4))))
        #expect(progress.fraction == 0.25)
        // Nothing to do is nothing done; more than everything is everything.
        #expect(progress.take(Self.line(.progress(bytesDone: 0, bytesTotal: 0))))
        #expect(progress.fraction == 0)
        #expect(progress.take(Self.line(.progress(bytesDone: 9, bytesTotal: 4))))
        #expect(progress.fraction == 1)
        #expect(!progress.take(Self.line(.failed(message: "disk full", retriable: true))))
        #expect(progress.error == "disk full" && progress.file == nil)
    }

    @Test(arguments: ["", "{}", "[1]", "progress", "{\"progress\":{\"done\":\"x\"}}", "{\"unknown\":{}}"])
    func aLineThatIsNoneChangesNothing(text: String) {
        let progress = ExportProgress()
        #expect(!progress.take(Data(text.utf8)))
        #expect(progress.fraction == 0 && progress.file == nil && progress.error == nil)
    }

    private static func line(_ event: ExportJobEvent) -> Data {
        (try? WorkerLine.encode(event)) ?? Data()
    }
}
