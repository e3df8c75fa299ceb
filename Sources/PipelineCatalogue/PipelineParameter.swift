// SPDX-License-Identifier: Apache-2.0

/// A value that can be set on an element of a pipeline file.
public struct PipelineParameter: Sendable, Hashable {
    /// The form of a value.
    public enum Form: String, Sendable, Hashable, CaseIterable {
        /// Any text, taken as it is: paths, addresses, names of devices.
        case string
        /// A whole number.
        case int
        /// A number.
        case number
        /// `true` or `false`.
        case bool
        /// One of the property's words, as `gst-inspect-1.0` lists them.
        case word
        /// Media types in GStreamer's notation.
        case caps
        /// The absolute path of an existing folder; several properties may get files in it.
        case folder
    }

    /// The unit of a number.
    public enum Unit: String, Sendable, Hashable, CaseIterable {
        case bits = "bit/s"
        case kilobits = "kbit/s"
        case frames
        case pixels
        case nanoseconds = "ns"
        case milliseconds = "ms"
        case seconds = "s"
        case hertz = "Hz"
        case bytes
        case percent = "%"
    }

    /// The name of the element in the launch text.
    public var element: String
    /// The element's property; empty for a folder.
    public var property: String
    /// For a folder: properties of the element, and the name of the file in the folder that each gets.
    public var files: [String: String] = [:]
    /// The form of a value.
    public var form: Form
    /// The unit of a number.
    public var unit: Unit?
    /// The value if none is given, as it is written.
    public var defaultText: String?
    /// The smallest number.
    public var minimum: Double?
    /// The largest number.
    public var maximum: Double?
    /// Whether there must be a value.
    public var isRequired = false
    /// Its purpose, in a few words.
    public var description: String?

    /// A parameter without default and limits.
    public init(element: String, property: String, form: Form) {
        self.element = element
        self.property = property
        self.form = form
    }

    /// The longest text of a value, in bytes.
    public static let maximumLength = 4096

    /// Why a text cannot be the value, with what is accepted; `nil` if it can.
    public func objection(to text: String) -> String? {
        guard text.utf8.count <= Self.maximumLength, !text.utf8.contains(0) else {
            return "a text of at most \(Self.maximumLength) bytes"
        }
        switch self.form {
        case .string: return nil
        case .bool: return text == "true" || text == "false" ? nil : "true or false"
        case .word, .caps: return text.isEmpty ? "a text" : nil
        // Names of files may count with %: a folder must not.
        case .folder:
            let isPath = text.hasPrefix("/") && !text.contains("%")
            let isPlain = !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
            return isPath && isPlain ? nil : "an absolute path without %"
        case .int, .number:
            let value = self.form == .int ? Int(text).map { Double($0) } : Double(text)
            if let value, value.isFinite, value >= self.minimum ?? value, value <= self.maximum ?? value { return nil }
            return self.accepted
        }
    }

    /// The accepted numbers, in words.
    private var accepted: String {
        let what = self.form == .int ? "a whole number" : "a number"
        let unit = self.unit.map { " \($0.rawValue)" } ?? ""
        func shown(_ number: Double) -> String {
            Int(exactly: number).map { "\($0)" } ?? "\(number)"
        }
        return switch (self.minimum, self.maximum) {
        case (nil, nil): what + (unit.isEmpty ? "" : " of\(unit)")
        case (let minimum?, nil): "\(what) from \(shown(minimum))\(unit)"
        case (nil, let maximum?): "\(what) up to \(shown(maximum))\(unit)"
        case (let minimum?, let maximum?): "\(what) from \(shown(minimum)) to \(shown(maximum))\(unit)"
        }
    }
}
