// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Model
import Terminal

/// Progress of an export, on a terminal.
final class ExportProgressBar {
    private let lines: LiveLines
    private let file: String
    private let began = ContinuousClock.now
    private var lastDrawn: ContinuousClock.Instant?

    /// - Parameter output: where the file goes; nil for its usual place.
    init(_ lines: LiveLines, _ spec: ExportSpec, output: String?) {
        self.lines = lines
        self.file = (output ?? spec.fileName).split(separator: "/").last.map { String($0) } ?? ""
    }

    func draw(_ progress: ExportProgress) { self.draw(progress.fraction) }

    func draw(_ fraction: Double) {
        let now = ContinuousClock.now
        if let lastDrawn, now - lastDrawn < .milliseconds(100) { return }
        self.lastDrawn = now
        let line = ExportLine(
            file: self.file,
            fraction: fraction,
            elapsedSeconds: (now - self.began).seconds
        )
        self.lines.draw { columns, _ in [line.line(columns: columns)] }
    }
}
