// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Terminal

@Suite struct CallTableTests {
    /// A call of three, one of whom has left.
    private static let call: CallTable = {
        var table = CallTable(state: "recording", stop: "Ctrl-C stops")
        (table.elapsedSeconds, table.remainingSeconds) = (83, 1717)
        (table.bytes, table.freeBytes) = (12_300_000, 77_000_000_000)
        var ann = CallTable.Person(name: "Ann", isHere: true)
        (ann.codecs, ann.size, ann.bitsPerSecond, ann.audio) = (
            ["vp8", "opus"], "1280x720", 1_234_000, .decibels(-23.4)
        )
        var zoe = CallTable.Person(name: "Zoë Straßburger-Featherstonehaugh of the Long Name", isHere: true)
        (zoe.codecs, zoe.bitsPerSecond, zoe.lostPackets, zoe.audio) = (["opus"], 32_000, 12, .silent)
        var gone = CallTable.Person(name: "東京", isHere: false)
        (gone.codecs, gone.bitsPerSecond) = (["h264"], 0)
        table.people = [gone, ann, zoe]
        return table
    }()

    private static func text(_ table: CallTable, _ columns: Int, _ rows: Int) -> [String] {
        table.lines(columns: columns, rows: rows).map { String($0.text.reversed().drop { $0 == " " }.reversed()) }
    }

    @Test func showsEverythingWhereThereIsRoom() {
        #expect(
            Self.text(Self.call, 120, 24) == [
                "recording 1:23  28:37 left  Ctrl-C stops  12.3 MB  77 GB free",
                "NAME                                      CODEC      SIZE       RATE       LOST   AUDIO",
                "Ann                                       vp8 opus   1280x720   1.2 Mb/s   0      -23 dB",
                "Zoë Straßburger-Featherstonehaugh of th…  opus       -          32 kb/s    12     silent",
                "東京                                      h264       -          left       0      -",
            ]
        )
        #expect(Self.text(Self.call, 200, 24) == Self.text(Self.call, 120, 24))
    }

    @Test func leavesOutWhatMattersLeastOnANarrowTerminal() {
        #expect(
            Self.text(Self.call, 80, 24) == [
                "recording 1:23  28:37 left  Ctrl-C stops  12.3 MB  77 GB free",
                "NAME                             CODEC      SIZE       RATE       LOST   AUDIO",
                "Ann                              vp8 opus   1280x720   1.2 Mb/s   0      -23 dB",
                "Zoë Straßburger-Featherstoneha…  opus       -          32 kb/s    12     silent",
                "東京                             h264       -          left       0      -",
            ]
        )
        #expect(
            Self.text(Self.call, 40, 24) == [
                "recording 1:23  28:37 left  Ctrl-C stops",
                "12.3 MB  77 GB free",
                "NAME           RATE       LOST   AUDIO",
                "Ann            1.2 Mb/s   0      -23 dB",
                "Zoë Straßbur…  32 kb/s    12     silent",
                "東京           left       0      -",
            ]
        )
        #expect(
            Self.text(Self.call, 20, 24) == [
                "recording 1:23", "28:37 left", "Ctrl-C stops", "12.3 MB  77 GB free",
                "NAME         AUDIO", "Ann          -23 dB", "Zoë Straßb…  silent", "東京         -",
            ]
        )
    }

    @Test func countsThoseForWhomThereIsNoRow() {
        #expect(
            Self.text(Self.call, 80, 4) == [
                "recording 1:23  28:37 left  Ctrl-C stops  12.3 MB  77 GB free",
                "Ann                              vp8 opus   1280x720   1.2 Mb/s   0      -23 dB", "+ 2 more",
            ]
        )
        #expect(Self.text(Self.call, 80, 3).last == "3 participants")
        #expect(Self.text(Self.call, 20, 2) == ["recording 1:23"])
        #expect(Self.text(Self.call, 5, 1) == ["reco…"])
    }

    /// Every line fits, and so do all of them: whatever the size, and however many there are.
    @Test(arguments: [0, 1, 2, 7, 20, 39, 40, 41, 80, 81, 200, .max], [0, 1, 2, 3, 4, 5, 8, 24, 100])
    func fitsAnySize(columns: Int, rows: Int) {
        for count in [0, 1, 3, 50] {
            var table = Self.call
            table.people = (0..<count).map { table.people[$0 % 3] }
            let lines = table.lines(columns: columns, rows: rows)
            #expect(lines.count <= max(1, rows - 1))
            #expect(lines.allSatisfy { $0.columns <= columns }, "\(lines.map(\.text))")
        }
    }

    @Test func saysWhatItWaitsFor() {
        var table = CallTable(state: "joining", stop: "Ctrl-C stops")
        table.freeBytes = 900_000_000
        #expect(Self.text(table, 80, 24) == ["joining  Ctrl-C stops  900 MB free"])
        let colours = table.lines(columns: 80, rows: 24)[0]
        #expect(colours.text(inColour: true).contains("\u{1B}[33m900 MB free\u{1B}[0m"))
        #expect(!colours.text(inColour: false).contains("\u{1B}"))
    }

    @Test func aNameSteersNoTerminal() {
        var table = CallTable(state: "recording", stop: "Ctrl-C stops")
        table.people = [.init(name: "a\u{1B}[2Jb\n\u{202E}c", isHere: true)]
        #expect(Self.text(table, 80, 24).last?.hasPrefix("a?[2Jb??c ") == true)
    }
}

@Suite struct TerminalTextTests {
    @Test(arguments: [
        ("", 0), ("abc", 3), ("Zoë", 3), ("e\u{301}", 1), ("東京", 4), ("한글", 4), ("👩‍👩‍👧", 2), ("❤️", 2), ("🇩🇪", 2),
    ])
    func knowsHowWideTextIs(text: String, columns: Int) { #expect(text.columns == columns) }

    @Test func cutsAtWholeCharacters() {
        #expect("東京都".cut(to: 5) == "東京…" && "東京都".cut(to: 4) == "東…" && "東京都".fitted(to: 4) == "東… ")
        #expect("abc".cut(to: 3) == "abc" && "abc".cut(to: 1) == "…" && "abc".cut(to: 0) == "")
    }

    @Test func alignsTables() {
        #expect(TextTable.lines([["a", "b"], ["東京", "c"], ["x\u{1B}", ""]]) == ["a     b", "東京  c", "x?"])
        #expect(TextTable.lines([]) == [])
    }

    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "1 kB"), (12_340, "12.3 kB"), (999_600, "1 MB"), (612_000_000, "612 MB"),
        (1_440_000_000_000, "1.4 TB"), (-5, "0 B"), (Int64.max, "1000 TB"),
    ])
    func roundsSizes(bytes: Int64, text: String) { #expect(ReadableText.bytes(bytes) == text) }

    @Test func readsLengthsAndRates() {
        #expect(
            [0, 7, 83, 3600, -1, .nan].map(ReadableText.clock) == ["0:00", "0:07", "1:23", "1:00:00", "0:00", "0:00"]
        )
        #expect([119, 5400, 7200, 400_000].map(ReadableText.span) == ["119 s", "90 min", "2 h", "4 days"])
        #expect([999, 64_000, 1_234_000].map(ReadableText.rate) == ["999 b/s", "64 kb/s", "1.2 Mb/s"])
    }

    @Test func linesThatDoNotFitAreCounted() {
        let lines = TerminalLine.fitting(["one", "two", "three", "four"], columns: 4, rows: 4).map(\.text)
        #expect(lines == ["one", "two", "+ 2…"])
    }
}

@Suite struct ExportLineTests {
    @Test func saysWhichFileAndHowLong() {
        var line = ExportLine(file: "call.mkv", fraction: 0.25, elapsedSeconds: 20)
        #expect(line.line(columns: 60).text == "exporting call.mkv [#####..................] 25 %, 1:00 left")
        #expect(line.line(columns: 20).text == "25 %, 1:00 left cal…")
        line.elapsedSeconds = 0.5
        #expect(line.line(columns: 20).text == "25 % call.mkv")
        #expect(line.line(columns: 300).text.filter { ".#".contains($0) }.count == 41)
        (line.fraction, line.elapsedSeconds) = (1, 30)
        #expect(line.remainingSeconds == 0)
        line.fraction = .nan
        #expect(line.line(columns: 20).text.hasPrefix("0 %"))
    }

    @Test(arguments: [0, 1, 5, 20, 40, 80, 200])
    func fitsAnyWidth(columns: Int) {
        let line = ExportLine(file: "call-東京-from-90s.mkv", fraction: 0.5, elapsedSeconds: 4000)
        #expect(line.line(columns: columns).columns <= columns)
    }
}
