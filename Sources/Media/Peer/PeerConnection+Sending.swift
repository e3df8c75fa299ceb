// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
internal import Logging
internal import Model
internal import Observability
internal import SDP
internal import Session
internal import Synchronization

/// Our media to the peer; everything on the control thread.
extension PeerConnection {
    /// One m-line per kind: what we send, with the codec that we prefer; what we only receive.
    ///
    /// - Throws: if there is neither something to send nor something to receive.
    func prepareOffer(_ bin: WebRTCBin) throws {
        let policy = self.context.policy
        let kinds = [MediaKind.audio, .video].filter { !policy.sent($0).isEmpty || !policy.received($0).isEmpty }
        guard !kinds.isEmpty else { throw GStreamerError(.negotiation, "there is nothing to offer") }
        for (line, kind) in kinds.enumerated() {
            if let codec = policy.sent(kind).first {
                let branch = try bin.addSender(SendFormat(codec))
                self.state.withLock { $0.senders[line] = Sender(branch: branch, codec: codec) }
            } else if let codec = policy.received(kind).first {
                try bin.addReceiver(caps: SendFormat.receiveCaps(codec), retransmission: kind == .video)
            }
        }
    }

    /// A sender for each new m-line that can carry what we send, also where the peer does not listen yet.
    func prepareAnswer(_ bin: WebRTCBin) throws {
        for media in self.state.withLock({ $0.negotiation.negotiatedMedia }) where media.carriesOurTrack {
            guard self.state.withLock({ $0.senders[media.innerIndex] }) == nil else { continue }
            let branch = try bin.addSender(SendFormat(media), mLineIndex: media.innerIndex)
            self.state.withLock { $0.senders[media.innerIndex] = Sender(branch: branch, codec: media.codec.codec) }
        }
    }

    /// The peer may have picked another codec, or another number for it, than we prepared.
    func adaptSenders(_ bin: WebRTCBin) throws {
        for media in self.state.withLock({ $0.negotiation.negotiatedMedia }) {
            let format = SendFormat(media), codec = media.codec.codec
            guard let sender = self.state.withLock({ $0.senders[media.innerIndex] }),
                SendFormat(codec) != format || sender.codec != codec
            else { continue }
            let branch = try bin.replace(sender.branch, with: format)
            self.state.withLock { $0.senders[media.innerIndex] = Sender(branch: branch, codec: codec) }
        }
    }

    /// Feeds the m-lines on which the peer listens, and no others of the same kind; none of a kind for which it listens
    /// nowhere any more.
    ///
    /// A kind that the peer refused has a sender all the same, if we offered it.
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
        for kind in [MediaKind.audio, .video] {
            self.stopSending(kind, but: sent.first { $0.kind == kind }?.innerIndex)
        }
        for media in sent {
            let line = media.innerIndex
            guard let sender = self.state.withLock({ $0.senders[line] }),
                self.state.withLock({ $0.consumers[line] }) == nil
            else { continue }
            do {
                let consumer = try bin.feed(sender.branch, from: try camera.output(of: sender.codec))
                // The connection may have been closed in between: nothing must stay that keeps the encoder running.
                let isTaken = self.state.withLock { state in
                    guard !state.isClosed else { return false }
                    state.consumers[line] = consumer
                    return true
                }
                if !isTaken { consumer.remove() }
            } catch {
                self.logger.error("camera does not start", metadata: .tagged([.errorMessage: "\(error)"]))
            }
        }
    }

    /// Media have moved to another m-line, or to none (nil): the senders of the others stay, and are fed no more.
    private func stopSending(_ kind: MediaKind, but line: Int?) {
        let left = self.state.withLock { state -> [(MediaCodec, FanOut.Consumer)] in
            var left: [(MediaCodec, FanOut.Consumer)] = []
            for (other, sender) in state.senders where other != line && sender.codec.kind == kind {
                guard let consumer = state.consumers.removeValue(forKey: other) else { continue }
                left.append((sender.codec, consumer))
            }
            return left
        }
        for (codec, consumer) in left {
            let counters = consumer.remove()
            self.state.withLock { state in
                guard !state.isClosed else { return }
                state.sentBefore[codec] = counters.adding(state.sentBefore[codec])
            }
            self.logger.info(
                line == nil ? "the participant takes no more of what is sent" : "what is sent goes to another m-line",
                metadata: .tagged([.detail: "\(kind.rawValue)"])
            )
        }
    }

    /// Says once what the peer listens for and does not get, because no m-line where it listens can carry it.
    func logUnserved() {
        let kinds = self.state.withLock { state -> Set<MediaKind> in
            let kinds = Set(state.negotiation.unservedKinds)
            defer { state.unserved = kinds }
            return kinds.subtracting(state.unserved)
        }
        for kind in kinds {
            self.logger.warning(
                "what we send cannot go where the participant listens: it gets none",
                metadata: .tagged([.detail: "\(kind.rawValue)"])
            )
        }
    }

    /// Looks at what the peer reported; the video codec that it gets and what its network takes.
    ///
    /// Any thread; twenty times a second.
    /// - Returns: nil while it gets no video, and where the rate is fixed.
    func followNetwork(at now: UInt64) -> (codec: MediaCodec, limit: RateLimit)? {
        guard let bin = self.bin, let camera = self.context.camera else { return nil }
        let settings = camera.settings
        return self.state.withLock { state in
            guard settings.hasAdaptiveRate else {
                state.rate = nil
                return nil
            }
            if state.rate == nil {
                // Feedback until now is of no use any more.
                _ = bin.takeCongestionNews()
                state.rate = camera.rateController
            }
            state.rate?.limit(minimum: settings.minimumBitsPerSecond, maximum: settings.bitsPerSecond)
            guard state.isConnected, state.rate != nil, let codec = state.fedVideoCodec,
                let limit = state.rate?.update(RateFeedback(bin.takeCongestionNews()), at: now)
            else { return nil }
            return (codec, limit)
        }
    }
}

extension PeerConnection.State {
    /// The codec of the video that is sent; nil while none is.
    fileprivate var fedVideoCodec: MediaCodec? {
        self.consumers.keys.compactMap { self.senders[$0]?.codec }.first { $0.kind == .video }
    }
}

extension ConsumerCounters {
    /// Both together.
    func adding(_ other: ConsumerCounters?) -> ConsumerCounters {
        guard let other else { return self }
        var sum = self
        sum.pushed += other.pushed
        sum.dropped += other.dropped
        return sum
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
