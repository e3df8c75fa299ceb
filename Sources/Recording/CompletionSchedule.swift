// SPDX-License-Identifier: Apache-2.0

internal import Storage

/// Which files and recordings that are over are completed now.
///
/// Completing waits for the disk and for nothing else: files are completed side by side, as many as a disk bears. The end
/// of a recording comes after all its files, and after the end of the recording before it.
struct CompletionSchedule: Sendable {
    /// Files that are completed at a time.
    static let mostFiles = 16

    /// Completions that have not begun, the oldest first.
    private var files: [RecordingCompletion] = []
    private var ends: [RecordingCompletion] = []
    private var runningFiles = 0
    private var endIsRunning = false
    /// Files of each recording that are not complete; those of none are not waited for.
    private var incomplete: [RecordingID: Int] = [:]

    /// Whether there is nothing to complete, nor anything that is being completed.
    var isIdle: Bool { self.files.isEmpty && self.ends.isEmpty && self.runningFiles == 0 && !self.endIsRunning }

    /// Something is over.
    mutating func add(_ completion: RecordingCompletion) {
        switch completion.work {
        case .file:
            if let id = completion.recording?.folder.id { self.incomplete[id, default: 0] += 1 }
            self.files.append(completion)
        case .recording:
            self.ends.append(completion)
        }
    }

    /// The next completion that may begin now, one at each call.
    mutating func next() -> RecordingCompletion? {
        if !self.files.isEmpty, self.runningFiles < Self.mostFiles {
            self.runningFiles += 1
            return self.files.removeFirst()
        }
        guard let end = self.ends.first, !self.endIsRunning, self.isComplete(end.recording) else { return nil }
        self.endIsRunning = true
        return self.ends.removeFirst()
    }

    private func isComplete(_ recording: ActiveRecording?) -> Bool {
        recording.map { self.incomplete[$0.folder.id] == nil } ?? true
    }

    /// A completion that had begun was performed.
    mutating func ended(_ completion: RecordingCompletion) {
        switch completion.work {
        case .file:
            self.runningFiles = max(0, self.runningFiles - 1)
            guard let id = completion.recording?.folder.id, let count = self.incomplete[id] else { return }
            self.incomplete[id] = count > 1 ? count - 1 : nil
        case .recording:
            self.endIsRunning = false
        }
    }
}
