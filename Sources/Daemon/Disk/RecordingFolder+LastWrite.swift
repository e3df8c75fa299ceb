// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Storage

extension RecordingFolder {
    /// When the journal was last written, by the disk's clock; nil if there is none.
    var lastWrite: UTCTime? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: self.journalPath),
            let date = attributes[.modificationDate] as? Date
        else { return nil }
        return UTCTime(nanosecondsSince1970: 0).adding(.seconds(min(max(0, date.timeIntervalSince1970), 9e9)))
    }
}
