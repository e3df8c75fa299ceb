// SPDX-License-Identifier: Apache-2.0

import Basics
import Fleet
import Model
import Storage

/// What workers may say, and of which recordings.
///
/// A worker reports its rooms only (`Fleet.refusal`). A recording is in the folder of its room, and ends as it began: under the
/// same id, in the same folder, by the worker that began it. Pure.
struct WorkerClaims {
    /// A cut of segments has two, and files of those before may still be closed on a slow disk.
    static let maximumInProgress = 8
    /// Changes of one room's recordings that the store has not heard of yet; a disk that hangs takes none.
    static let maximumUnheard = 16

    /// Recordings that each worker has begun in each of its rooms and not ended, oldest first.
    private var recordings: [WorkerID: [String: [RecordingReference]]] = [:]

    /// Takes an event that a worker wrote; why it is not believed, `nil` if it is.
    ///
    /// - Parameters:
    ///   - fleet: As it was before the event.
    ///   - unheard: How many changes of the room's recordings the store has not heard of yet.
    mutating func refusal(
        of event: WorkerEvent,
        from worker: WorkerID,
        in fleet: borrowing Fleet,
        unheard: Int
    ) -> String? {
        if let reason = fleet.refusal(of: event, from: worker) { return reason }
        guard let room = event.room, let storage = fleet.rooms[room]?.spec.storage else { return nil }
        let known = self.recordings[worker]?[room] ?? []
        switch event {
        case .recordingStarted(_, let reference):
            guard Self.isOf(room, reference, storage) else { return Self.elsewhere }
            guard !known.contains(where: { $0.id == reference.id }) else { return "the recording has begun already" }
            guard known.count < Self.maximumInProgress, unheard < Self.maximumUnheard else {
                return "the room has too many recordings in progress"
            }
            self.recordings[worker, default: [:]][room] = known + [reference]
        case .recordingFinished(_, let reference, _):
            guard let index = known.firstIndex(where: { $0.id == reference.id && $0.folder == reference.folder }) else {
                return "the recording was not begun by this worker"
            }
            self.recordings[worker]?[room]?.remove(at: index)
        case .recordingDegraded(_, let reference, _, _):
            // What cannot be begun has no folder yet.
            guard reference.id.isEmpty && reference.folder.isEmpty || Self.isOf(room, reference, storage) else {
                return Self.elsewhere
            }
        case .status(_, let status):
            guard status.recording.map({ Self.isOf(room, $0, storage) }) ?? true else { return Self.elsewhere }
        case .left:
            self.recordings[worker]?[room] = nil
        case .ready, .heartbeat, .joined, .notJoined, .participantJoined, .participantLeft, .peerRefused, .firstUnit,
            .outputFailed, .outputRecovered, .keyframe, .graph, .commandDone, .commandFailed:
            break
        }
        return nil
    }

    /// Takes that a worker's process ended: what it has not ended is left to the next worker, or to a repair.
    mutating func ended(_ worker: WorkerID) {
        self.recordings[worker] = nil
    }

    private static let elsewhere = "the recording is not in the room's folder"

    /// Whether a recording is in the folder of its room, by its name alone: `recordings/<room>/<start>-<id>`.
    private static func isOf(_ room: String, _ reference: RecordingReference, _ storage: String) -> Bool {
        guard let id = RecordingID(rawValue: reference.id) else { return false }
        let parent = "\(storage)/recordings/\(Sanitiser.pathComponent(room, fallback: "room"))/"
        let ending = "Z-\(id)"
        let length = parent.utf8.count + "20260704T120000".utf8.count + ending.utf8.count
        guard reference.folder.utf8.count == length, reference.folder.hasPrefix(parent),
            reference.folder.hasSuffix(ending)
        else { return false }
        return !reference.folder.utf8.dropFirst(parent.utf8.count).contains(UInt8(ascii: "/"))
    }
}
