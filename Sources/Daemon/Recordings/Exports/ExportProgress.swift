// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Model
import Synchronization

/// The reports of an export job so far.
///
/// Any thread.
final class ExportProgress: Sendable {
    /// An event, a row of the catalogue and a delivery of each webhook: people do not read faster.
    private static let interval = Duration.seconds(1)

    private struct State {
        var percent = 0
        /// The last report, and when.
        var told: (percent: Int, at: ContinuousClock.Instant)?
        var file: String?
        var error: String?
        var isRetriable: Bool?
    }

    private let state = Mutex(State())

    var file: String? { self.state.withLock { $0.file } }
    var error: String? { self.state.withLock { $0.error } }
    /// Whether another try may end otherwise; nil for a job that ended without a word.
    var isRetriable: Bool? { self.state.withLock { $0.isRetriable } }

    /// Takes a line of the job.
    ///
    /// - Returns: how far it is in percent, if that is to be reported: another figure than before, once a second at most.
    func take(_ line: Data, now: ContinuousClock.Instant = .now) -> Int? {
        guard let event = try? WorkerLine.decode(ExportJobEvent.self, from: line) else { return nil }
        return self.state.withLock { state in
            switch event {
            case .progress(let done, let total):
                state.percent = total == 0 ? 0 : Int(min(Double(done) / Double(total), 1) * 100)
                if let told = state.told, now - told.at < Self.interval || told.percent == state.percent { return nil }
                state.told = (state.percent, now)
                return state.percent
            case .finished(let result):
                state.file = result.output
                return nil
            case .failed(let message, let isRetriable):
                state.error = message
                state.isRetriable = isRetriable
                return nil
            }
        }
    }

    /// How far the job came in percent, if that was not reported.
    var untold: Int? {
        self.state.withLock { state in
            (state.told?.percent ?? 0) == state.percent ? nil : state.percent
        }
    }
}
