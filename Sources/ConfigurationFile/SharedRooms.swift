// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import Cluster

/// Rooms of a file that a cluster is to have.
public struct SharedRooms: Sendable {
    /// The records to be stored, by the names of the rooms.
    public let records: [String: String]

    /// Reads a mapping `rooms`, as a configuration has it; blocks as `DaemonConfiguration.load` does.
    ///
    /// Each host looks `${…}` up where it runs a room: what this one does not have stands for something that fits. A secret
    /// must be such a reference, since the store shows its values to all its readers.
    ///
    /// - Throws: `ConfigurationError` with every problem.
    public init(path: String, values: any ValueSource = ProcessValueSource()) throws(ConfigurationError) {
        try self.init(text: try DaemonConfiguration.text(path: path), file: path, values: values)
    }

    /// Reads an open file to its end, such as standard input, as `init(path:)` reads a file; waits for the end.
    ///
    /// - Parameter name: its name, for messages.
    public init(
        descriptor: Int32,
        name: String,
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) {
        let text = try DaemonConfiguration.text(of: name) { () throws(BoundedFile.Failure) in
            try BoundedFile.text(descriptor: descriptor, maximumBytes: DaemonConfiguration.maximumBytes)
        }
        try self.init(text: text, file: name, values: values)
    }

    /// Reads a text as `init(path:)` reads a file.
    public init(
        text: String,
        file: String? = nil,
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) {
        let problems = ProblemList(file: file)
        var yaml = YAMLText(problems: problems, values: ElsewhereValues(values))
        var read = DaemonConfiguration()
        let table = KeyTable(KeyTable.Entry(name: "rooms", shape: .named(RoomKeys.table)))
        if let tree = yaml.tree(of: text) {
            problems.tree = tree
            if let reader = MappingReader(tree, table, path: "", problems: problems) {
                if !reader.has("rooms") { reader.add("rooms", "missing", accepted: "a mapping from names to rooms") }
                read.readRooms(reader)
            }
        }
        var records: [String: String] = [:]
        for (name, room) in read.rooms {
            let secret = room.definition[RoomKeys.secret.name]?.string
            if let secret, !Substitution.hasReference(secret) {
                problems.add(
                    nil,
                    "rooms.\(name).\(RoomKeys.secret.name)",
                    "the etcd would show it to all its readers",
                    accepted: "${NAME} or ${file:/path}, which each host looks up"
                )
            }
            let record = JSONValue.object(["room": room.definition, "schema": .integer(RecordSchema.current)]).text
            if !problems.concern(keysBeginningWith: "rooms.\(name)."),
                let problem = RecordReading<RoomRecord>(record).problem
            {
                problems.add(nil, "rooms.\(name)", problem)
            }
            records[name] = record
        }
        try problems.check()
        self.records = records
    }
}

/// Values of another host: what is not to be had here is a word that can be a host's name, a password or a token.
private struct ElsewhereValues: ValueSource {
    private static let word = "value-of-another-host"

    private let values: any ValueSource

    init(_ values: any ValueSource) { self.values = values }

    func environmentVariable(_ name: String) -> String? { self.values.environmentVariable(name) ?? Self.word }

    func contents(ofFile path: String) throws(ValueSourceError) -> String {
        do throws(ValueSourceError) {
            return try self.values.contents(ofFile: path)
        } catch {
            return Self.word
        }
    }
}
