// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import GStreamer
internal import Logging
internal import Model
internal import Observability
internal import Synchronization

/// Keeps one source running: a file over and over, a device again when it comes back, and a slate until then.
///
/// What happens is decided by `CaptureLife`. Each pass of a file is a separate pipeline whose running time starts where
/// the one before it ended, so time stamps continue without a gap; the pipeline of the next pass is opened in advance.
///
/// The source is opened and closed on a separate thread, `opener`, on which a device or a file system that hangs holds up
/// nothing else; the slate, and everything that is decided, on `thread`, which never waits for a source. `start` and `stop` are
/// called on any thread, and wait for neither.
final class CaptureFeed: Sendable {
    let source: CaptureSource
    private let slate: CaptureSource?
    private let settings: SendSpec
    private let name: String
    private let video: FanOut
    private let audio: FanOut
    private let gates: CaptureGates
    private let thread: ControlThread
    private let opener = ControlThread(name: "source")
    private let logger: Logger
    /// Called on `thread` when audio comes again after a hole that is too long to be filled with silence.
    private let onHole: @Sendable () -> Void
    /// Left when everything of the source is closed, after `stop`.
    private let closing = DispatchGroup()
    private let state: Mutex<State>

    /// How often it is looked whether a source gives something.
    private static let lookDelay = Duration.milliseconds(100)
    /// How long a source waits for others to close: one that hangs is not waited for.
    private static let longestClosing = Duration.seconds(2)
    /// A pass that starts this late starts a new time line, as after a suspended machine.
    private static let longestLag: UInt64 = 1_000_000_000
    /// A hole in the audio up to this long is filled with silence; after a longer one the encoder starts again.
    private static let longestSilence: UInt64 = 1_000_000_000

    private struct State {
        var life: CaptureLife
        /// What is being opened, or open.
        var current: Pass?
        var next: Pass?
        /// What is shown while the source is away, or gives nothing.
        var slate: Pass?
        /// A slate with its elements loaded.
        var spareSlate: Pass?
        /// Where hidden media of the current pass are counted.
        var unseen: Unseen?
        /// What the bus said of the current pass while it was being opened: a short file may end before it counts as open.
        var early: (number: Int, message: String?)?
        var lastSlate = 0
        /// Where the first pass of a file begins on the clock; nil from then on.
        var firstBase: UInt64?
        /// Running time 0 of the current pass, on the clock.
        var playsFrom: UInt64?
        var isStopped = false
    }

    /// Where media go that no participant receives.
    private struct Unseen {
        let video = FanOut(startsAtKeyframe: false)
        /// Nil while the audio is heard.
        let audio: FanOut?

        init(_ part: CaptureLife.Part) {
            self.audio = part == .everything ? FanOut(startsAtKeyframe: false) : nil
        }
    }

    /// One pipeline, and the number by which its messages are known; those of slates are below 0.
    private struct Pass {
        let number: Int
        let pipeline: Pipeline
        let complaints: FirstError
        /// Whether it has audio; a slate in the place of video has none.
        let hasAudio: Bool
        /// A pause that is longer than this says that it gives nothing, in nanoseconds.
        let patience: UInt64
    }

    init(
        _ source: CaptureSource,
        slate: CaptureSource?,
        settings: SendSpec,
        name: String,
        video: FanOut,
        audio: FanOut,
        gates: CaptureGates,
        thread: ControlThread,
        logger: Logger,
        onHole: @escaping @Sendable () -> Void
    ) {
        self.source = source
        self.slate = slate
        self.settings = settings
        self.name = name
        self.video = video
        self.audio = audio
        self.gates = gates
        self.thread = thread
        self.logger = logger
        self.onHole = onHole
        self.state = Mutex(State(life: CaptureLife(source.kind, hasSlate: slate != nil)))
    }

    /// The graph of the running pipeline in the DOT language; nil while none plays.
    var graph: String? {
        self.state.withLock { $0.life.isOpen ? $0.current?.pipeline : nil }?.graph
    }

    private var isFile: Bool { self.source.isFile }

    /// Whether the source is away and the slate is shown.
    var showsSlate: Bool { self.state.withLock { $0.life.showsSlate } }

    /// Whether nothing of its audio is heard, as the slate is shown in its place.
    var isAudioAway: Bool { self.source.hasAudio && self.state.withLock { $0.life.covered == .everything } }

    /// How often the source failed or gave nothing: what was reported.
    var failures: UInt64 { self.state.withLock { $0.life.reports } }

    /// Running time 0 of the pipeline that plays, or played last, on the clock; nil before the first.
    var playsFromNanoseconds: UInt64? { self.state.withLock { $0.playsFrom } }

    /// Starts with running time 0 of a file at `baseNanoseconds` of the clock; what fails is tried again.
    ///
    /// - Parameter predecessors: What may have the same device open: it is waited for, if not for long.
    func start(baseNanoseconds: UInt64, after predecessors: [CaptureFeed]) {
        self.state.withLock { $0.firstBase = baseNanoseconds }
        self.opener.enqueue {
            for feed in predecessors { _ = feed.isClosed(within: Self.longestClosing) }
        }
        self.thread.enqueue { [weak self] in
            self?.step { $0.start(now: $1) }
            self?.lookLater()
        }
    }

    /// Ends it, without waiting for it to close; what comes afterwards goes nowhere.
    func stop() {
        let stopped = self.state.withLock { state -> (passes: [Pass], slates: [Pass])? in
            guard !state.isStopped else { return nil }
            state.isStopped = true
            state.life.stop()
            let unseen = Unseen(.everything)
            for pass in [state.current, state.slate].compactMap({ $0 }) {
                try? self.attach(pass, unseen.video, unseen.audio)
            }
            defer {
                (state.current, state.next, state.slate, state.spareSlate) = (nil, nil, nil, nil)
                (state.unseen, state.early) = (nil, nil)
            }
            return ([state.current, state.next].compactMap { $0 }, [state.slate, state.spareSlate].compactMap { $0 })
        }
        guard let stopped else { return }
        for (thread, passes) in [(self.opener, stopped.passes), (self.thread, stopped.slates)] {
            self.closing.enter()
            thread.enqueue { [closing] in
                for pass in passes { pass.pipeline.stop() }
                closing.leave()
            }
        }
    }

    /// Whether everything of a source that was stopped is closed; waits until then, and no longer than `limit`.
    func isClosed(within limit: Duration) -> Bool {
        self.closing.wait(timeout: .now() + .milliseconds(Int(limit / .milliseconds(1)))) == .success
    }

    private func count(_ video: FanOut, _ audio: FanOut) -> UInt64 {
        (self.source.hasVideo ? video.count : 0) + (self.source.hasAudio ? audio.count : 0)
    }

    private func count(_ state: State) -> UInt64 {
        guard let unseen = state.unseen else { return self.count(self.video, self.audio) }
        guard let audio = unseen.audio else { return self.count(unseen.video, self.audio) }
        return state.life.givenUnseen(
            video: self.source.hasVideo ? unseen.video.count : nil,
            audio: self.source.hasAudio ? audio.count : 0
        )
    }

    /// Where what came so far ends, on the clock.
    private var endNanoseconds: UInt64 {
        max(
            self.source.hasVideo ? self.video.endNanoseconds : 0,
            self.source.hasAudio ? self.audio.endNanoseconds : 0
        )
    }

    private static var now: UInt64 { UInt64(clamping: Runtime.monotonicNanoseconds) }

    // MARK: On the thread

    /// Has the life take something and performs what it says.
    private func step(_ change: (inout CaptureLife, UInt64) -> [CaptureLife.Action]) {
        for action in self.state.withLock({ change(&$0.life, Self.now) }) { self.perform(action) }
    }

    private func perform(_ action: CaptureLife.Action) {
        switch action {
        case .open(let number, let hides): self.opener.enqueue { [weak self] in self?.open(number, hides) }
        case .prepare(let number): self.opener.enqueue { [weak self] in self?.prepare(number) }
        case .forgetPrepared: self.close(self.state.withLock { $0.next.take() })
        case .close(let number):
            self.close(
                self.state.withLock { state in
                    guard state.current?.number == number else { return nil }
                    state.unseen = nil
                    return state.current.take()
                }
            )
        case .hide(let number, let part): self.hide(number, part)
        case .show(let number): self.show(number)
        case .showSlate(let part): self.showSlate(part)
        case .endSlate: self.state.withLock { $0.slate.take() }?.pipeline.stop()
        case .prepareSlate: self.prepareSlate()
        case .tell(let news): self.tell(news)
        }
    }

    private func close(_ pass: Pass?) {
        guard let pass else { return }
        self.opener.enqueue { pass.pipeline.stop() }
    }

    private func lookLater() {
        self.thread.enqueue(after: Self.lookDelay) { [weak self] in self?.look() }
    }

    private func look() {
        let actions = self.state.withLock { state -> [CaptureLife.Action]? in
            guard !state.isStopped else { return nil }
            let (count, seen) = (self.count(state), self.count(self.video, self.audio))
            let actions = state.life.look(count: count, seen: seen, now: Self.now)
            guard actions.isEmpty, self.source.hasVideo, self.source.hasAudio else { return actions }
            let video = (state.unseen?.video ?? self.video).count
            let ofVideo = state.life.lookAtVideo(count: video, seen: self.video.count, now: Self.now)
            return ofVideo.isEmpty ? state.life.lookAtAudio(count: self.audio.count, now: Self.now) : ofVideo
        }
        guard let actions else { return }
        for action in actions { self.perform(action) }
        self.lookLater()
    }

    private func handle(_ event: BusEvent, of number: Int) {
        switch event {
        case .warning: break
        case .error(_, let message, _): self.heard(of: number, message)
        case .endOfStream: self.heard(of: number, nil)
        }
    }

    /// A pass failed, or came to its end.
    private func heard(of number: Int, _ message: String?) {
        let isEarly = self.state.withLock { state in
            guard state.life.wants(number), !state.life.isOpen else { return false }
            state.early = state.early ?? (number, message)
            return true
        }
        if !isEarly { self.ended(number, because: message) }
    }

    private func opened(_ pass: Pass, count: UInt64, hasHole: Bool) {
        self.step { $0.opened(pass.number, count: count, patience: pass.patience, now: $1) }
        if hasHole { self.onHole() }
        let early = self.state.withLock { $0.early.take() }
        if let early { self.ended(early.number, because: early.message) }
    }

    private func ended(_ number: Int, because message: String?) {
        let actions = self.state.withLock { state -> [CaptureLife.Action] in
            // It is opened again when it is due, and then a failure counts.
            if state.next?.number == number { return [.forgetPrepared] }
            return state.life.ended(number, because: message, count: self.count(state), now: Self.now)
        }
        for action in actions { self.perform(action) }
    }

    /// That part of its media goes where no participant receives it.
    private func hide(_ number: Int, _ part: CaptureLife.Part) {
        self.state.withLock { state in
            guard let pass = state.current, pass.number == number else { return }
            let unseen = Unseen(part)
            guard (try? self.attach(pass, unseen.video, unseen.audio)) != nil else { return }
            state.unseen = unseen
        }
    }

    private func show(_ number: Int) {
        let hasHole = self.state.withLock { state -> Bool in
            guard let pass = state.current, pass.number == number else { return false }
            // Audio that is heard already continues undisturbed.
            let isHeard = state.unseen.map { $0.audio == nil } ?? false
            state.unseen = nil
            let hasHole = !isHeard && self.hasHole(before: Self.now)
            try? self.attach(pass, self.video, isHeard ? nil : self.audio)
            return hasHole
        }
        if hasHole { self.onHole() }
    }

    /// Whether there has been no audio for longer than is filled with silence.
    private func hasHole(before instant: UInt64) -> Bool {
        let end = self.audio.endNanoseconds
        return self.source.hasAudio && end > 0 && end + Self.longestSilence < instant
    }

    /// Shows the slate in the place of a source that is away, or of its video; participants are not left with a frozen frame.
    private func showSlate(_ part: CaptureLife.Part) {
        guard var slate = self.slate else { return }
        if part == .video { slate.hasAudio = false }
        do throws(GStreamerError) {
            var pass: Pass?
            if part == .everything { pass = self.state.withLock { $0.spareSlate.take() } }
            if pass == nil { pass = try self.makeSlate(slate) }
            if let pass { try self.play(slate: pass) }
        } catch {
            let (isMissed, former) = self.state.withLock { state -> (Bool, Pass?) in
                state.life.slateFailed()
                return (!state.isStopped, state.slate.take())
            }
            former?.pipeline.stop()
            if isMissed { self.log(.warning, "there is no slate in the place of a source", error.message) }
        }
    }

    private func play(slate pass: Pass) throws(GStreamerError) {
        do throws(GStreamerError) {
            let former = try self.state.withLock { state throws(GStreamerError) -> Pass? in
                guard !state.isStopped else { throw GStreamerError(.interrupted, "the source has ended") }
                let base = Self.now
                try self.attach(pass, self.video, self.audio, base: base)
                try pass.pipeline.play(baseTimeNanoseconds: base)
                let earlier = state.slate
                state.slate = pass
                return earlier
            }
            former?.pipeline.stop()
        } catch {
            pass.pipeline.stop()
            throw error
        }
    }

    private func prepareSlate() {
        guard let slate = self.slate, self.state.withLock({ $0.slate == nil && $0.spareSlate == nil }),
            let pass = try? self.makeSlate(slate)
        else { return }
        // It is made again when it is due if this fails, and then that is logged.
        let isTaken = self.state.withLock { state -> Bool in
            guard !state.isStopped, (try? pass.pipeline.open()) != nil else { return false }
            state.spareSlate = pass
            return true
        }
        if !isTaken { pass.pipeline.stop() }
    }

    private func makeSlate(_ slate: CaptureSource) throws(GStreamerError) -> Pass {
        let number = self.state.withLock { state in
            state.lastSlate -= 1
            return state.lastSlate
        }
        return try self.makePass(number, of: slate)
    }

    private func tell(_ news: CaptureLife.News) {
        switch news {
        case .failed(let message): self.log(.error, "a source failed: it is tried again until it works", message)
        case .silent: self.log(.error, "a source gives nothing: its slate is shown until it does", nil)
        case .withoutVideo:
            self.log(.error, "a source gives audio and no video: its slate is shown until video comes", nil)
        case .withoutAudio:
            self.log(.error, "a source gives video and no audio: it is opened again until audio comes", nil)
        case .slow: self.log(.error, "a source does not open: its slate is shown until it gives something", nil)
        case .brokeOff(let message): self.log(.warning, "a file broke off: it starts over", message)
        case .back: self.log(.notice, "a source is open again", nil)
        }
    }

    private func log(_ level: Logger.Level, _ text: Logger.Message, _ error: String?) {
        var metadata: Logger.Metadata = .tagged([.detail: "\(self.source)"])
        if let error { metadata.merge(.tagged([.errorMessage: "\(error)"])) { $1 } }
        self.logger.log(level: level, text, metadata: metadata)
    }

    // MARK: On the opener

    /// Opens the source, or takes what was opened in advance, and plays it; may take any time.
    private func open(_ number: Int, _ hides: CaptureLife.Part?) {
        guard self.state.withLock({ $0.life.wants(number) }) else { return }
        var made: Pass?
        do throws(GStreamerError) {
            made = self.prepared(number)
            if made == nil { made = try self.makePass(number, of: self.source) }
            guard let pass = made else { return }
            let (base, count, hasHole) = try self.begin(pass, hides)
            try pass.pipeline.play(baseTimeNanoseconds: base)
            let isHeard = hides != .everything
            self.thread.enqueue { [weak self] in self?.opened(pass, count: count, hasHole: hasHole && isHeard) }
        } catch {
            let message = made?.complaints.first ?? error.message
            // What is current already is closed as such.
            if !self.state.withLock({ $0.current?.number == number }) { made?.pipeline.stop() }
            self.thread.enqueue { [weak self] in
                self?.state.withLock { $0.early = nil }
                self?.ended(number, because: message)
            }
        }
    }

    /// What was opened in advance under that number, if it did not fail since.
    private func prepared(_ number: Int) -> Pass? {
        guard let pass = self.state.withLock({ $0.next.take() }) else { return nil }
        if pass.number == number, pass.complaints.first == nil { return pass }
        pass.pipeline.stop()
        return nil
    }

    /// Has the media of a pass go where they belong; its base time, what came there before, and whether its audio begins
    /// behind a hole.
    private func begin(
        _ pass: Pass,
        _ hides: CaptureLife.Part?
    ) throws(GStreamerError) -> (base: UInt64, count: UInt64, hasHole: Bool) {
        try self.state.withLock { state throws(GStreamerError) in
            guard state.life.wants(pass.number) else { throw GStreamerError(.interrupted, "it is not wanted any more") }
            // A live source may move its first time stamps to the instant at which it begins, video and audio each for
            // itself: with a base time of long ago, flash and beep would not be on one grid.
            let now = Self.now
            var base = now
            if self.isFile {
                let end = state.firstBase ?? self.endNanoseconds
                base = end + Self.longestLag < now ? now : end
            }
            // The slate continues until the source gives something.
            state.unseen = hides.map { Unseen($0) }
            let (video, audio) = (state.unseen?.video ?? self.video, state.unseen?.audio ?? self.audio)
            let count = self.count(video, audio)
            let hasHole = state.firstBase == nil && self.hasHole(before: base)
            state.firstBase = nil
            try self.attach(pass, video, audio, base: base)
            state.current = pass
            state.playsFrom = base
            return (base, count, hasHole)
        }
    }

    /// Opens the file a second time, up to its first frame and sample.
    private func prepare(_ number: Int) {
        guard let pass = try? self.makePass(number, of: self.source) else { return }
        // It is opened again when it is due if this fails, and then a failure counts.
        let isOpen = (try? pass.pipeline.pause()) != nil
        let isTaken = self.state.withLock { state -> Bool in
            guard isOpen, pass.complaints.first == nil, state.next == nil,
                state.life.prepares(number) || state.life.wants(number)
            else { return false }
            state.next = pass
            return true
        }
        if !isTaken { pass.pipeline.stop() }
    }

    // MARK: On both

    private func makePass(_ number: Int, of source: CaptureSource) throws(GStreamerError) -> Pass {
        let mode = try CaptureTrial.mode(of: source, settings: self.settings)
        let complaints = FirstError()
        let pipeline = try CapturePipeline.make(source, mode: mode?.caps, self.settings, name: self.name) {
            [weak self, thread = self.thread] event in
            complaints.note(event)
            thread.enqueue { [weak self] in self?.handle(event, of: number) }
        }
        if source.hasVideo {
            try self.gates.video.attach(to: try pipeline.element(named: CapturePipeline.videoSink))
        }
        if source.hasAudio {
            try self.gates.audio.attach(to: try pipeline.element(named: CapturePipeline.audioSink))
        }
        // A camera's rate may be lower than the one that is asked for.
        let rate = min(mode?.rate.value ?? .infinity, Double(self.settings.framesPerSecond))
        let patience = CaptureLife.patience(of: self.source.kind, framesPerSecond: rate)
        return Pass(
            number: number,
            pipeline: pipeline,
            complaints: complaints,
            hasAudio: source.hasAudio,
            patience: patience
        )
    }

    /// Has what a pass gives go there.
    ///
    /// - Parameters:
    ///   - audio: `nil` to leave its audio where it goes.
    ///   - base: The base time that its pipeline will get; `nil` if it has it.
    private func attach(
        _ pass: Pass,
        _ video: FanOut,
        _ audio: FanOut?,
        base: UInt64? = nil
    ) throws(GStreamerError) {
        if self.source.hasVideo {
            try video.attach(to: pass.pipeline, sink: CapturePipeline.videoSink, baseTimeNanoseconds: base)
        }
        if let audio, pass.hasAudio {
            try audio.attach(to: pass.pipeline, sink: CapturePipeline.audioSink, baseTimeNanoseconds: base)
        }
    }
}
