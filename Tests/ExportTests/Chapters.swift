// SPDX-License-Identifier: Apache-2.0

import TestSupport

extension Probe {
    /// Where the chapters begin, in seconds, and their titles.
    var titles: [(seconds: Double, title: String)] {
        self.chapters.map { (Double($0.start_time) ?? .nan, $0.tags?["title"] ?? "") }
    }
}
