// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Observability
import Testing

@testable import Control

/// The groups in which metrics count requests.
@Suite struct RouteGroupTests {
    @Test(arguments: [
        ("/v1/rooms", RouteGroup.rooms), ("/v1/rooms/standup/record?x=/metrics", .rooms),
        ("/v1/rooms/a%2Fb/graphs", .rooms), ("/v1/recordings", .recordings), ("/v1/recordings/1/exports", .recordings),
        ("/v1/recordings/1/exports/2", .recordings), ("/v1/recordings/1/files/call.mkv", .files),
        ("/v1/events", .events), ("/metrics", .metrics),
        ("/metrics/x", .other), ("/healthz", .health), ("/readyz", .health), ("/", .dashboard),
        ("/main.js", .dashboard), ("/base.css", .dashboard), ("/icon.svg", .dashboard), ("/dashboard/app.js", .other),
        ("/v2/rooms", .other), ("/v1", .other), ("/../etc/passwd", .other), ("/%zz", .other), ("/v1/overview", .other),
    ])
    func everyRequestIsCounted(path: String, group: RouteGroup) async throws {
        let fixture = try Fixture()
        try await fixture.test { client in _ = try await client.send(.post, path) }
        #expect(fixture.answered.groups == [group])
    }
}
