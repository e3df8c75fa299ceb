// SPDX-License-Identifier: Apache-2.0

internal import Codecs
internal import GStreamer
internal import Logging
internal import Observability
internal import Rooms
internal import SDP
internal import Session
internal import Synchronization

/// What we send to the peer; everything on the control thread.
extension PeerConnection {
    /// One m-line per kind: what we send, with the codec that we prefer; what we only receive.
    ///
    /// - Throws: if there is neither something to send nor something to receive.
    func prepareOffer(_ bin: WebRTCBin) throws {
        let policy = self.context.policy
        let hasMedia = [MediaKind.audio, .video].contains { !policy.sent($0).isEmpty || !policy.received($0).isEmpty }
        guard hasMedia else { throw GStreamerError(.negotiation, "there is nothing to offer") }
        for kind in [MediaKind.audio, .video] {
            if let codec = policy.sent(kind).first {
                let branch = try bin.addSender(SendFormat(codec))
                self.state.withLock { $0.senders[kind] = Sender(branch: branch, codec: codec) }
            } else if let codec = policy.received(kind).first {
                try bin.addReceiver(caps: SendFormat.receiveCaps(codec), retransmission: kind == .video)
            }
        }
    }

    /// A sender for each m-line that the answer will send on and that has none yet.
    func prepareAnswer(_ bin: WebRTCBin) throws {
        for media in self.state.withLock({ $0.negotiation.negotiatedMedia }) where media.ourDirection.sends {
            guard self.state.withLock({ $0.senders[media.kind] }) == nil else { continue }
            let branch = try bin.addSender(SendFormat(media), mLineIndex: media.innerIndex)
            self.state.withLock { $0.senders[media.kind] = Sender(branch: branch, codec: media.codec.codec) }
        }
    }

    /// The peer may have picked another codec, or another number for it, than we prepared.
    func adaptSenders(_ bin: WebRTCBin) throws {
        for media in self.state.withLock({ $0.negotiation.negotiatedMedia }) where media.ourDirection.sends {
            let format = SendFormat(media), codec = media.codec.codec
            guard let sender = self.state.withLock({ $0.senders[media.kind] }),
                SendFormat(codec) != format || sender.codec != codec
            else { continue }
            let branch = try bin.replace(sender.branch, with: format)
            self.state.withLock { $0.senders[media.kind] = Sender(branch: branch, codec: codec) }
        }
    }

    func startSending(_ bin: WebRTCBin) {
        guard let camera = self.context.camera else { return }
        let sent = self.state.withLock { $0.negotiation.negotiatedMedia }.filter { $0.ourDirection.sends }
        for media in sent where media.kind == .video {
            bin.watchCongestion(
                payloadType: Int(media.codec.payloadType),
                retransmission: media.codec.rtxPayloadType.map(Int.init),
                extensionID: media.codec.transportCCID.map(Int.init)
            )
        }
        // What the peer refused has a sender all the same, if we offered it.
        let kinds = Set(sent.map(\.kind))
        for sender in self.state.withLock({ $0.senders.filter { kinds.contains($0.key) }.map(\.value) }) {
            guard self.state.withLock({ $0.consumers[sender.codec] }) == nil else { continue }
            do {
                let consumer = try bin.feed(sender.branch, from: try camera.output(of: sender.codec))
                // The connection may have been closed meanwhile: nothing stays that keeps the encoder running.
                let isTaken = self.state.withLock { state in
                    guard !state.isClosed else { return false }
                    state.consumers[sender.codec] = consumer
                    return true
                }
                if !isTaken { consumer.remove() }
            } catch {
                self.logger.error("camera does not start", metadata: .tagged([.errorMessage: "\(error)"]))
            }
        }
    }

    /// Looks at what the peer reported; the video codec that it gets and what its network takes.
    ///
    /// Any thread; twenty times a second.
    /// - Returns: nil while it gets no video, and where the rate is fixed.
    func followNetwork(at now: UInt64) -> (codec: MediaCodec, limit: RateLimit)? {
        guard let bin = self.bin, let settings = self.context.camera?.settings else { return nil }
        return self.state.withLock { state in
            state.rate?.limit(minimum: settings.minimumBitsPerSecond, maximum: settings.bitsPerSecond)
            guard state.isConnected, state.rate != nil, let codec = state.senders[.video]?.codec,
                let limit = state.rate?.update(RateFeedback(bin.takeCongestionNews()), at: now)
            else { return nil }
            return (codec, limit)
        }
    }
}

extension RateFeedback {
    fileprivate init(_ news: CongestionNews) {
        self.init(
            sentBytes: news.sentBytes,
            arrivals: news.arrivals.map {
                Arrivals(
                    packets: $0.packets,
                    bytes: $0.bytes,
                    lostPackets: $0.lostPackets,
                    queueing: $0.queueing,
                    span: $0.span,
                    bytesOnTheirWay: $0.bytesOnTheirWay
                )
            },
            reportedLoss: news.reportedLoss,
            estimate: news.estimate
        )
    }
}
