// SPDX-License-Identifier: Apache-2.0

public import Basics

/// Feeds the inputs of a trace to the protocol's machine, without any network, and compares what it says.
public struct TraceReplay: Sendable {
    /// Why a file cannot be replayed; the sentence is for a person.
    public struct Failure: Error, Sendable, Hashable {
        /// The fault, and its line.
        public var message: String

        /// A failure with its sentence.
        public init(message: String) {
            self.message = message
        }
    }

    /// One input, and what came of it.
    public struct Step: Sendable, Hashable {
        /// The line of the input, from 1.
        public var line: Int
        /// Seconds since the beginning; 0 if the trace does not say.
        public var seconds: Double
        /// The input as the trace has it, without its times.
        public var input: JSONValue
        /// Outputs of the machine in the trace.
        public var recorded: [JSONValue]
        /// Outputs of the machine now.
        public var replayed: [JSONValue]
        /// Whether both are the same but for secrets.
        public var isEqual: Bool
    }

    /// Longest line taken, in bytes.
    public static let maximumLineBytes = JSONValue.maximumBytes + 1
    /// The protocol's name.
    public private(set) var protocolName: String
    /// The room URL, without secrets.
    public private(set) var url: String
    /// The program that wrote the trace.
    public private(set) var program: String
    /// The inputs in order.
    public private(set) var steps: [Step] = []
    /// Whether the writer ended the trace before the run ended, because it had become too long.
    public private(set) var isCut = false

    /// How many inputs the machine answered differently.
    public var differences: Int { self.steps.count { !$0.isEqual } }

    /// Replays a trace.
    ///
    /// - Throws: `Failure` if the text is no trace of a protocol that this build knows.
    public init(_ text: String) throws(Failure) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().lazy
            .filter { !$0.element.isEmpty }.map { (number: $0.offset + 1, text: $0.element) }.makeIterator()
        guard let first = lines.next(), first.text.utf8.count <= Self.maximumLineBytes,
            let header = try? JSONValue(parsing: first.text), let version = header["trace"]?.integer
        else { throw Failure(message: "line 1 is not the first line of a signalling trace") }
        guard version == SignallingTrace.version else {
            throw Failure(message: "the trace has version \(version); this build reads \(SignallingTrace.version)")
        }
        guard let options = Self.options(header["options"]), let url = header["url"]?.string else {
            throw Failure(message: "line 1 has no room URL or no options")
        }
        let room: RoomURL
        do throws(SignallingError) {
            room = try RoomURL(parsing: url)
        } catch {
            throw Failure(message: "line 1: \(error.message)")
        }
        self.protocolName = type(of: room.address).protocolName
        self.url = url
        self.program = header["program"]?.string ?? ""
        var machine = Self.machine(room.address, options)
        while let (number, line) = lines.next() {
            guard line.utf8.count <= Self.maximumLineBytes, let value = try? JSONValue(parsing: line),
                let direction = value["direction"]?.string
            else { throw Failure(message: "line \(number) is not a line of a trace") }
            switch direction {
            case "driver": self.isCut = self.isCut || value["cut"]?.bool == true
            case "out":
                guard !self.steps.isEmpty else { throw Failure(message: "line \(number): no input comes before it") }
                self.steps[self.steps.count - 1].recorded.append(Self.withoutTimes(value))
            case "in":
                guard let input = TraceCoding.input(value) else {
                    throw Failure(message: "line \(number): the input cannot be read, or was too large for the trace")
                }
                let replayed = machine.handle(input).map { JSONValue.object(TraceCoding.object($0)) }
                self.steps.append(
                    Step(
                        line: number,
                        seconds: Self.seconds(value["at"]),
                        input: Self.withoutTimes(value),
                        recorded: [],
                        replayed: replayed,
                        isEqual: false
                    )
                )
            default: throw Failure(message: "line \(number): the direction is in, out or driver")
            }
        }
        for index in self.steps.indices {
            let (recorded, replayed) = (
                self.steps[index].recorded.map(Self.comparable), self.steps[index].replayed.map(Self.comparable)
            )
            // The writer may have stopped in the middle of the last answer.
            let isLast = self.isCut && index == self.steps.count - 1
            self.steps[index].isEqual = isLast ? replayed.starts(with: recorded) : recorded == replayed
        }
    }

    private static func machine(_ address: any RoomAddress, _ options: SignallingOptions)
        -> any SignallingMachine
    {
        func make<Address: RoomAddress>(_ address: Address) -> any SignallingMachine {
            address.makeMachine(options)
        }
        return make(address)
    }

    /// Texts that differ in secrets only are the same: in the trace they are `x`, and the lengths may differ.
    private static func comparable(_ value: JSONValue) -> String {
        TraceRedaction(replacement: .single).redact(value).text
    }

    private static func withoutTimes(_ value: JSONValue) -> JSONValue {
        .object((value.object ?? [:]).filter { $0.key != "at" && $0.key != "utc" })
    }

    private static func seconds(_ value: JSONValue?) -> Double {
        switch value {
        case .integer(let seconds): Double(seconds)
        case .number(let seconds): seconds
        default: 0
        }
    }

    private static func options(_ value: JSONValue?) -> SignallingOptions? {
        guard let value, let connectTimeout = Self.duration(value["connectTimeout"]),
            let interval = Self.duration(value["attemptInterval"]), let waits = value["waitsWhenFull"]?.bool
        else { return nil }
        return SignallingOptions(
            policy: JoinPolicy(
                connectTimeout: connectTimeout,
                attempts: value["attempts"]?.integer,
                attemptInterval: interval,
                waitsWhenFull: waits,
                fullWait: Self.duration(value["fullWait"])
            ),
            displayName: value["displayName"]?.string ?? "",
            sends: value["sends"]?.bool ?? false,
            receives: value["receives"]?.bool ?? true,
            records: value["records"]?.bool ?? false,
            secret: value["secret"]?.string,
            seed: value["seed"]?.string.flatMap { UInt64($0) } ?? 0
        )
    }

    /// Up to a year.
    private static func duration(_ value: JSONValue?) -> Duration? {
        value?.integer.flatMap { (0...31_536_000_000).contains($0) ? .milliseconds($0) : nil }
    }
}
