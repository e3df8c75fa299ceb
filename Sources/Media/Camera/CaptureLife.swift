// SPDX-License-Identifier: Apache-2.0

/// When a source of the camera is opened, hidden behind its slate, closed, and opened again.
///
///     idle ── start ──▶ opening ── opened ──▶ open ── a file has ended ──▶ opening
///                        ▲   │ ended           │ ended, or gives nothing
///                        │   ▼                 ▼
///                       waiting ◀──────────────┘            any ── stop ──▶ stopped
///
/// The video of a stream with audio may be hidden alone, while it is open.
///
/// Pure. `stopped` is terminal. A pass is one time that the source is opened, and known by its number: what comes late, of a
/// pass that is gone, is a harmless race and ignored. Instants are nanoseconds of the monotonic clock.
struct CaptureLife: Sendable, Hashable {
    /// What kind of source it is: they have different patience.
    enum Kind: Sendable, Hashable {
        /// Read at the pace of the clock, over and over.
        case file
        /// A camera or a microphone.
        case device
        /// Anything else that is live.
        case stream
    }

    /// What of a source is hidden, or in whose place the slate is shown.
    enum Part: Sendable, Hashable {
        /// Its video, while its audio continues.
        case video
        /// All that it gives.
        case everything
    }

    /// What its driver does, in this order.
    enum Action: Sendable, Hashable {
        /// Opens the source and plays it, whatever time that takes; `opened` or `ended` follows. What it hides of the pass
        /// goes where no participant receives it.
        case open(Int, hides: Part?)
        /// Opens a file in advance, for the `open` of that number.
        case prepare(Int)
        /// Closes what was opened in advance.
        case forgetPrepared
        /// Closes the source, whatever time that takes.
        case close(Int)
        /// That part of its media goes where no participant receives it from now on.
        case hide(Int, Part)
        /// All its media are seen from now on.
        case show(Int)
        /// Shows the slate in the place of that part; one that is shown already ends.
        case showSlate(Part)
        /// Ends the slate.
        case endSlate
        /// Loads the slate in advance: when a device goes away, every moment is seen.
        case prepareSlate
        /// Notifies operators.
        case tell(News)
    }

    /// What is reported, once until the source gives something again; of one that opens slowly also why it failed.
    enum News: Sendable, Hashable {
        /// It failed, or gave nothing, and is tried again.
        case failed(String)
        /// It is open and gives nothing.
        case silent
        /// Its audio continues and its video does not.
        case withoutVideo
        /// Its video comes and no audio ever did.
        case withoutAudio
        /// It is being opened, and that takes long.
        case slow
        /// A file broke off and starts over.
        case brokeOff(String)
        /// It is there again.
        case back
    }

    /// What was reported since the source gave something.
    private enum Told: Sendable, Hashable {
        case nothing
        /// That opening it takes long, and not yet what came of it.
        case slowness
        case trouble
    }

    /// Whether audio of a pass has come.
    private enum Audio: Sendable, Hashable {
        case unknown
        /// Not yet: where the count stood, and since when.
        case awaited(UInt64, since: UInt64)
        case came
    }

    private enum State: Sendable, Hashable {
        case idle
        case opening(Int, since: UInt64, hides: Part?, isAgain: Bool)
        case open(Int, CaptureLiveness)
        case waiting(until: UInt64)
        case stopped
    }

    /// A device that gives nothing for this long, and for three frames, is replaced: the slate is there within a second.
    private static let devicePatience: UInt64 = 600_000_000
    /// The same for what comes over a network or has a rate that we do not know.
    private static let streamPatience: UInt64 = 5_000_000_000
    /// The first frame or sample of a device may take this long, and so may opening it.
    private static let firstPatience: UInt64 = 3_000_000_000
    /// A file that gives nothing for this long, though it neither ended nor failed, has failed: as one whose content was
    /// exchanged while it was being opened.
    private static let fileFirstPatience: UInt64 = 10_000_000_000
    /// The same between two frames or samples: frames of a file may be far apart.
    private static let filePatience: UInt64 = 60_000_000_000
    /// A device that gives nothing for this long behind its slate is opened again.
    private static let deviceLimit: UInt64 = 10_000_000_000
    /// The same for a stream: a sender may pause, but GStreamer may also have failed to link what a server gives, in silence.
    private static let streamLimit: UInt64 = 30_000_000_000
    /// The first frame may be this far behind the audio, as one that begins with a keyframe must come; and the audio behind it.
    private static let firstFramePatience: UInt64 = 10_000_000_000
    /// Frames are missed while the audio pauses no longer than this: in front of a network that is gone both stop, if not
    /// at the same instant.
    private static let audioPause: UInt64 = 1_000_000_000
    /// Waits for frames, or for audio, double from `streamLimit` up to this: they may be off for good, and asking again interrupts
    /// the other.
    private static let longestLimit: UInt64 = 600_000_000_000
    /// So many frames that do not come are not rare, they are missing.
    private static let missingFrames: UInt64 = 20
    private static let deviceRetryDelay: UInt64 = 1_000_000_000
    private static let streamRetryDelay: UInt64 = 3_000_000_000
    /// Waits for a file double from here: one that is being written is whole soon, one that is gone stays it.
    private static let fileRetryDelay: UInt64 = 500_000_000
    private static let longestFileRetryDelay: UInt64 = 30_000_000_000

    private let kind: Kind
    /// Whether there is something to show in its place.
    private let hasSlate: Bool
    private var state = State.idle
    private var number = 0
    /// Passes in a row that gave nothing.
    private var failures = 0
    private var told = Told.nothing
    /// Whether the frames of a pass come, apart from its audio; nil until that was looked at, and while all of it is hidden.
    private var video: CaptureLiveness?
    /// Whether frames were missed while there was audio, and none came since.
    private var lacksVideo = false
    /// How far apart its frames come; also of the passes before.
    private var gaps = VideoGaps()
    /// How often in a row a source was opened again for its frames.
    private var videoTries: UInt64 = 0
    private var audio = Audio.unknown
    /// Whether it was reported that there is video without audio, and no audio has come since.
    private var lacksAudio = false
    /// How often in a row a source was opened again for its audio.
    private var audioTries: UInt64 = 0
    /// In whose place the slate is shown.
    private(set) var covered: Part?
    /// How often something wrong was reported.
    private(set) var reports: UInt64 = 0

    init(_ kind: Kind, hasSlate: Bool) {
        self.kind = kind
        self.hasSlate = hasSlate
    }

    /// Whether the slate is shown.
    var showsSlate: Bool { self.covered != nil }

    /// How long a pass may give nothing, if the source has that many frames a second; `nil` if that is not known.
    static func patience(of kind: Kind, framesPerSecond: Double?) -> UInt64 {
        switch kind {
        case .file: return Self.filePatience
        case .stream: return Self.streamPatience
        case .device:
            let slowest = max(0.1, framesPerSecond ?? .infinity)
            return max(Self.devicePatience, UInt64(3_000_000_000 / slowest))
        }
    }

    /// Whether the pass of that number is to be opened, or is open.
    func wants(_ number: Int) -> Bool {
        switch self.state {
        case .opening(number, _, _, _), .open(number, _): true
        case .idle, .opening, .open, .waiting, .stopped: false
        }
    }

    /// Whether the pass after an open one of that number may be opened in advance.
    func prepares(_ number: Int) -> Bool {
        if case .open(let present, _) = self.state { present + 1 == number } else { false }
    }

    /// Whether a pass plays.
    var isOpen: Bool { if case .open = self.state { true } else { false } }

    /// What a hidden pass has given, as the count of `look`; `video` is `nil` for a source of audio alone.
    ///
    /// Audio of a stream in the place of its slate would leave participants with the slate's last frame: an RTSP server that does
    /// not have the video yet describes none, and must be asked again, which a pass that gives nothing is. A file has all
    /// its video, if late. A stream whose audio was heard without video, or whose frames are rare, is heard again: they
    /// are missed by `lookAtVideo`.
    func givenUnseen(video: UInt64?, audio: UInt64) -> UInt64 {
        let areRare = self.gaps.longest > Self.streamPatience
        if self.kind == .stream, video == 0, !self.lacksVideo, !areRare { return 0 }
        return (video ?? 0) + audio
    }

    // MARK: Inputs

    /// Begins; once.
    mutating func start(now: UInt64) -> [Action] {
        guard case .idle = self.state else { return [] }
        return [self.open(now, hides: self.covered, isAgain: false)]
    }

    /// Takes that a pass plays.
    ///
    /// - Parameters:
    ///   - count: What had come where its media go when it was attached there.
    ///   - patience: How long it may give nothing.
    mutating func opened(_ number: Int, count: UInt64, patience: UInt64, now: UInt64) -> [Action] {
        guard case .opening(number, _, let hidden, let isAgain) = self.state else { return [.close(number)] }
        // The slate may have come while it was being opened.
        let hides = self.covered == hidden ? nil : self.covered
        let part = hides ?? hidden
        let liveness = CaptureLiveness(
            isHidden: part == .everything,
            count: hides == nil ? count : 0,
            now: now,
            patience: patience,
            firstPatience: self.kind == .file ? Self.fileFirstPatience : max(patience, Self.firstPatience),
            limit: self.limit
        )
        self.state = .open(number, liveness)
        if part == .video { self.video = self.videoLiveness(like: liveness, isHidden: true, count: 0, now) }
        var actions: [Action] = []
        if let hides { actions.append(.hide(number, hides)) }
        if isAgain, part == nil { actions.append(.tell(.back)) }
        switch self.kind {
        case .file: actions.append(.prepare(number + 1))
        case .device: actions.append(.prepareSlate)
        case .stream: break
        }
        return actions
    }

    /// Takes that a pass could not be opened, failed, or came to its end, `nil`.
    ///
    /// - Parameter count: What has come where its media go.
    mutating func ended(_ number: Int, because message: String?, count: UInt64, now: UInt64) -> [Action] {
        switch self.state {
        case .opening(number, _, _, _):
            return self.failed(number, message ?? "it ended without a command", hasGiven: false, now)
        case .open(number, var liveness):
            // What came since the last look counts as well.
            _ = liveness.look(count: count, now: now)
            guard self.kind == .file, liveness.hasGiven else {
                return self.failed(number, message ?? "it ended without a command", hasGiven: liveness.hasGiven, now)
            }
            self.failures = 0
            var actions = self.showsSlate ? self.isThere() : []
            if let message { actions += self.report(.brokeOff(message)) } else { self.told = .nothing }
            return actions + [.close(number), self.open(now, hides: self.covered, isAgain: false)]
        case .idle, .opening, .open, .waiting, .stopped: return []
        }
    }

    /// Takes what has come where the media of the present pass go; several times a second.
    mutating func look(count: UInt64, seen: UInt64, now: UInt64) -> [Action] {
        switch self.state {
        case .opening(_, let since, _, _):
            guard now > since, now - since >= self.openingLimit else { return [] }
            return self.report(.slow) + self.cover(.everything)
        case .open(let number, var liveness):
            let finding = liveness.look(count: count, now: now)
            self.state = .open(number, liveness)
            switch finding {
            case .unchanged: return []
            case .silent where self.kind == .file, .stuck:
                return self.failed(number, "it gives nothing", hasGiven: liveness.hasGiven, now)
            case .silent:
                liveness.moved(count: 0)
                self.state = .open(number, liveness)
                self.video = nil
                return [.hide(number, .everything)] + self.report(.silent) + self.cover(.everything)
            case .gives:
                liveness.moved(count: seen)
                self.state = .open(number, liveness)
                return [.show(number)] + self.isThere()
            }
        case .waiting(let until):
            return now >= until ? [self.open(now, hides: self.covered, isAgain: true)] : []
        case .idle, .stopped: return []
        }
    }

    /// Takes how many frames have come where those of the present pass go, of a source that gives audio as well; after a
    /// `look` that found nothing to do.
    ///
    /// Audio of a stream that continues would leave participants with a frozen frame. It is heard all the same: the sender may
    /// have switched off the camera and nothing else. Frames that are rare are waited for as long as they are apart.
    mutating func lookAtVideo(count: UInt64, seen: UInt64, now: UInt64) -> [Action] {
        guard self.kind == .stream, case .open(let number, var liveness) = self.state, !liveness.isHidden,
            liveness.pause(at: now) < Self.audioPause
        else { return [] }
        var video = self.video ?? self.videoLiveness(like: liveness, isHidden: false, count: count, now)
        let before = video.gaveAt
        let finding = video.look(count: count, now: now)
        if let before, let last = video.gaveAt, last > before { self.gaps.add(last - before) }
        if !video.isHidden, video.hasGiven {
            (self.lacksVideo, self.videoTries) = (false, 0)
            video.patience = self.gaps.patience(usual: liveness.patience)
            video.limit = self.videoLimit(hasGiven: true)
        }
        switch finding {
        case .unchanged:
            self.video = video
            return []
        case .silent:
            video.moved(count: 0)
            liveness.moved(count: 0)
            self.video = video
            self.state = .open(number, liveness)
            self.lacksVideo = true
            return [.hide(number, .video)] + self.report(.withoutVideo) + self.cover(.video)
        case .gives:
            video.moved(count: seen)
            liveness.moved(count: 0)
            self.video = video
            self.state = .open(number, liveness)
            return [.show(number)] + self.isThere()
        case .stuck:
            self.videoTries += 1
            return self.cover(.video) + [.close(number), self.open(now, hides: .video, isAgain: false)]
        }
    }

    /// Takes how much audio has come where that of the present pass goes, of a source that gives video as well; after looks
    /// that found nothing to do.
    ///
    /// An RTSP server that does not have the audio yet describes none, and must be asked again. Audio that came once may pause:
    /// a microphone may be muted.
    mutating func lookAtAudio(count: UInt64, now: UInt64) -> [Action] {
        guard self.kind == .stream, case .open(let number, let liveness) = self.state, !liveness.isHidden else {
            return []
        }
        switch self.audio {
        case .came: return []
        case .unknown: self.audio = .awaited(count, since: now)
        case .awaited(let before, let since):
            if count > before {
                defer { (self.audio, self.lacksAudio, self.audioTries) = (.came, false, 0) }
                return self.lacksAudio ? [.tell(.back)] : []
            }
            let pause = now > since ? now - since : 0
            if pause >= min(Self.longestLimit, Self.streamLimit << min(16, self.audioTries)) {
                self.audioTries += 1
                return [.close(number), self.open(now, hides: self.covered, isAgain: false)]
            }
            if !self.lacksAudio, pause >= Self.firstFramePatience {
                self.lacksAudio = true
                self.reports += 1
                return [.tell(.withoutAudio)]
            }
        }
        return []
    }

    /// Takes that there is no slate to show after all.
    mutating func slateFailed() {
        self.covered = nil
    }

    /// Ends for ever; what is open is the driver's to close.
    mutating func stop() {
        self.state = .stopped
        self.covered = nil
    }

    // MARK: Parts

    private var limit: UInt64 {
        switch self.kind {
        case .file: Self.fileFirstPatience
        case .device: Self.deviceLimit
        case .stream: Self.streamLimit
        }
    }

    private var openingLimit: UInt64 {
        switch self.kind {
        case .file: Self.fileFirstPatience
        case .device: Self.firstPatience
        case .stream: Self.streamPatience
        }
    }

    private var retryDelay: UInt64 {
        switch self.kind {
        case .file: min(Self.longestFileRetryDelay, Self.fileRetryDelay << UInt64(min(16, self.failures - 1)))
        case .device: Self.deviceRetryDelay
        case .stream: Self.streamRetryDelay
        }
    }

    /// What is known of the frames of a pass from now on.
    private func videoLiveness(
        like liveness: CaptureLiveness,
        isHidden: Bool,
        count: UInt64,
        _ now: UInt64
    ) -> CaptureLiveness {
        let patience = self.gaps.patience(usual: liveness.patience)
        return CaptureLiveness(
            isHidden: isHidden,
            count: count,
            now: now,
            patience: patience,
            firstPatience: max(patience, Self.firstFramePatience),
            limit: self.videoLimit(hasGiven: false)
        )
    }

    /// How long frames that are hidden may stay away before the source is opened again for them.
    ///
    /// - Parameter hasGiven: Whether the pass gave some: whether they are rare shows with the next ones.
    private func videoLimit(hasGiven: Bool) -> UInt64 {
        if hasGiven, !self.gaps.isKnown { return Self.longestLimit }
        let usual = Self.streamLimit << min(16, self.videoTries)
        let missing = (hasGiven ? Self.missingFrames : 2) * self.gaps.longest
        return min(Self.longestLimit, max(usual, missing))
    }

    private mutating func open(_ now: UInt64, hides part: Part?, isAgain: Bool) -> Action {
        self.number += 1
        (self.video, self.audio) = (nil, .unknown)
        self.state = .opening(self.number, since: now, hides: part, isAgain: isAgain)
        return .open(self.number, hides: part)
    }

    private mutating func failed(_ number: Int, _ message: String, hasGiven: Bool, _ now: UInt64) -> [Action] {
        if hasGiven { (self.failures, self.told) = (0, .nothing) }
        self.failures += 1
        (self.video, self.videoTries, self.audioTries) = (nil, 0, 0)
        self.state = .waiting(until: now + self.retryDelay)
        // No task waits for a device to close. What was opened in advance is the file as it was then.
        return self.cover(.everything) + [.forgetPrepared, .close(number)] + self.report(.failed(message))
    }

    private mutating func isThere() -> [Action] {
        var actions: [Action] = []
        if self.showsSlate {
            self.covered = nil
            actions.append(.endSlate)
        }
        (self.failures, self.told) = (0, .nothing)
        actions.append(.tell(.back))
        if self.kind == .device { actions.append(.prepareSlate) }
        return actions
    }

    /// Has the slate shown in the place of that part, if not of more already.
    private mutating func cover(_ part: Part) -> [Action] {
        guard self.hasSlate, self.covered != part, self.covered != .everything else { return [] }
        self.covered = part
        return [.showSlate(part)]
    }

    private mutating func report(_ news: News) -> [Action] {
        switch (self.told, news) {
        case (.nothing, _): self.reports += 1
        case (.slowness, .failed): break
        case (.slowness, _), (.trouble, _): return []
        }
        self.told = news == .slow ? .slowness : .trouble
        return [.tell(news)]
    }
}
