// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Rooms

/// An export that a finished recording gets by itself.
struct ExportSpec: Sendable, Hashable {
    /// The layout's name.
    var layout: String
    /// What the layout takes, by the names of the command line.
    var options: [String: String] = [:]
}

extension ExportConfiguration {
    /// The exports of each recording, in this order.
    var orders: [ExportSpec] {
        self.layouts.map { layout in
            var order = ExportSpec(layout: layout.rawValue)
            guard layout == .tracks else { return order }
            if self.container != .mkv { order.options["container"] = self.container.rawValue }
            if self.keepsDamaged { order.options["keep-damaged"] = "true" }
            if self.writesProject { order.options["project"] = "true" }
            return order
        }
    }
}

extension RoomConfiguration {
    /// The exports of each of its recordings, in this order; `nil` where nothing is recorded.
    var exportOrders: [ExportSpec]? { self.spec.record == nil ? nil : self.export.orders }
}
