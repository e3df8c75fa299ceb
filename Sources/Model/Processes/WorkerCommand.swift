// SPDX-License-Identifier: Apache-2.0

/// What the supervisor tells a worker: one JSON object a line on its standard input.
///
/// A worker performs the commands for one room in order. A command for a room that it is not in is answered with
/// `.commandFailed` and changes nothing.
public enum WorkerCommand: Sendable, Hashable, Codable {
    /// Joins a room and stays in it until `.leave`; a worker may be in several.
    case join(RoomSpec)
    /// Finishes the room's recording and leaves; `.left` follows.
    case leave(room: String)
    /// Starts to record, or goes on recording where automatic recording was stopped.
    case record(room: String)
    /// Finishes the room's recording, stays in the room, and does not record until `.record`.
    case stopRecording(room: String)
    /// Leaves what comes out of the recording until `.resume`; the time passes in the recording.
    case pause(room: String)
    /// Ends a pause.
    case resume(room: String)
    /// Asks every sender, or one participant, for a keyframe.
    case requestKeyframe(room: String, participant: String?)
    /// Notes an instant in the recording, to be found as a chapter.
    case mark(room: String, text: String)
    /// Changes what we send; `nil` sends nothing from now on. The call goes on where pictures and sound stay what they are
    /// for peers.
    case camera(room: String, SendSpec?)
    /// Changes what is recorded while the call goes on; `nil` finishes the recording and starts none by itself.
    case recordOrder(room: String, RecordSpec?)
    /// Sends tracks on to these places from now on; places that are the same are not touched.
    case outputs(room: String, [OutputSpec])
    /// Answers with `.keyframe`, the participant's last one: an image is made of it elsewhere.
    case thumbnail(room: String, participant: String)
    /// Answers with `.graph` for each pipeline of the room.
    case graph(room: String)
    /// Finishes every recording, leaves every room, and ends with exit code 0.
    case shutDown

    /// The room that it is about.
    public var room: String? {
        switch self {
        case .join(let order): order.name
        case .leave(let room), .record(let room), .stopRecording(let room), .pause(let room), .resume(let room),
            .requestKeyframe(let room, _), .mark(let room, _), .camera(let room, _), .recordOrder(let room, _),
            .outputs(let room, _), .thumbnail(let room, _), .graph(let room):
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
        case .join: "join"
        case .leave: "leave"
        case .record: "record"
        case .stopRecording: "stopRecording"
        case .pause: "pause"
        case .resume: "resume"
        case .requestKeyframe: "requestKeyframe"
        case .mark: "mark"
        case .camera: "camera"
        case .recordOrder: "recordOrder"
        case .outputs: "outputs"
        case .thumbnail: "thumbnail"
        case .graph: "graph"
        case .shutDown: "shutDown"
        }
    }
}
