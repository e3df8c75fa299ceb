// SPDX-License-Identifier: Apache-2.0

import Foundation
import ServiceLifecycle

/// Lets go of program text that only the start needed, some seconds after it and now and then later.
///
/// The kernel keeps it in its page cache as long as there is room, so nothing is read again from the disk; but it no
/// longer counts as ours, in the figures that operators watch and in the service's memory limit. Two thirds of what an
/// idle supervisor has mapped is such text (docs/decisions/0041).
struct IdlePages: Service {
    private static let settling = Duration.seconds(3)
    private static let interval = Duration.seconds(600)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var pause = Self.settling
            while (try? await Task.sleep(for: pause)) != nil {
                Self.release()
                pause = Self.interval
            }
        }
    }

    /// Unmaps every page of program text and constants; what is used comes back from the page cache.
    private static func release() {
        guard let maps = try? String(contentsOfFile: "/proc/self/smaps", encoding: .utf8) else { return }
        for range in Self.cleanRanges(in: maps) {
            // A refusal costs nothing.
            _ = madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
        }
    }

    /// The addresses of private mappings of files that cannot be written and have no page of their own, so that there is
    /// nothing to lose, as /proc/self/smaps lists them (proc(5)).
    static func cleanRanges(in maps: String) -> [Range<UInt>] {
        var ranges: [Range<UInt>] = []
        var candidate: Range<UInt>?
        for line in maps.split(separator: "\n") {
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            if fields.count >= 6, let range = Self.range(fields[0]) {
                let isReadOnly = fields[1] == "r-xp" || fields[1] == "r--p"
                candidate = isReadOnly && fields[5].hasPrefix("/") ? range : nil
            } else if fields.count >= 5, Self.range(fields[0]) != nil {
                candidate = nil
            } else if fields.first == "Anonymous:", let range = candidate {
                if fields.count > 1, fields[1] == "0" { ranges.append(range) }
                candidate = nil
            }
        }
        return ranges
    }

    private static func range(_ text: Substring) -> Range<UInt>? {
        let bounds = text.split(separator: "-")
        guard bounds.count == 2, let low = UInt(bounds[0], radix: 16), let high = UInt(bounds[1], radix: 16),
            low > 0, low < high
        else { return nil }
        return low..<high
    }
}
