// SPDX-License-Identifier: Apache-2.0

import Rooms
import Supervision

/// Somebody who waits for a worker's answer about a room.
struct PendingRequest {
    enum Question: Hashable {
        /// Answered by a status with one of these states.
        case status(Set<RoomStatus.RecordingState>)
        /// Answered when the command is performed: not every change shows in a status.
        case done
        case thumbnail(participant: String)
        /// Answered by everything that comes until the command is performed.
        case graphs
    }

    enum Answer {
        case status
        case done
        case image(base64: String)
        case graphs([String: String])
        case refused(String)
        /// Nothing came in time.
        case silence
    }

    let worker: WorkerID
    let room: String
    /// The name of the command that was sent.
    let command: String
    let question: Question
    let deadline: Duration
    /// Answers to commands of the same name that were sent before.
    var answersBefore = 0
    var graphs: [String: String] = [:]
    let continuation: CheckedContinuation<Answer, Never>

    /// What an event means to this request; `nil` if it goes on waiting.
    mutating func hear(_ event: WorkerEvent) -> Answer? {
        if self.answersBefore > 0, self.isAnswer(event) {
            self.answersBefore -= 1
            return nil
        }
        switch (event, self.question) {
        case (.status(self.room, let status), .status(let states)):
            return states.contains(status.recordingState) ? .status : nil
        case (.left(self.room, _), .status):
            return .status
        case (.left(self.room, _), .done), (.left(self.room, _), .graphs):
            return .refused("the room was left meanwhile")
        case (.commandDone(self.room, self.command), .done):
            return .done
        case (.commandDone(self.room, self.command), .graphs):
            return .graphs(self.graphs)
        case (.thumbnail(self.room, let sender, let base64), .thumbnail(let participant)) where sender == participant:
            return .image(base64: base64)
        case (.graph(self.room, let pipeline, let dot), .graphs):
            if self.graphs.count < 64 { self.graphs[pipeline] = dot }
            return nil
        case (.commandFailed(self.room, self.command, let participant, let reason), let question):
            // Several may wait for images of different participants.
            if case .thumbnail(let awaited) = question, let participant, participant != awaited { return nil }
            return .refused(reason)
        default:
            return nil
        }
    }

    private func isAnswer(_ event: WorkerEvent) -> Bool {
        switch event {
        case .commandDone(self.room, self.command), .commandFailed(self.room, self.command, _, _): true
        default: false
        }
    }

    /// What there is when the time is over.
    var late: Answer { self.question == .graphs ? .graphs(self.graphs) : .silence }
}
