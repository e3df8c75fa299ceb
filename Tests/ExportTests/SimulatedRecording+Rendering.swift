// SPDX-License-Identifier: Apache-2.0

import Export
import Model
import Rendering
import Testing

extension SimulatedRecording {
    /// Renders it as a job does, in this process.
    func render(
        _ settings: RenderSettings,
        _ selection: ExportSelection = ExportSelection(),
        output: String? = nil,
        progress: (ExportProgress) throws -> Void = { _ in }
    ) throws -> ExportReport {
        try Renderer.run(
            folder: self.folder,
            settings: settings,
            selection: selection,
            output: output,
            isStuck: { Issue.record("stuck; \($0) would be removed") },
            progress: progress
        )
    }
}
