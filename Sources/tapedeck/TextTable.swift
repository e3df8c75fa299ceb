// SPDX-License-Identifier: Apache-2.0

import Basics

/// Rows of text in aligned columns.
enum TextTable {
    /// One line for each row; every row has as many cells as the first.
    ///
    /// Control characters become `?`: cells may hold names that peers gave themselves.
    static func lines(_ rows: [[String]]) -> [String] {
        guard let columns = rows.first?.count else { return [] }
        let rows = rows.map { $0.map { String($0.map { $0.unicodeScalars.contains(where: \.steersText) ? "?" : $0 }) } }
        let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = zip(row, widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.count)
            }
            let line = cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}
