// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Model
import Testing

@Suite struct LineSplitterTests {
    private func lines(_ chunks: [String], limit: Int = 100) -> [String] {
        var splitter = LineSplitter(maximumLength: limit)
        return chunks.flatMap { splitter.take($0.utf8) }.map { line in
            switch line {
            case .whole(let data): String(decoding: data, as: UTF8.self)
            case .tooLong: "too long"
            }
        }
    }

    @Test func joinsWhatComesInPieces() {
        #expect(self.lines(["a", "b\nc", "\nd"]) == ["ab", "c"])
        #expect(self.lines(["one\ntwo\n\n\nthree\n"]) == ["one", "two", "three"])
        #expect(self.lines([]).isEmpty)
    }

    @Test func leavesOutLinesThatAreTooLongAndGoesOn() {
        #expect(self.lines(["abcd\nabcde\nab\n"], limit: 4) == ["abcd", "too long", "ab"])
        #expect(self.lines(["abc", "def", "ghi", "\nab\n"], limit: 4) == ["too long", "ab"])
    }

    @Test func everyCommandAndEventFitsOnOneLine() throws {
        var order = RoomSpec(name: "r\n1", url: "socketio+http://h/r", storage: "/s")
        order.record = RecordSpec()
        order.send = SendSpec()
        let commands: [WorkerCommand] = [
            .be(order, revision: 1), .leave(room: "r"), .requestKeyframe(room: "r", participant: nil),
            .mark(room: "r", text: "line\nbreak"), .thumbnail(room: "r", participant: "p"), .graph(room: "r"),
            .shutDown,
        ]
        var splitter = LineSplitter()
        let bytes = try commands.map { try WorkerLine.encode($0) }.reduce(Data(), +)
        let decoded = try splitter.take(bytes).map { line in
            guard case .whole(let data) = line else { throw WrongLine() }
            return try WorkerLine.decode(WorkerCommand.self, from: data)
        }
        #expect(decoded == commands)
    }

    private struct WrongLine: Error {}
}
