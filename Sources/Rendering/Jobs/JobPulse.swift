// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Foundation
internal import Synchronization

/// Reports that a job is still working where it has nothing to count: reading a file back, hashing, remuxing,
/// repairing.
///
/// The process that started the job ends it after a long silence, for example on a disk that hangs. The pulse therefore
/// beats only if the process has read or written since: `read(2)` and `write(2)` of any thread, as the kernel counts
/// them.
public final class JobPulse: Sendable {
    /// How often it is looked.
    private static let intervalSeconds = 10
    /// More bytes than the pulse itself moves until the job would be ended.
    private static let leastBytes: UInt64 = 1 << 20

    private struct State {
        /// Bytes moved at the last beat.
        var moved: UInt64
        var isStopped = false
    }

    private let queue = DispatchQueue(label: "pulse")
    private let moved: @Sendable () -> UInt64?
    private let beat: @Sendable () -> Void
    private let state: Mutex<State>

    /// Looks from now on, until `stop()`.
    ///
    /// - Parameters:
    ///   - moved: the bytes that were read and written so far; nil if unknown.
    ///   - beat: reports that the job is working, on a separate thread.
    public init(
        moved: @escaping @Sendable () -> UInt64? = JobPulse.bytesMoved,
        beat: @escaping @Sendable () -> Void
    ) {
        self.moved = moved
        self.beat = beat
        self.state = Mutex(State(moved: moved() ?? 0))
        self.lookLater()
    }

    /// Says nothing from the return of this call on.
    public func stop() {
        self.state.withLock { $0.isStopped = true }
        self.queue.sync {}
    }

    private func lookLater() {
        self.queue.asyncAfter(deadline: .now() + .seconds(Self.intervalSeconds)) { [weak self] in
            guard let self, !self.state.withLock(\.isStopped) else { return }
            self.look()
            self.lookLater()
        }
    }

    /// Says something if enough was moved since it last did.
    func look() {
        guard let moved = self.moved() else { return }
        let isAlive = self.state.withLock { state in
            guard moved >= state.moved &+ Self.leastBytes else { return false }
            state.moved = moved
            return true
        }
        if isAlive { self.beat() }
    }

    /// Bytes that this process has read and written, from `/proc/self/io`; nil where the kernel does not count them.
    public static func bytesMoved() -> UInt64? {
        guard let text = try? String(contentsOfFile: "/proc/self/io", encoding: .utf8) else { return nil }
        let counts = text.split(separator: "\n").compactMap { line -> UInt64? in
            guard line.hasPrefix("rchar: ") || line.hasPrefix("wchar: ") else { return nil }
            return line.split(separator: " ").last.flatMap { UInt64($0) }
        }
        return counts.isEmpty ? nil : counts.reduce(0, &+)
    }
}
