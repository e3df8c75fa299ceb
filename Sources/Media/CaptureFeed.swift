// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Logging
internal import Observability
internal import Synchronization

/// Keeps one source running: a file over and over, a device again when it comes back.
///
/// Each pass of a file is a pipeline of its own whose running time starts where the one before it ended, so time stamps
/// go on without a gap; the pipeline of the next pass is opened in advance. A device that fails is logged once and
/// tried every few seconds. `start` and `stop` are called on the session's control thread; everything else happens on
/// `thread`.
final class CaptureFeed: Sendable {
    let source: CaptureSource
    private let settings: CameraSettings
    private let picture: FanOut
    private let sound: FanOut
    private let thread: ControlThread
    private let logger: Logger
    /// Called on `thread` when sound comes again after a hole that is too long to be filled with silence.
    private let onHole: @Sendable () -> Void
    private let state: Mutex<State>

    private static let deviceRetryDelay = Duration.seconds(3)
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
        var lastNumber = 0
        var baseNanoseconds: UInt64 = 0
        /// Buffers that had come before the current pass.
        var countBefore: UInt64 = 0
        var failures = 0
        var isReported = false
        var isStopped = false
    }

    /// One pipeline, and the number by which its messages are known.
    private struct Pass {
        let number: Int
        let pipeline: Pipeline
        let complaints: FirstComplaint
    }

    init(
        _ source: CaptureSource,
        settings: CameraSettings,
        picture: FanOut,
        sound: FanOut,
        thread: ControlThread,
        logger: Logger,
        onHole: @escaping @Sendable () -> Void
    ) {
        self.source = source
        self.settings = settings
        self.picture = picture
        self.sound = sound
        self.thread = thread
        self.logger = logger
        self.onHole = onHole
        self.state = Mutex(State())
    }

    /// The graph of the running pipeline in the DOT language, if one runs.
    var graph: String? { self.state.withLock { $0.current?.pipeline.graph } }

    private var isFile: Bool {
        if case .file = self.source.kind { true } else { false }
    }

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
            defer { (state.current, state.next) = (nil, nil) }
            return [state.current, state.next].compactMap { $0 }
        }
        for pass in passes { pass.pipeline.stop() }
    }

    private var count: UInt64 {
        (self.source.hasVideo ? self.picture.count : 0) + (self.source.hasAudio ? self.sound.count : 0)
    }

    /// Where what came so far ends, on the clock.
    private var endNanoseconds: UInt64 {
        max(
            self.source.hasVideo ? self.picture.endNanoseconds : 0,
            self.source.hasAudio ? self.sound.endNanoseconds : 0
        )
    }

    private func makePass(_ state: inout State) throws(GStreamerError) -> Pass {
        state.lastNumber += 1
        let number = state.lastNumber
        var mode: VideoMode?
        if case .camera = self.source.kind { mode = try CaptureTrial.openOnce(self.source, settings: self.settings) }
        let complaints = FirstComplaint()
        let pipeline = try CaptureLaunch(self.source, mode: mode).pipeline(self.settings) {
            [weak self, thread = self.thread] event in
            complaints.note(event)
            thread.enqueue { [weak self] in self?.handle(event, of: number) }
        }
        return Pass(number: number, pipeline: pipeline, complaints: complaints)
    }

    /// Plays the pass that is ready, or a new one, from the base time on; returns why not.
    private func play(_ state: inout State) -> GStreamerError? {
        var pass = state.next
        state.next = nil
        do throws(GStreamerError) {
            let playing: Pass
            if let pass { playing = pass } else { playing = try self.makePass(&state) }
            pass = playing
            state.countBefore = self.count
            // A test source moves its first time stamps to the instant at which it begins, picture and sound each for
            // itself: with a base time of long ago, flash and beep would not be on one grid.
            let isTest = self.source.kind == .test
            let base = isTest ? UInt64(clamping: Runtime.monotonicNanoseconds) : state.baseNanoseconds
            if self.source.hasVideo {
                try self.picture.attach(to: playing.pipeline, sink: "raw", baseTimeNanoseconds: base)
            }
            if self.source.hasAudio {
                try self.sound.attach(to: playing.pipeline, sink: "pcm", baseTimeNanoseconds: base)
            }
            try playing.pipeline.play(baseTimeNanoseconds: base)
            state.current = playing
        } catch {
            pass?.pipeline.stop()
            return GStreamerError(error.code, pass?.complaints.first ?? error.message)
        }
        if self.isFile { self.thread.enqueue { [weak self] in self?.prepareNext() } }
        return nil
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
            current.pipeline.stop()
            state.current = nil
            let gaveSomething = self.count > state.countBefore
            if gaveSomething { state.failures = 0 }
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
            return self.isFile ? Self.fileRetryDelay * (1 << (state.failures - 1)) : Self.deviceRetryDelay
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
