// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The lines of a trace: the inputs and outputs of one machine, as JSON objects, one a line, without secrets.
///
/// The first line names the version, the protocol, the room URL and the options. Each further one has its time: `at` in
/// seconds since the beginning on the monotonic clock, and `utc`. Outputs of the machine follow the input that caused
/// them. Lines of direction `driver` are human-readable notes.
public struct SignallingTrace: Sendable {
    /// The version of the format.
    public static let version = 1

    private let redaction: TraceRedaction
    /// Packets of a stream are cut anywhere, also within a secret.
    private var stream: TraceRedaction
    private let address: String
    private let protocolName: String
    private let options: SignallingOptions

    /// A trace of one run in a room.
    public init(_ address: any RoomAddress, options: SignallingOptions) {
        let text = "\(address)"
        self.address = text
        self.protocolName = type(of: address).protocolName
        self.options = options
        self.redaction = TraceRedaction(known: [options.secret].compactMap { $0 } + Self.secrets(of: text))
        self.stream = self.redaction
    }

    /// The values of a URL's query that are secrets by their names.
    private static func secrets(of url: String) -> [String] {
        guard let mark = url.firstIndex(of: "?") else { return [] }
        return url[mark...].dropFirst().split(separator: "&").compactMap { item in
            let redacted = TraceRedaction().redact(String(item))
            guard redacted != item, let equals = item.firstIndex(of: "=") else { return nil }
            return PercentCoding.decode(item[equals...].dropFirst())
        }
    }

    /// The first line, without its end.
    ///
    /// - Parameters:
    ///   - program: Name and version of what writes the trace.
    ///   - utc: The time, as ISO 8601 has it.
    public func header(program: String, utc: String) -> String {
        let policy = self.options.policy
        let value = JSONValue.object([
            "trace": .integer(Self.version), "program": .string(program), "utc": .string(utc),
            "protocol": .string(self.protocolName), "url": .string(self.address),
            "options": .object([
                "connectTimeout": TraceCoding.milliseconds(policy.connectTimeout),
                "attempts": policy.attempts.map { .integer($0) } ?? .null,
                "attemptInterval": TraceCoding.milliseconds(policy.attemptInterval),
                "waitsWhenFull": .bool(policy.waitsWhenFull),
                "fullWait": policy.fullWait.map(TraceCoding.milliseconds) ?? .null,
                "displayName": .string(self.options.displayName), "sends": .bool(self.options.sends),
                "receives": .bool(self.options.receives), "records": .bool(self.options.records),
                "secret": self.options.secret.map { .string($0) } ?? .null,
                "seed": .string(String(self.options.seed)),
            ]),
        ])
        return self.redaction.redact(value).text
    }

    /// The line of an input.
    public mutating func line(_ input: SignallingInput, at seconds: Double, utc: String) -> String {
        guard case .stream(let event) = input else { return self.line(TraceCoding.object(input), seconds, utc) }
        switch event {
        case .received(let bytes):
            let received = StreamEvent.received(self.stream.next(bytes))
            return self.line(TraceCoding.object(.stream(received)), seconds, utc)
        case .listening, .connected, .disconnected, .failed:
            self.stream = self.redaction
            return self.line(TraceCoding.object(input), seconds, utc)
        }
    }

    /// The line of an action.
    public func line(_ action: SignallingAction, at seconds: Double, utc: String) -> String {
        self.line(TraceCoding.object(action), seconds, utc)
    }

    /// The line of a step that the driver took without the machine; a replay leaves it out.
    public func line(note: String, at seconds: Double, utc: String) -> String {
        self.line(["direction": "driver", "note": .string(note)], seconds, utc)
    }

    private func line(_ members: [String: JSONValue], _ seconds: Double, _ utc: String) -> String {
        var members = members
        members["at"] = .number((seconds * 1_000_000).rounded() / 1_000_000)
        members["utc"] = .string(utc)
        let size = JSONValue.object(members).text.utf8.count
        if size > JSONValue.maximumBytes {
            members = members.filter { ["direction", "transport", "kind", "at", "utc"].contains($0.key) }
            members["omittedBytes"] = .integer(size)
        }
        return self.redaction.redact(.object(members)).text
    }
}
