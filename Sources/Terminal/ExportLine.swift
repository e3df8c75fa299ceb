// SPDX-License-Identifier: Apache-2.0

/// The line about an export: which file, how much of it is done, and how long the rest takes.
public struct ExportLine: Sendable, Hashable {
    /// The file's name.
    public var file: String
    /// 0 to 1.
    public var fraction: Double
    /// Seconds since the export began.
    public var elapsedSeconds: Double

    /// A line with each part given.
    public init(file: String, fraction: Double, elapsedSeconds: Double) {
        self.file = file
        self.fraction = fraction
        self.elapsedSeconds = elapsedSeconds
    }

    private static let widestBar = 40
    private static let narrowestBar = 8
    /// Before, an estimate is worth nothing.
    private static let firstEstimateSeconds = 1.0

    /// Seconds until the end at the speed so far; nil while that cannot be said.
    public var remainingSeconds: Double? {
        guard self.elapsedSeconds >= Self.firstEstimateSeconds, self.fraction > 0.01 else { return nil }
        return self.elapsedSeconds * (1 - min(1, self.fraction)) / self.fraction
    }

    /// The line on a terminal of that width.
    public func line(columns: Int) -> TerminalLine {
        let fraction = min(1, max(0, self.fraction.isNaN ? 0 : self.fraction))
        let left = self.remainingSeconds.map { ", \(ReadableText.clock($0)) left" } ?? ""
        let figures = "\(Int(fraction * 100)) %\(left)"
        let space = columns - figures.columns - "exporting \(self.file) [] ".columns
        guard space >= Self.narrowestBar else {
            return TerminalLine([.init("\(figures) \(self.file)")], columns: columns)
        }
        let bar = min(Self.widestBar, space)
        let filled = Int(fraction * Double(bar))
        return TerminalLine(
            [
                .init("exporting \(self.file) ["), .init(String(repeating: "#", count: filled), .green),
                .init(String(repeating: ".", count: bar - filled)), .init("] \(figures)"),
            ],
            columns: columns
        )
    }
}
