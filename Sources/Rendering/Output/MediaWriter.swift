// SPDX-License-Identifier: Apache-2.0

internal import Export
internal import GStreamer
internal import Model
internal import Storage

/// Encodes and muxes video and audio, and reads the result back.
final class MediaWriter {
    private let end = StreamEnd()
    private let pipeline: Pipeline
    private let output: RenderOutput
    /// Where the muxer keeps frames until the index is in front of them; `nil` for containers without one.
    private let room: File?
    private let grid: ExportSpec.Grid?
    private let nanoseconds: Int64
    private let video: MediaFeed?
    private let audio: MediaFeed?
    private var frames: Int64 = 0
    private var samples: Int64 = 0
    /// Frames of audio that are left out at the beginning: decoders emit as many before it.
    private let priming: Int
    private var primingLeft: Int

    /// Frames that an AAC encoder puts before the audio, for which files have no agreed notation.
    private static let aacPriming = 1600
    /// Raw frames that wait for the encoder.
    private static let waitingFrames = 8
    /// Stretches of audio that wait: more than the video encoder delays.
    private static let waitingAudio = 512

    /// Writes a grid; without one, audio in Opus.
    ///
    /// - Parameter nanoseconds: how long it will be.
    init(_ grid: ExportSpec.Grid?, nanoseconds: Int64, output: RenderOutput) throws {
        self.grid = grid
        self.nanoseconds = nanoseconds
        self.output = output
        // The index goes to the front, so that players on a network begin at once.
        self.room = try grid?.container == .mp4 ? output.namelessFile() : nil
        self.priming = grid?.codec == .h264 ? Self.aacPriming : 0
        self.primingLeft = self.priming
        let end = self.end
        self.pipeline = try Pipeline(launch: Encoders.launch(grid)) { end.take($0) }
        try self.pipeline.element(named: "out").set("location", verbatim: output.partialPath)
        if let room {
            let mux = try self.pipeline.element(named: "mux")
            try mux.set("faststart", "true")
            try mux.set("faststart-file", verbatim: room.namelessPath)
        }
        self.video =
            grid == nil
            ? nil : MediaFeed(try self.pipeline.element(named: "video"), maximumBuffers: Self.waitingFrames)
        self.audio = MediaFeed(try self.pipeline.element(named: "audio"), maximumBuffers: Self.waitingAudio)
        try self.pipeline.play()
    }

    deinit {
        self.pipeline.stop()
    }

    /// Adds the next frame.
    func add(_ canvas: Canvas) throws {
        let rate = Int64(self.grid?.framesPerSecond ?? 1)
        let start = self.frames * 1_000_000_000 / rate
        let end = (self.frames + 1) * 1_000_000_000 / rate
        self.frames += 1
        try self.require(self.video?.push(canvas, nanoseconds: start, duration: end - start) ?? true)
    }

    /// Adds the next stretch of audio, interleaved stereo.
    func add(_ audio: [Float]) throws {
        let skipped = min(self.primingLeft, audio.count / 2)
        self.primingLeft -= skipped
        let stretch = skipped == 0 ? audio : Array(audio.dropFirst(skipped * 2))
        guard !stretch.isEmpty else { return }
        let start = self.samples * 1_000_000 / 48
        self.samples += Int64(stretch.count / 2)
        let end = self.samples * 1_000_000 / 48
        try self.require(self.audio?.push(stretch, nanoseconds: start, duration: end - start) ?? true)
    }

    /// Completes the file; calls `wait` every now and then until it is complete.
    func finish(_ wait: () throws -> Void) throws {
        if self.priming > 0 { try self.add([Float](repeating: 0, count: self.priming * 2)) }
        self.video?.finish()
        self.audio?.finish()
        guard try self.end.wait(atMost: StreamEnd.limit(forBytes: self.output.bytes), wait) else {
            throw ExportError(.storage, "\(self.output.path) could not be completed in time")
        }
        try self.require(self.end.failure == nil)
        self.pipeline.stop()
        if let grid, grid.container != .mp4 { try self.output.stateDocumentTypeVersion() }
    }

    private func require(_ isTaken: Bool) throws {
        guard !isTaken else { return }
        try self.output.requireSpace(self.room, share: self.share)
        let message = self.end.failure?.message ?? "the encoder takes nothing more"
        throw ExportError(.storage, "\(self.output.path) cannot be written: \(message)")
    }

    /// How much of it the encoders got.
    private var share: Double {
        let video = Double(self.frames) / Double(self.grid?.framesPerSecond ?? 1)
        let seconds = self.grid == nil ? Double(self.samples) / 48_000 : video
        return min(1, seconds * 1e9 / Double(max(1, self.nanoseconds)))
    }
}
