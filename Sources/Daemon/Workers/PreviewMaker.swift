// SPDX-License-Identifier: Apache-2.0

import Control
import Foundation
import Model

/// Makes what a page shows of media before they are played: images of keyframes, and levels of audio.
///
/// Decoders of what peers sent run in a process for each, one at a time in the daemon.
actor PreviewMaker {
    /// Requests at a time, from the question to the worker on: each may hold a keyframe.
    private static let maximumRequests = 8
    /// The exit code of a job that has nothing to decode, or cannot.
    private static let undecodable: Int32 = 5
    /// A job for an image decodes one frame.
    private static let imageLimit = Duration.seconds(10)
    private static let maximumImageBytes = 1 << 20
    /// A job for levels decodes ten minutes of audio, and yields to recordings.
    private static let levelsLimit = Duration.seconds(120)
    private static let maximumLevelsBytes = 1 << 20

    /// A coded keyframe, and by how many degrees its image is turned clockwise.
    typealias Keyframe = (codec: String, rotation: Int, bytes: [UInt8])

    private let jobs: JobLauncher
    private var requests = 0
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Previews by jobs of a launcher.
    init(jobs: JobLauncher) { self.jobs = jobs }

    /// Fetches a keyframe and makes a JPEG image of it; throws `unavailable` if too many others wait.
    func image(
        of keyframe: @Sendable () async throws(ControlError) -> Keyframe
    ) async throws(ControlError) -> [UInt8] {
        try self.enter()
        defer { self.requests -= 1 }
        let (codec, rotation, bytes) = try await keyframe()
        await self.beginTurn()
        defer { self.endTurn() }
        let made = await self.jobs.convert(
            ["worker", "--still=\(codec)", "--rotation=\(rotation)"],
            bytes,
            maximumBytes: Self.maximumImageBytes,
            limit: Self.imageLimit
        )
        let image = try Self.output(of: made, "image", nothing: "the keyframe cannot be decoded")
        guard image.starts(with: [0xFF, 0xD8, 0xFF]) else {
            throw ControlError(.unavailable, "the image could not be made: its job sent something else")
        }
        return image
    }

    /// Measures the audio of the recording in a folder; throws `unavailable` if too many others wait.
    func levels(of folder: String) async throws(ControlError) -> RecordingLevels {
        try self.enter()
        defer { self.requests -= 1 }
        await self.beginTurn()
        defer { self.endTurn() }
        let made = await self.jobs.convert(
            ["worker", "--levels=\(folder)"],
            [],
            maximumBytes: Self.maximumLevelsBytes,
            limit: Self.levelsLimit
        )
        let text = try Self.output(of: made, "curve of levels", nothing: "the recording has no audio")
        guard let levels = try? JSONDecoder().decode(RecordingLevels.self, from: Data(text)) else {
            throw ControlError(.unavailable, "the curve of levels could not be made: its job sent something else")
        }
        return levels
    }

    /// What a job made, or why it made nothing.
    private static func output(
        of made: Result<[UInt8], JobFailure>,
        _ what: String,
        nothing: String
    ) throws(ControlError) -> [UInt8] {
        switch made {
        case .success(let bytes): return bytes
        case .failure(let failure) where failure.exitCode == Self.undecodable: throw ControlError(.notFound, nothing)
        case .failure(let failure): throw ControlError(.unavailable, "the \(what) could not be made: \(failure)")
        }
    }

    private func enter() throws(ControlError) {
        guard self.requests < Self.maximumRequests else {
            throw ControlError(.unavailable, "\(Self.maximumRequests) other images or curves are being made")
        }
        self.requests += 1
    }

    private func beginTurn() async {
        guard self.isBusy else {
            self.isBusy = true
            return
        }
        await withCheckedContinuation { self.waiting.append($0) }
    }

    private func endTurn() {
        guard !self.waiting.isEmpty else {
            self.isBusy = false
            return
        }
        self.waiting.removeFirst().resume()
    }
}
