// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import SDP
internal import Session
internal import Synchronization

/// Whom we believe; on the control thread.
extension PeerConnection {
    /// Compares the certificates that the peer showed with its description: webrtcbin 1.22 does not.
    ///
    /// Nothing is read from or sent to a peer before this said yes.
    func isGenuine(_ bin: WebRTCBin) -> Bool {
        let (verdict, expected) = self.state.withLock { ($0.verdict, $0.negotiation.remoteFingerprints) }
        guard case .pending = verdict else { return verdict == .genuine }
        let certificates = bin.peerCertificates
        guard !certificates.isEmpty else { return false }
        let isGenuine = certificates.allSatisfy { pem in
            expected.matches { algorithm in
                CertificateHash(algorithm).flatMap { Certificate.digest(ofPEM: pem, $0) }
            }
        }
        self.state.withLock { $0.verdict = isGenuine ? .genuine : .forged }
        if !isGenuine {
            self.onEvent(
                .authenticityFailed(
                    reason: "the certificate of the DTLS handshake does not have the fingerprint of the description"
                )
            )
        }
        return isGenuine
    }
}
