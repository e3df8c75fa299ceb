// SPDX-License-Identifier: Apache-2.0

/// Finds the word that a person meant to write.
public enum Spelling {
    /// The known word nearest to a misspelt one; nil if none is near, or if the word is longer than 64 characters.
    public static func suggestion(for word: String, among known: [String]) -> String? {
        let wanted = Self.folded(word)
        guard wanted.count <= 64 else { return nil }
        let limit = max(1, wanted.count / 3)
        let nearest = known.map { (word: $0, distance: Self.distance(wanted, Self.folded($0))) }
            .min { $0.distance < $1.distance }
        return nearest.flatMap { $0.distance <= limit ? $0.word : nil }
    }

    /// Without case; `-` and `_` are one.
    private static func folded(_ word: String) -> [Character] {
        word.lowercased().map { $0 == "-" ? "_" : $0 }
    }

    /// Letters to insert, remove, replace or swap with their neighbour: optimal string alignment.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for (row, letter) in left.enumerated() {
            var current = [row + 1]
            for (column, other) in right.enumerated() {
                var cost = min(last[column + 1] + 1, current[column] + 1, last[column] + (letter == other ? 0 : 1))
                if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
