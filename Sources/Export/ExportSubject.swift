// SPDX-License-Identifier: Apache-2.0

public import Model
public import Storage

/// The source of an export.
public enum ExportSubject: Sendable, Hashable {
    /// One recording.
    case recording(RecordingFolder)
    /// All recordings of a series, on one clock; missing ones are gaps.
    case series(RecordingSeries)

    /// The recording, or the series of which it is a segment.
    ///
    /// - Throws: `ExportError` with code `noSeries`, or `storage`.
    public init(_ folder: RecordingFolder, _ spec: ExportSpec) throws(ExportError) {
        self = .recording(folder)
        guard spec.series else { return }
        do throws(StorageError) {
            if let series = try RecordingSeries.find(folder) {
                self = .series(series)
                return
            }
        } catch {
            throw ExportError(error)
        }
        throw ExportError(
            .noSeries,
            "\(folder.id) is not of a series: it was recorded in one piece, or its journal does not begin as it should"
        )
    }

    /// The recordings, oldest first; at least one.
    var folders: [RecordingFolder] {
        switch self {
        case .recording(let folder): [folder]
        case .series(let series): series.segments.map(\.folder)
        }
    }

    /// The folder in which exports go by default: that of the first segment that exists.
    public var folder: RecordingFolder {
        switch self {
        case .recording(let folder): folder
        case .series(let series): series.segments[0].folder
        }
    }
}
