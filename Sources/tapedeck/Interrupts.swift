// SPDX-License-Identifier: Apache-2.0

@preconcurrency import Dispatch
import Foundation
import Synchronization

/// SIGINT and SIGTERM: the first asks the command to end well, the second ends the process.
final class Interrupts: Sendable {
    private let count = Atomic(0)
    private let sources: [any DispatchSourceSignal]

    init() {
        let sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number, queue: .global())
        }
        self.sources = sources
        for source in sources {
            source.setEventHandler { [weak self] in
                guard let self, self.count.add(1, ordering: .relaxed).newValue > 1 else { return }
                Main.end(.interrupted)
            }
            source.activate()
        }
    }

    var came: Bool { self.count.load(ordering: .relaxed) > 0 }
}
