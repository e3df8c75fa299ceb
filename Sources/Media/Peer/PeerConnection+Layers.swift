// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Logging
internal import Observability
internal import SDP
internal import Synchronization
internal import Timeline

/// The stream of a layer that waits for a better one.
struct WaitingLayer: Sendable {
    var mediaLine: Int
    var layer: String
    var stream: ReceivedStream
}

/// Selects the best of several layers of a camera (simulcast, RFC 8853) for recording.
///
/// Control thread.
extension PeerConnection {
    /// How long a better layer may come after the first one.
    private static let layersWait = Duration.seconds(1)
    /// How long until a stream whose packets do not name its layer is looked at again: it may be here before its first packet.
    private static let lookAgain = Duration.milliseconds(50)
    private static let mostLooks = 20

    /// Records a stream, unless it is one of several layers and a better one is recorded.
    ///
    /// - Parameter looks: how often its packets were looked at before.
    func take(_ stream: ReceivedStream, of bin: WebRTCBin, looks: Int = 0) {
        let media = stream.format.flatMap { format -> NegotiatedMedia? in
            guard let ssrc = format.ssrc, format.media == "video" else { return nil }
            return self.state.withLock {
                $0.negotiation.media(forSSRC: ssrc, payloadType: UInt8(clamping: format.payloadType))
            }
        }
        guard let media, let simulcast = media.simulcast, let ssrc = stream.format?.ssrc else {
            return self.record(stream, of: bin)
        }
        let told = simulcast.extensionID.flatMap { bin.headerExtension($0, of: stream) }
        let layer = (told ?? simulcast.layer(ofSource: ssrc)).flatMap { simulcast.layers.contains($0) ? $0 : nil }
        // A source outside the group of layers is another camera.
        guard layer != nil || simulcast.hasNames else { return self.record(stream, of: bin) }
        if layer == nil, simulcast.extensionID != nil, looks < Self.mostLooks {
            return self.context.control.enqueue(after: Self.lookAgain) { [weak self, weak bin] in
                guard let self, let bin, self.bin === bin else { return }
                self.take(stream, of: bin, looks: looks + 1)
            }
        }
        let line = media.outerIndex
        let (decision, isFirst) = self.state.withLock { state in
            if state.layers[line]?.layers != simulcast.layers {
                state.layers[line] = LayerChoice(layers: simulcast.layers)
            }
            let decision = state.layers[line]?.came(layer) ?? .take
            let isFirst = !state.waitingLayers.contains { $0.mediaLine == line }
            if decision == .wait, let layer {
                state.waitingLayers.append(WaitingLayer(mediaLine: line, layer: layer, stream: stream))
            }
            return (decision, isFirst)
        }
        if decision == .wait, isFirst {
            self.context.control.enqueue(after: Self.layersWait) { [weak self] in self?.takeWaitingLayers(line) }
        }
        self.follow(decision, stream, of: bin, layer: TrackLayer(recorded: layer, offered: simulcast.layers))
    }

    /// The best layer had time to come.
    private func takeWaitingLayers(_ line: Int) {
        guard let bin = self.bin else { return }
        let (waiting, decisions, offered) = self.state.withLock { state in
            let waiting = state.waitingLayers.filter { $0.mediaLine == line }
            state.waitingLayers.removeAll { $0.mediaLine == line }
            let decisions = state.layers[line]?.timeIsOver(waiting: waiting.map(\.layer)) ?? []
            return (waiting, decisions, state.layers[line]?.layers ?? [])
        }
        for (one, decision) in zip(waiting, decisions) {
            self.follow(decision, one.stream, of: bin, layer: TrackLayer(recorded: one.layer, offered: offered))
        }
    }

    private func follow(
        _ decision: LayerChoice.Decision,
        _ stream: ReceivedStream,
        of bin: WebRTCBin,
        layer: TrackLayer
    ) {
        switch decision {
        case .wait: break
        case .refuse:
            if let ssrc = stream.format?.ssrc { self.state.withLock { _ = $0.otherLayers.insert(ssrc) } }
            try? bin.refuse(stream)
        case .take:
            if !layer.isBest, layer.recorded != nil {
                self.logger.warning(
                    "the best layer of a participant's video does not come: another is recorded",
                    metadata: .tagged([.detail: "\(layer.text)"])
                )
            }
            self.record(stream, of: bin, layer: layer)
        }
    }
}
