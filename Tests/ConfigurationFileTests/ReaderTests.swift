// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Foundation
import Testing

/// Every documented setting has a reader: a setting without one would be accepted and do nothing.
@Suite struct ReaderTests {
    /// A stored property of a type that a configuration is made of.
    struct Property: Hashable, CustomStringConvertible {
        /// The target whose type it is.
        var module: String
        /// The type, without its module.
        var type: String
        var name: String

        var description: String { "\(self.module).\(self.type).\(self.name)" }
    }

    /// Types and properties that a special method reads, with the method to call instead.
    static let methods = [
        "WebhookConfiguration.events": "wants", "Schedule": "contains", "NetworkSpec.usesOffered": "allowsOffered",
        "NetworkSpec.offeredHosts": "allowsOffered",
    ]

    /// The stored properties of a value and of everything in it, but of those whose types hide them.
    static func properties(of value: Any) -> Set<Property> {
        let mirror = Mirror(reflecting: value)
        let name = String(reflecting: mirror.subjectType).split(separator: ".", maxSplits: 1).map(String.init)
        let isOurs = name.count == 2 && Self.targets.contains(name[0])
        if isOurs, let method = Self.methods[name[1]] {
            return [Property(module: name[0], type: name[1], name: method)]
        }
        var properties: Set<Property> = []
        for child in mirror.children {
            if mirror.displayStyle == .struct, isOurs, let label = child.label {
                let reader = Self.methods["\(name[1]).\(label)"] ?? label
                properties.insert(Property(module: name[0], type: name[1], name: reader))
            }
            properties.formUnion(Self.properties(of: child.value))
        }
        return properties
    }

    /// The targets of this package.
    static let targets: Set<String> = {
        let sources = packageFolder.appending(path: "Sources")
        return Set((try? FileManager.default.contentsOfDirectory(atPath: sources.path())) ?? [])
    }()

    /// The Swift files outside the target that reads the file, by path below `Sources`.
    static func sources() throws -> [(path: String, text: String)] {
        let folder = packageFolder.appending(path: "Sources")
        let paths = try #require(FileManager.default.enumerator(atPath: folder.path())).compactMap { $0 as? String }
        return try paths.filter { $0.hasSuffix(".swift") && !$0.hasPrefix("ConfigurationFile/") }
            .map { ($0, try String(contentsOf: folder.appending(path: $0), encoding: .utf8)) }
    }

    /// Whether a text reads a member of that name: `.name` that is not assigned to.
    static func reads(_ name: String, in text: String) throws -> Bool {
        text.contains(try Regex("\\.\(name)(?![A-Za-z0-9_]| *=[^=])"))
    }

    /// A member can be read only where its module is imported (`MemberImportVisibility`), which makes names enough.
    @Test func everyDocumentedSettingIsReadSomewhere() throws {
        let read = try configuration(try DocumentTests.fullExample(), DocumentTests.values)
        let properties = Self.properties(of: read)
        let sources = try Self.sources()
        let lost = try properties.filter { property in
            try !sources.contains { path, text in
                try !path.hasPrefix("\(property.module)/") && text.contains("import \(property.module)\n")
                    && Self.reads(property.name, in: text)
            }
        }
        #expect(lost.map(\.description).sorted() == [])
        // The walk reached the sections, and what is below them.
        for name in [
            "DaemonConfiguration.storage", "StorageConfiguration.synchroniseEvery",
            "WorkersConfiguration.maximumMemoryBytes", "SendSpec.usesAudioDTX", "RTSPConfiguration.User.rooms",
        ] {
            #expect(properties.contains { "\($0.type).\($0.name)" == name }, "\(name)")
        }
    }

    @Test func assigningIsNotReading() throws {
        #expect(try Self.reads("keep", in: "let days = storage.keep / day\n"))
        #expect(try Self.reads("keep", in: "if storage.keep == nil {}\n"))
        #expect(try Self.reads("tls", in: "api.tls.certificate\n"))
        #expect(try !Self.reads("keep", in: "storage.keep = 3\nstorage.keepBytes\n"))
    }
}
