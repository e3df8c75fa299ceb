// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Foundation
public import GStreamer
public import Logging
public import Media
public import Rooms
internal import SDP
internal import Session
public import Signalling

/// Composition: what the media of a room need, for every command that joins one.
public enum RoomComposition {
    /// How webrtcbin is set up; media go over loopback too if the room server is on it and no address is given.
    public static func webRTCSettings(for url: RoomURL, _ network: NetworkSpec) -> WebRTCSettings {
        var settings = WebRTCSettings()
        settings.portRange = network.portRange
        settings.hostAddresses = network.hostAddresses
        if network.hostAddresses.isEmpty, IPAddress.isLoopback(host: url.host, shortened: true) {
            settings.hostAddresses = HostAddresses.all
        }
        settings.relaysOnly = network.relaysOnly
        settings.takesWholeWay = ProcessInfo.processInfo.environment["TAPEDECK_WHOLE_WAY"] == "1"
        return settings
    }

    /// What the peer connections of one session share.
    ///
    /// Begins on the control thread what the first of them would otherwise wait for.
    public static func context(
        url: RoomURL,
        network: NetworkSpec,
        control: ControlThread,
        recorder: RecorderThread?,
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
        policy.sendsRelayedOnly = network.relaysOnly
        control.enqueue { WebRTCBin.warmUp() }
        return PeerConnectionContext(
            control: control,
            certificate: try Certificate.generate(),
            policy: policy,
            settings: Self.webRTCSettings(for: url, network),
            servers: ICEServerBook(try network.webRTCServers(), rules: network, logger: logger),
            baseTimeNanoseconds: UInt64(clamping: Runtime.monotonicNanoseconds),
            recorder: recorder,
            outputs: outputs,
            camera: camera
        )
    }
}
