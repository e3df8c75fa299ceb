// SPDX-License-Identifier: Apache-2.0

import Fleet
import Observability

extension RestartReason {
    /// What metrics call the end of a worker.
    init(_ cause: WorkerEndCause) {
        switch cause {
        case .exited: self = .exited
        case .crashed: self = .crashed
        case .killed: self = .hung
        }
    }
}
