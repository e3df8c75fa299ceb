// SPDX-License-Identifier: Apache-2.0

import Fleet
import Foundation
import Model

/// A task that waits for a worker's answer about a room.
struct PendingRequest {
    enum Question: Hashable {
        /// Answered by a status with this revision of the room's spec, or a newer one; refused with that part of it.
        case inForce(UInt64, RoomPart)
        /// Answered when the command is performed.
        case done
        /// Answered by the parts of a keyframe.
        case keyframe(participant: String)
        /// Answered by everything that comes until the command is performed.
        case graphs
    }

    enum Answer {
        case done
        case keyframe(codec: String, rotation: Int, [UInt8])
        case graphs([String: String])
        case refused(String)
        /// Nothing came: the time is over, the worker is gone, or too many others wait.
        case silence
    }

    private static let maximumGraphs = 64

    let worker: WorkerID
    let room: String
    /// The number of the command that was sent.
    let number: UInt64
    let question: Question
    let deadline: Duration
    var graphs: [String: String] = [:]
    /// What came of a keyframe.
    var keyframe: [UInt8] = []
    let continuation: CheckedContinuation<Answer, Never>

    /// What an event of a worker means to this request; `nil` if it still waits.
    ///
    /// Only the worker that was asked answers: others count their commands from 1, too.
    mutating func hear(_ event: WorkerEvent, of worker: WorkerID) -> Answer? {
        guard worker == self.worker else { return nil }
        switch (event, self.question) {
        case (.status(self.room, let status), .inForce(let revision, let part)):
            return Self.answer(of: status, revision, part)
        case (.left(self.room, _), .inForce(_, .recording)):
            return .done
        case (.left(self.room, _), _):
            return .refused("the room was left before that")
        case (.commandDone(_, _, let number), .done) where number == self.number:
            return .done
        case (.commandDone(_, _, let number), .graphs) where number == self.number:
            return .graphs(self.graphs)
        case (.keyframe(self.room, let sender, let part, let number), .keyframe(let participant))
        where sender == participant && number == self.number:
            return self.take(part)
        case (.graph(self.room, let pipeline, let dot), .graphs):
            if self.graphs.count < Self.maximumGraphs || self.graphs[pipeline] != nil { self.graphs[pipeline] = dot }
            return nil
        case (.commandFailed(_, _, _, let reason, let number), _) where number == self.number:
            return .refused(reason)
        default:
            return nil
        }
    }

    /// What a status says of a part of a revision; `nil` if the revision is not in force yet.
    static func answer(of status: RoomStatus, _ revision: UInt64, _ part: RoomPart) -> Answer? {
        guard let current = status.revision, current >= revision else { return nil }
        return status.refused?[part].map { .refused($0) } ?? .done
    }

    private mutating func take(_ part: KeyframePart) -> Answer? {
        guard let bytes = Data(base64Encoded: part.base64), !bytes.isEmpty,
            part.keyframeBytes <= KeyframePart.maximumKeyframeBytes,
            self.keyframe.count + bytes.count <= part.keyframeBytes, [0, 90, 180, 270].contains(part.rotation)
        else { return .refused("the worker sent a keyframe that cannot be read") }
        self.keyframe += bytes
        guard self.keyframe.count == part.keyframeBytes else { return nil }
        return .keyframe(codec: part.codec, rotation: part.rotation, self.keyframe)
    }
}
