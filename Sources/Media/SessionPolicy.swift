// SPDX-License-Identifier: Apache-2.0

public import SDP

extension NegotiationPolicy {
    /// What a session negotiates: receives only if it records, sends only what its camera can encode.
    public static func forSession(
        records: Bool,
        camera: CameraSource?,
        preferred: CameraCodec
    ) -> NegotiationPolicy {
        let sent = camera?.codecs(preferred: preferred)
        let policy = NegotiationPolicy(
            receivedVideo: records ? [.vp8, .h264, .vp9] : [],
            receivedAudio: records ? [.opus, .pcmu, .pcma] : [],
            sentVideo: sent?.video.map(\.negotiated) ?? [],
            sentAudio: sent?.audio.map(\.negotiated) ?? []
        )
        return policy.preferringVideo(preferred.negotiated)
    }
}
