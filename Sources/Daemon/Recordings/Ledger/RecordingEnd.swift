// SPDX-License-Identifier: Apache-2.0

import Model
import Timeline

/// How a recording ended, as its report says.
enum RecordingEnd: Sendable, Hashable {
    /// Its worker closed it.
    case finished(reason: String)
    /// A repair or an export closed it.
    case repaired

    /// The end of a recording that is found finished.
    ///
    /// - Parameter reason: the reason in the last record of its journal; nil if there is none: an export closed it.
    init(found reason: String?) {
        self = reason.flatMap { $0 == RecordingFinished.repaired ? nil : .finished(reason: $0) } ?? .repaired
    }

    var kind: DaemonEvent.Kind {
        switch self {
        case .finished: .recordingFinished
        case .repaired: .recordingRepaired
        }
    }

    var details: [String: String] {
        switch self {
        case .finished(let reason): ["reason": reason]
        case .repaired: [:]
        }
    }
}
