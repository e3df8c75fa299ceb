// SPDX-License-Identifier: Apache-2.0

public import Basics
public import GStreamer
public import Logging
public import Model
internal import Observability
public import PipelineCatalogue
internal import Session
internal import Synchronization

extension PreferredCodec {
    /// The codecs that a camera may send, best first.
    var codecs: [MediaCodec] {
        switch self {
        case .h264: [.h264, .vp8]
        case .vp8, .any: [.vp8, .h264]
        case .vp9: [.vp9, .vp8, .h264]
        }
    }
}

/// The camera: captures once, encodes once per codec in use, and feeds every peer.
///
/// The test pattern carries a clock for viewers and a frame counter for machines; once a second it flashes while the
/// test tone beeps (Tests/Peers/test-pattern.md). Files are repeated, devices that fail are tried again. Pipelines start
/// with their first consumer, and end a few seconds after their last: who takes audio opens no camera. All methods are
/// called on the session's control thread.
public final class CameraSource: Sendable {
    /// What is captured and coded now.
    private let current: Mutex<SendSpec>
    private let name: String
    private let gates = CaptureGates()
    private let pipelines: PipelineCatalogue
    private let logger: Logger
    /// Where it is decided about sources, and encoders that fail are exchanged; sources open and close on separate threads.
    private let captureThread = ControlThread(name: "capture")
    private let video = FanOut(startsAtKeyframe: false)
    private let audio = FanOut(startsAtKeyframe: false)
    private let audioMeter = AudioMeter()
    /// Held for moments: encoders start and end without it.
    private let state = Mutex(Stages())
    private let rates = Mutex(Rates())

    /// Raw frames that may wait for an encoder: as many as half a second has at 30 frames a second.
    private static let maximumRawFrames = 15
    /// Keyframes that follow each other faster would fill a way that is full.
    private static let reducedKeyframeSpacing = Duration.milliseconds(500)
    /// Raw audio that may wait for its encoder: about a second.
    private static let maximumRawAudio = 60
    /// How often it is looked whether anybody receives something, and whether there is something to be heard.
    private static let lookDelay = Duration.seconds(1)
    /// How long its end waits for its sources to close.
    private static let longestClosing = Duration.seconds(2)

    /// What video is coded with.
    private struct Rates {
        /// Each video codec that a participant takes.
        var encoders: [MediaCodec: EncoderRate] = [:]
        /// What the peers of each session that sends this camera allow.
        var sessions: [ObjectIdentifier: [MediaCodec: [RateLimit]]] = [:]
        var reductions: UInt64 = 0

        /// What all peers of a codec allow together; nil if there are none.
        func limit(_ codec: MediaCodec) -> RateLimit? {
            RateLimit.shared(by: self.sessions.values.flatMap { $0[codec] ?? [] })
        }
    }

    private struct Stages {
        /// Running time 0 of what is captured, once that has begun.
        var baseNanoseconds: UInt64?
        var feeds: [CaptureFeed] = []
        /// Sources that were ended and may not be closed yet.
        var closing: [CaptureFeed] = []
        /// How often those that were ended failed.
        var failures: UInt64 = 0
        var encoders: [MediaCodec: Encoder] = [:]
        /// What each codec's encoders made so far, and its consumers, also while none runs.
        var outputs: [MediaCodec: FanOut] = [:]
        var lives: [MediaCodec: EncoderLife] = [:]
        /// What is left to try of each codec.
        var choices: [MediaCodec: EncoderChoice] = [:]
        /// What encoders had no time for.
        var backlogs: [MediaCodec: EncoderBacklog] = [:]
        var silence = SilenceWatch()
        var isWatched = false
        var isStopped = false
    }

    /// A running encoder, what it takes, and what it makes.
    private struct Encoder {
        /// By which its messages are known.
        let number: Int
        let file: PipelineFile
        var pipeline: Pipeline
        var input: FanOut.Consumer
        let output: FanOut
        /// What it had no time for, as far as that is counted.
        var dropped: UInt64 = 0

        /// What it had no time for since that was counted.
        var newlyDropped: UInt64 {
            let all = self.input.counters.dropped
            return all - min(all, self.dropped)
        }
    }

    /// Nothing runs until the first consumer comes.
    ///
    /// - Parameter name: What the camera is called: its test tone distinguishes it from others.
    public init(
        settings: SendSpec,
        name: String = TestTone.usualName,
        pipelines: PipelineCatalogue,
        logger: Logger
    ) {
        self.current = Mutex(settings)
        self.name = name
        self.pipelines = pipelines
        self.logger = logger
        self.gates.follow(settings.mutes)
    }

    /// What is captured and coded now.
    ///
    /// Any thread.
    public var settings: SendSpec { self.current.withLock { $0 } }

    /// What is not to be seen or heard at present.
    ///
    /// Any thread.
    public var mutes: CameraMutes { self.gates.mutes }

    /// Mutes and freezes this at once and until the next call, besides what the settings mute; `capture` closes and opens devices.
    ///
    /// Any thread, also while `capture` waits; waits for nothing.
    public func hide(_ mutes: CameraMutes) {
        self.gates.hide(mutes)
    }

    /// What can be sent at all, by what is installed: video codecs first named by `preferred`.
    public func codecs(preferred: PreferredCodec) -> (video: [MediaCodec], audio: [MediaCodec]) {
        func installed(_ codecs: [MediaCodec]) -> [MediaCodec] {
            codecs.filter(self.isInstalled)
        }
        return (
            self.settings.sendsVideo ? installed(preferred.codecs) : [],
            self.settings.sendsAudio ? installed([.opus]) : []
        )
    }

    private func isInstalled(_ codec: MediaCodec) -> Bool {
        !EncoderChoice(codec, from: self.pipelines).candidates.isEmpty
    }

    /// The encoded stream of a codec; starts capture and encoder if this is its first use, and does not wait for what is
    /// captured.
    ///
    /// Where all encoders failed, also when they were to start for the first time, it is the stream of the one that works
    /// later.
    /// - Throws: if no encoder is installed, among others.
    public func output(of codec: MediaCodec) throws(GStreamerError) -> FanOut {
        let (output, isNew, actions) = try self.outputAtOnce(of: codec)
        if let error = self.perform(actions, of: codec), isNew, !self.isInstalled(codec) {
            self.state.withLock { $0.outputs[codec] = nil }
            throw error
        }
        return output
    }

    /// The stream, whether it was made now, and what its encoder needs.
    private func outputAtOnce(
        of codec: MediaCodec
    ) throws(GStreamerError) -> (FanOut, isNew: Bool, [EncoderLife.Action]) {
        let now = UInt64(clamping: Runtime.monotonicNanoseconds)
        do {
            return try self.state.withLock { stages in
                guard !stages.isStopped else { throw GStreamerError(.interrupted, "the camera has ended") }
                guard codec == .opus ? self.settings.sendsAudio : self.settings.sendsVideo else {
                    throw GStreamerError(.parse, "the camera has no \(codec == .opus ? "audio" : "video")")
                }
                let known = stages.outputs[codec]
                var life = stages.lives[codec] ?? EncoderLife()
                guard life.isActive || life.mayStart(at: now) else {
                    if let known { return (known, false, []) }
                    throw GStreamerError(.missingElement, "no encoder for \(codec.capsName) works")
                }
                if !life.isActive { try self.startCapture(of: [codec.kind], &stages) }
                let actions = life.wanted(at: now)
                let output = known ?? FanOut(startsAtKeyframe: codec != .opus)
                (stages.lives[codec], stages.outputs[codec]) = (life, output)
                return (output, known == nil, actions)
            }
        } catch let error as GStreamerError {
            throw error
        } catch {
            throw GStreamerError(.stateChange, "\(error)")
        }
    }

    /// Opens the sources although no participant receives them yet, if they are to be kept open.
    ///
    /// - Throws: for what no capture file gives.
    public func open() throws(CaptureError) {
        try self.state.withLock { stages throws(CaptureError) in
            guard self.settings.keepsOpen, !stages.isStopped else { return }
            try self.startCapture(of: [], &stages)
        }
    }

    /// How loud what goes into the encoder of sound is; nil while no participant takes it.
    public var audioLevel: AudioLevel? {
        self.state.withLock { $0.encoders[.opus] == nil ? nil : self.audioMeter.level }
    }

    /// A peer's view of its network, at its beginning; nil where the rate is fixed.
    var rateController: RateController? {
        let settings = self.settings
        guard settings.hasAdaptiveRate else { return nil }
        return RateController(minimum: settings.minimumBitsPerSecond, maximum: settings.bitsPerSecond)
    }

    /// Video bits a second that are asked of the encoder that is asked for least; nil while none runs.
    ///
    /// Any thread.
    public var targetBitsPerSecond: Int? {
        let running = self.state.withLock { $0.encoders.keys.filter { $0 != .opus } }
        let rates = self.rates.withLock { $0.encoders }
        return running.map { rates[$0]?.bitsPerSecond ?? self.settings.bitsPerSecond }.min()
    }

    /// How often an encoder was asked for less than before.
    public var reductions: UInt64 { self.rates.withLock { $0.reductions } }

    /// Takes what the networks of one session's peers allow, by the video codec that they get; nothing when it ends.
    ///
    /// Any thread; nothing blocks. Twenty times a second from each session that sends this camera.
    /// - Returns: whether `applyRates()` has something to do.
    func follow(_ peers: [MediaCodec: [RateLimit]], of session: ObjectIdentifier, at now: UInt64) -> Bool {
        self.rates.withLock { rates in
            rates.sessions[session] = peers.isEmpty ? nil : peers
            var isChanged = false
            for codec in Set(rates.encoders.keys).union(peers.keys) {
                var rate = rates.encoders[codec] ?? EncoderRate(configured: self.settings.bitsPerSecond)
                let limit = rates.limit(codec)
                // No participant takes it: the next one begins with all of it.
                switch rate.follow(limit ?? RateLimit(bitsPerSecond: self.settings.bitsPerSecond), at: now) {
                case .nothing: break
                case .tell: isChanged = true
                case .reduce:
                    isChanged = true
                    rates.reductions += 1
                }
                rates.encoders[codec] = limit == nil && !rate.isReduced && !rate.isDue ? nil : rate
            }
            // A pause is for once; the other sessions ask during it.
            rates.sessions[session] = rates.sessions[session]?.mapValues { limits in
                limits.map { RateLimit(bitsPerSecond: $0.bitsPerSecond) }
            }
            return isChanged
        }
    }

    /// Gives the encoders what `follow` found.
    ///
    /// Control thread.
    func applyRates() {
        let due = self.rates.withLock { rates in
            rates.encoders.keys.filter { rates.encoders[$0]?.isDue ?? false }.reduce(into: [:]) { due, codec in
                due[codec] = rates.encoders[codec]?.taken()
            }
        }
        self.state.withLock { stages in
            for (codec, rate) in due {
                guard let encoder = stages.encoders[codec] else { continue }
                self.apply(rate, to: encoder)
            }
        }
    }

    private func apply(_ rate: EncoderRate, to encoder: Encoder) {
        if rate.pauseDue > .zero { encoder.input.hold(rate.pauseDue) }
        encoder.input.takeOneOf(rate.step.framesDivisor)
        encoder.output.spaceKeyframes(rate.isReduced ? Self.reducedKeyframeSpacing : .zero)
        do throws(GStreamerError) {
            try EncoderPipeline.set(rate, on: encoder.pipeline, of: encoder.file, self.settings)
        } catch {
            self.logger.error(
                "an encoder does not take another bit rate",
                metadata: .tagged([.detail: "\(encoder.file.path)", .errorMessage: "\(error)"])
            )
        }
    }

    /// The files of the encoders that run, as `encode/x264enc`.
    public var encoders: [MediaCodec: String] {
        self.state.withLock { $0.encoders.mapValues(\.file.path) }
    }

    /// Distinguishes the encoders that run from those before them.
    var encoderNumbers: [MediaCodec: Int] {
        self.state.withLock { $0.encoders.mapValues(\.number) }
    }

    /// Frames captured and frames encoded so far.
    public var frameCounts: (captured: UInt64, encoded: [MediaCodec: UInt64]) {
        (self.video.count, self.state.withLock { $0.outputs.mapValues(\.count) })
    }

    /// `CLOCK_MONOTONIC` of frame 0 of the test pattern; nil before the first consumer came.
    public var firstFrameNanoseconds: UInt64? {
        self.state.withLock { $0.feeds.first { $0.source.hasVideo }?.playsFromNanoseconds }
    }

    /// The graphs of the running pipelines in the DOT language, by name.
    var graphs: [String: String] {
        self.state.withLock { stages in
            var graphs: [String: String] = [:]
            for feed in stages.feeds { graphs["capture \(feed.source)"] = feed.graph }
            for (codec, encoder) in stages.encoders { graphs["encode-\(codec.capsName)"] = encoder.pipeline.graph }
            return graphs
        }
    }

    /// Ends everything, sources first; a source that does not close in time is left behind.
    public func stop() {
        let stages = self.state.withLock { stages in
            // What their lives say is done here: sources end before them.
            for codec in stages.lives.keys { _ = stages.lives[codec]?.stop() }
            defer { stages = Stages(lives: stages.lives, isStopped: true) }
            return stages
        }
        for encoder in stages.encoders.values { encoder.input.remove() }
        for feed in stages.feeds { feed.stop() }
        for encoder in stages.encoders.values { encoder.pipeline.stop() }
        let deadline = ContinuousClock.now + Self.longestClosing
        for feed in stages.feeds + stages.closing where !feed.isClosed(within: max(.zero, deadline - .now)) {
            self.logger.warning("a source does not close", metadata: .tagged([.detail: "\(feed.source)"]))
        }
    }

    /// How often sources failed or gave nothing, since the camera began.
    public var failures: UInt64 {
        self.state.withLock { stages in stages.failures + stages.feeds.reduce(0) { $0 + $1.failures } }
    }

    /// Raw frames or samples that were left out because an encoder did not keep up, since the camera began; codecs that lost
    /// nothing are not named.
    ///
    /// Any thread.
    public var dropped: [MediaCodec: UInt64] {
        self.state.withLock { stages in
            var totals = stages.backlogs.mapValues(\.total)
            for (codec, encoder) in stages.encoders { totals[codec, default: 0] += encoder.newlyDropped }
            return totals.filter { $0.value > 0 }
        }
    }

    /// Starts the sources that give these kinds, or all if they are to be kept open, but for those that run; running time 0 of
    /// the first.
    private func startCapture(of kinds: Set<MediaKind>, _ stages: inout Stages) throws(CaptureError) {
        let settings = self.settings
        let running = stages.feeds.map(\.source)
        let missing = self.neededKinds(stages).union(kinds).filter { kind in
            !running.contains { $0.gives(anyOf: [kind]) }
        }
        let sources = self.shown(try CaptureSource.all(settings, from: self.pipelines))
        // Files begin together, as they stay open together.
        let new = sources.filter { $0.gives(anyOf: missing) || $0.isFile && !running.contains($0) }
        let start = self.nextBaseNanoseconds
        self.startFeeds(of: new, settings, &stages, from: start)
        guard stages.baseNanoseconds == nil else { return }
        stages.baseNanoseconds = start
        if !stages.isWatched {
            stages.isWatched = true
            self.lookLater()
        }
    }

    /// What participants take, or everything if it is to be kept open.
    private func neededKinds(_ stages: Stages) -> Set<MediaKind> {
        guard !self.settings.keepsOpen else { return [.audio, .video] }
        // Who waits for an encoder that is tried again keeps the source open.
        let waiting = stages.outputs.filter { $0.value.consumerCount > 0 }.keys
        return Set(stages.lives.filter(\.value.isActive).keys.map(\.kind)).union(waiting.map(\.kind))
    }

    /// Where sources begin on the clock: time stamps rise, also behind a file that was read ahead.
    private var nextBaseNanoseconds: UInt64 {
        max(UInt64(clamping: Runtime.monotonicNanoseconds), self.video.endNanoseconds, self.audio.endNanoseconds)
    }

    private func startFeeds(
        of sources: [CaptureSource],
        _ settings: SendSpec,
        _ stages: inout Stages,
        from base: UInt64
    ) {
        let feeds = sources.map { source in
            CaptureFeed(
                source,
                slate: CaptureSource.slate(of: source, from: self.pipelines),
                settings: settings,
                name: self.name,
                video: self.video,
                audio: self.audio,
                gates: self.gates,
                thread: self.captureThread,
                logger: self.logger,
                onHole: { [weak self] in self?.restartAudioEncoder() }
            )
        }
        stages.feeds += feeds
        stages.closing.removeAll { $0.isClosed(within: .zero) }
        for feed in feeds { feed.start(baseNanoseconds: base, after: stages.closing) }
    }

    /// Ends sources without waiting for them to close.
    private func stopFeeds(_ feeds: [CaptureFeed], _ stages: inout Stages) {
        for feed in feeds {
            stages.failures += feed.failures
            feed.stop()
        }
        stages.feeds.removeAll { feed in feeds.contains { $0 === feed } }
        stages.closing += feeds
    }

    /// Captures, codes, mutes or freezes as other settings say from now on; calls continue.
    ///
    /// Sources that stay the same continue. Another size, rate or bit rate takes separate encoders, behind which the others'
    /// consumers continue with the first keyframe. Waits for encoders, not for sources; the session's control thread.
    /// - Returns: false, with nothing done, if calls would change: video or audio come or go, or Opus is
    ///   described otherwise.
    /// - Throws: for what no capture file gives, and for parameters that none takes; then nothing is done either.
    public func capture(_ settings: SendSpec) throws(CaptureError) -> Bool {
        let before = self.settings
        guard settings.suits(callsOf: before) else { return false }
        let sources = try CaptureSource.all(settings, from: self.pipelines)
        let outdated: [MediaCodec]? = self.state.withLock { stages in
            guard !stages.isStopped else { return nil }
            // What was muted before is muted until what is captured has changed; pictures need not stand still that long.
            var mutes = before.mutes
            mutes.isFrozen = false
            mutes.formUnion(settings.mutes)
            self.gates.follow(mutes)
            self.current.withLock { $0 = settings }
            if stages.baseNanoseconds != nil { return self.endOutdated(sources, settings, instead: before, &stages) }
            // `sources` are there, so this does not fail.
            if settings.keepsOpen { try? self.startCapture(of: [], &stages) }
            return []
        }
        guard let outdated else { return false }
        for codec in outdated { self.decide(codec) { $0.changed(at: $1) } }
        self.state.withLock { stages in
            guard stages.baseNanoseconds != nil else { return }
            self.startMissing(sources, settings, &stages)
        }
        self.gates.follow(self.settings.mutes)
        return true
    }

    /// Ends sources that other settings do not need; the codecs whose encoders they do not suit.
    ///
    /// - Parameter all: What there is; slates run in place of devices that are muted, also during the change.
    private func endOutdated(
        _ all: [CaptureSource],
        _ settings: SendSpec,
        instead before: SendSpec,
        _ stages: inout Stages
    ) -> [MediaCodec] {
        let isOtherVideo = !settings.hasVideo(like: before)
        let kinds = self.neededKinds(stages)
        let sources = self.shown(all.filter { $0.isNeeded(for: kinds) })
        let ended = stages.feeds.filter { !sources.contains($0.source) || isOtherVideo && $0.source.hasVideo }
        self.stopFeeds(ended, &stages)
        let hasOtherRate = settings.bitsPerSecond != before.bitsPerSecond
        if hasOtherRate { self.rates.withLock { $0.encoders = [:] } }
        // A source that takes its time leaves a hole, which an encoder that continues would fill with silence, all at once.
        let hasOtherAudio =
            settings.audioBitsPerSecond != before.audioBitsPerSecond || ended.contains(where: \.source.hasAudio)
        return stages.lives.keys.filter { $0 == .opus ? hasOtherAudio : isOtherVideo || hasOtherRate }
    }

    /// Starts the sources that settings need and that do not run; encoders may have taken their time.
    private func startMissing(_ all: [CaptureSource], _ settings: SendSpec, _ stages: inout Stages) {
        let kinds = self.neededKinds(stages)
        let running = stages.feeds.map(\.source)
        let new = self.shown(all.filter { $0.isNeeded(for: kinds) }).filter { !running.contains($0) }
        self.startFeeds(of: new, settings, &stages, from: self.nextBaseNanoseconds)
    }

    /// What runs of these sources: slates in place of devices that are muted now.
    private func shown(_ sources: [CaptureSource]) -> [CaptureSource] {
        let mutes = self.settings.mutes
        return sources.map { $0.shown(under: mutes, from: self.pipelines) }
    }

    /// Whether a source is away, and its slate is shown.
    public var showsSlate: Bool { self.state.withLock { $0.feeds.contains(where: \.showsSlate) } }

    /// Asks the life of a codec's encoder, and does what it says.
    private func decide(
        _ codec: MediaCodec,
        _ event: (inout EncoderLife, _ now: UInt64) -> [EncoderLife.Action]
    ) {
        let actions = self.state.withLock { stages in
            event(&stages.lives[codec, default: EncoderLife()], UInt64(clamping: Runtime.monotonicNanoseconds))
        }
        self.perform(actions, of: codec)
    }

    /// Does what the life of a codec's encoder says, and what it says to what comes of that.
    ///
    /// - Returns: why no encoder is left, if none is.
    @discardableResult
    private func perform(_ actions: [EncoderLife.Action], of codec: MediaCodec) -> GStreamerError? {
        var failure: GStreamerError?
        var open = actions[...]
        while let action = open.popFirst() {
            switch action {
            case .end(let number, let reason): self.end(codec, number, reason)
            case .start(let number): open += self.start(codec, number, &failure)
            }
        }
        return failure
    }

    /// Ends an encoder; consumers of its output stay.
    private func end(_ codec: MediaCodec, _ number: Int, _ reason: EncoderLife.Reason) {
        let ended = self.state.withLock { stages -> (encoder: Encoder, isAgain: Bool)? in
            guard let encoder = stages.encoders[codec], encoder.number == number else { return nil }
            self.countDropped(codec, &stages)
            stages.encoders[codec] = nil
            if reason != .notNeeded { stages.choices[codec]?.remove(encoder.file) }
            return (encoder, stages.lives[codec]?.isFailing ?? false)
        }
        guard let (encoder, isAgain) = ended else { return }
        encoder.input.remove()
        switch reason {
        case .notNeeded: encoder.pipeline.stop()
        case .failed(let message):
            self.passedOver(encoder.file, because: message, isAgain: isAgain)
            encoder.pipeline.stop()
        case .stuck:
            self.passedOver(encoder.file, because: "it takes frames and gives nothing", isAgain: isAgain)
            self.leave(encoder)
        }
    }

    /// Starts the best encoder that is left.
    ///
    /// - Parameter failure: Why the last one did not start; then why none is left.
    private func start(_ codec: MediaCodec, _ number: Int, _ failure: inout GStreamerError?) -> [EncoderLife.Action] {
        let (base, output, known, isAgain) = self.state.withLock { stages in
            let isAgain = stages.lives[codec]?.isFailing ?? false
            return (stages.baseNanoseconds, stages.outputs[codec], stages.choices[codec], isAgain)
        }
        var choice = known ?? EncoderChoice(codec, from: self.pipelines)
        let file = choice.best {
            self.passedOver($0, because: $1, isAgain: isAgain || $2)
            failure = GStreamerError(.stateChange, "\($0.path): \($1)")
        }
        guard let file, let base, let output else {
            let error = failure ?? GStreamerError(.missingElement, "no encoder for \(codec.capsName) is installed")
            failure = error
            self.noneIsLeft(codec, number, because: error)
            return []
        }
        do throws(GStreamerError) {
            let encoder = try self.start(file, codec, number, baseNanoseconds: base, output: output)
            failure = nil
            return self.state.withLock { stages in
                (stages.choices[codec], stages.encoders[codec]) = (choice, encoder)
                // What was asked of it while it started.
                if let rate = self.rates.withLock({ $0.encoders[codec] }) { self.apply(rate.fresh, to: encoder) }
                let now = UInt64(clamping: Runtime.monotonicNanoseconds)
                return stages.lives[codec]?.started(number, at: now) ?? []
            }
        } catch {
            self.passedOver(file, because: error.message, isAgain: isAgain)
            failure = error
            choice.remove(file)
            return self.state.withLock { stages in
                stages.choices[codec] = choice
                return stages.lives[codec]?.didNotStart(number) ?? []
            }
        }
    }

    private func start(
        _ file: PipelineFile,
        _ codec: MediaCodec,
        _ number: Int,
        baseNanoseconds: UInt64,
        output: FanOut
    ) throws(GStreamerError) -> Encoder {
        let complaints = FirstError()
        let pipeline = try EncoderPipeline.make(file, self.settings) { [weak self, captureThread] event in
            guard case .error(_, let message, _) = event else { return }
            complaints.note(event)
            captureThread.enqueue { [weak self] in self?.failed(codec, number, because: message) }
        }
        do throws(GStreamerError) {
            try output.attach(to: pipeline, sink: EncoderPipeline.sink, baseTimeNanoseconds: baseNanoseconds)
            try pipeline.play(baseTimeNanoseconds: baseNanoseconds)
            let (raw, maximum) =
                codec == .opus ? (self.audio, Self.maximumRawAudio) : (self.video, Self.maximumRawFrames)
            let source = try pipeline.element(named: EncoderPipeline.source)
            if codec == .opus { try self.audioMeter.attach(to: source) }
            let input = try raw.add(source, of: pipeline, maximumQueued: maximum)
            return Encoder(number: number, file: file, pipeline: pipeline, input: input, output: output)
        } catch {
            pipeline.stop()
            throw GStreamerError(error.code, complaints.first ?? error.message)
        }
    }

    private func lookLater() {
        self.captureThread.enqueue(after: Self.lookDelay) { [weak self] in self?.look() }
    }

    /// On the capture thread, once a second.
    private func look() {
        let (isStopped, codecs) = self.state.withLock { ($0.isStopped, Array($0.lives.keys)) }
        guard !isStopped else { return }
        for codec in codecs { self.look(at: codec) }
        self.state.withLock { self.stopIdleSources(&$0) }
        self.lookForSilence()
        self.lookLater()
    }

    /// Starts, exchanges or ends the encoder of a codec as its consumers and itself need.
    private func look(at codec: MediaCodec) {
        var unusable: (number: Int, error: CaptureError)?
        let actions = self.state.withLock { stages -> [EncoderLife.Action] in
            guard !stages.isStopped, let output = stages.outputs[codec] else { return [] }
            let hasDropped = (stages.encoders[codec]?.newlyDropped ?? 0) > 0
            let look = EncoderLife.Look(consumers: output.consumerCount, hasDropped: hasDropped, count: output.count)
            let now = UInt64(clamping: Runtime.monotonicNanoseconds)
            let actions = stages.lives[codec]?.look(look, at: now) ?? []
            self.countDropped(codec, &stages)
            guard case .start(let number)? = actions.first else { return actions }
            do throws(CaptureError) {
                try self.startCapture(of: [codec.kind], &stages)
                return actions
            } catch {
                unusable = (number, error)
                return []
            }
        }
        if let unusable { self.noneIsLeft(codec, unusable.number, because: unusable.error) }
        self.perform(actions, of: codec)
    }

    /// Ends the sources of which no participant receives anything.
    private func stopIdleSources(_ stages: inout Stages) {
        stages.closing.removeAll { $0.isClosed(within: .zero) }
        guard stages.baseNanoseconds != nil else { return }
        let kinds = self.neededKinds(stages)
        let idle = stages.feeds.filter { !$0.source.isNeeded(for: kinds) }
        self.stopFeeds(idle, &stages)
        for feed in idle {
            self.logger.info(
                "no participant receives a source: it is closed",
                metadata: .tagged([.detail: "\(feed.source)"])
            )
        }
        if kinds.isEmpty { stages.baseNanoseconds = nil }
    }

    /// Counts what a running encoder had no time for, and says so.
    private func countDropped(_ codec: MediaCodec, _ stages: inout Stages) {
        guard let encoder = stages.encoders[codec] else { return }
        let now = UInt64(clamping: Runtime.monotonicNanoseconds)
        let new = encoder.newlyDropped
        let due = stages.backlogs[codec, default: EncoderBacklog()].add(new, at: now)
        stages.encoders[codec]?.dropped += new
        guard let due else { return }
        let what = codec.kind == .audio ? "audio frames" : "video frames"
        self.logger.warning(
            "an encoder does not keep up",
            metadata: .tagged([.detail: "\(encoder.file.path) left out \(due) \(what)"])
        )
    }

    /// Says that there is nothing to be heard, the first time as a warning.
    private func lookForSilence() {
        let (finding, isFirst) = self.state.withLock { stages in
            // What is away or muted is silent for a reason that is known.
            let isAway =
                stages.encoders[.opus] == nil || self.settings.isAudioMuted
                || stages.feeds.contains(where: \.isAudioAway)
            let hadWarned = stages.silence.hasFound
            return (stages.silence.look(isAway ? nil : self.audioMeter.level?.silence), !hadWarned)
        }
        switch finding {
        case .silent: self.logger.log(level: isFirst ? .warning : .debug, "our own audio is silent")
        case .heard: self.logger.log(level: .debug, "our own audio is heard again")
        case nil: break
        }
    }

    private func passedOver(_ file: PipelineFile, because message: String, isAgain: Bool) {
        self.logger.log(
            level: isAgain ? .debug : .warning,
            "an encoder does not work: the next one is tried",
            metadata: .tagged([.detail: "\(file.path)", .errorMessage: "\(message)"])
        )
    }

    /// On the capture thread: an encoder failed; the next one takes its place.
    private func failed(_ codec: MediaCodec, _ number: Int, because message: String) {
        self.decide(codec) { $0.failed(number, because: message, at: $1) }
    }

    /// On the capture thread: a fresh encoder does not fill a long hole with silence.
    private func restartAudioEncoder() {
        self.decide(.opus) { $0.changed(at: $1) }
    }

    /// Has an encoder end, and waits no more for it.
    private func leave(_ encoder: Encoder) {
        let isLeftOut = EncoderEnds.begin(of: encoder.file) { [pipeline = encoder.pipeline] in pipeline.stop() }
        guard isLeftOut else { return }
        self.logger.warning(
            "two ends of an encoder are under way: it is not tried again before one is over, or an hour",
            metadata: .tagged([.detail: "\(encoder.file.path)"])
        )
    }

    /// No encoder of a codec is left: all are tried again after a while, if a participant takes what they make.
    private func noneIsLeft(_ codec: MediaCodec, _ number: Int, because error: any Error) {
        let isNews = self.state.withLock { stages in
            stages.choices[codec] = nil
            return stages.lives[codec]?.noneIsLeft(number, at: UInt64(clamping: Runtime.monotonicNanoseconds)) ?? false
        }
        guard isNews else { return }
        self.logger.error(
            "no encoder is left: nothing of this codec is sent until one works again",
            metadata: .tagged([.detail: "\(codec.capsName)", .errorMessage: "\(error)"])
        )
    }
}
