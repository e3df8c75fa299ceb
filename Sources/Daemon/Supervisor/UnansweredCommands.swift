// SPDX-License-Identifier: Apache-2.0

import Rooms

/// What a worker was told and has not answered yet.
///
/// A worker performs the commands of a room in order, and says for each that it is done or failed: so an answer is known
/// to be of the oldest of its name.
struct UnansweredCommands {
    private struct Key: Hashable {
        let room: String
        let command: String
    }

    private var counts: [Key: Int] = [:]

    /// How many of the same name were told to the same room before, and come first.
    func count(before command: WorkerCommand) -> Int {
        Self.key(of: command).flatMap { self.counts[$0] } ?? 0
    }

    /// A command was sent.
    mutating func note(_ command: WorkerCommand) {
        guard let key = Self.key(of: command) else { return }
        self.counts[key, default: 0] += 1
    }

    /// An event of the worker came.
    mutating func hear(_ event: WorkerEvent) {
        switch event {
        case .commandDone(let room, let command), .commandFailed(let room?, let command, _, _):
            let key = Key(room: room, command: command)
            guard let count = self.counts[key] else { return }
            self.counts[key] = count > 1 ? count - 1 : nil
        case .left(let room, _):
            // What it was told since is answered no more.
            self.counts = self.counts.filter { $0.key.room != room }
        default:
            break
        }
    }

    /// Those that are answered in order: images come when there are some, and who is told to leave says that it left.
    private static func key(of command: WorkerCommand) -> Key? {
        switch command {
        case .join, .leave, .shutDown, .thumbnail:
            return nil
        case .record, .stopRecording, .pause, .resume, .requestKeyframe, .mark, .camera, .recordOrder, .outputs, .graph:
            return command.room.map { Key(room: $0, command: command.name) }
        }
    }
}
