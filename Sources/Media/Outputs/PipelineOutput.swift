// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
internal import Glibc
internal import PipelineCatalogue
internal import Storage
internal import Synchronization

/// Runs the pipeline of one output, on a separate thread: neither the room nor another output waits for it.
///
/// Any thread.
final class PipelineOutput: Sendable {
    /// Time for completing files, and for saying goodbye to servers.
    static let endLimit = Duration.seconds(3)
    /// The longest wait of `finish`: for the above, and for elements that are slow to stop.
    private static let finishLimit = Duration.seconds(5)

    private let plan: PipelineOutputSettings.Plan
    private let thread = ControlThread(name: "output")
    private let onChange: @Sendable (OutputHealth.Change) -> Void
    private let state = Mutex(State())

    private struct State: Sendable {
        var life = PipelineOutputLife()
        /// The pipeline that is not stopped yet, and its number; touched on `thread`.
        var current: (number: Int, pipeline: Pipeline)?
        var waiting: [OneShot<Void, Never>] = []
        /// Playlists of HLS, by the name of the folder's parameter.
        var playlists: [String: PlaylistKeeper] = [:]
        /// Whether a look is not over yet, and how many came since then.
        var isLooking = false
        var lateLooks = 0
    }

    /// Nothing runs before the first `look`; `onChange` must not block.
    init(_ settings: PipelineOutputSettings, onChange: @escaping @Sendable (OutputHealth.Change) -> Void) {
        self.plan = settings.plan
        self.onChange = onChange
    }

    /// Why nothing comes out; nil if all is well.
    var problem: String? { self.state.withLock { $0.life.problem } }

    /// Whether something comes out.
    var isRunning: Bool { self.state.withLock { $0.life.isRunning } }

    /// Takes what is sent at present, nil for nothing; once a second.
    func look(_ source: PipelineSource?) {
        let lateLooks = self.state.withLock { state in
            state.lateLooks = state.isLooking ? state.lateLooks + 1 : 0
            state.isLooking = true
            return state.lateLooks
        }
        guard lateLooks == 0 else {
            if lateLooks >= PipelineOutputLife.patience { self.step { $0.blocked("it hangs") } }
            return
        }
        self.thread.enqueue {
            defer { self.state.withLock { $0.isLooking = false } }
            if let reason = self.refusal {
                self.step { $0.blocked(reason) }
                return
            }
            let pipeline = self.state.withLock { $0.current?.pipeline }
            let isFull = pipeline.map { pipeline in PipelineReceiver.queues.contains { pipeline.isFull(queue: $0) } }
            self.step { life in
                life.wanted(source, isFull: isFull ?? false, now: Self.now, random: .random(in: 0...1))
            }
        }
    }

    /// Ends for ever, without waiting for it.
    func end() {
        self.thread.enqueue { self.step { $0.finish() } }
    }

    /// Ends for ever; returns when what it writes is complete, within five seconds.
    func finish() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let once = OneShot(continuation)
            self.state.withLock { $0.waiting.append(once) }
            self.end()
            once.resume(with: .success(()), after: Self.finishLimit)
        }
    }

    private static var now: Duration { .nanoseconds(Runtime.monotonicNanoseconds) }

    // MARK: On the thread

    /// Why there can be no pipeline; nil if there can.
    private var refusal: String? {
        switch self.plan {
        case .refused(let reason): return reason
        case .ready(let plan):
            guard !self.isRunning else { return nil }
            do throws(GStreamerError) {
                try Runtime.initialise()
            } catch {
                return error.message
            }
            let missing = plan.file.missingElements.joined(separator: ", ")
            return missing.isEmpty ? nil : "\(plan.file.path) needs what is not installed here: \(missing)"
        }
    }

    private func step(_ change: (inout PipelineOutputLife) -> [PipelineOutputLife.Action]) {
        for action in self.state.withLock({ change(&$0.life) }) { self.perform(action) }
    }

    private func perform(_ action: PipelineOutputLife.Action) {
        switch action {
        case .start(let number, let source):
            self.start(number, source)
        case .end(let number):
            guard let current = self.state.withLock({ $0.current }), current.number == number else {
                self.step { $0.ended(number, now: Self.now, random: .random(in: 0...1)) }
                return
            }
            current.pipeline.sendEndOfStream()
            self.thread.enqueue(after: Self.endLimit) {
                self.step { $0.ended(number, now: Self.now, random: .random(in: 0...1)) }
            }
        case .stop(let number):
            let pipeline = self.state.withLock { state -> Pipeline? in
                guard let current = state.current, current.number == number else { return nil }
                state.current = nil
                return current.pipeline
            }
            pipeline?.stop()
        case .tell(let change):
            self.onChange(change)
        case .finished:
            for playlist in self.state.withLock({ $0.playlists }).values { playlist.end() }
            let waiting = self.state.withLock { state in
                defer { state.waiting.removeAll() }
                return state.waiting
            }
            for once in waiting { once.resume(with: .success(())) }
        }
    }

    private func start(_ number: Int, _ source: PipelineSource) {
        guard case .ready(let plan) = self.plan else { return }
        let complaints = FirstError()
        do throws(GStreamerError) {
            for folder in plan.folders {
                if let reason = Self.objection(toFolder: folder) { throw GStreamerError(.stateChange, reason) }
            }
            let pipeline = try PipelineReceiver.make(plan, source) { [weak self] event in
                complaints.note(event)
                self?.heard(number, event)
            }
            self.state.withLock { $0.current = (number, pipeline) }
            try self.continuePlaylists(of: pipeline, plan)
            try pipeline.play()
        } catch {
            self.fail(number, complaints.first ?? error.message)
        }
    }

    /// Continues HLS playlists where the pipeline before left them.
    private func continuePlaylists(of pipeline: Pipeline, _ plan: PipelinePlan) throws(GStreamerError) {
        for (name, parameter) in plan.file.parameters where parameter.form == .folder {
            guard let folder = plan.text(of: name), let playlist = parameter.files["playlist-location"],
                let location = parameter.files["location"],
                let bounds = try pipeline.playlistBounds(of: parameter.element)
            else { continue }
            let keeper = self.state.withLock { state in
                let keeper =
                    state.playlists[name]
                    ?? PlaylistKeeper(folder: folder, playlist: playlist, location: location)
                state.playlists[name] = keeper
                return keeper
            }
            let path = keeper.begin(
                segments: bounds.segments,
                files: bounds.files,
                milliseconds: UTCTime.now().nanosecondsSince1970 / 1_000_000
            )
            try pipeline.takePlaylists(of: parameter.element, location: path) { keeper.write($0) }
        }
    }

    private func fail(_ number: Int, _ message: String) {
        guard case .ready(let plan) = self.plan else { return }
        let reason = plan.concealing(message)
        self.step { $0.failed(number, reason, now: Self.now, random: .random(in: 0...1)) }
    }

    /// A thread of GStreamer.
    private func heard(_ number: Int, _ event: BusEvent) {
        self.thread.enqueue {
            switch event {
            case .error(_, let message, let debug):
                // Behind the place in the source: what the system said.
                let system = debug?.split(separator: "\n").dropFirst().joined(separator: " ") ?? ""
                self.fail(number, system.isEmpty ? message : "\(message) \(system)")
            case .endOfStream:
                self.step { $0.ended(number, now: Self.now, random: .random(in: 0...1)) }
            case .warning:
                break
            }
        }
    }

    /// Why files cannot be written there; nil if they can.
    private static func objection(toFolder path: String) -> String? {
        guard access(path, W_OK | X_OK) == 0 else {
            return "\(path) cannot be written: \(String(cString: strerror(errno)))"
        }
        return nil
    }
}
