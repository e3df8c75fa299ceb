// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Foundation
internal import GStreamer
internal import Matroska
internal import Media
internal import Model
internal import Recording

/// Commands that are answered with something.
extension WorkerRoom {
    /// How long a keyframe that was asked for may take to come.
    private static let keyframeLimit = Duration.seconds(3)

    /// Sends the participant's last keyframe, of which the daemon has an image made; returns why it did not.
    func sendKeyframe(of participant: String, number: UInt64?) async throws -> String? {
        guard let still = try await self.keyframe(of: participant) else {
            return "no frame of the participant came within \(Self.keyframeLimit)"
        }
        let keyframe = still.bytes
        if let reason = Thumbnail.refusal(of: keyframe, codec: still.codec) { return reason }
        for start in stride(from: 0, to: keyframe.count, by: KeyframePart.maximumBytes) {
            let bytes = keyframe[start..<min(start + KeyframePart.maximumBytes, keyframe.count)]
            let part = KeyframePart(
                codec: still.codec.rawValue,
                keyframeBytes: keyframe.count,
                base64: Data(bytes).base64EncodedString(),
                rotation: still.rotation.rawValue
            )
            self.send(.keyframe(room: self.plan.spec.name, participant: participant, part, number: number))
        }
        return nil
    }

    /// The newest keyframe; waits for the first one that is asked for.
    private func keyframe(of participant: String) async throws -> CodedStill? {
        let deadline = ContinuousClock.now + Self.keyframeLimit
        while true {
            let found = try await self.orders.run("reading a keyframe") {
                self.recorder.lastKeyframe(participant: participant)
            }
            if let found { return found }
            guard ContinuousClock.now < deadline else { return nil }
            try await Task.sleep(for: .milliseconds(300))
        }
    }

    /// Sends the graph of each pipeline.
    func sendGraphs() async throws -> String? {
        guard let session = self.session else { return "there is no session at present" }
        let graphs = try await session.graphs()
        guard !graphs.isEmpty else { return "there are no pipelines: no participant is connected" }
        for (pipeline, dot) in graphs.sorted(by: { $0.key < $1.key }) {
            self.send(.graph(room: self.plan.spec.name, pipeline: pipeline, dot: dot))
        }
        return nil
    }
}
