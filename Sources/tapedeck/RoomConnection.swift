// SPDX-License-Identifier: Apache-2.0

import Foundation
import GStreamer
import Logging
import Media
import Session
import Signalling
import SignallingClients

/// Composition: from a room URL to what joins the room.
enum RoomConnection {
    /// The client for the URL's protocol.
    ///
    /// A new protocol is a folder in `Signalling`, one in `SignallingClients`, and a case here.
    static func signaller(for url: RoomURL, policy: JoinPolicy, logger: Logger) -> any Signaller {
        switch url {
        case .socketIO(let room):
            return SocketIOClient(
                configuration: SocketIOClient.Configuration(
                    host: room.host,
                    port: room.port,
                    isSecure: room.isSecure,
                    path: room.path,
                    room: room.room,
                    transport: EngineIOSessionStateMachine.Transport(rawValue: room.transport.rawValue) ?? .automatic,
                    version: EngineIOVersion(rawValue: Int(room.version.rawValue) ?? 0),
                    dialect: room.dialect,
                    isInsecure: !room.verifiesCertificate
                ),
                policy: policy,
                logger: logger
            )
        }
    }

    static func roomName(of url: RoomURL) -> String {
        switch url {
        case .socketIO(let room): room.room
        }
    }

    static func settings(for url: RoomURL, _ options: NetworkOptions) -> WebRTCSettings {
        var settings = WebRTCSettings()
        settings.portRange = options.portRange?.ports
        settings.hostAddresses = options.hostAddresses
        if options.hostAddresses.isEmpty, case .socketIO(let room) = url, HostAddresses.isLoopback(room.host) {
            settings.hostAddresses = HostAddresses.all
        }
        return settings
    }

    /// What the peer connections of one session share.
    static func context(
        url: RoomURL,
        network: NetworkOptions,
        control: ControlThread,
        recorder: RoomRecorder?,
        camera: CameraSource?,
        preferred: CameraCodec
    ) throws -> PeerConnectionContext {
        PeerConnectionContext(
            control: control,
            certificate: try Certificate.generate(),
            policy: .forSession(records: recorder != nil, camera: camera, preferred: preferred),
            settings: Self.settings(for: url, network),
            baseTimeNanoseconds: UInt64(clamping: Runtime.monotonicNanoseconds),
            recorder: recorder,
            camera: camera
        )
    }
}

/// The addresses of this host.
enum HostAddresses {
    static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.")
    }

    /// Addresses of every interface that is up, loopback included, link-local ones left out.
    static var all: [String] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return ["127.0.0.1"] }
        defer { freeifaddrs(first) }
        var addresses: [String] = []
        var next = first
        while let interface = next {
            next = interface.pointee.ifa_next
            guard interface.pointee.ifa_flags & UInt32(IFF_UP) != 0, let address = interface.pointee.ifa_addr,
                let text = Self.numeric(address), !text.hasPrefix("fe80:"), !addresses.contains(text)
            else { continue }
            addresses.append(text)
        }
        return addresses
    }

    private static func numeric(_ address: UnsafeMutablePointer<sockaddr>) -> String? {
        let length: Int
        switch Int32(address.pointee.sa_family) {
        case AF_INET: length = MemoryLayout<sockaddr_in>.size
        case AF_INET6: length = MemoryLayout<sockaddr_in6>.size
        default: return nil
        }
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        guard getnameinfo(address, socklen_t(length), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
            return nil
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
