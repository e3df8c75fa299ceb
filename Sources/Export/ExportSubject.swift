// SPDX-License-Identifier: Apache-2.0

public import Storage

/// What an export is made of.
public enum ExportSubject: Sendable, Hashable {
    /// One recording.
    case recording(RecordingFolder)
    /// All recordings of a series, on one clock; missing ones are gaps.
    case series(RecordingSeries)

    /// The series of which a recording is a segment.
    ///
    /// - Throws: `ExportError` with code `noSeries`, or `storage`.
    public static func series(of folder: RecordingFolder) throws(ExportError) -> ExportSubject {
        do throws(StorageError) {
            if let series = try RecordingSeries.find(folder) { return .series(series) }
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

    /// The folder in which exports go unless somebody asks for another place: that of the first segment that is there.
    public var folder: RecordingFolder {
        switch self {
        case .recording(let folder): folder
        case .series(let series): series.segments[0].folder
        }
    }

    /// Where an export goes unless somebody asks for another place.
    public func path(_ selection: ExportSelection, suffix: String) -> String {
        let name =
            switch self {
            case .recording: "call"
            case .series: "call-series"
            }
        return "\(self.folder.path)/\(name)\(selection.nameSuffix).\(suffix)"
    }

    /// Where a rendition for browsers goes unless somebody asks for another place, without the suffix of its container.
    ///
    /// `browser` is the whole, and only the whole: a part, or one participant's, does not take its place.
    public func renditionPath(_ selection: ExportSelection) -> String {
        "\(self.folder.path)/browser\(selection.nameSuffix)"
    }
}
