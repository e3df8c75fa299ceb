// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Model

extension ExportSpec {
    /// Whether an export of a recording is what this order would make: it waits, runs or failed as this one would, or its file
    /// is in the recording's folder under the name that this one's has.
    ///
    /// An export to another place, or of a part, is none.
    func isMet(by export: ExportEntry) -> Bool {
        guard export.isOfWhole, !export.spec.series, export.spec.layout.name == self.layout.name else { return false }
        guard export.state == .done, let file = export.file else { return export.spec == self }
        // A folder does not show the options; a room that has another container since makes no file again.
        let stem = file.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).first
        return export.isInPlace && stem.map(String.init) == self.stem
    }
}
