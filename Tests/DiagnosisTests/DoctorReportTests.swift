// SPDX-License-Identifier: Apache-2.0

import Diagnosis
import Foundation
import Testing

@Suite struct DoctorReportTests {
    private static let fine = Finding(.system, "clock", .ok, "kept in time")
    private static let lacking = Finding(
        .gstreamer,
        "peer connections",
        .problem,
        "missing: webrtcbin",
        meaning: "no room can be joined",
        packages: ["gstreamer1.0-plugins-bad", "gstreamer1.0-nice"]
    )
    private static let weak = Finding(.encoders, "H.264", .warning, "none", packages: ["gstreamer1.0-plugins-bad"])

    @Test func `areas come in one order, findings of an area stay in theirs`() {
        let second = Finding(.system, "memory", .ok, "8 GB")
        let report = DoctorReport([Self.fine, second, Self.weak, Self.lacking], needsSudo: false)
        #expect(report.findings == [Self.lacking, Self.weak, Self.fine, second])
    }

    @Test func `one line installs each missing package once`() {
        let report = DoctorReport([Self.weak, Self.lacking], needsSudo: false)
        #expect(report.install == "apt-get install gstreamer1.0-nice gstreamer1.0-plugins-bad")
        #expect(DoctorReport([Self.weak], needsSudo: true).install == "sudo apt-get install gstreamer1.0-plugins-bad")
        #expect(DoctorReport([Self.fine], needsSudo: true).install == nil)
    }

    @Test(arguments: [
        ([fine], true, "Rooms can be recorded on this host."),
        ([fine, weak], true, "Rooms can be recorded on this host, with a warning."),
        ([weak, weak], true, "Rooms can be recorded on this host, with 2 warnings."),
        ([fine, weak, lacking], false, "Rooms can not be recorded on this host."),
    ])
    func `a problem alone stops recording`(_ findings: [Finding], _ works: Bool, _ summary: String) {
        let report = DoctorReport(findings, needsSudo: false)
        #expect(report.works == works)
        #expect(report.summary == summary)
    }

    @Test func `the table says what it means and what to install`() {
        let lines = DoctorReport([Self.fine, Self.lacking], needsSudo: false).table.split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        #expect(
            lines == [
                "gstreamer",
                "  problem  peer connections  missing: webrtcbin",
                "                             no room can be joined",
                "",
                "system",
                "  ok       clock             kept in time",
                "",
                "To install what is missing:",
                "  apt-get install gstreamer1.0-nice gstreamer1.0-plugins-bad",
                "",
                "Rooms can not be recorded on this host.",
            ]
        )
    }

    @Test func `a report survives JSON`() throws {
        let report = DoctorReport([Self.fine, Self.lacking], needsSudo: true)
        let data = try JSONEncoder().encode(report)
        #expect(try JSONDecoder().decode(DoctorReport.self, from: data) == report)
    }
}
