// SPDX-License-Identifier: Apache-2.0

internal import Model

/// A room from its first spec until it is left: what it is to be, what it is, and what to do about the difference.
///
/// Each part of a spec climbs on its own until it is in force or refused; then the revision is in force. What is sent has three
/// steps, the others one:
///
///     wanted ──look──► accepted ──capture, or the next session──► made
///        └── refused: what is accepted stays, and what is muted
///
/// A newer spec replaces the wanted one at any time: what was looked into for an older one is dropped, and tried again only if
/// the newer one wants it. Recordings come before outputs, outputs before calls, and calls before the camera, into which it
/// may take long to look.
///
///     session: none ──► making ──► running ──rejoin──► ending ──► none
///
/// Pure. The owner asks `next()` until it has nothing to do, after each input. It performs one action after the other and says
/// `done`, but a look and a capture run next to all others: `looked` and `captured` follow.
struct RoomLife: ~Copyable {
    /// What is to be done next.
    enum Action: Sendable, Hashable {
        /// The recorder takes how is recorded; `done` must follow.
        case settings(RecordSpec)
        /// Records from now on, but for a pause; `done` must follow.
        case start
        /// Ends a pause; `done` must follow.
        case resume
        /// Leaves out what comes; `done` must follow.
        case pause
        /// Finishes the recording and begins none; `done` must follow.
        case stop
        /// Forwards tracks to these places only; `done` must follow.
        case outputs([OutputSpec])
        /// Ends the session: the next one is another for the peers.
        case rejoin
        /// Looks into what is to be sent; `looked` must follow.
        case look(SendSpec)
        /// Has the camera of the session send this; `captured` must follow.
        case capture(SendSpec)
        /// Reports that a part is refused, and why.
        case refuse(RoomPart, String)
        /// Reports the status: a revision is in force.
        case report
    }

    /// A revision that is in force, and why parts of it are not.
    struct InForce: Sendable, Hashable {
        var revision: UInt64
        var refused: [RoomPart: String]
    }

    /// What the peers of a session were sent.
    struct Calls: Sendable, Hashable {
        /// What is sent.
        var send: SendSpec?
        /// The codec that they are asked to send; `nil` leaves it to the camera.
        var preferred: PreferredCodec?
        /// Whether data channels are taken.
        var takesChat: Bool
        /// Whether we are there to record.
        var records: Bool
    }

    /// What follows when a session is made.
    enum OnSession: Sendable, Hashable {
        /// It runs.
        case run
        /// It ends as soon as it begins, for the next one.
        case stop
        /// The room is to be left.
        case leave
    }

    /// What became of a capture.
    enum Captured: Sendable, Hashable {
        /// The camera sends it.
        case done
        /// Peers need a message, or the camera has ended.
        case needsSession
        /// It could not be, or not in time, and may still be done.
        case refused(String)
    }

    private enum Session {
        case none
        case making(Calls)
        case running(Calls, Camera?)
        case ending
    }

    /// What the camera of a session has.
    private struct Camera {
        /// What was wanted.
        var spec: SendSpec
        /// What of it works here.
        var usable: SendSpec
        /// A capture that failed may still change it.
        var isUncertain = false
    }

    private struct Capture {
        var camera: Camera
        /// The session that has the camera.
        var session: Int
        /// The revision for which it began.
        var revision: UInt64
    }

    /// What the recorder does, after what starts automatically is known.
    private enum Mode {
        case off, resting, recording, paused

        init(_ spec: RoomSpec) {
            self =
                switch (spec.record, spec.recording) {
                case (nil, _), (_, .off): .off
                case (_, .on): .recording
                case (_, .paused): .paused
                case (let record?, .automatic): record.isAutomatic ? .recording : .resting
                }
        }
    }

    /// What the room is to be.
    private(set) var wanted: RoomSpec
    private var revision: UInt64
    /// What is in force, as it was reported last; `nil` before the first report.
    private(set) var inForce: InForce?
    /// Why parts of the wanted spec cannot be in force.
    private var refused: [RoomPart: String] = [:]

    private let joined: RoomSpec
    private var record: RecordSpec?
    private var mode: Mode
    private var outputs: [OutputSpec]
    /// What is accepted; the session may yet have another.
    private var calls: Calls
    /// What works of `calls.send`, if that was looked into.
    private var usable: SendSpec?
    private var session = Session.none
    private var sessionNumber = 0
    private var look: SendSpec?
    private var capture: Capture?
    /// A capture of this revision failed.
    private var hasFailedCapture = false
    private var isLeaving = false

    /// A room whose recorder and outputs are made by a spec.
    init(_ spec: RoomSpec, revision: UInt64) {
        (self.wanted, self.joined, self.revision) = (spec, spec, revision)
        (self.record, self.mode, self.outputs) = (spec.record, Mode(spec), spec.outputs)
        self.calls = Calls(
            send: spec.send,
            preferred: spec.record?.preferredCodec,
            takesChat: (spec.record ?? RecordSpec()).chat,
            records: spec.record != nil
        )
    }

    // MARK: Inputs

    /// The room is to be like this from now on; an older revision changes nothing.
    mutating func be(_ spec: RoomSpec, revision: UInt64) {
        guard revision > self.revision else { return }
        let isSameCamera = spec.send == self.wanted.send
        (self.wanted, self.revision) = (spec, revision)
        // What cannot be sent is not tried again because something else changes.
        let refusal = isSameCamera ? self.refused[.send] : nil
        self.refused = [:]
        self.refused[.send] = refusal
        self.hasFailedCapture = false
        if !isSameCamera, case .running(var made, .none) = self.session, made.send != nil {
            // Its camera could not be made: another wish is another try.
            (made.send, self.calls.send) = (nil, nil)
            self.session = .running(made, nil)
        }
        var fixed = spec
        fixed.continues = self.joined.continues
        for part in fixed.changes(from: self.joined).intersection([.address, .displayName, .secret, .host]) {
            self.refused[part] = "the room must be left and joined again for that"
        }
        // Muted whatever becomes of the rest.
        if let mutes = spec.send?.mutes { self.calls.send?.mutes.formUnion(mutes) }
    }

    /// A session is made, with these calls; `nil` if the room is to be left.
    mutating func beginSession() -> Calls? {
        guard !self.isLeaving else { return nil }
        self.session = .making(self.calls)
        return self.calls
    }

    /// A session was made.
    ///
    /// - Parameters:
    ///   - usable: what its camera sends; `nil` without a camera.
    ///   - refusal: why there is none, where one is wanted.
    mutating func sessionMade(usable: SendSpec?, refusal: String? = nil) -> OnSession {
        guard !self.isLeaving, case .making(let made) = self.session else { return .leave }
        if let refusal, Self.isSame(made.send, self.wanted.send) { self.refused[.send] = refusal }
        let camera = made.send.flatMap { spec in usable.map { Camera(spec: spec, usable: $0) } }
        self.sessionNumber += 1
        guard self.suits(made, camera) else {
            self.session = .ending
            return .stop
        }
        self.session = .running(made, camera)
        return .run
    }

    /// A session ended; whether another follows.
    mutating func sessionEnded() -> Bool {
        defer { self.session = .none }
        guard case .ending = self.session else { return false }
        return !self.isLeaving
    }

    /// The room is to be left: nothing is done any more.
    mutating func leave() {
        self.isLeaving = true
    }

    /// A look found what can be sent, or why nothing can.
    ///
    /// - Returns: the reason, if what is wanted is refused.
    mutating func looked(_ found: Result<SendSpec, Refusal>) -> String? {
        guard let look = self.look else { return nil }
        self.look = nil
        // A newer spec wants another camera, or that of before.
        guard let wanted = self.wanted.send, Self.isSame(look, wanted), !Self.isSame(self.calls.send, wanted) else {
            return nil
        }
        switch found {
        case .success(let usable):
            (self.calls.send, self.usable) = (wanted, usable)
            return nil
        case .failure(let refusal):
            self.refused[.send] = refusal.reason
            return refusal.reason
        }
    }

    /// A capture has an end.
    ///
    /// - Returns: the reason, if what is wanted is refused.
    mutating func captured(_ result: Captured) -> String? {
        guard let capture = self.capture else { return nil }
        self.capture = nil
        guard case .running(var made, var camera?) = self.session, self.sessionNumber == capture.session else {
            return nil
        }
        var reason: String?
        switch result {
        case .done:
            camera = capture.camera
        case .needsSession:
            made.send = nil
            self.session = .running(made, nil)
            return nil
        case .refused(let why):
            camera.isUncertain = true
            if let accepted = self.calls.send, Self.isSame(accepted, capture.camera.spec) {
                (self.calls.send, self.usable) = (camera.spec.muting(accepted.mutes), camera.usable)
            }
            // A newer spec is tried still.
            if capture.revision == self.revision {
                self.hasFailedCapture = true
                (self.refused[.send], reason) = (why, why)
            }
        }
        self.session = .running(made, camera)
        return reason
    }

    /// Something else was performed, or could not be.
    mutating func done(_ action: Action, refusal: String? = nil) {
        switch action {
        case .settings(let record):
            self.refused[.record] = refusal
            guard refusal == nil else { return }
            self.record = record
            self.calls.preferred = record.preferredCodec
            (self.calls.takesChat, self.calls.records) = (record.chat, true)
        case .start, .resume, .pause, .stop:
            self.refused[.recording] = refusal
            guard refusal == nil else { return }
            self.mode = action == .pause ? .paused : action == .stop ? .off : .recording
        case .outputs(let outputs):
            self.refused[.outputs] = refusal
            if refusal == nil { self.outputs = outputs }
        case .rejoin, .look, .capture, .refuse, .report:
            break
        }
    }

    /// What is not to be seen or heard now: what is wanted, and as long as something else is captured, what that mutes.
    var mutes: CameraMutes {
        var mutes = self.wanted.send?.mutes ?? CameraMutes()
        if self.calls.send != self.wanted.send, let accepted = self.calls.send?.mutes { mutes.formUnion(accepted) }
        if case .running(_, let camera?) = self.session, camera.spec != self.wanted.send || camera.isUncertain {
            mutes.formUnion(camera.spec.mutes)
        }
        return mutes
    }

    // MARK: Actions

    /// What is to be done now; `nil` until the next input.
    mutating func next() -> Action? {
        guard !self.isLeaving else { return nil }
        if let action = self.nextForRecording() ?? self.nextForOutputs() { return action }
        self.accept()
        if let action = self.nextForCalls() ?? self.nextForCamera() { return action }
        let isSettled = self.capture == nil && (self.calls.send == self.wanted.send || self.refused[.send] != nil)
        let now = InForce(revision: self.revision, refused: self.refused)
        guard isSettled, self.inForce != now else { return nil }
        self.inForce = now
        return .report
    }

    private mutating func nextForRecording() -> Action? {
        if self.refused[.record] == nil, let record = self.wanted.record, record != self.record {
            if let problem = record.problems.first { return self.refuse(.record, problem.description) }
            return .settings(record)
        }
        let mode = Mode(self.wanted)
        guard mode != self.mode, self.refused[.recording] == nil else { return nil }
        switch mode {
        case .off: return .stop
        case .paused: return .pause
        case .recording: return self.mode == .paused ? .resume : .start
        case .resting:
            if self.mode == .paused { return .resume }
            // What is in progress continues.
            self.mode = .resting
            return nil
        }
    }

    private mutating func nextForOutputs() -> Action? {
        guard self.refused[.outputs] == nil, self.outputs != self.wanted.outputs else { return nil }
        return .outputs(self.wanted.outputs)
    }

    /// Accepts what need not be looked into: nothing, other mutes, or what the session has.
    private mutating func accept() {
        guard self.refused[.send] == nil, self.calls.send != self.wanted.send else { return }
        if self.wanted.send == nil || Self.isSame(self.calls.send, self.wanted.send) {
            self.calls.send = self.wanted.send
        } else if case .running(_, let camera?) = self.session, Self.isSame(camera.spec, self.wanted.send) {
            (self.calls.send, self.usable) = (self.wanted.send, camera.usable)
        }
    }

    private mutating func nextForCalls() -> Action? {
        guard self.capture == nil, case .running(let made, let camera) = self.session, !self.suits(made, camera) else {
            return nil
        }
        self.session = .ending
        return .rejoin
    }

    private mutating func nextForCamera() -> Action? {
        if self.capture == nil, !self.hasFailedCapture, case .running(_, let camera?) = self.session,
            let send = self.calls.send, camera.spec != send || camera.isUncertain
        {
            let usable = Self.isSame(camera.spec, send) ? camera.usable : self.usable ?? camera.usable
            let next = Camera(spec: send, usable: usable.muting(only: send.mutes))
            self.capture = Capture(camera: next, session: self.sessionNumber, revision: self.revision)
            return .capture(next.usable)
        }
        guard self.refused[.send] == nil, let wanted = self.wanted.send, wanted != self.calls.send else { return nil }
        if let problem = wanted.problems.first { return self.refuse(.send, problem.description) }
        // One at a time: each may hang on a thread.
        guard self.look == nil else { return nil }
        self.look = wanted
        return .look(wanted)
    }

    private mutating func refuse(_ part: RoomPart, _ reason: String) -> Action {
        self.refused[part] = reason
        return .refuse(part, reason)
    }

    /// Whether the peers of a session need no message about what is accepted.
    private func suits(_ made: Calls, _ camera: Camera?) -> Bool {
        guard made.preferred == self.calls.preferred, made.takesChat || !self.calls.takesChat,
            made.records || !self.calls.records
        else { return false }
        let sent = camera?.spec ?? made.send
        guard camera != nil, let sent, let send = self.calls.send else { return Self.isSame(sent, self.calls.send) }
        return sent.preferredCodec == send.preferredCodec && sent.pipelines == send.pipelines
    }

    /// Whether two differ by what they mute at most.
    private static func isSame(_ one: SendSpec?, _ other: SendSpec?) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        return one.muting(only: other.mutes) == other
    }
}

extension RoomLife {
    /// Why something cannot be.
    struct Refusal: Error, Sendable, Hashable {
        /// One sentence for a person.
        var reason: String
    }
}

extension SendSpec {
    /// The same, and this muted as well.
    fileprivate func muting(_ mutes: CameraMutes) -> SendSpec {
        var spec = self
        spec.mutes.formUnion(mutes)
        return spec
    }

    /// The same, and nothing else muted than this.
    fileprivate func muting(only mutes: CameraMutes) -> SendSpec {
        var spec = self
        spec.mutes = mutes
        return spec
    }
}
