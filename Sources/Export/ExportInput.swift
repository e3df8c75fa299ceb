// SPDX-License-Identifier: Apache-2.0

import Storage
import Timeline

/// The tracks and events that an export is made of, on one clock.
struct ExportInput {
    let contents: RecordingContents
    /// Gaps and doubts in the series itself, a sentence each.
    private(set) var warnings: [String] = []
    /// Unique id of the file, 16 bytes.
    let uid: [UInt8]

    /// Reads journals and looks at files, which all rest then; see `RecordingContents`.
    init(_ subject: ExportSubject, keepsDamaged: Bool) throws(ExportError) {
        let id = Array(subject.folder.id.rawValue.utf8)
        switch subject {
        case .recording(let folder):
            var contents = try RecordingContents(folder, keepsDamaged: keepsDamaged)
            contents.rest()
            self.contents = contents
            self.uid = id
        case .series(let series):
            self.contents = try RecordingContents(series, keepsDamaged: keepsDamaged)
            // Another file than the segment's own.
            self.uid = id.reversed()
            self.warn(of: series)
        }
    }

    /// Contents that the certificate of the recording can start from; `nil` for a series, whose recordings are read one
    /// by one.
    var contentsOfRecording: RecordingContents? { self.contents.seriesJournal == nil ? self.contents : nil }

    private mutating func warn(of series: RecordingSeries) {
        for range in series.missing {
            let isOne = range.count == 1
            let numbers = isOne ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
            let consequence = range.lowerBound == 1 ? "the file begins later" : "there is a gap"
            self.warnings.append(
                "segment\(isOne ? "" : "s") \(numbers) of the series \(isOne ? "is" : "are") not there: \(consequence)"
            )
        }
        for folder in series.doubles {
            self.warnings.append("\(folder.path) is left out: another recording has its place in the series")
        }
        for join in self.contents.seriesJournal?.joins ?? [] where join.joinedBy == .utc {
            self.warnings.append("\(join.text): no sender reported to both hosts, and their wall clocks may be apart")
        }
        // Gaps in each segment's own journal are in that segment's certificate.
        self.warnings += self.contents.warnings.filter { $0.hasPrefix("../") && $0.contains("left out") }
    }
}
