// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import PipelineCatalogue

/// The keys of a pipeline file.
enum PipelineKeys {
    static let description = Key("description", .line(maximum: 200))
    static let requires = Key("requires", .factory)
    static let launch = Key("launch", .launchText)
    static let argument = Key("argument", .parameterName)
    static let isLive = Key("live", .boolean)
    static let hasTestPattern = Key("test_pattern", .boolean)
    static let rank = Key("rank", .integer(0...1000))
    static let isProbed = Key("probe", .boolean)
    static let codec = Key("", .codec)
    static let pad = Key("", .pad)

    static let media = KeyTable(
        KeyTable.Entry(name: MediaKind.video.rawValue, shape: .value),
        KeyTable.Entry(name: MediaKind.audio.rawValue, shape: .value)
    )

    static let table = KeyTable(
        description.entry,
        KeyTable.Entry(name: "accepts", shape: .mapping(media)),
        KeyTable.Entry(name: "gives", shape: .mapping(media)),
        KeyTable.Entry(name: "ports", shape: .value),
        requires.entry,
        launch.entry,
        KeyTable.Entry(name: "parameters", shape: .named(PipelineParameterKeys.table)),
        argument.entry,
        isLive.entry,
        hasTestPattern.entry,
        rank.entry,
        isProbed.entry
    )
}

/// The keys of a parameter.
enum PipelineParameterKeys {
    static let element = Key("element", .elementName)
    static let property = Key("property", .elementName)
    static let file = Key("files", .fileName)
    static let form = Key("type", ValueType<PipelineParameter.Form>.choice)
    static let unit = Key("unit", ValueType<PipelineParameter.Unit>.choice)
    static let defaultText = Key("default", .scalarText)
    static let minimum = Key("minimum", .number)
    static let maximum = Key("maximum", .number)
    static let isRequired = Key("required", .boolean)
    static let description = Key("description", .line(maximum: 200))

    static let table = KeyTable(
        element.entry,
        property.entry,
        file.entry,
        form.entry,
        unit.entry,
        defaultText.entry,
        minimum.entry,
        maximum.entry,
        isRequired.entry,
        description.entry
    )
}

extension ValueType where Value == String {
    /// What a factory, an element, a property or a pad may be called.
    private static func name(_ what: String) -> ValueType {
        ValueType(accepted: "\(what): letters, digits, - and _, at most 64") { Self.isName($0) ? $0 : nil }
    }

    static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    fileprivate static let factory = Self.name("the name of a GStreamer element")
    fileprivate static let elementName = Self.name("a name in launch")
    fileprivate static let parameterName = Self.name("the name of a parameter")
    fileprivate static let codec = Self.name("raw, or a codec such as H264")
    /// A file in a folder.
    fileprivate static let fileName = ValueType(accepted: "the name of a file, such as index.m3u8") { text in
        let isPlain = !text.unicodeScalars.contains { $0 == "/" || $0.properties.generalCategory == .control }
        return (1...128).contains(text.utf8.count) && isPlain && text != "." && text != ".." ? text : nil
    }
    fileprivate static let pad = ValueType(accepted: "sink or src") { $0 == "sink" || $0 == "src" ? $0 : nil }

    /// Launch text; several lines.
    fileprivate static let launchText = ValueType(accepted: "launch text of at most 16384 bytes") { text in
        (1...16_384).contains(text.utf8.count) && !text.utf8.contains(0) ? text : nil
    }

    /// The text of any single value.
    fileprivate static let scalarText = ValueType(accepted: "a single value") { scalar throws(WrongValue) in scalar.text
    }
}

extension ValueType where Value == Double {
    fileprivate static let number = ValueType(accepted: "a number") { scalar throws(WrongValue) in
        guard scalar.form == .integer || scalar.form == .number, let value = Double(scalar.text), value.isFinite else {
            throw WrongValue()
        }
        return value
    }
}
