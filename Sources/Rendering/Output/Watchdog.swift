// SPDX-License-Identifier: Apache-2.0

@preconcurrency internal import Dispatch
internal import Synchronization

/// Notices that a decoder or encoder does not return.
final class Watchdog: Sendable {
    /// Longer than any unit takes, on a busy machine too.
    private static let patience = Duration.seconds(120)

    private let lastSign = Mutex(ContinuousClock.now)
    private let timer: any DispatchSourceTimer

    /// Calls `bite` once, from a separate thread, when there was no sign of life for two minutes.
    init(bite: @escaping @Sendable () -> Void) {
        let timer = DispatchSource.makeTimerSource(queue: .global())
        self.timer = timer
        timer.schedule(deadline: .now() + 5, repeating: 5)
        timer.setEventHandler { [weak self] in
            guard let self, ContinuousClock.now - self.lastSign.withLock({ $0 }) > Self.patience else { return }
            self.timer.cancel()
            bite()
        }
        timer.activate()
    }

    deinit {
        self.timer.cancel()
    }

    /// A sign of life.
    func sign() {
        self.lastSign.withLock { $0 = .now }
    }
}
