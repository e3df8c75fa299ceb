// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Logging
internal import Observability
internal import SDP
internal import Synchronization

/// The way that media take, and what leads to it.
extension PeerConnection {
    /// Candidates of ours that are kept; more than any host has addresses for.
    static let maximumCandidates = 256
    /// Names of the peer that are looked up at most.
    private static let maximumNames = 16

    /// The way that media take; nil until the connection is up.
    ///
    /// Any thread.
    var path: MediaPath? {
        self.state.withLock { state in
            guard state.isConnected, !state.isClosed, let pair = state.pair else { return nil }
            let relay = pair.server.map { state.relays[$0] ?? $0 }
            return MediaPath(pair: pair, relay: relay)
        }
    }

    /// The agent's thread: no call into GStreamer, no waiting.
    func pairChanged(_ pair: SelectedPair) {
        let isNews = self.state.withLock { state in
            guard state.pair != pair else { return false }
            state.pair = pair
            // Until the connection is up the agent tries one after the other.
            return state.isConnected
        }
        if isNews { self.logPath("media path changed") }
    }

    /// One line with both ends, and the relay between.
    func logPath(_ message: Logger.Message) {
        guard let path = self.path else { return }
        self.logger.notice(
            message,
            metadata: .tagged([
                .pathLocal: "\(path.pair.local)", .pathRemote: "\(path.pair.remote)",
                .pathRelay: "\(path.relay ?? "-")",
            ])
        )
    }

    /// Restarts ICE in the agent if the offer that is being answered does; our new credentials then.
    func restartICE(_ bin: WebRTCBin) async throws -> ICECredentials? {
        guard self.state.withLock({ $0.negotiation.restartsICE }) else { return nil }
        self.logger.info("the peer restarts ICE")
        return try await self.context.control.run("restarting ICE") {
            bin.restartICE().flatMap { ICECredentials(ufrag: $0.ufrag, password: $0.password) }
        }
    }

    /// Gives webrtcbin a candidate of the peer.
    func add(_ line: String, mLineIndex: Int, to bin: WebRTCBin?) async {
        await self.perform("add a candidate") {
            try await self.context.control.run("adding a candidate") {
                bin?.addRemoteCandidate(mLineIndex: mLineIndex, line: line)
            }
        }
    }

    /// Looks up the names in a description that was applied.
    func resolveNames(in description: SessionDescription) {
        let candidates = self.state.withLock { $0.negotiation.unresolvedCandidates(in: description) }
        if !candidates.isEmpty { self.resolve(candidates, mLineIndex: 0) }
    }

    /// Looks up the names in candidates, multicast names of browsers (RFC 8828) and others, in parallel with everything else.
    ///
    /// Where this host cannot, or no answer comes, the peer's own checks show its address, if they reach us.
    func resolve(_ candidates: [CandidateLine], mLineIndex: Int) {
        let allowed = self.state.withLock { state in
            let count = min(candidates.count, Self.maximumNames - state.namesLookedUp)
            state.namesLookedUp += count
            return candidates.prefix(count)
        }
        for candidate in allowed {
            self.context.servers.lookUp(candidate: candidate.address) { [weak self] addresses in
                guard let self else { return }
                for address in addresses.oneOfEachFamily {
                    guard let line = candidate.replacingAddress(address)?.description else { continue }
                    self.context.control.enqueue { [weak self] in
                        self?.bin?.addRemoteCandidate(mLineIndex: mLineIndex, line: line)
                    }
                }
            }
        }
    }
}
