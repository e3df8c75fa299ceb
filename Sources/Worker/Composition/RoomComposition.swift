// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Foundation
internal import GStreamer
internal import Logging
internal import Media
internal import Model
internal import Observability
internal import SDP
internal import Session
internal import Signalling
internal import Timeline

/// Composition: what the media of a room need, for every command that joins one.
enum RoomComposition {
    /// How webrtcbin is set up; media go over loopback too if the room server is on it and no address is given.
    private static func webRTCSettings(for url: RoomURL, _ network: NetworkSpec, logger: Logger) -> WebRTCSettings {
        var settings = WebRTCSettings()
        settings.portRange = network.portRange
        settings.hostAddresses = network.hostAddresses
        if network.hostAddresses.isEmpty {
            let isLocal = IPAddress.isLoopback(host: url.host, shortened: true)
            settings.hostAddresses = Self.hostAddresses(withLoopback: isLocal, logger: logger)
        }
        settings.relaysOnly = network.relaysOnly
        settings.takesWholeWay = ProcessInfo.processInfo.environment["TAPEDECK_WHOLE_WAY"] == "1"
        return settings
    }

    /// The addresses to gather from where none are given; none leaves all of them to libnice, but for loopback.
    private static func hostAddresses(withLoopback: Bool, logger: Logger) -> [String] {
        // With loopback there is a way to whatever has a link-local address as well.
        let usable = HostAddress.all.filter { withLoopback ? !$0.text.hasPrefix("fe80:") : !$0.isLoopback }
        let addresses = HostAddresses(usable)
        guard withLoopback || addresses.leftOut > 0 else { return [] }
        if addresses.leftOut > 0 {
            logger.warning(
                "this host has more addresses than media are received on; host_addresses names others",
                metadata: .tagged([
                    .detail: "\(addresses.chosen.count) are used, \(addresses.leftOut) are left out, of bridges first"
                ])
            )
        }
        return addresses.chosen
    }

    /// What the peer connections of one session share.
    ///
    /// Begins on the control thread what the first of them would otherwise wait for.
    static func context(
        _ plan: RoomPlan,
        control: ControlThread,
        recorder: RoomRecorder?,
        announcement: Announcement? = nil,
        outputs: RTPOutputs? = nil,
        camera: CameraSource?,
        preferred: PreferredCodec,
        recordsChat: Bool = false,
        logger: Logger
    ) throws -> PeerConnectionContext {
        var policy = NegotiationPolicy.forSession(
            receives: recorder != nil || outputs != nil,
            camera: camera,
            preferred: preferred,
            recordsChat: recordsChat
        )
        let network = plan.spec.ice
        policy.sendsRelayedOnly = network.relaysOnly
        // Two owners are in a room while one hands it on, or is cut off: neither is a participant of the other's recording.
        policy.claim = plan.spec.claim.map {
            RoomClaim(room: String(fnv1a("\($0.cluster)\n\(plan.spec.name)".utf8), radix: 16), epoch: $0.epoch)
        }
        control.enqueue { WebRTCBin.warmUp() }
        return PeerConnectionContext(
            control: control,
            certificate: try Certificate.generate(),
            policy: policy,
            settings: Self.webRTCSettings(for: plan.url, network, logger: logger),
            servers: ICEServerBook(try network.webRTCServers(), rules: network, logger: logger),
            baseTimeNanoseconds: UInt64(clamping: Runtime.monotonicNanoseconds),
            recorder: recorder,
            announcement: announcement,
            outputs: outputs,
            camera: camera
        )
    }
}
