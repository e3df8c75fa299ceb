// SPDX-License-Identifier: Apache-2.0

internal import Basics
public import Model
public import SDP

extension NegotiationPolicy {
    /// The policy of a session: receives only if wanted, sends only kinds that its camera can encode.
    public static func forSession(
        receives: Bool,
        camera: CameraSource?,
        preferred: PreferredCodec,
        recordsChat: Bool = false
    ) -> NegotiationPolicy {
        let sent = camera?.codecs(preferred: preferred)
        var policy = NegotiationPolicy(
            receivedVideo: receives ? [.vp8, .h264, .vp9] : [],
            receivedAudio: receives ? [.opus, .pcmu, .pcma] : [],
            sentVideo: sent?.video ?? [],
            sentAudio: sent?.audio ?? []
        )
        policy.takesDataChannels = receives && recordsChat
        if let settings = camera?.settings, settings.sendsAudio {
            (policy.usesOpusFEC, policy.usesOpusDTX) = (settings.usesAudioFEC, settings.usesAudioDTX)
        }
        switch preferred {
        case .h264: return policy.preferringVideo(.h264)
        case .vp8: return policy.preferringVideo(.vp8)
        case .vp9: return policy.preferringVideo(.vp9)
        case .any:
            policy.honoursOfferOrder = true
            return policy
        }
    }

    /// The same policy without anything to receive: for a place that only takes what we send.
    var sendingOnly: NegotiationPolicy {
        var policy = self
        policy.receivedVideo = []
        policy.receivedAudio = []
        policy.takesDataChannels = false
        return policy
    }

    /// The same policy without anything to send: for a server that passes on what others send, and takes nothing of us.
    var receivingOnly: NegotiationPolicy {
        var policy = self
        policy.sentVideo = []
        policy.sentAudio = []
        policy.offersOrientation = true
        return policy
    }
}
