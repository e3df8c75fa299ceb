// SPDX-License-Identifier: Apache-2.0

internal import GStreamer

/// Participants' names as images.
///
/// Pango draws them: it joins Arabic letters, orders what runs from right to left, and finds fonts.
final class NameLabels {
    /// A name as an image with transparency.
    struct Label {
        var sample: MediaSample
        var width: Int
        var height: Int
    }

    private struct Key: Hashable {
        var name: String
        var width: Int
        var height: Int
    }

    /// Longer names are cut: they would be unreadable.
    private static let longestName = 48
    /// Combining marks on one letter: more of them would leave the tile.
    private static let mostMarks = 4

    private var labels: [Key: Label?] = [:]
    private(set) var isMissing = false

    /// The label of a name for a tile; `nil` if it cannot be drawn.
    func label(_ name: String, width: Int, tileHeight: Int) -> Label? {
        let size = min(max(tileHeight / 16, 11), 32)
        let key = Key(name: name, width: width, height: (size * 3 / 2 + 1) / 2 * 2)
        if let known = self.labels[key] { return known }
        let label = self.draw(Self.printable(name), key, size: size)
        // A call in which people come and go has few sizes, and a hostile one has names without end.
        if self.labels.count >= 512 { self.labels.removeAll() }
        self.labels[key] = .some(label)
        return label
    }

    private func draw(_ text: String, _ key: Key, size: Int) -> Label? {
        guard !text.isEmpty, key.width >= 16 else { return nil }
        let chain: CodecChain
        do throws(GStreamerError) {
            chain = try CodecChain(
                launch: """
                    textrender font-desc="Sans \(size)px" halignment=left valignment=top xpad=\(size / 3) ypad=0 \
                    ! capsfilter caps=video/x-raw,format=AYUV,width=\(key.width),height=\(key.height)
                    """,
                caps: "text/x-raw,format=utf8"
            )
        } catch {
            self.isMissing = true
            return nil
        }
        guard chain.push(Array(text.utf8), nanoseconds: 0), let sample = chain.pull() else { return nil }
        let width = min(key.width, (sample.visibleWidth + size / 3 + 1) / 2 * 2)
        return Label(sample: sample, width: width, height: key.height)
    }

    /// A peer's name without what breaks a line, turns the direction of what follows, or grows without end.
    static func printable(_ name: String) -> String {
        var scalars = String.UnicodeScalarView()
        var marks = 0
        for scalar in name.unicodeScalars.prefix(Self.longestName * 4) {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
                if scalars.last != " " { scalars.append(" ") }
                continue
            case .format:
                // Emoji and Indic scripts are joined with these two.
                guard scalar == "\u{200D}" || scalar == "\u{200C}" else { continue }
            case .nonspacingMark, .enclosingMark, .spacingMark:
                marks += 1
                guard marks <= Self.mostMarks else { continue }
                scalars.append(scalar)
                continue
            default: break
            }
            marks = 0
            scalars.append(scalar)
        }
        let text = String(scalars)
        let trimmed = text.drop { $0 == " " }
        return trimmed.count > Self.longestName ? trimmed.prefix(Self.longestName - 1) + "…" : String(trimmed)
    }
}
