// SPDX-License-Identifier: Apache-2.0

public import Basics

/// A value that hosts of a cluster share: a JSON object with the member `schema`.
///
/// A reader ignores members that it does not know.
public protocol ClusterRecord: Sendable, Hashable {
    /// Reads the members of an object whose schema is known.
    init(reading members: RecordMembers) throws(RecordProblem)
    /// The members without `schema`; a member without a value is left out.
    var members: [String: JSONValue?] { get }
}

/// The reason why a value is not a record, human-readable: it names the member.
public struct RecordProblem: Error, Sendable, Hashable {
    /// One sentence without its end.
    public let text: String

    /// A reason.
    public init(_ text: String) { self.text = text }
}

/// A value of the store, read.
public enum RecordReading<Record: ClusterRecord>: Sendable, Hashable {
    /// A record of a schema that this version knows.
    case known(Record)
    /// A value of a newer schema: it is shown, and neither claimed nor overwritten.
    case newer(schema: Int, JSONValue)
    /// Not a record.
    case broken(RecordProblem)

    /// The record, where this version can read it.
    public var record: Record? {
        if case .known(let record) = self { record } else { nil }
    }

    /// The reason why it cannot be read, human-readable; nil where it can.
    public var problem: String? {
        switch self {
        case .known: nil
        case .newer(let schema, _):
            "has schema \(schema), and this version knows \(RecordSchema.current): update this host"
        case .broken(let problem): problem.text
        }
    }

    /// Reads a value of at most `RecordSchema.maximumBytes`.
    public init(_ text: String) {
        guard text.utf8.count <= RecordSchema.maximumBytes else {
            self = .broken(
                RecordProblem("has \(text.utf8.count) bytes, and at most \(RecordSchema.maximumBytes) are taken")
            )
            return
        }
        guard let value = try? JSONValue(parsing: text), let object = value.object else {
            self = .broken(RecordProblem("is not a JSON object"))
            return
        }
        guard let schema = object["schema"]?.integer, schema >= 1 else {
            self = .broken(RecordProblem("schema: a whole number from 1 is missing"))
            return
        }
        guard schema <= RecordSchema.current else {
            self = .newer(schema: schema, value)
            return
        }
        do throws(RecordProblem) {
            self = .known(try Record(reading: RecordMembers(object)))
        } catch {
            self = .broken(error)
        }
    }
}

/// The version of the values that hosts share.
public enum RecordSchema {
    /// The schema that this version writes, and the highest that it reads.
    public static let current = 1
    /// The longest value that is read, in bytes: a definition of a room has some hundreds.
    public static let maximumBytes = 65_536
}

extension ClusterRecord {
    /// The value as it is written: JSON with sorted keys, in ASCII.
    public var text: String {
        var object = self.members.compactMapValues { $0 }
        object["schema"] = .integer(RecordSchema.current)
        return JSONValue.object(object).text
    }
}

/// The members of a record, with one error message for each that is not as it should be.
public struct RecordMembers: Sendable {
    private let object: [String: JSONValue]
    /// The path to the object, with a dot at its end; empty for the record itself.
    private let path: String

    init(_ object: [String: JSONValue], path: String = "") {
        (self.object, self.path) = (object, path)
    }

    /// A string that may be missing.
    public func optionalString(_ key: String) throws(RecordProblem) -> String? {
        guard let value = self.value(key) else { return nil }
        guard let string = value.string else { throw self.problem(key, "a string is expected") }
        return string
    }

    /// A string that is not empty.
    public func string(_ key: String) throws(RecordProblem) -> String {
        guard let string = try self.optionalString(key), !string.isEmpty else {
            throw self.problem(key, "a string is missing")
        }
        return string
    }

    /// A whole number in a range that may be missing.
    public func optionalInteger(_ key: String, in range: ClosedRange<Int>) throws(RecordProblem) -> Int? {
        guard let value = self.value(key) else { return nil }
        guard let integer = value.integer, range.contains(integer) else {
            throw self.problem(key, "a whole number from \(range.lowerBound) to \(range.upperBound) is expected")
        }
        return integer
    }

    /// A whole number in a range.
    public func integer(_ key: String, in range: ClosedRange<Int>) throws(RecordProblem) -> Int {
        guard let integer = try self.optionalInteger(key, in: range) else {
            throw self.problem(key, "a whole number is missing")
        }
        return integer
    }

    /// True or false; false if it is missing.
    public func bool(_ key: String) throws(RecordProblem) -> Bool {
        guard let value = self.value(key) else { return false }
        guard let bool = value.bool else { throw self.problem(key, "true or false is expected") }
        return bool
    }

    /// One of the cases of an enumeration; nil if it is missing.
    public func optionalCase<Choice: RawRepresentable & CaseIterable>(
        _ key: String,
        of type: Choice.Type
    ) throws(RecordProblem) -> Choice? where Choice.RawValue == String {
        guard let string = try self.optionalString(key) else { return nil }
        guard let choice = Choice(rawValue: string) else {
            throw self.problem(key, "one of \(type.allCases.map(\.rawValue).joined(separator: ", ")) is expected")
        }
        return choice
    }

    /// One of the cases of an enumeration.
    public func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String,
        of type: Choice.Type
    ) throws(RecordProblem) -> Choice where Choice.RawValue == String {
        guard let choice = try self.optionalCase(key, of: type) else {
            throw self.problem(key, "one of \(type.allCases.map(\.rawValue).joined(separator: ", ")) is missing")
        }
        return choice
    }

    /// An object; nil if it is missing.
    public func optionalObject(_ key: String) throws(RecordProblem) -> RecordMembers? {
        guard let value = self.value(key) else { return nil }
        guard let object = value.object else { throw self.problem(key, "an object is expected") }
        return RecordMembers(object, path: self.path + key + ".")
    }

    /// An object of strings; empty if it is missing.
    public func labels(_ key: String) throws(RecordProblem) -> [String: String] {
        guard let members = try self.optionalObject(key) else { return [:] }
        var labels: [String: String] = [:]
        for name in members.object.keys.sorted() { labels[name] = try members.string(name) }
        return labels
    }

    /// An array of strings; empty if it is missing.
    public func strings(_ key: String) throws(RecordProblem) -> [String] {
        guard let value = self.value(key) else { return [] }
        let strings = value.array?.map(\.string) ?? [nil]
        guard !strings.contains(nil) else { throw self.problem(key, "an array of strings is expected") }
        return strings.compactMap { $0 }
    }

    /// Any value; nil if it is missing or null.
    public func value(_ key: String) -> JSONValue? {
        switch self.object[key] {
        case .null?, nil: nil
        case let value?: value
        }
    }

    private func problem(_ key: String, _ text: String) -> RecordProblem {
        RecordProblem("\(self.path)\(key): \(text)")
    }
}
