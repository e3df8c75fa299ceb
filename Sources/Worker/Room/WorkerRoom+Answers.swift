// SPDX-License-Identifier: Apache-2.0

internal import Codecs
internal import Foundation
internal import GStreamer
internal import Matroska
internal import Media
internal import Rooms

/// Commands that are answered with something.
extension WorkerRoom {
    /// How long a keyframe that was asked for may take to come.
    private static let keyframeLimit = Duration.seconds(3)

    /// Sends a still of the participant's last keyframe; why not, if there is none.
    func sendThumbnail(of participant: String) async throws -> String? {
        guard let (codec, keyframe) = try await self.keyframe(of: participant) else {
            return "no picture of the participant came within \(Self.keyframeLimit)"
        }
        let jpeg = try await self.stills.run("making a still") { Thumbnail.jpeg(of: keyframe, codec: codec) }
        guard let jpeg else { return "the picture could not be decoded" }
        let text = Data(jpeg).base64EncodedString()
        self.send(.thumbnail(room: self.plan.spec.name, participant: participant, base64: text))
        return nil
    }

    /// The newest keyframe; waits for the first one that is asked for.
    private func keyframe(of participant: String) async throws -> (MediaCodec, [UInt8])? {
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
        guard !graphs.isEmpty else { return "there are no pipelines: nobody is connected" }
        for (pipeline, dot) in graphs.sorted(by: { $0.key < $1.key }) {
            self.send(.graph(room: self.plan.spec.name, pipeline: pipeline, dot: dot))
        }
        return nil
    }
}
