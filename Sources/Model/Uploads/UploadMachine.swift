// SPDX-License-Identifier: Apache-2.0

public import Basics

/// The upload of one recording: which file is next, and what becomes of it.
///
///     resting ── begin ──▶ looking ── absent, different ──▶ sending ── sent ──▶ checking ── same ──▶ verified, resting
///        ▲                    │ same: verified                 │ failed            │ absent, different, failed
///        └────────────────────┴────── put off ◀────────────────┴───────────────────┘
///
/// Pure. Each attempt begins with a look at the remote: what an earlier attempt, life or catalogue has sent is verified and not
/// sent again, so that an attempt may be repeated after it ended anywhere. A file waits for all of a lower rank; the
/// manifest, the last, is at the remote only when everything else is. An attempt that fails puts off its own file alone, and is
/// repeated without end. An input that does not belong to the phase, as an answer that comes after the attempt ended, is
/// ignored.
public struct UploadMachine: Sendable, Hashable {
    /// What is being done with a file.
    public enum Phase: Sendable, Hashable, CaseIterable {
        /// Nothing.
        case resting
        /// The remote is asked whether it has the file already.
        case looking
        /// The file goes out.
        case sending
        /// The remote is asked whether the file arrived.
        case checking
    }

    /// What happened.
    public enum Input: Sendable, Hashable {
        /// The remote has the file as it is here; how that was seen.
        case same(checksum: String)
        /// The remote has no such file.
        case absent
        /// The remote has another file in its place; in which way.
        case different(String)
        /// The file went out.
        case sent
        /// What was being done failed; why.
        case failed(String)
    }

    /// What is done next.
    public enum Action: Sendable, Hashable {
        /// Ask the remote for the file.
        case look
        /// Send the file; first remove what an earlier attempt left, if there was one.
        case send(isRepeated: Bool)
        /// The file is verified.
        case verified
        /// The attempt failed.
        case putOff
        /// Nothing.
        case none
    }

    /// What the recording as a whole comes to.
    public enum Turn: Sendable, Hashable {
        /// This file is next.
        case next(UploadObject)
        /// Nothing is due before.
        case waits(until: UTCTime)
        /// Everything is verified.
        case complete
    }

    private static let waits = Backoff(
        first: .seconds(5),
        longest: .seconds(3600),
        growth: 4000,
        variation: 1000...1250,
        bound: .varied
    )

    /// The files, by rank and name.
    public private(set) var objects: [UploadObject]
    /// What is being done with `current`.
    public private(set) var phase = Phase.resting
    /// The index of the file that is being worked on.
    private var current: Int?

    /// The file that is being worked on.
    public var object: UploadObject? { self.current.map { self.objects[$0] } }

    /// The files of a recording, of which none is being worked on.
    public init(_ objects: [UploadObject]) {
        self.objects = objects.sorted { ($0.file.rank, $0.file.name) < ($1.file.rank, $1.file.name) }
    }

    /// What is next.
    public func turn(at now: UTCTime) -> Turn {
        let open = self.objects.filter { !$0.isVerified }
        let candidates = open.filter { $0.file.rank == open.first?.file.rank }
        // What is due later was noted before the clock was set back.
        let latest = now.adding(Self.waits.longest)
        func due(_ object: UploadObject) -> UTCTime { object.due > latest ? now : object.due }
        guard let next = candidates.min(by: { due($0) < due($1) }) else { return .complete }
        return due(next) <= now ? .next(next) : .waits(until: next.due)
    }

    /// Takes the files that the recording has now: what is new or was written again is not verified.
    public mutating func take(_ files: [UploadObject.File], at now: UTCTime) {
        let known = Dictionary(self.objects.map { ($0.file.name, $0) }) { first, _ in first }
        self = Self(
            files.map { file in
                guard var object = known[file.name], object.file.bytes == file.bytes,
                    object.file.modified == file.modified
                else {
                    var object = UploadObject(file, due: now)
                    // The remains of an attempt with the old one are removed before the new one goes out.
                    object.attempts = known[file.name]?.attempts ?? 0
                    return object
                }
                object.file.rank = file.rank
                return object
            }
        )
    }

    /// Begins an attempt with the file that `turn(at:)` names; `none` if none is due, or one is being worked on.
    public mutating func begin(at now: UTCTime) -> Action {
        guard self.phase == .resting, case .next(let object) = self.turn(at: now) else { return .none }
        self.current = self.objects.firstIndex { $0.file.name == object.file.name }
        return self.change(to: .looking, .look)
    }

    /// Takes what happened to the file that is being worked on.
    ///
    /// - Parameter random: a random number from 0 to 1.
    public mutating func handle(_ input: Input, random: Double, at now: UTCTime) -> Action {
        guard let current = self.current else { return .none }
        switch (self.phase, input) {
        case (.looking, .same(let checksum)), (.checking, .same(let checksum)):
            self.objects[current].checksum = checksum
            self.objects[current].error = nil
            return self.rest(.verified)
        case (.looking, .absent), (.looking, .different):
            // Noted before anything goes out: the next life knows that there may be something to clean up.
            self.objects[current].attempts += 1
            return self.change(to: .sending, .send(isRepeated: self.objects[current].attempts > 1))
        case (.sending, .sent):
            return self.change(to: .checking, .look)
        case (.checking, .absent):
            return self.putOff("the remote took the file and does not have it", random, now)
        case (.checking, .different(let reason)):
            return self.putOff("the remote has the file otherwise than it was sent: \(reason)", random, now)
        case (.looking, .failed(let reason)):
            self.objects[current].attempts += 1
            return self.putOff(reason, random, now)
        case (.sending, .failed(let reason)), (.checking, .failed(let reason)):
            return self.putOff(reason, random, now)
        case (.resting, _), (.looking, .sent), (.sending, .same), (.sending, .absent), (.sending, .different),
            (.checking, .sent):
            return .none
        }
    }

    private mutating func putOff(_ reason: String, _ random: Double, _ now: UTCTime) -> Action {
        guard let current = self.current else { return .none }
        self.objects[current].error = reason
        let wait = Self.waits.delay(failures: self.objects[current].attempts, random: random)
        self.objects[current].due = now.adding(wait)
        return self.rest(.putOff)
    }

    private mutating func change(to phase: Phase, _ action: Action) -> Action {
        self.phase = phase
        return action
    }

    private mutating func rest(_ action: Action) -> Action {
        self.phase = .resting
        return action
    }
}
