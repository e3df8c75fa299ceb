// SPDX-License-Identifier: Apache-2.0

import Catalogue
import ConfigurationFile
import Model

/// An export that a finished recording gets by itself.
struct ExportSpec: Sendable, Hashable {
    /// The layout's name.
    var layout: String
    /// What the layout takes, by the names of the command line.
    var options: [String: String] = [:]
}

extension ExportSpec {
    /// Whether an export of a recording is what this order would make: it waits, runs or failed as this one would, or its file
    /// is in the recording's folder under the name that this one's has.
    ///
    /// What somebody made elsewhere, or of a part, is none.
    func isMet(by export: ExportEntry) -> Bool {
        guard export.isOfWhole, !export.isOfSeries, export.layout == self.layout else { return false }
        guard export.state == .done, let file = export.file else { return export.options == self.options }
        // A folder does not tell the options; a room that has another container since makes no file anew.
        let stem = file.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).first
        return export.isInPlace && (stem.map(String.init) == (self.layout == "tracks" ? "call" : "call-\(self.layout)"))
    }
}

extension ExportConfiguration {
    /// The exports of each recording, in this order.
    var orders: [ExportSpec] {
        self.layouts.map { layout in
            var order = ExportSpec(layout: layout.rawValue)
            guard layout == .tracks else { return order }
            if self.container != .mkv { order.options["container"] = self.container.rawValue }
            if self.keepsDamaged { order.options["keep-damaged"] = "true" }
            if self.separatesTracks { order.options["separate-tracks"] = "true" }
            if self.writesProject { order.options["project"] = "true" }
            return order
        }
    }
}

extension RoomConfiguration {
    /// The exports of each of its recordings, in this order; `nil` where nothing is recorded.
    var exportOrders: [ExportSpec]? { self.spec.record == nil ? nil : self.export.orders }
}
