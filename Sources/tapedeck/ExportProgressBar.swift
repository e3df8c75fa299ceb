// SPDX-License-Identifier: Apache-2.0

import Export

/// Progress of an export, on a terminal.
final class ExportProgressBar {
    private var lines = LiveLines()
    private var lastPercent = -1
    private let isShown: Bool

    init(isShown: Bool) {
        self.isShown = isShown
    }

    func draw(_ progress: ExportProgress) {
        let percent = Int(progress.fraction * 100)
        guard self.isShown, percent != self.lastPercent else { return }
        self.lastPercent = percent
        let filled = percent * 40 / 100
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: 40 - filled)
        self.lines.draw(["exporting [\(bar)] \(percent) %"])
    }
}
