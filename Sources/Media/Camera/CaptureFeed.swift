// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Logging
internal import Observability
internal import Rooms
internal import Synchronization

/// Keeps one source running: a file over and over, a device again when it comes back, and a slate until then.
///
/// Each pass of a file is a pipeline of its own whose running time starts where the one before it ended, so time stamps
/// go on without a gap; the pipeline of the next pass is opened in advance. A source that fails, or gives nothing for a
/// while, is logged once; it is shown again with its first picture or sound. `start` and `stop` are called on the session's
/// control thread; everything else happens on `thread`.
final class CaptureFeed: Sendable {
    let source: CaptureSource
    private let slate: CaptureSource?
    private let settings: SendSpec
    private let name: String
    private let picture: FanOut
    private let sound: FanOut
    private let gates: CaptureGates
    private let thread: ControlThread
    private let logger: Logger
    /// Called on `thread` when sound comes again after a hole that is too long to be filled with silence.
    private let onHole: @Sendable () -> Void
    private let state: Mutex<State>

    private static let deviceRetryDelay = Duration.seconds(1)
    private static let streamRetryDelay = Duration.seconds(3)
    /// How often it is looked whether a source gives something.
    private static let lookDelay = Duration.milliseconds(100)
    /// A device that gives nothing for this long, and for three frames, is replaced: the slate is there within a second.
    private static let devicePatience: UInt64 = 600_000_000
    /// The same for what comes over a network or has a rate that we do not know.
    private static let streamPatience: UInt64 = 5_000_000_000
    /// The first picture or sound of a device may take this long.
    private static let firstPatience: UInt64 = 3_000_000_000
    /// A file that gives nothing for this long, though it neither ended nor failed, has failed: as one whose content was
    /// exchanged while it was being opened.
    private static let fileFirstPatience: UInt64 = 10_000_000_000
    /// The same between two frames or sounds: pictures of a file may be far apart.
    private static let filePatience: UInt64 = 60_000_000_000
    /// A device that gives nothing for this long behind its slate is opened again.
    private static let deviceLimit: UInt64 = 10_000_000_000
    /// Files: this often in a row without a single frame or sound, with growing waits, and it is given up.
    private static let fileAttempts = 5
    private static let fileRetryDelay = Duration.milliseconds(500)
    /// A pass that starts this late starts a new time line, as after a suspended machine.
    private static let longestLag: UInt64 = 1_000_000_000
    /// A hole in the sound up to this long is filled with silence; after a longer one the encoder starts anew.
    private static let longestSilence: UInt64 = 1_000_000_000

    private struct State {
        var current: Pass?
        var next: Pass?
        /// What is shown while the source is away, or gives nothing.
        var slate: Pass?
        /// A slate with its elements loaded, for a device: loading them takes time when every moment is seen.
        var spareSlate: Pass?
        /// Whether the current pass gives something.
        var liveness: CaptureLiveness?
        /// Where media of a hidden pass are counted.
        var unseen: (picture: FanOut, sound: FanOut)?
        var lastNumber = 0
        var baseNanoseconds: UInt64 = 0
        /// Running time 0 of the current pass, on the clock.
        var playsFrom: UInt64?
        var failures = 0
        var isReported = false
        var isStopped = false
    }

    /// One pipeline, and the number by which its messages are known.
    private struct Pass {
        let number: Int
        let pipeline: Pipeline
        let complaints: FirstError
        /// The base time of its pipeline while it plays.
        var baseNanoseconds: UInt64 = 0
        /// A pause that is longer than this says that it gives nothing, in nanoseconds.
        let patience: UInt64
    }

    init(
        _ source: CaptureSource,
        slate: CaptureSource?,
        settings: SendSpec,
        name: String,
        picture: FanOut,
        sound: FanOut,
        gates: CaptureGates,
        thread: ControlThread,
        logger: Logger,
        onHole: @escaping @Sendable () -> Void
    ) {
        self.source = source
        self.slate = slate
        self.settings = settings
        self.name = name
        self.picture = picture
        self.sound = sound
        self.gates = gates
        self.thread = thread
        self.logger = logger
        self.onHole = onHole
        self.state = Mutex(State())
    }

    /// The graph of the running pipeline in the DOT language, if one runs.
    var graph: String? { self.state.withLock { $0.current?.pipeline.graph } }

    private var isFile: Bool { self.source.isFile }

    /// Whether the source is away and the slate is shown.
    var showsSlate: Bool { self.state.withLock { $0.slate != nil } }

    /// Running time 0 of the pipeline that plays, or played last, on the clock; nil before the first.
    var playsFromNanoseconds: UInt64? { self.state.withLock { $0.playsFrom } }

    /// Starts with running time 0 at `baseNanoseconds` of the clock; what fails is tried again.
    func start(baseNanoseconds: UInt64) {
        let failure = self.state.withLock { state -> GStreamerError? in
            state.baseNanoseconds = baseNanoseconds
            return self.play(&state)
        }
        if let failure { self.failed(failure.message) }
    }

    /// Ends it; nothing comes after it returned.
    func stop() {
        let passes = self.state.withLock { state in
            state.isStopped = true
            defer {
                (state.current, state.next, state.slate, state.spareSlate) = (nil, nil, nil, nil)
                state.unseen = nil
            }
            return [state.current, state.next, state.slate, state.spareSlate].compactMap { $0 }
        }
        for pass in passes { pass.pipeline.stop() }
    }

    private var count: UInt64 { self.count(self.picture, self.sound) }

    private func count(_ picture: FanOut, _ sound: FanOut) -> UInt64 {
        (self.source.hasVideo ? picture.count : 0) + (self.source.hasAudio ? sound.count : 0)
    }

    /// Where what came so far ends, on the clock.
    private var endNanoseconds: UInt64 {
        max(
            self.source.hasVideo ? self.picture.endNanoseconds : 0,
            self.source.hasAudio ? self.sound.endNanoseconds : 0
        )
    }

    private func makePass(_ state: inout State) throws(GStreamerError) -> Pass {
        try self.makePass(of: self.source, &state)
    }

    private func makePass(of source: CaptureSource, _ state: inout State) throws(GStreamerError) -> Pass {
        state.lastNumber += 1
        let number = state.lastNumber
        let mode = try CaptureTrial.mode(of: source, settings: self.settings)
        let complaints = FirstError()
        let pipeline = try CapturePipeline.make(source, mode: mode?.caps, self.settings, name: self.name) {
            [weak self, thread = self.thread] event in
            complaints.note(event)
            thread.enqueue { [weak self] in self?.handle(event, of: number) }
        }
        if source.hasVideo {
            try self.gates.picture.attach(to: try pipeline.element(named: CapturePipeline.pictureSink))
        }
        if source.hasAudio {
            try self.gates.sound.attach(to: try pipeline.element(named: CapturePipeline.soundSink))
        }
        return Pass(
            number: number,
            pipeline: pipeline,
            complaints: complaints,
            patience: self.patience(framesPerSecond: mode?.rate.value)
        )
    }

    private var isDevice: Bool { self.source.isCamera || self.source.isMicrophone }

    /// How long the source may give nothing; a camera's rate may be lower than the one that is asked for.
    private func patience(framesPerSecond rate: Double?) -> UInt64 {
        if self.isFile { return Self.filePatience }
        guard self.isDevice else { return Self.streamPatience }
        let slowest = max(0.1, min(rate ?? .infinity, Double(self.settings.framesPerSecond)))
        return max(Self.devicePatience, UInt64(3_000_000_000 / slowest))
    }

    /// Plays the pass that is ready, or a new one, from the base time on; returns why not.
    private func play(_ state: inout State) -> GStreamerError? {
        var pass = state.next
        state.next = nil
        do throws(GStreamerError) {
            var playing: Pass
            if let pass { playing = pass } else { playing = try self.makePass(&state) }
            pass = playing
            // A live source may move its first time stamps to the instant at which it begins, picture and sound each for
            // itself: with a base time of long ago, flash and beep would not be on one grid.
            let base = self.isFile ? state.baseNanoseconds : UInt64(clamping: Runtime.monotonicNanoseconds)
            playing.baseNanoseconds = base
            // The slate goes on until the source gives something.
            state.unseen = state.slate.map { _ in Self.counters() }
            let (picture, sound) = state.unseen ?? (self.picture, self.sound)
            try self.attach(playing, picture, sound)
            try playing.pipeline.play(baseTimeNanoseconds: base)
            state.current = playing
            state.playsFrom = base
        } catch {
            pass?.pipeline.stop()
            state.unseen = nil
            return GStreamerError(error.code, pass?.complaints.first ?? error.message)
        }
        if let pass { self.watch(pass, &state) }
        if self.isFile { self.thread.enqueue { [weak self] in self?.prepareNext() } }
        if self.isDevice { self.thread.enqueue { [weak self] in self?.prepareSlate() } }
        return nil
    }

    /// Looks from now on whether the pass that has begun gives something.
    private func watch(_ pass: Pass, _ state: inout State) {
        state.liveness = CaptureLiveness(
            isHidden: state.unseen != nil,
            count: state.unseen == nil ? self.count : 0,
            now: UInt64(clamping: Runtime.monotonicNanoseconds),
            patience: pass.patience,
            firstPatience: self.isFile ? Self.fileFirstPatience : max(pass.patience, Self.firstPatience),
            limit: self.isDevice ? Self.deviceLimit : nil
        )
        self.lookLater(at: pass.number)
    }

    /// Where media go of which nobody sees anything.
    private static func counters() -> (picture: FanOut, sound: FanOut) {
        (FanOut(startsAtKeyframe: false), FanOut(startsAtKeyframe: false))
    }

    private func attach(_ pass: Pass, _ picture: FanOut, _ sound: FanOut) throws(GStreamerError) {
        let base = pass.baseNanoseconds
        if self.source.hasVideo {
            try picture.attach(to: pass.pipeline, sink: CapturePipeline.pictureSink, baseTimeNanoseconds: base)
        }
        if self.source.hasAudio {
            try sound.attach(to: pass.pipeline, sink: CapturePipeline.soundSink, baseTimeNanoseconds: base)
        }
    }

    /// Shows the slate in the place of a source that is away; whoever looks is not left with a frozen picture.
    private func showSlate(_ state: inout State) {
        guard let slate = self.slate, state.slate == nil, !state.isStopped,
            var pass = try? state.spareSlate ?? self.makePass(of: slate, &state)
        else { return }
        state.spareSlate = nil
        do throws(GStreamerError) {
            pass.baseNanoseconds = UInt64(clamping: Runtime.monotonicNanoseconds)
            try self.attach(pass, self.picture, self.sound)
            try pass.pipeline.play(baseTimeNanoseconds: pass.baseNanoseconds)
            state.slate = pass
        } catch {
            pass.pipeline.stop()
            self.log(.warning, "there is no slate in the place of a source", error.message)
        }
    }

    /// On `thread`: loads the elements of the slate in advance.
    private func prepareSlate() {
        self.state.withLock { state in
            guard let slate = self.slate, !state.isStopped, state.slate == nil, state.spareSlate == nil,
                let pass = try? self.makePass(of: slate, &state)
            else { return }
            do {
                try pass.pipeline.open()
                state.spareSlate = pass
            } catch {
                // It is made again when it is due, and then a failure is logged.
                pass.pipeline.stop()
            }
        }
    }

    private func lookLater(at number: Int) {
        self.thread.enqueue(after: Self.lookDelay) { [weak self] in self?.look(at: number) }
    }

    /// On `thread`, several times a second: hides a source that gives nothing, and shows it when it does; a file that gives
    /// nothing has nothing to show in its place, and is opened again.
    private func look(at number: Int) {
        let isStuck = self.state.withLock { state -> Bool in
            guard let pass = state.current, pass.number == number else { return false }
            switch self.finding(&state) {
            case .unchanged, nil: break
            case .silent where self.isFile: return true
            case .silent: self.hide(pass, &state)
            case .gives: self.show(pass, &state)
            case .stuck: return true
            }
            self.lookLater(at: number)
            return false
        }
        if isStuck { self.ended(number, because: "it gives nothing") }
    }

    private func finding(_ state: inout State) -> CaptureLiveness.Finding? {
        let (picture, sound) = state.unseen ?? (self.picture, self.sound)
        return state.liveness?.look(
            count: self.count(picture, sound),
            now: UInt64(clamping: Runtime.monotonicNanoseconds)
        )
    }

    /// Its media go where nobody sees them, and the slate is shown.
    private func hide(_ pass: Pass, _ state: inout State) {
        let unseen = Self.counters()
        guard (try? self.attach(pass, unseen.picture, unseen.sound)) != nil else { return }
        state.unseen = unseen
        state.liveness?.moved(count: 0)
        if !state.isReported {
            state.isReported = true
            self.log(.error, "a source gives nothing: its slate is shown until it does", nil)
        }
        self.showSlate(&state)
    }

    /// Takes the place of the slate.
    private func show(_ pass: Pass, _ state: inout State) {
        state.slate?.pipeline.stop()
        let hadSlate = state.slate != nil
        (state.slate, state.unseen) = (nil, nil)
        try? self.attach(pass, self.picture, self.sound)
        state.liveness?.moved(count: self.count)
        state.failures = 0
        state.isReported = false
        self.log(.notice, "a source is open again", nil)
        if self.source.hasAudio, !hadSlate { self.thread.enqueue(self.onHole) }
        if self.isDevice { self.thread.enqueue { [weak self] in self?.prepareSlate() } }
    }

    /// Opens the file a second time, up to its first picture and sound.
    private func prepareNext() {
        self.state.withLock { state in
            guard !state.isStopped, state.next == nil, let pass = try? self.makePass(&state) else { return }
            do {
                try pass.pipeline.pause()
                state.next = pass
            } catch {
                // It is opened again when it is due, and then a failure counts.
                pass.pipeline.stop()
            }
        }
    }

    /// On `thread`.
    private func handle(_ event: BusEvent, of number: Int) {
        switch event {
        case .warning: break
        case .error(_, let message, _): self.ended(number, because: message)
        case .endOfStream: self.ended(number, because: nil)
        }
    }

    /// On `thread`: a pass has ended by itself, or by an error.
    private func ended(_ number: Int, because message: String?) {
        let failure = self.state.withLock { state -> String? in
            if let next = state.next, next.number == number {
                // It is opened again when it is due, and then a failure counts.
                next.pipeline.stop()
                state.next = nil
            }
            guard let current = state.current, current.number == number else { return nil }
            state.current = nil
            // What came since the last look counts as well.
            _ = self.finding(&state)
            // Nobody waits for a device to close.
            if !self.isFile { self.showSlate(&state) }
            current.pipeline.stop()
            let gaveSomething = state.liveness?.hasGiven == true
            (state.liveness, state.unseen) = (nil, nil)
            if gaveSomething {
                state.failures = 0
            } else {
                // What was opened in advance is the file as it was then.
                state.next?.pipeline.stop()
                state.next = nil
            }
            guard self.isFile, gaveSomething else {
                if gaveSomething { state.isReported = false }
                return message ?? "it ended by itself"
            }
            if let message, !state.isReported {
                state.isReported = true
                self.log(.warning, "a file broke off: it starts over", message)
            }
            return self.goOn(&state)?.message
        }
        if let failure { self.failed(failure) }
    }

    /// Plays the file again from where its media ended on the clock, or from now if that is long ago.
    private func goOn(_ state: inout State) -> GStreamerError? {
        let now = UInt64(clamping: Runtime.monotonicNanoseconds)
        let end = self.endNanoseconds
        state.baseNanoseconds = end + Self.longestLag < now ? now : end
        let soundEnd = self.sound.endNanoseconds
        let hasHole = self.source.hasAudio && soundEnd > 0 && soundEnd + Self.longestSilence < state.baseNanoseconds
        if let error = self.play(&state) { return error }
        if hasHole { self.thread.enqueue(self.onHole) }
        return nil
    }

    /// Any of the two threads: there is no pass any more, and no media came of the last one.
    private func failed(_ message: String) {
        let delay = self.state.withLock { state -> Duration? in
            guard !state.isStopped else { return nil }
            state.failures += 1
            if self.isFile, state.failures >= Self.fileAttempts {
                self.log(.error, "a file is given up: nothing of it is sent any more", message)
                return nil
            }
            if !state.isReported {
                state.isReported = true
                self.log(.error, "a source failed: it is tried again until it works", message)
            }
            self.showSlate(&state)
            if self.isFile { return Self.fileRetryDelay * (1 << (state.failures - 1)) }
            return self.isDevice ? Self.deviceRetryDelay : Self.streamRetryDelay
        }
        guard let delay else { return }
        self.thread.enqueue(after: delay) { [weak self] in self?.retry() }
    }

    /// On `thread`.
    private func retry() {
        let failure = self.state.withLock { state -> GStreamerError? in
            guard !state.isStopped, state.current == nil else { return nil }
            if self.isFile { return self.goOn(&state) }
            if let error = self.play(&state) { return error }
            // Behind a slate it is shown with its first picture or sound.
            guard state.unseen == nil else { return nil }
            self.log(.notice, "a source is open again", nil)
            if self.source.hasAudio { self.thread.enqueue(self.onHole) }
            return nil
        }
        if let failure { self.failed(failure.message) }
    }

    private func log(_ level: Logger.Level, _ text: Logger.Message, _ error: String?) {
        var metadata: Logger.Metadata = .tagged([.detail: "\(self.source)"])
        if let error { metadata.merge(.tagged([.errorMessage: "\(error)"])) { $1 } }
        self.logger.log(level: level, text, metadata: metadata)
    }
}
