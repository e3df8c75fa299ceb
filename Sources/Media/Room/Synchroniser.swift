// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Foundation
internal import GStreamer
internal import Recording
internal import Storage
internal import Synchronization

/// The thread on which the files of all recorders with the same storage are forced to the disk, many at a time.
///
/// It begins 100 ms after the first recorder wants it, and does at once what all of them want by then. They hear of it
/// together, so that they want it together the next time: it wakes once for all rooms of a process. A disk that hangs holds
/// up the files of that storage only. Methods are callable from any thread and wait for none.
final class Synchroniser: Sendable {
    /// What is to be forced to the disk for a recorder.
    struct Round: Sendable {
        /// What follows a round.
        enum Next {
            case round(Round)
            /// Reports the result; gets the time that the disk needed.
            case tell(@Sendable (Duration) -> Void)
        }

        /// Descriptors of files, which are forced to the disk together with those of others.
        let files: [Int32]
        /// Called then, with the error number for each, or 0.
        let next: @Sendable ([Int32]) -> Next
    }

    private struct Waiting {
        let round: Round
        /// Since when it has waited for the disk; nil if nothing was at work when it came.
        let since: Int64?
    }

    private struct State {
        var waiting: [Waiting] = []
        var hasThread = false
        var isAtWork = false
    }

    /// Rests of a second and more, as recorders have them, do not end it.
    private static let longestIdle = 10
    private static let shared = Mutex<[String: Synchroniser]>([:])

    private let gather: @Sendable () -> Void
    private let force: @Sendable ([Int32]) -> [Int32]
    private let clock: @Sendable () -> Int64
    private let state = Mutex(State())
    private let came = DispatchSemaphore(value: 0)

    /// The one of a storage folder, for the life of the process.
    static func of(storage: String) -> Synchroniser {
        Self.shared.withLock { shared in
            let found = shared[storage] ?? Synchroniser()
            shared[storage] = found
            return found
        }
    }

    /// One without a thread, which the first round starts.
    ///
    /// - Parameters:
    ///   - gather: returns when no more rounds are to be waited for; called on the thread.
    ///   - force: returns when files are on the disk; called on the thread.
    ///   - clock: gives `CLOCK_MONOTONIC`, in nanoseconds.
    init(
        gather: @escaping @Sendable () -> Void = { Thread.sleep(forTimeInterval: 0.1) },
        force: @escaping @Sendable ([Int32]) -> [Int32] = { [disk = Disk()] in disk.force($0) },
        clock: @escaping @Sendable () -> Int64 = { Runtime.monotonicNanoseconds }
    ) {
        self.gather = gather
        self.force = force
        self.clock = clock
    }

    /// Has a round performed.
    func add(_ round: Round) {
        let (isFirst, hadThread) = self.state.withLock { state in
            state.waiting.append(Waiting(round: round, since: state.isAtWork ? self.clock() : nil))
            defer { state.hasThread = true }
            return (state.waiting.count == 1, state.hasThread)
        }
        guard hadThread else {
            let thread = Thread {
                Thread.current.name = "synchroniser"
                self.run()
            }
            thread.start()
            return
        }
        if isFirst { self.came.signal() }
    }

    private func run() {
        while true {
            self.gather()
            self.performWaiting()
            let isOver = self.came.wait(timeout: .now() + .seconds(Self.longestIdle)) == .timedOut
            let ends = self.state.withLock { state in
                guard isOver, state.waiting.isEmpty else { return false }
                state.hasThread = false
                return true
            }
            if ends { return }
        }
    }

    private func performWaiting() {
        var waiting: [Waiting] = []
        let start = self.state.withLock { state in
            swap(&waiting, &state.waiting)
            state.isAtWork = true
            return self.clock()
        }
        var results: [(tell: @Sendable (Duration) -> Void, since: Int64)] = []
        while !waiting.isEmpty {
            var errors = self.force(waiting.flatMap(\.round.files))[...]
            // What is done is let go: it has the journal, whose lock others wait for.
            var following: [Waiting] = []
            for one in waiting {
                let own = Array(errors.prefix(one.round.files.count))
                errors = errors.dropFirst(own.count)
                switch one.round.next(own) {
                case .round(let next): following.append(Waiting(round: next, since: one.since))
                case .tell(let tell): results.append((tell, one.since ?? start))
                }
            }
            waiting = following
        }
        let end = self.state.withLock { state in
            state.isAtWork = false
            return self.clock()
        }
        for (tell, since) in results { tell(.nanoseconds(max(0, end - since))) }
    }
}

extension Synchroniser.Round {
    /// The files of a recorder.
    ///
    /// - Parameter tell: reports the failures, and the time that the disk needed.
    init(
        _ round: SynchronisationRound,
        tell: @escaping @Sendable ([SynchronisationRound.Failure], Duration) -> Void
    ) {
        // Looks at the disk: not before it is its turn.
        self.init(files: []) { _ in
            // One commit of the file system's journal serves everything that the kernel has begun to write by then.
            for file in round.files { Runtime.beginWriting(file.descriptor) }
            return .round(Self(round.begin(), tell))
        }
    }

    private init(
        _ step: SynchronisationRound.Step,
        _ tell: @escaping @Sendable ([SynchronisationRound.Failure], Duration) -> Void
    ) {
        self.init(files: step.files.map(\.descriptor)) { errors in
            switch step.next(errors) {
            case .step(let next): .round(Self(next, tell))
            case .over(let failures): .tell { cost in tell(failures, cost) }
            }
        }
    }
}
