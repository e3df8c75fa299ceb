// SPDX-License-Identifier: Apache-2.0

/// Everything that `tapedeck doctor` found.
public struct DoctorReport: Sendable, Hashable, Codable {
    /// By area, in the order in which it is shown.
    public var findings: [Finding]
    /// Whether a room can be recorded on this host.
    public var works: Bool
    /// The command that installs everything that is missing; `nil` if nothing is.
    public var install: String?

    /// A report of findings in any order.
    ///
    /// - Parameter needsSudo: whether who asks is not root.
    public init(_ findings: [Finding], needsSudo: Bool) {
        self.findings = Finding.Area.allCases.flatMap { area in findings.filter { $0.area == area } }
        self.works = !findings.contains { $0.level == .problem }
        let packages = Set(findings.flatMap(\.packages)).sorted()
        self.install =
            packages.isEmpty ? nil : (needsSudo ? "sudo " : "") + "apt-get install " + packages.joined(separator: " ")
    }

    /// How many findings are of that level.
    public func count(_ level: Finding.Level) -> Int {
        self.findings.count { $0.level == level }
    }

    /// One sentence.
    public var summary: String {
        let warnings = self.count(.warning)
        let others = warnings == 0 ? "" : warnings == 1 ? ", with a warning" : ", with \(warnings) warnings"
        return self.works ? "Rooms can be recorded on this host\(others)." : "Rooms can not be recorded on this host."
    }

    /// The report for a person: a line for each finding, below it what it means and what to do.
    public var table: String {
        let width = self.findings.map(\.name.count).max() ?? 0
        var lines: [String] = []
        var area: Finding.Area?
        for finding in self.findings {
            if finding.area != area { lines += (area == nil ? [] : [""]) + [finding.area.rawValue] }
            area = finding.area
            let name = finding.name + String(repeating: " ", count: width - finding.name.count)
            let mark = finding.level.rawValue + String(repeating: " ", count: 7 - finding.level.rawValue.count)
            lines.append("  \(mark)  \(name)  \(finding.found)")
            for text in [finding.meaning, finding.remedy] {
                if let text { lines.append("           \(String(repeating: " ", count: width))  \(text)") }
            }
        }
        if let install = self.install { lines += ["", "To install what is missing:", "  \(install)"] }
        lines += ["", self.summary]
        return lines.joined(separator: "\n")
    }
}
