// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Rooms
import Synchronization

/// What an export job has told so far.
///
/// Any thread.
final class ExportProgress: Sendable {
    private struct State {
        var fraction = 0.0
        var file: String?
        var error: String?
        var isRetriable: Bool?
    }

    private let state = Mutex(State())

    var file: String? { self.state.withLock { $0.file } }
    var error: String? { self.state.withLock { $0.error } }
    /// Whether another try may end otherwise; nil for a job that ended without a word.
    var isRetriable: Bool? { self.state.withLock { $0.isRetriable } }
    var fraction: Double { self.state.withLock { $0.fraction } }

    /// Takes a line of the job.
    ///
    /// - Returns: whether it tells of progress.
    func take(_ line: Data) -> Bool {
        guard let event = try? WorkerLine.decode(ExportJobEvent.self, from: line) else { return false }
        return self.state.withLock { state in
            switch event {
            case .progress(let done, let total):
                state.fraction = total == 0 ? 0 : min(Double(done) / Double(total), 1)
                return true
            case .finished(let result):
                state.file = result.output
                return false
            case .failed(let message, let isRetriable):
                state.error = message
                state.isRetriable = isRetriable
                return false
            }
        }
    }
}
