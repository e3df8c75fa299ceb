// SPDX-License-Identifier: Apache-2.0

public import Model
public import Timeline

/// Everything lasting that is wanted of a room: its definition, what was requested by hand since, the limit of the disk, and the
/// claim of this host.
///
/// `spec` is what its worker is to do, and the next worker as well; `revision` counts how often that changed. Pure: each change
/// is one call, after which the spec goes to the fleet if the revision is another.
///
/// A request that a worker may refuse, a pause or a change of the camera, is part of the spec while the worker's answer is
/// awaited. Then it is accepted or withdrawn; what it mutes stays muted in any case.
public struct RoomIntent: Sendable, Hashable {
    /// What was last requested of the recording by hand.
    public enum Hand: Sendable, Hashable {
        /// Nothing: the definition decides.
        case asDefined
        /// A recording.
        case on
        /// A pause of the recording with this id, and of no later one.
        case paused(recording: String?)
        /// A pause whose recording had to end, for the definition or the disk: nothing is recorded until a request.
        case held
        /// No recording.
        case off
    }

    /// A change of the camera that a request makes.
    public enum CameraRequest: Sendable, Hashable {
        /// Another camera; `nil` sends nothing.
        case camera(SendSpec?)
        /// Other properties of the present one.
        case change(CameraChange)

        func applied(to send: SendSpec?) -> SendSpec? {
            switch self {
            case .camera(let other): other
            case .change(let change): send.map { change.applied(to: $0) }
            }
        }
    }

    /// How often the spec changed, from 1.
    public private(set) var revision: UInt64 = 1
    /// What was last requested of the recording.
    public private(set) var hand = Hand.asDefined

    private var defined: RoomSpec
    /// How a room is recorded by hand whose definition records nothing.
    private var byHand: RecordSpec
    private var takesMedia: Bool
    private var limit: RecordingLimit
    /// What is sent by definition and accepted requests.
    private var send: SendSpec?
    /// What is muted since a request, also while nothing is sent; `nil` leaves it to the definition.
    private var mutes: CameraMutes?
    private var cameraRequest: CameraRequest?
    /// What `hand` was before a pause that is not accepted yet.
    private var beforePause: Hand?
    private var claim: RecordingClaim?
    /// The recording of another host that the next one continues.
    public private(set) var follows: SeriesPlace?
    /// Whether no other host may be the owner: two cameras in one room harm.
    private var mayAct = true

    /// A room that was just defined.
    ///
    /// - Parameters:
    ///   - defined: the definition with the host's settings.
    ///   - byHand: how it is recorded where the definition records nothing.
    ///   - takesMedia: whether anything can be sent into it.
    public init(_ defined: RoomSpec, byHand: RecordSpec, takesMedia: Bool, limit: RecordingLimit) {
        (self.defined, self.byHand, self.takesMedia, self.limit) = (defined, byHand, takesMedia, limit)
        self.send = defined.send
    }

    /// What the room is to be.
    public var spec: RoomSpec {
        var spec = self.defined
        spec.record = self.record
        spec.record?.follows = self.follows
        spec.recording =
            switch self.hand {
            case _ where spec.record == nil: .off
            case .asDefined: .automatic
            case .on: .on
            case .paused: .paused
            case .held, .off: .off
            }
        let send = self.cameraRequest.map { $0.applied(to: self.send) } ?? self.send
        spec.send = self.takesMedia ? send : nil
        spec.claim = self.claim
        if !self.mayAct {
            // Muted, so that no call begins again when it may be seen again.
            spec.send?.isVideoMuted = true
            spec.send?.isAudioMuted = true
            spec.outputs = []
        }
        return spec
    }

    private var record: RecordSpec? {
        switch self.hand {
        case .on, .paused: self.limit.limited(self.defined.record ?? self.byHand)
        case .asDefined, .held, .off: self.limit.limited(self.defined.record)
        }
    }

    /// Whether a recording may begin.
    public var mayRecord: Bool { self.limit.limited(self.defined.record ?? self.byHand) != nil }

    /// Whether something is sent, by definition or request.
    public var hasCamera: Bool { self.takesMedia && self.send != nil }

    // MARK: Definition and limit

    /// Takes another definition.
    ///
    /// One that records nothing any more ends a recording by hand as well. Another camera counts for all but what is muted:
    /// no one is to be seen by a reload.
    public mutating func define(_ defined: RoomSpec, byHand: RecordSpec, takesMedia: Bool) {
        self.change { intent in
            let endsRecording = defined.record == nil && intent.defined.record != nil
            if defined.send != intent.defined.send {
                intent.send = defined.send
                if let mutes = intent.mutes { intent.send?.mutes = mutes }
            }
            (intent.defined, intent.byHand, intent.takesMedia) = (defined, byHand, takesMedia)
            if endsRecording { intent.endRecording() }
        }
    }

    /// Takes what the disk has room for.
    public mutating func limit(to limit: RecordingLimit) {
        self.change { $0.limit = limit }
    }

    // MARK: Cluster

    /// Takes the claim under which everything is written, and whether it certainly holds.
    ///
    /// - Parameters:
    ///   - claim: `nil` for a room that no cluster shares.
    ///   - mayAct: whether camera and outputs are on.
    public mutating func claim(_ claim: RecordingClaim?, mayAct: Bool) {
        self.change { intent in (intent.claim, intent.mayAct) = (claim, mayAct) }
    }

    /// The next recording continues one of another host; `nil`: it is another.
    public mutating func follow(_ place: SeriesPlace?) {
        self.change { $0.follows = place }
    }

    // MARK: Recording

    /// Nothing is recorded until a request, as after a pause whose recording had to end.
    public mutating func hold() {
        self.setHand(.held)
    }

    /// A recording is requested.
    ///
    /// - Returns: whether a recording was paused that is not any more.
    @discardableResult
    public mutating func startRecording() -> Bool {
        var wasPaused = false
        if case .paused = self.hand { wasPaused = self.beforePause == nil }
        self.setHand(.on)
        return wasPaused
    }

    /// No recording is requested.
    public mutating func stopRecording() {
        self.setHand(.off)
    }

    /// A pause is requested; `acceptPause` or `withdrawPause` must follow.
    ///
    /// - Returns: false, with nothing done, where nothing can be recorded.
    public mutating func pause() -> Bool {
        switch self.hand {
        case .held, .off: return false
        case .asDefined, .on, .paused: break
        }
        guard self.record != nil else { return false }
        if case .paused = self.hand { return true }
        self.change { intent in
            intent.beforePause = intent.hand
            intent.hand = .paused(recording: nil)
        }
        return true
    }

    /// The worker paused: the pause is one of the recording that is in progress; without one it is over.
    ///
    /// - Returns: whether a recording is paused that was not before, which only one of several requests at once does.
    @discardableResult
    public mutating func acceptPause(of recording: String?) -> Bool {
        guard self.beforePause != nil else { return false }
        self.setHand(recording.map { .paused(recording: $0) } ?? .on)
        return recording != nil
    }

    /// The worker has nothing to pause.
    public mutating func withdrawPause() {
        guard let before = self.beforePause else { return }
        self.setHand(before)
    }

    /// A recording, or its next part, began, or one ended: a pause is one of its recording.
    public mutating func recordingBegan(_ id: String) {
        self.follow(nil)
        guard case .paused(let paused) = self.hand, self.beforePause == nil, paused != id else { return }
        self.setHand(.on)
    }

    /// A recording ended.
    public mutating func recordingEnded(_ id: String) {
        guard self.hand == .paused(recording: id), self.beforePause == nil else { return }
        self.setHand(.on)
    }

    /// The room is not wanted any more: what was requested of its recording is forgotten.
    public mutating func forgetRecording() {
        self.setHand(.asDefined)
    }

    private mutating func setHand(_ hand: Hand) {
        self.change { intent in
            intent.beforePause = nil
            intent.hand = hand
        }
    }

    /// Nothing may be recorded: what was begun by hand ends, and what was paused by hand is not recorded again without a
    /// request.
    private mutating func endRecording() {
        switch self.hand {
        case .on: self.hand = .asDefined
        case .paused: self.hand = .held
        case .asDefined, .held, .off: return
        }
        self.beforePause = nil
    }

    // MARK: Camera

    /// Mutes and freezes what a request does, before its turn comes and whatever becomes of the rest.
    public mutating func mute(for request: CameraRequest) {
        guard let send = self.send, let mutes = request.applied(to: send)?.mutes else { return }
        self.change { intent in
            intent.send?.mutes.formUnion(mutes)
            intent.cameraRequest = intent.cameraRequest?.muting(mutes)
            if intent.send != send { intent.mutes = intent.send?.mutes }
        }
    }

    /// A change of the camera is requested; `acceptCamera` or `withdrawCamera` must follow before the next.
    public mutating func request(_ request: CameraRequest) {
        self.change { $0.cameraRequest = request }
    }

    /// The worker sends as requested, or the next one is to.
    public mutating func acceptCamera() {
        self.change { intent in
            guard let request = intent.cameraRequest else { return }
            intent.send = request.applied(to: intent.send)
            intent.mutes = intent.send?.mutes ?? intent.mutes ?? CameraMutes()
            intent.cameraRequest = nil
        }
    }

    /// The worker refused, or did not answer: the request is not performed later.
    public mutating func withdrawCamera() {
        self.change { $0.cameraRequest = nil }
    }

    private mutating func change(_ body: (inout Self) -> Void) {
        let before = self.spec
        body(&self)
        if self.record == nil { self.endRecording() }
        if self.spec != before { self.revision += 1 }
    }
}

extension RoomIntent.CameraRequest {
    /// The same, with more that is muted.
    fileprivate func muting(_ mutes: CameraMutes) -> Self {
        switch self {
        case .camera(var send):
            send?.mutes.formUnion(mutes)
            return .camera(send)
        case .change(var change):
            if mutes.isVideoMuted { change.isVideoMuted = true }
            if mutes.isAudioMuted { change.isAudioMuted = true }
            if mutes.isFrozen { change.isFrozen = true }
            return .change(change)
        }
    }
}
