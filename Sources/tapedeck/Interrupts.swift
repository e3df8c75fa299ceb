// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import Worker

/// SIGINT, SIGTERM and SIGHUP: the first asks the command to end well, a second SIGINT or SIGTERM ends the process.
///
/// A terminal that is closed sends SIGHUP, often twice, from the kernel and from the shell.
final class Interrupts: Sendable {
    private final class State: Sendable {
        let count = Atomic(0)
        let loss = Mutex<@Sendable () -> String>({ "what was in progress" })
    }

    /// Rung by the first one, and by whatever else the command waits for.
    let bell = Bell()
    private let state = State()
    private let watch: SignalWatch

    init() {
        self.watch = SignalWatch(SIGINT, SIGTERM, SIGHUP) { [state, bell] number in
            defer { bell.ring() }
            guard state.count.add(1, ordering: .relaxed).newValue > 1, number != SIGHUP else { return }
            Output.lastMessage("tapedeck: abandoned: \(state.loss.withLock { $0 }())")
            Program.end(.interrupted)
        }
    }

    var came: Bool { self.state.count.load(ordering: .relaxed) > 0 }

    /// Says what a second interrupt leaves undone; `text` is called on another thread and does not wait.
    func abandoning(_ text: @escaping @Sendable () -> String) { self.state.loss.withLock { $0 = text } }
}
