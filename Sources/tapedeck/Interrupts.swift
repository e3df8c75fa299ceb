// SPDX-License-Identifier: Apache-2.0

@preconcurrency import Dispatch
import Foundation
import Synchronization

/// SIGINT, SIGTERM and SIGHUP: the first asks the command to end well, a second SIGINT or SIGTERM ends the process.
///
/// A terminal that is closed sends SIGHUP, often twice, from the kernel and from the shell.
final class Interrupts: Sendable {
    private let count = Atomic(0)
    private let sources: [any DispatchSourceSignal]

    init() {
        let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            signal(number, SIG_IGN)
            return (number: number, source: DispatchSource.makeSignalSource(signal: number, queue: .global()))
        }
        self.sources = sources.map(\.source)
        for (number, source) in sources {
            source.setEventHandler { [weak self] in
                guard let self, self.count.add(1, ordering: .relaxed).newValue > 1, number != SIGHUP else { return }
                Program.end(.interrupted)
            }
            source.activate()
        }
    }

    var came: Bool { self.count.load(ordering: .relaxed) > 0 }
}
