// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Matroska
internal import Media
internal import Model
internal import Observability
internal import Session
internal import Signalling
internal import Storage

extension WorkerEvent {
    /// What a recorder says.
    init(_ event: RecorderEvent, room: String) {
        switch event {
        case .started(let folder, let part, let place):
            var reference = RecordingReference(folder, part: part)
            reference.place = place
            self = .recordingStarted(room: room, reference)
        case .finished(let folder, let part, let reason):
            self = .recordingFinished(room: room, RecordingReference(folder, part: part), reason: reason)
        case .notContinued(let reason):
            self = .commandFailed(
                room: room,
                command: "join",
                reason: "the recording cannot continue, the next media start another: \(reason)"
            )
        case .degraded(let folder, let part, let reason, let byDisk):
            let reference = folder.map { RecordingReference($0, part: part) }
            self = .recordingDegraded(
                room: room,
                reference ?? RecordingReference(id: "", folder: "", part: 0),
                reason: reason,
                byDisk: byDisk
            )
        case .firstUnit(let participant, let kind, let delay, let parts):
            self = .firstUnit(
                room: room,
                participant: participant,
                kind: kind.rawValue,
                milliseconds: delay / .milliseconds(1),
                parts: Dictionary(uniqueKeysWithValues: parts.map { ($0.key.rawValue, $0.value / .milliseconds(1)) })
            )
        }
    }

    /// What an output says.
    init(_ event: RTPOutputEvent, room: String) {
        switch event {
        case .failed(let output, let reason): self = .outputFailed(room: room, output: output, reason: reason)
        case .recovered(let output): self = .outputRecovered(room: room, output: output)
        }
    }

    /// What a session says; nil for what only the status and the log have.
    init?(_ fact: SessionEvent, room: String) {
        switch fact {
        case .joined: self = .joined(room: room)
        case .roomFull: self = .notJoined(room: room, reason: "the room is full")
        case .joinFailed(let reason), .signallingLost(let reason): self = .notJoined(room: room, reason: reason)
        case .yielded: self = .notJoined(room: room, reason: "another recorder has the room")
        case .otherRecorderFound(let peer, _):
            self = .participantLeft(room: room, participant: peer.rawValue, reason: "it is a recorder like us")
        case .peerJoined(let peer): self = .participantJoined(room: room, participant: peer.rawValue)
        case .peerLeft(let peer):
            self = .participantLeft(room: room, participant: peer.rawValue, reason: "left")
        case .peerGivenUp(let peer, let reason), .peerRefused(let peer, let reason):
            self = .peerRefused(room: room, participant: peer.rawValue, reason: reason)
        case .removed, .peerNamed, .publishPointArrived, .publishPointLeft, .publishingFailed, .peerConnected,
            .peerDisconnected, .peerStale, .peerRecovered, .callRebuilt, .callFailed, .callReset, .ignored:
            return nil
        }
    }
}

extension RecordingReference {
    init(_ folder: RecordingFolder, part: Int) {
        self.init(id: folder.id.rawValue, folder: folder.path, part: part)
    }
}
