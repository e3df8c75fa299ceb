// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Export
internal import FoundationEssentials
internal import GStreamer
internal import Matroska
internal import Model
internal import Storage
internal import Timeline

/// Renders a recording into one video with mixed audio, or into mixed audio alone: decodes, combines and encodes again.
///
/// Time is that of the session clock, driven here: no element decides when something is shown. Memory does not grow with
/// the recording. Calls block.
enum Renderer {
    /// Measuring before the file is written, as a share of the work.
    private static let measuringShare = 0.3
    /// Audio is handled in stretches of this many frames.
    private static let stretch: Int64 = 4800
    /// More is noise made loud.
    private static let mostGain = 30.0

    /// Renders a recording and notes it in its manifest.
    ///
    /// The file appears in its place whole, after it has been read back. A track that cannot be decoded becomes a warning.
    ///
    /// - Parameters:
    ///   - folder: the recording.
    ///   - spec: of the layout `grid` or `audio`.
    ///   - encoders: the elements that it needs in addition to decoders.
    ///   - output: where to; if left out next to the tracks, under the name of the spec. An older file is replaced.
    ///   - isStuck: see `ExportJob`.
    ///   - progress: called now and then, on this thread; what it throws ends the rendering.
    ///   - willBegin: called before anything is decoded, with the length of all tracks together and the files to remove if the
    ///     process must end at once.
    ///   - make: makes the file.
    /// - Throws: `ExportError`, `GStreamerError`, or what `progress` throws.
    static func run(
        folder: RecordingFolder,
        _ spec: ExportSpec,
        encoders: [String],
        output path: String?,
        isStuck: @escaping @Sendable ([String]) -> Void,
        progress: (ExportProgress) throws -> Void,
        willBegin: (_ media: Duration, _ files: [String]) -> Void,
        _ make: (Work) throws -> ExportReport
    ) throws -> ExportReport {
        try Runtime.initialise()
        let input = try RenderInput(folder: folder, spec)
        if let missing = Encoders.missing(Decoders.elements(input) + encoders) {
            throw GStreamerError(.missingElement, missing)
        }
        let output = try RenderOutput(path: path ?? "\(folder.path)/\(spec.fileName)")
        willBegin(.nanoseconds(input.mediaNanoseconds), output.temporaryPaths)
        let watchdog = Watchdog { [hidden = output.temporaryPaths] in isStuck(hidden) }
        var report = try withoutActuallyEscaping(progress) { progress in
            let work = Work(input: input, layout: spec.layout.name, output: output) { fraction in
                watchdog.sign()
                try progress(input.progress(fraction))
            }
            return try make(work)
        }
        try output.commit()
        report = try input.note(report)
        try progress(input.progress(1))
        return report
    }

    /// One run.
    struct Work {
        let input: RenderInput
        let layout: ExportSpec.Layout.Name
        let output: RenderOutput
        let progress: (Double) throws -> Void

        /// Renders all participants into one video.
        func grid(_ grid: ExportSpec.Grid) throws -> ExportReport {
            let rate = Int64(grid.framesPerSecond)
            let frames = max(1, (self.input.durationNanoseconds * rate + 999_999_999) / 1_000_000_000)
            let gain = try self.gain(samples: frames * 48_000 / rate, to: grid.loudness)
            let share = gain.measured == nil ? 0 : Renderer.measuringShare
            let mixer = try Mixer(self.input)
            let painter = try GridPainter(self.input, width: grid.size.width, height: grid.size.height)
            var limiter = Limiter(gainDecibels: gain.decibels, ceilingDecibels: -2)
            var speakers = SpeakerDetector(count: self.input.participants.count)
            var turns = SpeakingTurns(self.input)
            let duration = frames * 1_000_000_000 / rate
            let writer = try MediaWriter(grid, nanoseconds: duration, output: self.output)
            let frameNanoseconds = 1_000_000_000 / rate
            for frame in 0..<frames {
                let samples = (frame + 1) * 48_000 / rate - frame * 48_000 / rate
                let (audio, powers) = mixer.read(frames: Int(samples))
                try writer.add(limiter.push(audio))
                let now = frame * 1_000_000_000 / rate
                speakers.note(powers, at: now, frame: frameNanoseconds)
                turns.note(speakers.speaker, at: now)
                // A decoded frame is shown in the output frame that is nearest to it.
                painter.draw(at: now + frameNanoseconds / 2, speaker: speakers.speaker)
                try writer.add(painter.canvas)
                if frame % rate == 0 { try self.progress(share + (1 - share) * Double(frame) / Double(frames)) }
            }
            try writer.add(limiter.finish())
            try writer.finish { try self.progress(1) }
            let found = try ReadBack.check(self.output, grid, frames: frames, nanoseconds: duration) {
                try self.progress(1)
            }
            let warnings = painter.warnings + mixer.warnings + gain.warnings
            let video = found.video.map {
                RenderedTrack(
                    media: .video,
                    codec: grid.codec.rawValue,
                    size: (grid.size.width, grid.size.height),
                    units: $0.units,
                    bytes: $0.bytes,
                    keyframes: $0.keyframes
                )
            }
            let audio = Self.audio(grid.codec == .h264 ? "aac" : "opus", found.audio)
            turns.note(nil, at: duration)
            return self.report(duration, warnings: warnings, tracks: (video.map { [$0] } ?? []) + [audio], turns.turns)
        }

        /// Mixes the audio of all participants.
        func audio(_ audio: ExportSpec.Audio) throws -> ExportReport {
            let total = (self.input.durationNanoseconds * 48 + 999_999) / 1_000_000
            let gain = try self.gain(samples: total, to: audio.loudness)
            let share = gain.measured == nil ? 0 : Renderer.measuringShare
            let isWave = audio.format == .wav
            let mixer = try Mixer(self.input)
            // Lossy coding raises the peaks somewhat.
            var limiter = Limiter(gainDecibels: gain.decibels, ceilingDecibels: isWave ? -1 : -2)
            var meter = LoudnessMeter()
            let duration = total * 1_000_000 / 48
            let writer = isWave ? nil : try MediaWriter(nil, nanoseconds: duration, output: self.output)
            if isWave { try self.output.append([UInt8](repeating: 0, count: WaveHeader.byteCount)) }
            let add = { (stretch: [Float]) in
                stretch.withUnsafeBufferPointer { meter.add($0) }
                try writer?.add(stretch)
                if isWave { try self.output.append(WaveHeader.pcm(stretch)) }
            }
            var speakers = SpeakerDetector(count: self.input.participants.count)
            var turns = SpeakingTurns(self.input)
            var done: Int64 = 0
            try self.stretches(total, from: share) { frames in
                let (samples, powers) = mixer.read(frames: frames)
                let now = done * 1_000_000 / 48
                speakers.note(powers, at: now, frame: Int64(frames) * 1_000_000 / 48)
                turns.note(speakers.speaker, at: now)
                done += Int64(frames)
                try add(limiter.push(samples))
            }
            try add(limiter.finish())
            turns.note(nil, at: duration)
            var warnings = mixer.warnings + gain.warnings
            if let heard = meter.integrated, abs(heard - audio.loudness) > 1 {
                warnings.append("the loudness is \(rounded(heard)) LUFS: its peaks allow no more")
            }
            guard let writer else {
                try self.finishWave(total)
                let track = RenderedTrack(media: .audio, codec: "pcm", units: 1, bytes: self.output.bytes, keyframes: 1)
                return self.report(duration, warnings: warnings, tracks: [track], turns.turns)
            }
            try writer.finish { try self.progress(1) }
            let found = try ReadBack.check(self.output, nil, frames: 0, nanoseconds: duration) {
                try self.progress(1)
            }
            return self.report(duration, warnings: warnings, tracks: [Self.audio("opus", found.audio)], turns.turns)
        }

        private func finishWave(_ frames: Int64) throws {
            let dataBytes = UInt64(frames) * UInt64(WaveHeader.frameBytes)
            try self.output.finish(head: WaveHeader.bytes(dataBytes: dataBytes))
            guard self.output.bytes == dataBytes + UInt64(WaveHeader.byteCount) else {
                throw ExportError(
                    .verificationFailed,
                    "the export to \(self.output.path) was thrown away: it has \(self.output.bytes) bytes"
                )
            }
        }

        /// How much everything is amplified by, found by listening to all of it.
        private func gain(
            samples: Int64,
            to loudness: Double?
        ) throws -> (decibels: Double, measured: Double?, warnings: [String]) {
            guard let wanted = loudness else { return (0, nil, []) }
            let mixer = try Mixer(self.input)
            var meter = LoudnessMeter()
            try self.stretches(samples, from: nil) { frames in
                mixer.read(frames: frames).samples.withUnsafeBufferPointer { meter.add($0) }
            }
            guard let measured = meter.integrated else { return (0, nil, ["no one is heard"]) }
            let gain = min(wanted - measured, Renderer.mostGain)
            return (gain, measured, [])
        }

        /// Goes through all audio; progress is measured from `share` on, or up to it while measuring.
        private func stretches(_ total: Int64, from share: Double?, _ body: (Int) throws -> Void) throws {
            var done: Int64 = 0
            while done < total {
                let frames = min(Renderer.stretch, total - done)
                try body(Int(frames))
                done += frames
                guard done % (Renderer.stretch * 10) == 0 else { continue }
                let part = Double(done) / Double(total)
                try self.progress(share.map { $0 + (1 - $0) * part } ?? part * Renderer.measuringShare)
            }
        }

        private static func audio(_ codec: String, _ count: PassageCount) -> RenderedTrack {
            RenderedTrack(
                media: .audio,
                codec: codec,
                units: count.units,
                bytes: count.bytes,
                keyframes: count.keyframes
            )
        }

        private func report(
            _ duration: Int64,
            warnings: [String],
            tracks: [RenderedTrack],
            _ speakers: [SpeakingTurn]
        ) -> ExportReport {
            var report = self.input.report(
                layout: self.layout.rawValue,
                output: self.output,
                durationNanoseconds: duration,
                tracks: tracks,
                warnings: warnings
            )
            report.speakers = speakers
            return report
        }
    }
}

/// With one decimal.
private func rounded(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
}
