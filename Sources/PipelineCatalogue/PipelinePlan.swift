// SPDX-License-Identifier: Apache-2.0

/// A pipeline file with the values that are set on its elements after its text was parsed.
public struct PipelinePlan: Sendable, Hashable {
    /// One value for one element.
    public struct Setting: Sendable, Hashable {
        /// The name of the element.
        public var element: String
        /// Its property.
        public var property: String
        /// The value as text.
        public var text: String
        /// The form of the value; a `string` is set unchanged.
        public var form: PipelineParameter.Form
    }

    /// The file.
    public let file: PipelineFile
    private var texts: [String: String] = [:]

    /// The file with the defaults of its parameters.
    public init(_ file: PipelineFile) {
        self.file = file
        self.texts = file.parameters.compactMapValues(\.defaultText)
    }

    /// Whether the file has a parameter.
    public func has(_ name: String) -> Bool { self.file.parameters[name] != nil }

    /// The value of a parameter as text; nil without one.
    public func text(of name: String) -> String? { self.texts[name] }

    /// Sets a parameter.
    ///
    /// - Throws: a finding for a parameter that the file does not have, or a value that it does not take.
    public mutating func set(_ name: String, _ text: String) throws(PipelineFinding) {
        guard let parameter = self.file.parameters[name] else {
            let known = self.file.parameters.keys.sorted().joined(separator: ", ")
            throw PipelineFinding(
                file: self.file.path,
                key: "parameters.\(name.prefix(64))",
                message: known.isEmpty ? "the file has no parameters" : "there is no such parameter; accepted: \(known)"
            )
        }
        if let accepted = parameter.objection(to: text) {
            throw PipelineFinding(
                file: self.file.path,
                key: "parameters.\(name)",
                message: "found \"\(text.prefix(60))\"; accepted: \(accepted)"
            )
        }
        self.texts[name] = text
    }

    /// Sets the text after the file's name and a colon.
    public mutating func setArgument(_ text: String) throws(PipelineFinding) {
        guard let argument = self.file.argument else {
            throw PipelineFinding(file: self.file.path, key: "argument", message: "the file takes none")
        }
        try self.set(argument, text)
    }

    /// Sets a bit rate in the parameter's own unit, kept within its limits; nothing if the file has no such parameter.
    public mutating func setBitRate(_ name: String, bitsPerSecond: Int) {
        guard let parameter = self.file.parameters[name] else { return }
        let value = parameter.unit == .kilobits ? bitsPerSecond / 1000 : bitsPerSecond
        self.setNumber(name, parameter, value)
    }

    /// Sets a whole number, kept within the parameter's limits; nothing if the file has no such parameter.
    public mutating func setNumber(_ name: String, _ value: Int) {
        guard let parameter = self.file.parameters[name] else { return }
        self.setNumber(name, parameter, value)
    }

    /// Sets a truth value; nothing if the file has no such parameter of type `bool`.
    public mutating func setFlag(_ name: String, _ value: Bool) {
        guard self.file.parameters[name]?.form == .bool else { return }
        self.texts[name] = String(value)
    }

    private mutating func setNumber(_ name: String, _ parameter: PipelineParameter, _ value: Int) {
        let above = parameter.minimum.flatMap { Int(exactly: $0.rounded(.up)) }.map { max($0, value) } ?? value
        let within = parameter.maximum.flatMap { Int(exactly: $0.rounded(.down)) }.map { min($0, above) } ?? above
        self.texts[name] = String(within)
    }

    /// The setting for one parameter; nil if the file does not have it, it has no value, or it is a folder.
    public func setting(of name: String) -> Setting? {
        guard let parameter = self.file.parameters[name], parameter.form != .folder, let text = self.texts[name] else {
            return nil
        }
        return Setting(element: parameter.element, property: parameter.property, text: text, form: parameter.form)
    }

    /// The values of the parameters that are folders.
    public var folders: [String] {
        self.file.parameters.keys.sorted().filter { self.file.parameters[$0]?.form == .folder }
            .compactMap { self.texts[$0] }
    }

    /// The settings for a folder: the path of each file.
    private func settings(ofFolder name: String) -> [Setting] {
        guard let parameter = self.file.parameters[name], let folder = self.texts[name] else { return [] }
        return parameter.files.sorted { $0.key < $1.key }.map { property, file in
            Setting(element: parameter.element, property: property, text: "\(folder)/\(file)", form: .string)
        }
    }

    /// All settings, in the order of the parameters' names.
    ///
    /// - Throws: a finding for a required parameter without a value.
    public func settings() throws(PipelineFinding) -> [Setting] {
        var settings: [Setting] = []
        for (name, parameter) in self.file.parameters.sorted(by: { $0.key < $1.key }) {
            if parameter.form == .folder, self.texts[name] != nil {
                settings += self.settings(ofFolder: name)
            } else if let setting = self.setting(of: name) {
                settings.append(setting)
            } else if parameter.isRequired {
                let isArgument = self.file.argument == name
                throw PipelineFinding(
                    file: self.file.path,
                    key: "parameters.\(name)",
                    message: isArgument ? "is needed: write \(self.file.name):VALUE" : "is needed"
                )
            }
        }
        return settings
    }
}
