// SPDX-License-Identifier: Apache-2.0

/// A command of the supervisor to a worker: one JSON object a line on its standard input.
///
/// Everything lasting about a room is one value, in `be`; the others are questions and single acts, which a worker performs
/// in their order. A command for a room that the worker is not in is answered with `.commandFailed` and changes nothing.
public enum WorkerCommand: Sendable, Hashable, Codable {
    /// The room is to be like this from now on: the worker joins it and stays in it until `.leave`; it may be in several.
    ///
    /// A newer revision replaces one that is not in force yet. What it mutes is muted at once. The room's status has the
    /// revision that is in force.
    case be(RoomSpec, revision: UInt64)
    /// Finishes the room's recording and leaves; `.left` follows.
    case leave(room: String)
    /// Asks every sender, or one participant, for a keyframe.
    case requestKeyframe(room: String, participant: String?)
    /// Notes an instant in the recording, to be found as a chapter.
    case mark(room: String, text: String)
    /// Answers with `.keyframe`, the participant's last one: an image is made of it elsewhere.
    case thumbnail(room: String, participant: String)
    /// Answers with `.graph` for each pipeline of the room.
    case graph(room: String)
    /// Finishes every recording, leaves every room, and ends with exit code 0.
    case shutDown

    /// The room that it is about.
    public var room: String? {
        switch self {
        case .be(let spec, _): spec.name
        case .leave(let room), .requestKeyframe(let room, _), .mark(let room, _), .thumbnail(let room, _),
            .graph(let room):
            room
        case .shutDown: nil
        }
    }

    /// Whose image it asks for.
    public var pictured: String? {
        guard case .thumbnail(_, let participant) = self else { return nil }
        return participant
    }

    /// The name that `.commandFailed` calls it by.
    public var name: String {
        switch self {
        case .be: "be"
        case .leave: "leave"
        case .requestKeyframe: "requestKeyframe"
        case .mark: "mark"
        case .thumbnail: "thumbnail"
        case .graph: "graph"
        case .shutDown: "shutDown"
        }
    }
}
