// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Signalling
internal import Supervision

/// Why an order cannot be carried out, in a sentence for a person.
struct RoomPlanError: Error, Sendable, Hashable {
    var message: String
}

/// A room order after everything in it was checked.
struct RoomPlan: Sendable {
    var name: String
    var url: RoomURL
    var policy: JoinPolicy
    var recorder: RecorderSettings
    var camera: CameraPlan?
    var network: NetworkSettings

    /// Checks an order.
    ///
    /// - Parameter host: this host's name, for journals.
    init(_ order: RoomOrder, host: String) throws(RoomPlanError) {
        guard !order.name.isEmpty else { throw RoomPlanError(message: "the room has no name") }
        guard order.storage.hasPrefix("/") else {
            throw RoomPlanError(message: "the storage directory is not an absolute path")
        }
        self.name = order.name
        do throws(SignallingError) {
            self.url = try RoomURL(parsing: order.url)
        } catch {
            throw RoomPlanError(message: error.message)
        }
        self.policy = .persistent
        if let seconds = order.whenFullSeconds {
            guard (1...86_400).contains(seconds) else {
                throw RoomPlanError(message: "whenFullSeconds takes 1 to 86400, not \(seconds)")
            }
            self.policy.fullWait = .seconds(seconds)
        }
        var recorder = RecorderSettings(storage: order.storage, room: order.name, host: host)
        let record = order.record ?? RecordOrder()
        recorder.isAutomatic = order.record != nil && record.isAutomatic
        recorder.recordsVideo = record.video
        recorder.recordsAudio = record.audio
        guard (1...86_400).contains(record.emptyAfterSeconds) else {
            throw RoomPlanError(message: "emptyAfterSeconds takes 1 to 86400, not \(record.emptyAfterSeconds)")
        }
        recorder.emptyLimit = .seconds(record.emptyAfterSeconds)
        recorder.continues = order.continues
        self.recorder = recorder
        self.camera = try order.send.map { order throws(RoomPlanError) in try CameraPlan(order) }
        self.network = try NetworkSettings(order.ice)
    }
}

/// A camera order after everything in it was checked.
struct CameraPlan: Sendable, Hashable {
    var settings: CameraSettings
    var preferred: CameraCodec

    /// Checks an order's values; whether its files and devices work shows when they are opened.
    init(_ order: CameraOrder) throws(RoomPlanError) {
        guard let video = VideoInput(order.video ?? "none") else {
            throw RoomPlanError(message: "video takes test, v4l2:/dev/video0, file:PATH or none")
        }
        guard let audio = AudioInput(order.audio ?? "none") else {
            throw RoomPlanError(message: "audio takes test, alsa:default, file:PATH or none")
        }
        guard video != .none || audio != .none else {
            throw RoomPlanError(message: "the camera has neither picture nor sound")
        }
        let codecs = [CameraCodec.vp8, .h264]
        guard let preferred = codecs.first(where: { $0.rawValue.lowercased() == order.preferredCodec }) else {
            throw RoomPlanError(message: "preferredCodec takes vp8 or h264, not \(order.preferredCodec.prefix(20))")
        }
        guard (320...7680).contains(order.width), (180...4320).contains(order.height), order.width % 2 == 0,
            order.height % 2 == 0
        else { throw RoomPlanError(message: "the picture takes even numbers of pixels from 320x180 to 7680x4320") }
        guard (1...60).contains(order.framesPerSecond) else {
            throw RoomPlanError(message: "framesPerSecond takes 1 to 60, not \(order.framesPerSecond)")
        }
        guard (50_000...50_000_000).contains(order.bitsPerSecond) else {
            throw RoomPlanError(message: "bitsPerSecond takes 50000 to 50000000, not \(order.bitsPerSecond)")
        }
        var settings = CameraSettings()
        settings.video = video
        settings.audio = audio
        settings.width = order.width
        settings.height = order.height
        settings.framesPerSecond = order.framesPerSecond
        settings.bitsPerSecond = order.bitsPerSecond
        self.settings = settings
        self.preferred = preferred
    }
}

extension NetworkSettings {
    /// Checks an order.
    init(_ order: ICEOrder) throws(RoomPlanError) {
        self.init()
        self.hostAddresses = order.hostAddresses
        switch (order.firstPort, order.lastPort) {
        case (nil, nil): break
        case (let first?, let last?) where first > 0 && first <= last: self.portRange = first...last
        default: throw RoomPlanError(message: "ice: the port range needs a lowest and a highest port")
        }
        for server in order.servers {
            for url in server.urls { try self.add(url, server) }
        }
    }

    /// Rewrites a URL of RFC 7064 or RFC 7065 (`stun:host:port`) as webrtcbin takes it (`stun://host:port`).
    private mutating func add(_ url: String, _ server: ICEOrder.Server) throws(RoomPlanError) {
        let parts = url.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, !parts[1].isEmpty, !parts[1].contains("@"), !parts[1].hasPrefix("/") else {
            throw RoomPlanError(message: "ice: a server's URL is like stun:host:3478 or turn:host:3478")
        }
        switch parts[0].lowercased() {
        case "stun":
            // webrtcbin takes one.
            self.stunServer = self.stunServer ?? "stun://\(parts[1])"
        case "turn", "turns":
            guard let user = server.username, let password = server.credential else {
                throw RoomPlanError(message: "ice: a TURN server needs username and credential")
            }
            self.turnServers.append(
                "\(parts[0].lowercased())://\(Self.escaped(user)):\(Self.escaped(password))@\(parts[1])"
            )
        default:
            throw RoomPlanError(message: "ice: a server's URL begins with stun:, turn: or turns:")
        }
    }

    /// Everything but letters and digits as `%` and two hexadecimal digits (RFC 3986, 2.1).
    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                return String(UnicodeScalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                return "%" + (digits.count == 1 ? "0" : "") + digits
            }
        }.joined()
    }
}
