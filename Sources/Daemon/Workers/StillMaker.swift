// SPDX-License-Identifier: Apache-2.0

import Control

/// Makes images of keyframes: decoders of what peers sent run in a process for each image, one at a time in the daemon.
actor StillMaker {
    /// Requests for an image at a time, from the question to the worker on: each may hold a keyframe.
    private static let maximumRequests = 8
    /// The exit code of a job that cannot decode its keyframe.
    private static let undecodable: Int32 = 5
    /// A job decodes one frame.
    private static let limit = Duration.seconds(10)
    private static let maximumImageBytes = 1 << 20

    /// A coded keyframe, and by how many degrees its image is turned clockwise.
    typealias Keyframe = (codec: String, rotation: Int, bytes: [UInt8])

    private let jobs: JobLauncher
    private var requests = 0
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Images by jobs of a launcher.
    init(jobs: JobLauncher) { self.jobs = jobs }

    /// Fetches a keyframe and makes a JPEG image of it; throws `unavailable` if too many others wait.
    func image(
        of keyframe: @Sendable () async throws(ControlError) -> Keyframe
    ) async throws(ControlError) -> [UInt8] {
        guard self.requests < Self.maximumRequests else {
            throw ControlError(.unavailable, "\(Self.maximumRequests) other images are being made")
        }
        self.requests += 1
        defer { self.requests -= 1 }
        let (codec, rotation, bytes) = try await keyframe()
        await self.beginTurn()
        defer { self.endTurn() }
        let made = await self.jobs.convert(
            ["worker", "--still=\(codec)", "--rotation=\(rotation)"],
            bytes,
            maximumBytes: Self.maximumImageBytes,
            limit: Self.limit
        )
        switch made {
        case .success(let image) where image.starts(with: [0xFF, 0xD8, 0xFF]): return image
        case .success: throw ControlError(.unavailable, "the image could not be made: its job sent something else")
        case .failure(let failure) where failure.exitCode == Self.undecodable:
            throw ControlError(.notFound, "the keyframe cannot be decoded")
        case .failure(let failure): throw ControlError(.unavailable, "the image could not be made: \(failure)")
        }
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
