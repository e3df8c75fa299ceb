// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Rows of text in aligned columns.
public enum TextTable {
    /// One line for each row; every row has as many cells as the first.
    ///
    /// Control characters become `?`: cells may hold names that participants gave themselves.
    public static func lines(_ rows: [[String]]) -> [String] {
        guard let columns = rows.first?.count else { return [] }
        let rows = rows.map { $0.map(\.shown) }
        let widths = (0..<columns).map { column in rows.map { $0[column].columns }.max() ?? 0 }
        return rows.map { row in
            let line = zip(row, widths).map { $0.fitted(to: $1) }.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}
