// SPDX-License-Identifier: Apache-2.0

/// How workers send what RTSP clients watch to the server's process, and what becomes of it there.
///
/// Each room has a separate loopback address (127.0.0.0/8), and on it four ports for each participant, below those
/// that systems choose by themselves.
public struct RTSPFeedPlan: Sendable, Hashable {
    /// The label of outputs that send each participant.
    public static let participantsLabel = "rtsp participants"
    /// The label of outputs that send who speaks.
    public static let speakerLabel = "rtsp speaker"
    private static let firstPort: UInt16 = 20_000
    private static let speakerPort: UInt16 = 20_400
    /// Rooms with a separate address.
    public static let maximumRooms = 65_536

    /// The room's name.
    public let room: String
    /// Where its workers send to.
    public let address: String
    /// The most participants that are sent.
    public let participants: Int

    /// A plan for the `number`th room, from 0; nil if there are too many.
    ///
    /// - Parameter network: the second byte of the addresses, 64 to 250: each daemon has its own, by chance.
    public init?(room: String, number: Int, network: UInt8, participants: Int) {
        guard (0..<Self.maximumRooms).contains(number) else { return nil }
        self.room = room
        self.address = "127.\(network).\(number / 256).\(number % 256)"
        self.participants = min(max(participants, 1), 64)
    }

    /// The spec of the room's worker.
    public var outputs: [OutputSpec] {
        var each = OutputSpec(host: self.address)
        each.videoPort = Self.firstPort
        each.audioPort = Self.firstPort + 2
        each.participants = self.participants
        each.label = Self.participantsLabel
        var speaker = OutputSpec(host: self.address)
        speaker.videoPort = Self.speakerPort
        speaker.audioPort = Self.speakerPort + 2
        speaker.followsSpeaker = true
        speaker.label = Self.speakerLabel
        return [each, speaker]
    }

    /// What clients find, given what the worker says of the room.
    ///
    /// A participant has the path of its id, and that of its name where no other has it.
    /// - Parameter users: names of those who see the room.
    public func mounts(_ status: RoomStatus, users: [String]) -> [RTSPMountSpec] {
        let ids = Set(status.participants.map(\.id))
        var names: [String: Int] = [:]
        for name in status.participants.compactMap(\.name) { names[name, default: 0] += 1 }
        var mounts: [RTSPMountSpec] = []
        for output in status.outputs ?? [] {
            for session in output.sessions where !session.streams.isEmpty && !session.sdp.isEmpty {
                let paths: [String]
                switch output.name {
                case Self.speakerLabel:
                    paths = [RTSPPath.path(room: self.room)]
                case Self.participantsLabel:
                    let name = status.participants.first { $0.id == session.participant }?.name
                    let usable = name.flatMap { names[$0] == 1 && !ids.contains($0) ? $0 : nil }
                    paths = [session.participant, usable].compactMap { $0 }
                        .filter { !$0.isEmpty && $0.utf8.count <= RTSPPath.maximumName }
                        .map { RTSPPath.path(room: self.room, participant: $0) }
                default:
                    continue
                }
                guard !paths.isEmpty else { continue }
                mounts.append(
                    RTSPMountSpec(
                        paths: paths,
                        users: users,
                        address: self.address,
                        sdp: session.sdp,
                        lines: session.streams.map {
                            RTSPMountSpec.Line(port: $0.port, sourcePort: $0.sourcePort, ssrc: $0.ssrc)
                        }
                    )
                )
            }
        }
        return mounts
    }
}
