// SPDX-License-Identifier: Apache-2.0

/// Ports as people write them: two numbers with a dash between them.
public enum PortRangeText {
    /// Reads `40000-49999`; nil for anything else, and if the first is below `lowest` or above the last.
    public static func parse(_ text: String, from lowest: UInt16) -> ClosedRange<UInt16>? {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first >= lowest, first <= last else {
            return nil
        }
        return first...last
    }
}
