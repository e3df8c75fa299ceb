// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Logging
internal import Observability
internal import SDP
internal import Synchronization

/// What we send to the peer; everything on the control thread.
extension PeerConnection {
    /// One m-line per kind: what we send, with the codec that we prefer; what we only receive.
    func prepareOffer(_ bin: WebRTCBin) throws {
        let policy = self.context.policy
        for kind in [MediaKind.audio, .video] {
            if let codec = policy.sent(kind).first, let format = SendFormat(codec), let camera = CameraCodec(codec) {
                let branch = try bin.addSender(format)
                self.state.withLock { $0.senders[kind] = Sender(branch: branch, codec: camera) }
            } else if let codec = policy.received(kind).first {
                try bin.addReceiver(caps: SendFormat.receiveCaps(codec), retransmission: kind == .video)
            }
        }
    }

    /// A sender for each m-line that the answer will send on and that has none yet.
    func prepareAnswer(_ bin: WebRTCBin) throws {
        for media in self.state.withLock({ $0.negotiation.negotiatedMedia }) where media.ourDirection.sends {
            guard self.state.withLock({ $0.senders[media.kind] }) == nil, let format = SendFormat(media),
                let codec = CameraCodec(media.codec.codec)
            else { continue }
            let branch = try bin.addSender(format, mLineIndex: media.innerIndex)
            self.state.withLock { $0.senders[media.kind] = Sender(branch: branch, codec: codec) }
        }
    }

    /// The peer may have picked another codec, or another number for it, than we prepared.
    func adaptSenders(_ bin: WebRTCBin) throws {
        for media in self.state.withLock({ $0.negotiation.negotiatedMedia }) where media.ourDirection.sends {
            guard let sender = self.state.withLock({ $0.senders[media.kind] }), let format = SendFormat(media),
                let codec = CameraCodec(media.codec.codec),
                SendFormat(media.codec.codec) != format || sender.codec != codec
            else { continue }
            let branch = try bin.replace(sender.branch, with: format)
            self.state.withLock { $0.senders[media.kind] = Sender(branch: branch, codec: codec) }
        }
    }

    func startSending(_ bin: WebRTCBin) {
        guard let camera = self.context.camera else { return }
        for sender in self.state.withLock({ Array($0.senders.values) }) {
            guard self.state.withLock({ $0.consumers[sender.codec] }) == nil else { continue }
            do {
                let consumer = try bin.feed(sender.branch, from: try camera.output(of: sender.codec))
                self.state.withLock { $0.consumers[sender.codec] = consumer }
            } catch {
                self.logger.error("camera does not start", metadata: .tagged([.errorMessage: "\(error)"]))
            }
        }
    }
}
