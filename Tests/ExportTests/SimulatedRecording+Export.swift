// SPDX-License-Identifier: Apache-2.0

import Export
import Model
import Rendering
import Testing

extension SimulatedRecording {
    /// Exports it as a job does, in this process.
    func export(
        _ spec: ExportSpec,
        output: String? = nil,
        progress: (ExportProgress) throws -> Void = { _ in }
    ) throws -> ExportReport {
        try ExportJob(self.folder, program: "test", output: output) { Issue.record("stuck; \($0) would be removed") }
            .run(spec, progress: progress)
    }
}
