// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TestSupport
import Testing
import Timeline

@testable import Storage

@Suite struct JournalChainTests {
    private let storage: TemporaryStorage
    private let folder: RecordingFolder

    init() throws {
        self.storage = try TemporaryStorage()
        self.folder = try self.storage.makeFolder()
    }

    private func write(_ numbers: Range<Int>) throws {
        let writer = try JournalWriter(folder: self.folder)
        for number in numbers { try writer.append(JournalRecord.anchor(number), monotonicNanoseconds: Int64(number)) }
    }

    private func lines() throws -> [String] {
        let data = try #require(FileManager.default.contents(atPath: self.folder.journalPath))
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func replace(_ lines: [String]) throws {
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: self.folder.journalPath))
    }

    private func append(_ text: String) throws {
        let old = FileManager.default.contents(atPath: self.folder.journalPath) ?? Data()
        try (old + Data(text.utf8)).write(to: URL(filePath: self.folder.journalPath))
    }

    @Test func everyLineFollowsFromTheOneBefore() throws {
        try self.write(0..<5)
        try self.write(5..<9)
        let chain = try Journal.read(self.folder) { _ in }.chain
        #expect(chain.chainedLines == 9 && chain.firstBreak == nil && chain.tornLines.isEmpty)
        #expect(try self.lines().last?.hasSuffix(#","chain":"\#(chain.value)"}"#) ?? false)
        // The entry is the same without it.
        let line = try #require(try self.lines().first)
        let entry = try JSONDecoder().decode(JournalEntry.self, from: Data(line.utf8))
        #expect(entry == JournalEntry(JournalRecord.anchor(0), monotonicNanoseconds: 0))
    }

    /// The line at which the chain must break, for changes of nine lines.
    @Test(arguments: [
        ("a line removed", 5), ("the first line removed", 1), ("lines swapped", 4), ("a line twice", 5),
        ("a digit changed", 4), ("a value changed", 4), ("an unchained line", 5),
    ])
    func breaksWhere(change: String, line: Int) throws {
        try self.write(0..<9)
        var lines = try self.lines()
        switch change {
        case "a line removed": lines.remove(at: 4)
        case "the first line removed": lines.removeFirst()
        case "lines swapped": lines.swapAt(3, 4)
        case "a line twice": lines.insert(lines[3], at: 4)
        case "a digit changed": lines[3] = lines[3].replacing("\"at\":3", with: "\"at\":4")
        case "a value changed": lines[3] = String(lines[3].dropLast(3)) + (lines[3].hasSuffix("0\"}") ? "1\"}" : "0\"}")
        default: lines.insert(#"{"at":4,"kind":"clock-anchor","rtp":1,"track":1,"v":1}"#, at: 4)
        }
        try self.replace(lines)
        #expect(try Journal.read(self.folder) { _ in }.chain.firstBreak == line)
    }

    @Test func aTornTailIsATornTail() throws {
        try self.write(0..<4)
        let whole = [UInt8](try #require(FileManager.default.contents(atPath: self.folder.journalPath)))
        let lastStart = try #require(whole.dropLast().lastIndex(of: UInt8(ascii: "\n"))) + 1
        for length in lastStart...whole.count {
            try Data(whole.prefix(length)).write(to: URL(filePath: self.folder.journalPath))
            let chain = try Journal.read(self.folder) { _ in }.chain
            #expect(chain.firstBreak == nil)
            #expect(chain.tornLines == (length == lastStart || length >= whole.count - 1 ? [] : [4]))
            // A writer that continues follows the last whole line.
            try self.write(10..<12)
            let after = try Journal.read(self.folder) { _ in }.chain
            #expect(after.firstBreak == nil && after.tornLines == chain.tornLines, "cut at \(length)")
        }
    }

    @Test func aTornLineInTheMiddleIsToldFromATamperedOne() throws {
        try self.write(0..<4)
        try self.append(#"{"at":4,"kind":"clock-anc"#)
        try self.write(5..<7)
        let torn = try Journal.read(self.folder) { _ in }
        #expect(torn.chain.firstBreak == nil && torn.chain.tornLines == [5] && torn.skippedLines == 1)
        var lines = try self.lines()
        lines[2] = "x" + lines[2].dropFirst()
        try self.replace(lines)
        #expect(try Journal.read(self.folder) { _ in }.chain.firstBreak == 3)
    }

    @Test func aJournalOfAnOlderVersionIsNotChained() throws {
        let old = #"{"at":4,"kind":"clock-anchor","rtp":1,"track":1,"v":1}"# + "\n"
        try self.append(old + old)
        #expect(try Journal.read(self.folder) { _ in }.chain == JournalChain())
        try self.write(0..<3)
        let chain = try Journal.read(self.folder) { _ in }.chain
        #expect(chain.chainedLines == 3 && chain.firstBreak == nil && chain.tornLines.isEmpty)
    }

    @Test func hashesTheFile() throws {
        try self.write(0..<3)
        let digest = try #require(try Journal.read(self.folder) { _ in }.digest)
        #expect(
            digest.bytes == UInt64(try #require(FileManager.default.contents(atPath: self.folder.journalPath)).count)
        )
        #expect(try HashingFile.sha256(self.folder.journalPath, first: digest.bytes) == digest.sha256)
        #expect(try HashingFile.sha256(self.folder.journalPath, first: digest.bytes + 1) == nil)
    }

    /// Whatever is read before, and in whatever order, the hash is that of the file.
    @Test func aHashDoesNotDependOnWhatIsRead() throws {
        let path = self.folder.path + "/blob"
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        try Data(bytes).write(to: URL(filePath: path))
        let expected = try #require(try HashingFile.sha256(path, first: 3_000_000))
        for reads in [[], [(0, 10)], [(2_000_000, 500), (5, 5)], [(10, 2_500_000), (2_999_999, 1)]] as [[(Int, Int)]] {
            let file = HashingFile(try File(path, .read))
            for (offset, count) in reads {
                #expect(
                    try file.read(offset: UInt64(offset), count: count).elementsEqual(bytes[offset...].prefix(count))
                )
            }
            #expect(try file.sha256() == expected)
        }
    }
}
